"""Gather the use of hours, block by block: samples of the store become minutes of each container.

Series are read in shards of a bounded number of samples, shard by shard on a few threads, and each
shard is reduced to minutes before the next one is read; so memory is bounded by the block's
containers × minutes, not by its samples. Every sample is read once: the last one of each series is
carried into the next block, and what lies between the two is added to the block before.
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
from seedance.costs.lives import FAR
from seedance.costs.minutes import (
    MINUTE_MS,
    Grid,
    Lanes,
    MinuteUse,
    carried,
    combine,
    last_of_each,
    minute_use,
)
from seedance.costs.strays import Stray, strays_of
from seedance.facts.prices import base_units
from seedance.facts.samples import SampleColumns
from seedance.facts.window import Window
from seedance.store import samples as stored
from seedance.store.settles import minutes_of_use
from seedance.store.store import Store

METRICS = {
    "cpu": ("container_cpu_usage_seconds_total", True),
    "memory": ("container_memory_working_set_bytes", False),
}
"""Metric of each measured resource, and whether it is a counter."""

SHARD_SAMPLES = 150_000
"""Samples that one shard should hold. Measured: with 500,000 the reading costs a fifth less CPU and
takes 250 MB more."""

_FIRST_SHARD = 64  # lanes: even at a sample a second for six hours no more than a shard


@dataclass(frozen=True, slots=True)
class Plan:
    """Who measured whom: numbers of metrics, lanes per resource, namespaces of unknown series."""

    ledger: Ledger
    ids: Mapping[str, int]
    tables: Mapping[str, LaneTable]
    strange: Mapping[str, Mapping[int, str]]


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

    def plan(
        self, ledger: Ledger, *, clusters: Sequence[str], series: Mapping[str, SeriesColumns]
    ) -> Plan:
        """Who measured whom in a ledger."""
        by_name, ids = containers_by_name(ledger), stored.metric_ids(self.store)
        tables = {
            resource: lane_table(
                series[resource], ledger, by_name, clusters=clusters, sources=self._sources_of
            )
            for resource in METRICS
        }
        strange = {name: _strangers(series[name], by_name, clusters) for name in METRICS}
        return Plan(ledger, ids, tables, strange)

    def uses(self, plan: Plan, grids: Sequence[Grid]) -> Iterator[Use]:
        """Minutes of use of every member, for each of the neighbouring blocks in order."""
        edge = -(-self.gap_ms // MINUTE_MS)
        before: dict[str, MinuteUse] = {}
        tails: dict[str, SampleColumns] = {}
        for number, grid in enumerate(grids):
            margin = min(edge, grids[number - 1].minutes) if number else 0
            wide = Grid(grid.start_ms - margin * MINUTE_MS, grid.minutes + margin)
            window = Window(
                _instant(grid.start_ms - (0 if number else self.gap_ms)),
                _instant(grid.end_ms + (self.gap_ms if number == len(grids) - 1 else 0)),
            )
            now: dict[str, MinuteUse] = {}
            for resource in METRICS:
                use, tails[resource] = self._read(plan, resource, wide, window, tails.get(resource))
                now[resource] = _without_margin(use, before.get(resource), margin)
            if number:
                yield self._combined(plan, grids[number - 1], before)
            before = now
        yield self._combined(plan, grids[-1], before)

    def _combined(self, plan: Plan, grid: Grid, lanes: Mapping[str, MinuteUse]) -> Use:
        slots = len(plan.ledger.members)
        return Use(
            grid.start_ms,
            {
                name: combine(use, slot=t.member, pod=t.place, rank=t.rank, slots=slots)
                for name, use in lanes.items()
                for t in [plan.tables[name]]
            },
        )

    def strays(self, plan: Plan, grid: Grid) -> list[Stray]:
        """Use of series of the plan's clusters that name no container of the ledger."""
        window, found = self._window(grid), list[Stray]()
        for resource, (metric, counter) in METRICS.items():
            strange = plan.strange[resource]
            if metric not in plan.ids or not strange:
                continue
            number = plan.ids[metric]
            seen = stored.series_seen(self.store, metric_id=number, window=window)
            sids = np.intersect1d(np.array(sorted(strange), np.int64), seen)
            for at in range(0, len(sids), _STRANGERS):
                some = sids[at : at + _STRANGERS]
                read = stored.read_some_samples(
                    self.store, metric_id=number, sids=some.tolist(), window=window
                )
                ever = np.zeros(len(some), np.int64)
                lanes = Lanes(some, ever, ever + FAR, ever - 1)
                use = minute_use(read, lanes, grid=grid, gap_ms=self.gap_ms, counter=counter)
                names = [strange[sid] for sid in some.tolist()]
                found += strays_of(use, names, resource, gap_ms=self.gap_ms)
        return found

    def _window(self, grid: Grid) -> Window:
        """The grid and a gap limit on both sides."""
        return Window(_instant(grid.start_ms - self.gap_ms), _instant(grid.end_ms + self.gap_ms))

    def kept_use(self, ledger: Ledger, grid: Grid, *, cluster: str) -> Use:
        """The same from the minutes that earlier settles kept: samples have expired by then."""
        members = {
            (ledger.places[one.place].life.uid, one.container): number
            for number, one in enumerate(ledger.members)
        }
        window = Window(_instant(grid.start_ms), _instant(grid.end_ms))
        kept = minutes_of_use(self.store, cluster=cluster, window=window, resources=list(METRICS))
        found = {name: MinuteUse.empty(len(ledger.members), grid.minutes) for name in METRICS}
        if not kept:
            return Use(grid.start_ms, found)
        keys = zip(kept["pod_uid"], kept["container"], kept["resource"], kept["hour"], strict=True)
        for row, (pod, container, resource, hour) in enumerate(keys):
            member = members.get((pod, container))
            if member is None:
                continue
            first = (int(hour) * 1000 - grid.start_ms) // MINUTE_MS
            cut, use = slice(first, first + 60), found[resource]
            # Two rows of an hour are two stretches of it: each knows its own minutes only.
            use.used[member, cut] += kept["used"][row] * np.float32(60 * base_units(resource))
            use.known[member, cut] += kept["covered"][row].astype(np.uint16) * 1000
        return Use(grid.start_ms, found)

    def _sources_of(self, sids: Sequence[int]) -> Mapping[int, str]:
        unknown = [sid for sid in sids if sid not in self._sources]
        if unknown:
            for sid, (door, labels) in stored.labels_of(self.store, unknown).items():
                self._sources[sid] = source_of(door, labels)
        return self._sources

    def _read(
        self, plan: Plan, resource: str, grid: Grid, window: Window, tail: SampleColumns | None
    ) -> tuple[MinuteUse, SampleColumns]:
        """Use per lane over a grid, and the last sample of each series up to the window's end."""
        table, (metric, counter) = plan.tables[resource], METRICS[resource]
        out = MinuteUse.empty(len(table.member), grid.minutes)
        tails = [tail] if tail is not None else []
        if metric not in plan.ids or not len(table.member):
            return out, last_of_each(tails)

        def one(first: int, last: int) -> None:
            lanes = table.lanes.part(first, last)
            read = stored.read_samples(
                self.store,
                metric_id=plan.ids[metric],
                first_sid=int(lanes.sid[0]),
                last_sid=int(lanes.sid[-1]),
                window=window,
            )
            self._learn(read, lanes=last - first, minutes=grid.minutes)
            if tail is not None:
                read, lanes = carried(read, tail, lanes)
            use = minute_use(read, lanes, grid=grid, gap_ms=self.gap_ms, counter=counter)
            out.used[first:last], out.known[first:last] = use.used, use.known
            tails.append(last_of_each([read]))

        begin = next(_shards(table, 0, _FIRST_SHARD))
        one(*begin)  # tells how dense the samples are
        step = max(int(SHARD_SAMPLES / (grid.minutes * self._density)), 1)
        with ThreadPoolExecutor(self.threads, thread_name_prefix="gather") as pool:
            pending = [pool.submit(one, *part) for part in _shards(table, begin[1], step)]
            for each in pending:
                each.result()
        return out, last_of_each(tails)

    def _learn(self, read: SampleColumns, *, lanes: int, minutes: int) -> None:
        self._density = max(len(read) / (lanes * minutes), self._density * 0.9, 0.01)


