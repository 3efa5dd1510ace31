"""How the client ends: every failure has its code, and a crash is never "difference found"."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from seedance.cli import exits
from seedance.facts import errors

from . import answers
from .conftest import Run, Stub

CODES = {
    errors.UsageError: 2,
    errors.ManifestError: 2,
    errors.NotFoundError: 3,
    errors.UnreachableError: 4,
    errors.BusyError: 4,
    errors.RefusedError: 5,
    errors.UnauthenticatedError: 5,
    errors.NoDataError: 6,
    errors.IntakeError: 70,
    errors.SeedanceError: 70,
}


@pytest.mark.parametrize(("kind", "code"), CODES.items())
def test_each_expected_failure_has_the_code_of_the_contract(
    kind: type[errors.SeedanceError], code: int
) -> None:
    assert exits.exit_code_of(kind("x")) == code


def test_every_code_has_a_meaning() -> None:
    assert set(exits.MEANINGS) == set(exits.ExitCode)


@pytest.mark.parametrize(
    ("status", "problem", "code"),
    [
        (400, "usage", 2),
        (422, "invalid-parameter", 2),
        (422, "invalid-manifest", 2),
        (401, "unauthenticated", 5),
        (403, "refused", 5),
        (404, "not-found", 3),
        (404, "no-data", 6),
        (404, "no-such-path", 3),
        (502, "unreachable", 4),
        (503, "busy", 4),
        (504, "", 4),
        (500, "bug", 70),
        (405, "method-not-allowed", 70),
    ],
)
def test_a_problem_document_ends_with_its_code(
    asking: Run, stub: Stub, status: int, problem: str, code: int
) -> None:
    stub.refuse("/api/v1/costs", status, problem, "what and where", "what to do")
    ended = asking("cost")
    assert ended.code == code
    assert ended.out == ""
    assert "what and where" in ended.err
    assert "what to do" in ended.err


@pytest.mark.parametrize(
    "line",
    [
        ["cost", "--no-such-option"],
        ["no-such-verb"],
        ["get"],
        ["get", "things"],
        ["get", "pods/a", "b"],
        ["get", "pods/"],
        ["get", "pod", "a", "-l", "x=y"],
        ["get", "pods", "-w", "--at", "2h"],
        ["get", "pods", "-w", "-o", "json"],
        ["get", "pods", "--at", "yesterday"],
        ["get", "pods", "--at", "2026-11-30T12:00:00"],
        ["get", "pods", "--at", "2999-01-01T00:00:00Z"],
        ["describe", "pod"],
        ["cost", "--limit", "-1"],
        ["cost", "--limit", "many"],
        ["cost", "-o", "xml"],
        ["cost", "--idle", "never"],
        ["cost", "--filter", "namespace"],
        ["cost", "--filter", "colour:red"],
        ["cost", "-l", "app"],
        ["cost", "--zone", "Mars/Olympus"],
        ["cost", "--request-timeout", "soon"],
        ["cost", "--server", "ftp://x"],
        ["cost", "--server", "localhost:9091"],
        ["cost", "--server", "http://u:p@localhost"],
        ["cost", "--server", "http://localhost:port"],
        ["cost", "--token-file", "/no/such/file"],
        ["top", "everything"],
        ["completion", "tcsh"],
        ["config", "set-server", "localhost"],
    ],
    ids=" ".join,
)
def test_a_mistaken_command_line_is_code_2_and_asks_nothing(
    asking: Run, stub: Stub, line: list[str]
) -> None:
    ended = asking(*line)
    assert ended.code == 2, ended.err
    assert ended.out == ""
    assert ended.err.startswith("error: ")
    assert stub.asked == []


def test_a_bug_is_code_70_with_one_line(ctl: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seedance.cli.configure.load_config", lambda: 1 // 0)
    ended = ctl("config", "get-contexts")
    assert ended.code == 70
    assert "a bug" in ended.err
    assert "Traceback" not in ended.err


def test_a_bug_shows_its_traceback_on_request(ctl: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEEDANCE_DEBUG", "1")
    monkeypatch.setattr("seedance.cli.configure.load_config", lambda: 1 // 0)
    assert "Traceback" in ctl("config", "get-contexts").err


def test_a_program_that_cannot_be_imported_is_a_bug_too(
    ctl: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "seedance.cli.app", None)
    assert ctl("version").code == 70


def test_no_exception_ends_with_1(ctl: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(error: BaseException) -> Any:
        def load() -> None:
            raise error

        return load

    for error in (SystemExit(1), RuntimeError("x"), MemoryError(), KeyboardInterrupt(), OSError()):
        monkeypatch.setattr("seedance.cli.configure.load_config", fail(error))
        assert ctl("config", "get-contexts").code not in {0, 1}


def test_interrupting_ends_with_130(stub: Stub, alone: Path) -> None:
    stub.give("/api/v1/pods", answers.objects("pods", answers.pod("a")))
    process = subprocess.Popen(
        [sys.executable, "-m", "seedance.cli.main", "get", "pods", "-w", "--server", stub.url],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "HOME": str(alone)},
    )
    assert process.stdout is not None
    assert b"NAME" in process.stdout.readline()
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert b"Traceback" not in err


def test_a_pipe_that_closes_early_is_no_crash(stub: Stub, alone: Path) -> None:
    many = [answers.pod(f"pod-{at}") for at in range(5_000)]
    stub.give("/api/v1/pods", answers.objects("pods", *many))
    line = f"{sys.executable} -m seedance.cli.main get pods --server {stub.url} | head -1"
    ended = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {line}"],
        capture_output=True,
        check=False,
        timeout=60,
        env={**os.environ, "HOME": str(alone)},
    )
    assert ended.returncode == 141
    assert ended.stdout.startswith(b"NAMESPACE")
    assert ended.stderr == b""


def test_a_terminal_that_lacks_a_character_shows_its_code(stub: Stub, alone: Path) -> None:
    stub.give("/api/v1/pods", answers.objects("pods", answers.pod("a", "视觉")))
    ended = subprocess.run(
        [sys.executable, "-m", "seedance.cli.main", "get", "pods", "--server", stub.url],
        capture_output=True,
        check=False,
        timeout=60,
        env={**os.environ, "HOME": str(alone), "PYTHONIOENCODING": "ascii"},
    )
    assert ended.returncode == 0, ended.stderr
    assert rb"\u89c6\u89c9" in ended.stdout
