"""Gather the use of a block of hours: samples of the store become minutes of each container.

Series are read in shards of a bounded number of samples, shard by shard on a few threads, and each
shard is reduced to minutes before the next one is read; so memory is bounded by the block's
containers × minutes, not by its samples.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np

from seedance.costs.hour import Use
from seedance.costs.lanes import (
    LaneTable,
    SeriesColumns,
    containers_by_name,
    lane_table,
    source_of,
)
from seedance.costs.ledger import Ledger
from seedance.costs.minutes import Grid, MinuteUse, combine, minute_use
from seedance.facts.samples import SampleColumns
from seedance.facts.window import Window
from seedance.store import samples as stored
from seedance.store.store import Store

METRICS = {
    "cpu": ("container_cpu_usage_seconds_total", True),
    "memory": ("container_memory_working_set_bytes", False),
}
"""Metric of each measured resource, and whether it is a counter."""

SHARD_SAMPLES = 1_500_000
"""Samples that one shard should hold: 36 MB as read, about 200 MB at work."""

_FIRST_SHARD = 64  # lanes: even at a sample a second for six hours no more than a shard


@dataclass(slots=True)
class Gatherer:
    """Reads use for one store; keeps what it learnt about series between settles.

    `gap_ms` is the longest time between two samples across which use is known; `threads` is how
    many shards are at work at once.
    """

    store: Store
    gap_ms: int
    threads: int = 2
    _sources: dict[int, str] = field(default_factory=dict)
    _density: float = 1.0  # samples a series and minute, as last seen

    def series(self) -> dict[str, SeriesColumns]:
        """The series of each measured resource."""
        columns = stored.series_of(self.store, metrics=[name for name, _ in METRICS.values()])
        found = {}
        for resource, (metric, _) in METRICS.items():
            mine = np.flatnonzero(columns["metric"] == metric)
            found[resource] = SeriesColumns(
                sid=columns["sid"][mine],
                cluster=columns["cluster"][mine],
                namespace=columns["namespace"][mine],
                pod=columns["pod"][mine],
                container=columns["container"][mine],
            )
        return found

    def use(
        self,
        ledger: Ledger,
        grid: Grid,
        *,
        clusters: Sequence[str],
        series: Mapping[str, SeriesColumns],
    ) -> Use:
        """Minutes of use of every member of a ledger over a block of hours."""
        by_name = containers_by_name(ledger)
        ids = stored.metric_ids(self.store)
        found: dict[str, MinuteUse] = {}
        for resource, (metric, counter) in METRICS.items():
            table = lane_table(
                series[resource], ledger, by_name, clusters=clusters, sources=self._sources_of
            )
            per_lane = MinuteUse.empty(len(table.member), grid.minutes)
            if metric in ids and len(table.member):
                self._fill(per_lane, table, grid, metric_id=ids[metric], counter=counter)
            found[resource] = combine(
                per_lane,
                slot=table.member,
                pod=table.place,
                rank=table.rank,
                slots=len(ledger.members),
            )
        return Use(grid.start_ms, found)

    def _sources_of(self, sids: Sequence[int]) -> Mapping[int, str]:
        unknown = [sid for sid in sids if sid not in self._sources]
        if unknown:
            for sid, (door, labels) in stored.labels_of(self.store, unknown).items():
                self._sources[sid] = source_of(door, labels)
        return self._sources

    def _fill(
        self, out: MinuteUse, table: LaneTable, grid: Grid, *, metric_id: int, counter: bool
    ) -> None:
        window = Window(_instant(grid.start_ms - self.gap_ms), _instant(grid.end_ms + self.gap_ms))

        def one(first: int, last: int) -> None:
            lanes = table.lanes.part(first, last)
            read = stored.read_samples(
                self.store,
                metric_id=metric_id,
                first_sid=int(lanes.sid[0]),
                last_sid=int(lanes.sid[-1]),
                window=window,
            )
            self._learn(read, lanes=last - first, minutes=grid.minutes)
            use = minute_use(read, lanes, grid=grid, gap_ms=self.gap_ms, counter=counter)
            out.used[first:last], out.known[first:last] = use.used, use.known

        begin = next(_shards(table, 0, _FIRST_SHARD))
        one(*begin)  # tells how dense the samples are
        step = max(int(SHARD_SAMPLES / (grid.minutes * self._density)), 1)
        with ThreadPoolExecutor(self.threads, thread_name_prefix="gather") as pool:
            pending = [pool.submit(one, *part) for part in _shards(table, begin[1], step)]
            for each in pending:
                each.result()

    def _learn(self, read: SampleColumns, *, lanes: int, minutes: int) -> None:
        self._density = max(len(read) / (lanes * minutes), self._density * 0.9, 0.01)


def _shards(table: LaneTable, first: int, step: int) -> Iterator[tuple[int, int]]:
    """Ranges of `step` lanes and a few, from `first` on; a series is never cut in two."""
    sid = table.lanes.sid
    while first < len(sid):
        last = min(first + step, len(sid))
        while last < len(sid) and sid[last] == sid[last - 1]:
            last += 1
        yield first, last
        first = last


def _instant(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)
