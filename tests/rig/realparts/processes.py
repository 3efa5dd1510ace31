"""Programs of the rig: started with a log file, stopped by their own process id."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

_SET_DEATH_SIGNAL = 1


class Program:
    """One program; `start` again after `stop` is a restart with the same arguments and log."""

    def __init__(
        self,
        name: str,
        arguments: Sequence[str | Path],
        *,
        logs: Path,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.arguments = [str(argument) for argument in arguments]
        self.log = logs / f"{name}.log"
        self._environment = {**os.environ, **(environment or {})}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """Process id of the running program."""
        assert self._process is not None, f"{self.name} is not started"
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether it was started and has not ended."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start it; its output is appended to its log."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self.arguments,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self._environment,
                preexec_fn=_die_with_parent,  # noqa: PLW1509 - one call, no locks
            )

    def stop(self, *, with_signal: signal.Signals = signal.SIGTERM, seconds: float = 15) -> int:
        """Stop it by its own id and wait; after `seconds` it is killed. Its exit status."""
        if self._process is None:
            return 0
        if self._process.poll() is None:
            self._process.send_signal(with_signal)
            try:
                self._process.wait(seconds)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        status = self._process.returncode
        self._process = None
        return status

    def wait_until(self, ready: Callable[[], bool], *, seconds: float = 60) -> None:
        """Wait until `ready`; `OSError` from it counts as not ready.

        Raises:
            RuntimeError: if it ends before or the time is over; the log's end is in the message.
        """
        end = time.monotonic() + seconds
        while True:
            with contextlib.suppress(OSError):
                if ready():
                    return
            if not self.running:
                raise RuntimeError(f"{self.name} ended before it was ready:\n{self.tail()}")
            if time.monotonic() > end:
                raise RuntimeError(f"{self.name} not ready after {seconds} s:\n{self.tail()}")
            time.sleep(0.05)

    def tail(self, characters: int = 3000) -> str:
        """The end of its log."""
        return self.log.read_text(encoding="utf-8", errors="replace")[-characters:]

    def anonymous_bytes(self) -> int:
        """Memory that is its own and nobody's file (`RssAnon`)."""
        text = Path(f"/proc/{self.pid}/status").read_text(encoding="utf-8")
        for line in text.splitlines():
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) * 1024
        return 0


def _die_with_parent() -> None:
    """Ask the kernel to end the program when the thread that started it is gone."""
    ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, signal.SIGTERM)


def eventually(
    condition: Callable[[], bool], what: str, *, seconds: float, every: float = 0.2
) -> float:
    """Wait until `condition` holds; returns how long it took.

    Raises:
        AssertionError: if it does not hold within `seconds`.
    """
    started = time.monotonic()
    while not condition():
        if time.monotonic() - started > seconds:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(every)
    return time.monotonic() - started
