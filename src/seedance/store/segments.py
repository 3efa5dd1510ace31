"""Files of the write-ahead log: the little that is done to them besides writing records."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from pathlib import Path

from seedance.store.logformat import Token


@dataclass(slots=True)
class Segment:
    """A file of the log; `open` are the batches in it that are not done."""

    path: Path
    size: int = 0
    open: set[Token] = field(default_factory=set)
    damaged: bool = False


def take_away(segment: Segment) -> None:
    """Remove a segment, or move a damaged one to `damaged/` beside it."""
    if segment.damaged:
        aside = segment.path.parent / "damaged"
        aside.mkdir(exist_ok=True)
        segment.path.rename(aside / f"{segment.path.name}.{time.time_ns():x}")
    else:
        segment.path.unlink(missing_ok=True)


def write_fully(file: int, data: bytes) -> None:
    """Write all of `data`, in as many pieces as the kernel wants."""
    done = 0
    while done < len(data):
        done += os.write(file, data[done:] if done else data)


def sync_folder(folder: Path) -> None:
    """Bring names of new files in a folder to the disk."""
    file = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
