"""Completion: scripts that real shells accept, candidates that can be run."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from seedance.cli.completion import SCRIPTS, Shell

from .conftest import Run


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
