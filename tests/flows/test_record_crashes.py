"""kill -9 at the worst moments: what was acknowledged is stored, once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("crashing_recorder.py")
POINTS = [
    "after-append",
    "before-cut",
    "after-cut",
    "before-series",
    "after-series",
    "after-samples",
    "before-done",
    "after-done",
]


def start(folder: Path, first: int, count: int, point: str = "") -> subprocess.Popen[str]:
    path = os.pathsep.join([str(PROGRAM.parents[1]), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [sys.executable, str(PROGRAM), str(folder), str(first), str(count), point],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
        text=True,
    )


def acknowledged(output: str) -> set[int]:
    """Numbers of the samples that a run said are safe."""
    firsts = {int(line.split()[1]) for line in output.splitlines() if line.startswith("ack ")}
    return firsts | {number + 1 for number in firsts}


def stored(folder: Path) -> list[int]:
    """Numbers of the samples in the store after a last clean run, each checked for its content."""
    out, _ = start(folder, 0, 0).communicate(timeout=120)
    numbers = []
    for line in out.splitlines():
        if line.startswith("s"):
            series, ms, value = line.split()
            assert series == f"s{int(ms) // 20}_{int(ms) % 10}"
            assert float(value) == int(ms)
            numbers.append(int(ms))
    return numbers


def test_a_crash_at_any_step_loses_and_doubles_nothing(tmp_path: Path) -> None:
    safe: set[int] = set()
    sent = 0
    for point in [*POINTS, *POINTS]:
        with start(tmp_path, sent, 20, point) as process:
            out, _ = process.communicate(timeout=120)
        assert process.returncode == -signal.SIGKILL, point
        safe |= acknowledged(out)
        sent += 20
    found = stored(tmp_path)
    assert len(found) == len(set(found)), "doubled"
    assert safe <= set(found), "lost"
    assert set(found) <= set(range(sent))
    assert not (tmp_path / "log" / "damaged").exists()


@pytest.mark.slow
def test_kill_9_in_the_middle_of_writing_loses_and_doubles_nothing(tmp_path: Path) -> None:
    safe: set[int] = set()
    sent = 0
    for acks in (3, 30, 75, 150, 40, 301):
        with start(tmp_path, sent, 20_000) as process:
            assert process.stdout
            lines = [process.stdout.readline() for _ in range(acks)]
            process.kill()
            lines += process.stdout.readlines()
        safe |= acknowledged("".join(lines))
        sent += 20_000
    found = stored(tmp_path)
    assert len(found) == len(set(found)), "doubled"
    assert safe <= set(found), "lost"
    assert len(safe) > 1000
