"""How far the demo is, on standard error: a bar on a terminal, a line per stage elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, TextIO


class Stage(Protocol):
    """A stage of work that is told how much of it is done."""

    def advance(self, by: float = 1.0) -> None:
        """`by` more units of the stage's total are done."""


class _Silent:
    def advance(self, by: float = 1.0) -> None:
        pass


class _Bar:
    def __init__(self, task: int, progress: object) -> None:
        self._task, self._progress = task, progress

    def advance(self, by: float = 1.0) -> None:
        self._progress.advance(self._task, by)  # type: ignore[attr-defined]


@contextmanager
def stage(text: str, total: float, *, stream: TextIO | None = None) -> Iterator[Stage]:
    """Shows a stage of `total` units while it goes on, and how long it took."""
    out = sys.stderr if stream is None else stream
    if out.isatty():
        with _bar(text, total, out) as shown:
            yield shown
        return
    began = time.monotonic()
    yield _Silent()
    out.write(f"{text}: {time.monotonic() - began:.1f} s\n")
    out.flush()


@contextmanager
def _bar(text: str, total: float, out: TextIO) -> Iterator[Stage]:
    from rich.console import Console  # noqa: PLC0415 - only a terminal needs it
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    columns = (
        TextColumn("{task.description:16}"),
        BarColumn(),
        TextColumn("{task.percentage:3.0f} %"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(file=out)) as progress:
        yield _Bar(progress.add_task(text, total=total), progress)
