"""Samples to minutes: how much was used in each minute, and for how many seconds that is known.

Samples of a shard of series come in sorted by (series, time); each is given to the *lane* whose
lifetime holds it, neighbouring samples of a lane make intervals, and the intervals are spread over
the minutes they touch. A lane is one series during the life of one container; `combine` adds the
lanes of a source and picks one source per pod and minute. See "What is used" in
`docs/explain/cost-arithmetic.md`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from seedance.facts.samples import FloatArray, IntArray, SampleColumns

MINUTE_MS = 60_000
_TIME_BITS = 34  # milliseconds within one composite key: 198 days; leaves 29 bits for series
_HORIZON = (1 << _TIME_BITS) - 1
_PART_SAMPLES = 65_536  # half a megabyte a column: a part's arrays stay in the second cache

Float32Array = npt.NDArray[np.float32]
UInt16Array = npt.NDArray[np.uint16]


@dataclass(frozen=True, slots=True)
class Grid:
    """Whole minutes: `minutes` of them from `start_ms` (milliseconds since the epoch) on."""

    start_ms: int
    minutes: int

    @property
    def end_ms(self) -> int:
        """End of the last minute."""
        return self.start_ms + self.minutes * MINUTE_MS


@dataclass(frozen=True, slots=True)
class Lanes:
    """Lifetimes of series, sorted by (sid, start): arrays of equal length.

    A sample of `sid` belongs to a lane when start ≤ ts ≤ end (milliseconds). `began` is when the
    container started, for the stretch before its first sample; -1 where that is not known.
    """

    sid: IntArray
    start: IntArray
    end: IntArray
    began: IntArray

    def __len__(self) -> int:
        return len(self.sid)

    def part(self, first: int, last: int) -> Lanes:
        """Lanes first..last, last not included."""
        cut = slice(first, last)
        return Lanes(self.sid[cut], self.start[cut], self.end[cut], self.began[cut])


@dataclass(frozen=True, slots=True)
class MinuteUse:
    """Use per lane (rows) and minute (columns).

    `used` is in base-unit seconds (core-seconds, byte-seconds), `known` in milliseconds (0–60000).
    """

    used: Float32Array
    known: UInt16Array

    @classmethod
    def empty(cls, lanes: int, minutes: int) -> MinuteUse:
        """Nothing known for `lanes` × `minutes`."""
        return cls(np.zeros((lanes, minutes), np.float32), np.zeros((lanes, minutes), np.uint16))


def in_order(samples: SampleColumns) -> SampleColumns:
    """The samples sorted by (sid, ts) with one sample per (sid, ts), the first one kept."""
    if len(samples) < 2:  # noqa: PLR2004  # one sample is in order
        return samples
    base = int(samples.ts.min())
    key = (samples.sid << _TIME_BITS) + (samples.ts - base)
    if not np.all(key[1:] >= key[:-1]):
        order = np.argsort(key, kind="stable")
        key = key[order]
        samples = SampleColumns(samples.sid[order], samples.ts[order], samples.value[order])
    again = key[1:] == key[:-1]
    if again.any():
        keep = np.concatenate(([True], ~again))
        samples = SampleColumns(samples.sid[keep], samples.ts[keep], samples.value[keep])
    return samples


def last_of_each(parts: Sequence[SampleColumns]) -> SampleColumns:
    """The newest sample of each series in any of the parts, by sid."""
    if not parts:
        return SampleColumns(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
    every = in_order(
        SampleColumns(
            np.concatenate([part.sid for part in parts]),
            np.concatenate([part.ts for part in parts]),
            np.concatenate([part.value for part in parts]),
        )
    )
    last = np.flatnonzero(np.diff(every.sid, append=-1))
    return SampleColumns(every.sid[last], every.ts[last], every.value[last])


def carried(read: SampleColumns, tail: SampleColumns, lanes: Lanes) -> tuple[SampleColumns, Lanes]:
    """Samples led by the last ones of an earlier reading, and the lanes that go on from there.

    Args:
        read: sorted by (sid, ts).
        tail: at most one sample a series, each older than the series' samples in `read`, by sid.
        lanes: of these series. Those with an earlier sample have had their first one: the time
            from their start to it was counted then.
    """
    at, end = np.searchsorted(tail.sid, [lanes.sid[0], lanes.sid[-1] + 1])
    sid, ts, value = tail.sid[at:end], tail.ts[at:end], tail.value[at:end]
    place = np.searchsorted(read.sid, sid)
    joined = SampleColumns(
        np.insert(read.sid, place, sid),
        np.insert(read.ts, place, ts),
        np.insert(read.value, place, value),
    )
    known = np.searchsorted(sid, lanes.sid)
    found = np.minimum(known, max(len(sid) - 1, 0))
    begun = np.zeros(len(lanes), dtype=bool)
    if len(sid):
        begun = (sid[found] == lanes.sid) & (ts[found] >= lanes.start)
    return joined, replace(lanes, began=np.where(begun, -1, lanes.began))


def assign(samples: SampleColumns, lanes: Lanes) -> tuple[SampleColumns, IntArray]:
    """The samples that lie in a lane, and the number of that lane for each.

    Args:
        samples: sorted by (sid, ts).
        lanes: sorted by (sid, start), not overlapping within a sid.
    """
    if not len(samples) or not len(lanes):
        nothing = np.empty(0, np.int64)
        return SampleColumns(nothing, nothing, np.empty(0, np.float64)), nothing
    base = int(samples.ts.min())
    key = (samples.sid << _TIME_BITS) + (samples.ts - base)
    starts = (lanes.sid << _TIME_BITS) + np.clip(lanes.start - base, 0, _HORIZON)
    ends = (lanes.sid << _TIME_BITS) + np.clip(lanes.end - base, -1, _HORIZON)
    first = np.searchsorted(key, starts)
    counts = np.diff(np.append(first, len(key)))
    lane = np.repeat(np.arange(len(lanes), dtype=np.int64), counts)
    key, inside = key[first[0] :], key[first[0] :] <= np.repeat(ends, counts)
    cut = slice(int(first[0]), None)
    sid, ts, value = samples.sid[cut], samples.ts[cut], samples.value[cut]
    if not inside.all():
        sid, ts, value, lane = sid[inside], ts[inside], value[inside], lane[inside]
    return SampleColumns(sid, ts, value), lane


def minute_use(
    samples: SampleColumns, lanes: Lanes, *, grid: Grid, gap_ms: int, counter: bool
) -> MinuteUse:
    """Use and known time of each lane in each minute of the grid.

    Args:
        samples: samples of these lanes' series, in any order, from gap_ms before the grid to
            gap_ms after it.
        lanes: sorted by (sid, start).
        grid: the minutes asked for.
        gap_ms: two samples further apart than this know nothing of the time between them.
        counter: True for a counter, whose increase is spread; False for a gauge, whose earlier
            value holds.
    """
    ordered, out = in_order(samples), MinuteUse.empty(len(lanes), grid.minutes)
    if not len(ordered) or not len(lanes):
        return out
    for first, last, part in _parts(ordered, lanes):
        some = lanes.part(first, last)
        mine, lane = assign(part, some)
        used, known = np.zeros(len(some) * grid.minutes), np.zeros(len(some) * grid.minutes)
        if len(mine):
            for intervals in _intervals(mine, lane, some, gap_ms=gap_ms, counter=counter):
                _spread(*intervals, grid=grid, used=used, known=known)
        shape = (len(some), grid.minutes)
        out.used[first:last] = used.reshape(shape)
        out.known[first:last] = np.minimum(np.rint(known), MINUTE_MS).reshape(shape)
    return out


def _parts(ordered: SampleColumns, lanes: Lanes) -> Iterator[tuple[int, int, SampleColumns]]:
    """Ranges of lanes with their samples, small enough that the arrays stay in the cache."""
    step = max(_PART_SAMPLES * len(lanes) // len(ordered), 1)
    first = 0
    while first < len(lanes):
        last = min(first + step, len(lanes))
        while last < len(lanes) and lanes.sid[last] == lanes.sid[last - 1]:
            last += 1
        at, end = np.searchsorted(ordered.sid, [lanes.sid[first], lanes.sid[last - 1] + 1])
        yield (
            first,
            last,
            SampleColumns(ordered.sid[at:end], ordered.ts[at:end], ordered.value[at:end]),
        )
        first = last


_Interval = tuple[IntArray, IntArray, IntArray, FloatArray]


def _intervals(
    samples: SampleColumns, lane: IntArray, lanes: Lanes, *, gap_ms: int, counter: bool
) -> list[_Interval]:
    """(lane, from, to, rate per second) between neighbours, and from each start to its first."""
    ts, value = samples.ts, samples.value
    usable = np.isfinite(value)  # a stale marker is a NaN; no NaN or infinity is a measurement
    length = ts[1:] - ts[:-1]
    good = (lane[1:] == lane[:-1]) & (length > 0) & (length <= gap_ms)
    if not usable.all():
        good &= usable[1:] & usable[:-1]
    rate = value[:-1]
    if counter:
        with np.errstate(divide="ignore", invalid="ignore"):  # those are not `good`
            rise = value[1:] - value[:-1]
            rate = np.where(rise < 0, value[1:], rise) / (length * 0.001)
    between: _Interval = (lane[1:], ts[:-1], ts[1:], rate)
    if not good.all():
        between = (lane[1:][good], ts[:-1][good], ts[1:][good], rate[good])
    head = np.concatenate(([True], lane[1:] != lane[:-1]))
    began = lanes.began[lane[head]]
    lead = ts[head] - began
    good = (began >= 0) & (lead > 0) & (lead <= gap_ms) & usable[head]
    at, lead, first = ts[head][good], lead[good], value[head][good]
    rate = first / (lead / 1000.0) if counter else first
    return [between, (lane[head][good], at - lead, at, rate)]


def _spread(
    lane: IntArray,
    start: IntArray,
    end: IntArray,
    rate: FloatArray,
    *,
    grid: Grid,
    used: FloatArray,
    known: FloatArray,
) -> None:
    """Add each interval to the minutes that it touches; `used` and `known` are flat."""
    if not len(lane):
        return
    start, end = start - grid.start_ms, end - grid.start_ms
    minute = start // MINUTE_MS
    reach = int(((end - 1) // MINUTE_MS - minute).max()) + 1
    for _ in range(reach):
        edge = minute * MINUTE_MS
        inside = np.minimum(end, edge + MINUTE_MS) - np.maximum(start, edge)
        good = (inside > 0) & (minute >= 0) & (minute < grid.minutes)
        flat, length, speed = lane * grid.minutes + minute, inside.astype(np.float64), rate
        if not good.all():
            flat, length, speed = flat[good], length[good], rate[good]
        known += np.bincount(flat, weights=length, minlength=len(known))
        used += np.bincount(flat, weights=length * speed * 0.001, minlength=len(used))
        minute = minute + 1


def combine(
    use: MinuteUse, *, slot: IntArray, pod: IntArray, rank: IntArray, slots: int
) -> MinuteUse:
    """Use per slot (a container) from use per lane, one source feeding a (pod, minute).

    Args:
        use: per lane.
        slot: container number of each lane, -1 for lanes that belong to none.
        pod: pod number of each lane's container.
        rank: number of the lane's source within the pod; on equal knowledge the lower one wins.
        slots: how many containers there are.
    """
    out = MinuteUse.empty(slots, use.used.shape[1])
    mine = np.flatnonzero(slot >= 0)
    if not len(mine):
        return out
    if len(np.unique(slot[mine])) == len(mine):  # one lane a container: nothing to choose or add
        out.used[slot[mine]], out.known[slot[mine]] = use.used[mine], use.known[mine]
        return out
    keep = np.ones((len(mine), use.used.shape[1]), dtype=bool)
    several = _with_several_sources(pod[mine], rank[mine])
    if several.any():
        chosen = mine[several]
        keep[several] = _chosen(use.known[chosen], pod[chosen], rank[chosen])
    known = np.zeros(out.used.shape, np.int64)
    np.add.at(out.used, slot[mine], np.where(keep, use.used[mine], np.float32(0)))
    np.add.at(known, slot[mine], np.where(keep, use.known[mine], np.uint16(0)))
    out.known[:] = np.minimum(known, MINUTE_MS)
    return out


def _with_several_sources(pod: IntArray, rank: IntArray) -> npt.NDArray[np.bool_]:
    """Lanes of the pods that more than one source feeds."""
    top = np.zeros(int(pod.max()) + 1, np.int64)
    low = np.full(len(top), np.iinfo(np.int64).max)
    np.maximum.at(top, pod, rank)
    np.minimum.at(low, pod, rank)
    several: npt.NDArray[np.bool_] = np.not_equal(top, low)[pod]
    return several


def _chosen(known: UInt16Array, pod: IntArray, rank: IntArray) -> npt.NDArray[np.bool_]:
    """Per lane and minute: does its source feed its pod then?"""
    group, where = np.unique(pod << 16 | rank, return_inverse=True)
    score = np.zeros((len(group), known.shape[1]), np.int64)
    np.add.at(score, where, known.astype(np.int64))
    score = (score << 16) + (0xFFFF - (group & 0xFFFF))[:, None]
    owner = group >> 16
    first = np.flatnonzero(np.concatenate(([True], owner[1:] != owner[:-1])))
    best = np.repeat(
        np.maximum.reduceat(score, first), np.diff(np.append(first, len(owner))), axis=0
    )
    chosen: npt.NDArray[np.bool_] = (score == best)[where]
    return chosen
