"""Completion: scripts that real shells accept, candidates that can be run."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from seedance.cli.completion import SCRIPTS, Shell

from . import answers
from .conftest import Run, Stub


def found(ctl: Run, *words: str) -> list[str]:
    ended = ctl("__complete", *words)
    assert ended.code == 0
    return [line.partition("\t")[0] for line in ended.out.splitlines()]


def test_verbs_kinds_options_and_choices(ctl: Run) -> None:
    assert found(ctl, "co") == ["cost", "completion", "config", ":4"]
    assert found(ctl, "get", "n") == ["nodes", "namespaces", ":4"]
    assert found(ctl, "cost", "--idle") == ["--idle", "--idle-by-node", ":4"]
    assert found(ctl, "cost", "-o", "") == ["table", "wide", "json", "yaml", "name", "csv", ":4"]
    assert "no-owner-key" in found(ctl, "explain", "no-")
    assert "PriceBook" in found(ctl, "explain", "P")


def test_contexts_are_candidates(ctl: Run) -> None:
    ctl("config", "set-server", "http://127.0.0.1:9091", "--name", "lab")
    assert found(ctl, "config", "use-context", "") == ["lab", ":4"]


def test_files_are_candidates_where_nothing_else_is(ctl: Run) -> None:
    assert found(ctl, "cost", "--token-file", "") == [":0"]
    assert found(ctl, "no-such-verb", "x") == [":0"]


def test_dimensions_follow_a_comma(ctl: Run) -> None:
    assert found(ctl, "cost", "--by", "name") == ["namespace", ":4"]
    assert found(ctl, "cost", "--by", "team,name") == ["team,namespace", ":4"]
    assert found(ctl, "cost", "--filter", "te") == ["team:", ":4"]
    assert found(ctl, "cost", "--window", "last") == ["lastweek", "lastmonth", ":4"]


def test_names_come_from_the_server(ctl: Run, stub: Stub) -> None:
    stub.give("/api/v1/pods", answers.objects("pods", answers.pod("web-1"), answers.pod("api-1")))
    stub.give("/api/v1/namespaces", answers.objects("namespaces", answers.thing("N", "ml", {})))
    server = ("--server", stub.url)
    assert found(ctl, "get", *server, "-n", "ml", "pods", "") == ["api-1", "web-1", ":4"]
    assert ("namespace", "ml") in stub.asked[-1].params
    assert found(ctl, "describe", *server, "po", "w") == ["web-1", ":4"]
    assert found(ctl, "cost", *server, "-n", "") == ["ml", ":4"]


def test_a_server_that_is_away_offers_nothing(ctl: Run) -> None:
    assert found(ctl, "get", "--server", "http://127.0.0.1:1", "pods", "") == [":0"]
    assert found(ctl, "get", "things", "") == [":0"]


@pytest.mark.parametrize("shell", Shell)
def test_each_shell_has_a_script(ctl: Run, shell: Shell) -> None:
    assert ctl("completion", shell.value).out == SCRIPTS[shell]


def test_bash_completes_with_it(alone: Path) -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("no bash here")
    script = (
        "source <(seedancectl completion bash); COMP_WORDS=(seedancectl get no); COMP_CWORD=2; "
        "_seedancectl; printf '%s\\n' \"${COMPREPLY[@]}\""
    )
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    ended = subprocess.run(
        [bash, "--norc", "-c", script],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={"PATH": path, "HOME": str(alone)},
    )
    assert (ended.stdout, ended.stderr) == ("nodes\n", "")
