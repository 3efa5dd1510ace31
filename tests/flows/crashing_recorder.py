"""A program for tests: records numbered samples, says which are acknowledged, and may be killed.

`crashing_recorder.py FOLDER FIRST COUNT [POINT]`: sample i, of the series `name_of(i)`,
is at T + i with value i; two samples a body. `ack i` is printed when the body with i and i + 1 was
accepted. With a POINT the process kills itself there. COUNT 0 records nothing: it replays, stores
and prints what is stored as `SERIES MS VALUE` lines.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import structlog

from remote_write_messages import body, named
from seedance.facts.limits import Limits
from seedance.flows.recording import flush, record
from seedance.flows.recording.record import Recorder
from seedance.intake import remotewrite
from seedance.store.samples import all_series
from seedance.store.store import Retention, Store
from seedance.store.wal import Wal

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
T = int(NOW.timestamp() * 1000) - 3_600_000

AGES = Retention(raw_days=15_000, minute_days=15_000, hour_days=15_000, day_days=15_000)


def name_of(number: int) -> str:
    """The series of a sample: ten new ones for every twenty samples."""
    return f"s{number // 20}_{number % 10}"


def die(*_: Any, **__: Any) -> None:
    """The end that no handler sees."""
    os.kill(os.getpid(), signal.SIGKILL)


def before(owner: Any, name: str) -> None:
    """Die instead of doing `owner.name`."""
    setattr(owner, name, die)


def after(owner: Any, name: str) -> None:
    """Die when `owner.name` is done."""
    real: Callable[..., Any] = getattr(owner, name)

    def wrapped(*args: Any, **kwargs: Any) -> None:
        real(*args, **kwargs)
        die()

    setattr(owner, name, wrapped)


POINTS: dict[str, Callable[[], None]] = {
    "after-append": lambda: after(Wal, "append"),
    "before-cut": lambda: before(Wal, "cut"),
    "after-cut": lambda: after(record.Recorder, "_close_batch"),
    "before-series": lambda: before(flush, "put_series"),
    "after-series": lambda: after(flush, "put_series"),
    "after-samples": lambda: after(flush, "put_samples"),
    "before-done": lambda: before(Wal, "done"),
    "after-done": lambda: after(Wal, "done"),
    "adopted": lambda: after(Wal, "adopt"),
}


def main(folder: Path, first: int, count: int, point: str) -> None:
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    store = Store.open(folder / "store", retention=AGES, memory_bytes=1 << 30)
    recorder = Recorder(
        store,
        Wal.open(folder / "log", segment_bytes=20_000),
        decoders={"remote-write": remotewrite.decoder(Limits())},
        clock=lambda: NOW,
        flush_seconds=0.02,
    )
    if point:
        POINTS[point]()
    recorder.start()
    for number in range(first, first + count, 2):
        content = [named(name_of(i), [(T + i, float(i))]) for i in (number, number + 1)]
        told = recorder.accept(body(*content), door="remote-write", cluster="", now=NOW)
        assert told.written == 2
        os.write(1, f"ack {number}\n".encode())
    recorder.stop()
    if not count:
        show(store)
    store.close()


def show(store: Store) -> None:
    names = {each.id: each.metric for each in all_series(store)}
    for row in store.engine.rows(
        "SELECT sid, toUnixTimestamp64Milli(ts) AS ms, value FROM samples"
    ):
        print(names[row["sid"]], row["ms"] - T, row["value"])


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), "".join(sys.argv[4:5]))
