"""What the store costs: `python benchmarks/store.py [FOLDER]` prints CPU and wall seconds.

One hour of 6 M samples (50,000 series of two metrics, one a minute), written in batches of
100,000 in the order of arrival, read back in ranges of series; 50,000 versions of pods; one
settled hour of 100,000 rows with its minutes, a day rolled up from 24 of them, a sweep.
"""

from __future__ import annotations

import platform
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from seedance.facts.inventory import ClusterId, ObjectVersion, Uid
from seedance.facts.samples import SampleColumns
from seedance.facts.window import Window
from seedance.store import objects, samples, settles
from seedance.store.native import ArrayColumn, DecimalColumn
from seedance.store.settles import SettleRow
from seedance.store.store import Retention, Store

T0 = datetime(2026, 11, 29, tzinfo=UTC)
HOUR = timedelta(hours=1)
SERIES = 50_000
LONG = Retention(raw_days=15_000, minute_days=15_000, hour_days=15_000, day_days=15_000)


@contextmanager
def timed(what: str, *, millions: float = 0) -> Iterator[None]:
    """Prints what a block cost; per million of something where that is given."""
    cpu, wall = time.process_time(), time.perf_counter()
    yield
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    each = f"{cpu / millions:8.3f} s CPU a million" if millions else ""
    print(f"{what:<58} {cpu:8.3f} s CPU {wall:8.3f} s wall {each}")


def write_samples(store: Store) -> None:
    """Minute by minute, both metrics, in batches of 100,000 rows."""
    rng = np.random.default_rng(1)
    counter = np.zeros(SERIES)
    batches = []
    for minute in range(60):
        counter += rng.integers(1, 60_000, SERIES) / 1000
        ts = np.full(2 * SERIES, int(T0.timestamp() * 1000) + minute * 60_000)
        ts += rng.integers(0, 15_000, 2 * SERIES)
        gauge = rng.integers(1 << 20, 1 << 30, SERIES).astype(np.float64)
        sid = np.concatenate([np.arange(SERIES), np.arange(SERIES) + SERIES])
        batches.append(SampleColumns(sid, ts, np.concatenate([counter, gauge])))
    metric = np.repeat([1, 2], SERIES)
    with timed("insert 6 M samples, 60 batches of 100,000", millions=6):
        for number, batch in enumerate(batches):
            samples.put_samples(store, metric, batch, token=f"b{number}")
    with timed("what merging costs in the 10 s after"):
        time.sleep(10)


def read_samples(store: Store, *, ranges: int) -> None:
    """The hour, one metric and one range of series at a time."""
    step = SERIES // ranges
    total = 0
    with timed(f"read one hour of 6 M samples in {2 * ranges} ranges of series"):
        for metric in (1, 2):
            for first in range(0, SERIES, step):
                low = first + (metric - 1) * SERIES
                found = samples.read_samples(
                    store,
                    metric_id=metric,
                    first_sid=low,
                    last_sid=low + step - 1,
                    window=Window(T0, T0 + HOUR),
                )
                total += len(found)
    if total != 120 * SERIES:
        raise SystemExit(f"{total} samples read")


def pods(store: Store) -> None:
    """Versions of pods with a document of a real one's size."""
    doc = {
        "created": "2026-11-29T00:00:00Z",
        "labels": {f"app.kubernetes.io/label-{n}": f"value-{n}" for n in range(8)},
        "node": "node-17",
        "phase": "Running",
        "effective": {"cpu": 0.25, "memory": 268435456.0},
        "containers": [{"name": "main", "requests": {"cpu": 0.25, "memory": 268435456.0}}],
    }
    versions = [
        ObjectVersion(
            cluster=ClusterId("c"), kind="Pod", uid=Uid(f"uid-{n}"), namespace=f"ns-{n % 40}",
            name=f"pod-{n}", valid_from=T0, valid_to=None, ended="", doc=doc,
        )
        for n in range(SERIES)
    ]  # fmt: skip
    with timed("insert 50,000 versions of pods"):
        objects.put_versions(store, versions, now=T0)
    with timed("read 50,000 versions of pods in a window"):
        objects.versions_in(store, cluster="c", window=Window(T0, T0 + HOUR))
    with timed("one page of 100 of 50,000 pods"):
        objects.objects_at(store, kind="Pod", at=T0, limit=100)