def _without_margin(use: MinuteUse, before: MinuteUse | None, margin: int) -> MinuteUse:
    """The block's own minutes; those of the margin are added to the end of the block before."""
    if before is None or not margin:
        return use
    before.used[:, -margin:] += use.used[:, :margin]
    known = before.known[:, -margin:] + use.known[:, :margin]
    before.known[:, -margin:] = np.minimum(known, MINUTE_MS)
    return MinuteUse(use.used[:, margin:], use.known[:, margin:])


def _shards(table: LaneTable, first: int, step: int) -> Iterator[tuple[int, int]]:
    """Ranges of `step` lanes and a few, from `first` on; a series is never cut in two."""
    sid = table.lanes.sid
    while first < len(sid):
        last = min(first + step, len(sid))
        while last < len(sid) and sid[last] == sid[last - 1]:
            last += 1
        yield first, last
        first = last


_STRANGERS = 2_000  # series read at once: an hour of them is 120,000 samples at one a minute


def _strangers(
    series: SeriesColumns,
    by_name: Mapping[tuple[str, str, str], Sequence[int]],
    clusters: Sequence[str],
) -> dict[int, str]:
    """Number to namespace of the series of real containers that nobody in the ledger is."""
    wanted = frozenset(clusters)
    columns = zip(
        series.sid.tolist(), series.cluster, series.namespace, series.pod, series.container,
        strict=True,
    )  # fmt: skip
    return {
        sid: namespace
        for sid, cluster, namespace, pod, container in columns
        if cluster in wanted
        and pod
        and container not in {"", "POD"}
        and (namespace, pod, container) not in by_name
    }


def _instant(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)