def hour_set(store: Store, *, hour: datetime, settle_id: int, minutes: bool) -> None:
    """100,000 cost rows of one hour and their minutes, made current."""
    rows = 2 * SERIES
    rng = np.random.default_rng(settle_id & 0xFFFF)
    half = rng.random(rows)
    start = np.full(rows, int(hour.timestamp()))
    ids = np.full(rows, settle_id, np.uint64)
    entity = np.repeat(rng.permutation(SERIES).astype(np.uint64), 2)
    words = ["cpu", "memory"] * SERIES
    money = DecimalColumn(rng.integers(0, 10**10, rows))
    figures = ("requested", "used", "charged", "unused", "covered", "alive")
    settles.put_cost_hours(
        store,
        {
            "settle_id": ids, "hour": start, "entity": entity, "resource": words,
            "price_id": np.ones(rows, np.uint64), **dict.fromkeys(figures, half),
            "cost": money, "unused_cost": money, "overcommit": np.ones(rows, np.float32),
            "flags": np.zeros(rows, np.uint32), "reason": [""] * rows,
        },
    )  # fmt: skip
    if minutes:
        flat = np.repeat(half, 60).astype(np.float32)
        array = ArrayColumn(flat, 60)
        settles.put_usage_minutes(
            store,
            {
                "settle_id": ids, "hour": start, "entity": entity, "resource": words,
                "requested": array, "used": ArrayColumn(rng.random(60 * rows, np.float32), 60),
                "charged": array, "covered": ArrayColumn(np.full(60 * rows, 60, np.uint8), 60),
                "price_id": np.ones(rows, np.uint64),
            },
        )  # fmt: skip
    whole = sum(money.picos.tolist())
    amount = settles.Decimal(whole).scaleb(-12)
    settles.make_current(
        store,
        SettleRow(
            cluster="c", start=hour, seconds=3600, settle_id=settle_id, provisional=False,
            began=hour + HOUR, ended=hour + HOUR, rows=rows, node_cost=amount, row_cost=amount,
        ),
    )  # fmt: skip


def settled(store: Store) -> None:
    """Sets of 24 hours, one with its minutes; a replaced one is swept."""
    first = settles.next_settle_id(T0 + HOUR)
    with timed("write one hour set of 100,000 rows with 60 minutes each"):
        hour_set(store, hour=T0, settle_id=first, minutes=True)
    with timed("write 24 hour sets of 100,000 rows"):
        for hour in range(24):
            hour_set(store, hour=T0 + hour * HOUR, settle_id=first + 1 + hour, minutes=False)
    with timed("roll up a day of 2.4 M rows"):
        settles.roll_day(store, cluster="c", day=T0, settle_id=first + 99)
    with timed("sweep one replaced set of 100,000 rows"):
        settles.sweep(store, now=T0 + 26 * HOUR)


def main() -> None:
    """Runs everything on a new store and prints the machine's facts."""
    with tempfile.TemporaryDirectory() as folder:
        where = Path(sys.argv[1] if len(sys.argv) > 1 else folder) / "store"
        with Store.open(where, retention=LONG) as store:
            print(platform.platform(), platform.machine(), "Python", platform.python_version())
            write_samples(store)
            for ranges in (1, 5, 25):
                read_samples(store, ranges=ranges)
            with timed("newest sample of each of 100,000 series"):
                samples.last_timestamps(store)
            pods(store)
            settled(store)
            for name, size in store.size().items():
                if size.rows:
                    print(f"{name:<20} {size.rows:>10} rows {size.bytes / 1e6:10.1f} MB")
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"peak resident memory {peak:.0f} MiB")


if __name__ == "__main__":
    main()
