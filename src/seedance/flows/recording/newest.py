"""The newest samples of every series: what order, resends and conflicts are judged by.

A sample newer than the newest of its series is taken without a further look, which is nearly
all of them and goes in arrays. The others are looked at one by one: is the same sample there
(a resend, taken as written), another value at that time (a conflict), or is it merely late?
The last few samples of a series are remembered here; what lies before them is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from seedance.facts.samples import IntArray

_KEPT = 8
"""Samples remembered per series."""
_NEVER = np.iinfo(np.int64).min
_FIRST_SIZE = 1024

BitArray = npt.NDArray[np.int64]
"""Values by their bits, so that NaNs compare."""

Found = Mapping[tuple[int, int], int]
"""(series, ms) to the bits of the value that is stored there."""

LookUp = Callable[[Collection[int], int, int], Found]
"""Asks for stored samples of series in [first, last] ms."""

LastOf = Callable[[Collection[int]], Mapping[int, int]]
"""Asks for the ms of the newest stored sample of series; those without any are left out."""


class Verdict(IntEnum):
    """What a sample is, next to what is there."""

    NEW = 0
    RESEND = 1
    OUT_OF_ORDER = 2
    CONFLICT = 3


class Newest:
    """Newest timestamp and last few samples by series number; not thread-safe.

    For each series, all its samples at or after `_floor` are in its ring of `_KEPT`.
    """

    def __init__(self, *, look_up: LookUp, last_of: LastOf, late_ms: int) -> None:
        self._look_up = look_up
        self._last_of = last_of
        self._late_ms = late_ms
        self._since = _NEVER
        self.last: IntArray = np.full(_FIRST_SIZE, _NEVER, np.int64)
        self._floor: IntArray = np.full(_FIRST_SIZE, _NEVER, np.int64)
        self._unsure = np.zeros(_FIRST_SIZE, np.bool_)
        self._times: IntArray = np.full((_FIRST_SIZE, _KEPT), _NEVER, np.int64)
        self._bits: BitArray = np.zeros((_FIRST_SIZE, _KEPT), np.int64)

    def reserve(self, sid: int) -> None:
        """Make room for series numbers up to `sid`."""
        while sid >= len(self.last):
            self.last = np.concatenate([self.last, np.full_like(self.last, _NEVER)])
            self._floor = np.concatenate([self._floor, np.full_like(self._floor, _NEVER)])
            self._unsure = np.concatenate([self._unsure, np.zeros_like(self._unsure)])
            self._times = np.concatenate([self._times, np.full_like(self._times, _NEVER)])
            self._bits = np.concatenate([self._bits, np.zeros_like(self._bits)])

    def load(self, *, stored: IntArray, since: int, sid: IntArray, ts: IntArray) -> None:
        """Begin from a store that knows the series `stored`.

        `ts` are the newest samples at or after `since` ms of the series `sid`; all the other
        series have none since then, and are asked for when an older sample arrives.
        """
        self.reserve(int(stored.max(initial=0)))
        self._since = since
        self.last[stored] = since - 1
        self._floor[stored] = since
        self._unsure[stored] = True
        self.last[sid] = ts
        self._floor[sid] = ts + 1
        self._unsure[sid] = False

    def judge(self, sid: IntArray, ts: IntArray, bits: BitArray) -> npt.NDArray[np.uint8]:
        """A `Verdict` per sample, in the order given; nothing is remembered yet."""
        verdicts = np.zeros(len(sid), np.uint8)
        order = np.argsort(sid, kind="stable")
        series, times = sid[order], ts[order]
        before = self.last[series]
        same = series[1:] == series[:-1]
        before[1:][same] = times[:-1][same]
        behind = times <= before
        if behind.any():
            slow = np.flatnonzero(np.isin(sid, series[behind]))
            verdicts[slow] = self._judge_each(sid[slow], ts[slow], bits[slow])
        return verdicts

    def _judge_each(self, sid: IntArray, ts: IntArray, bits: BitArray) -> list[Verdict]:
        self._ask_for_last(sid, ts)
        there = self._there(sid, ts)
        last = dict(zip(sid.tolist(), self.last[sid].tolist(), strict=True))
        verdicts = []
        for one, at, value in zip(sid.tolist(), ts.tolist(), bits.tolist(), strict=True):
            stored = there.get((one, at))
            if stored is not None:
                verdicts.append(Verdict.RESEND if stored == value else Verdict.CONFLICT)
            elif at < last[one] - self._late_ms:
                verdicts.append(Verdict.OUT_OF_ORDER)
            else:
                verdicts.append(Verdict.NEW)
                there[one, at] = value
                last[one] = max(last[one], at)
        return verdicts

    def _ask_for_last(self, sid: IntArray, ts: IntArray) -> None:
        early = np.unique(sid[self._unsure[sid] & (ts < self._floor[sid])])
        # A series that had a sample since the start is late against that one.
        asked = early[self.last[early] < self._since]
        if len(asked):
            found = self._last_of(asked.tolist())
            last = np.array([found.get(one, _NEVER) for one in asked.tolist()], np.int64)
            self.last[asked] = last
            self._floor[asked] = np.where(last == _NEVER, _NEVER, last + 1)
        self._unsure[early] = False

    def _there(self, sid: IntArray, ts: IntArray) -> dict[tuple[int, int], int]:
        """The samples of these series that are remembered or stored at these times."""
        there: dict[tuple[int, int], int] = {}
        for one in np.unique(sid).tolist():
            for at, value in zip(self._times[one].tolist(), self._bits[one].tolist(), strict=True):
                if at != _NEVER:
                    there[one, at] = value
        below = ts < self._floor[sid]
        if below.any():
            times = ts[below]
            wanted = set(np.unique(sid[below]).tolist())
            there.update(self._look_up(wanted, int(times.min()), int(times.max())))
        return there

    def commit(self, sid: IntArray, ts: IntArray, bits: BitArray) -> None:
        """Remember samples that were taken."""
        if not len(sid):
            return
        order = np.lexsort((ts, sid))
        series, times, values = sid[order], ts[order], bits[order]
        last_of_each = np.flatnonzero(np.append(series[1:] != series[:-1], [True]))
        group = np.searchsorted(last_of_each, np.arange(len(series)))
        rank = last_of_each[group] - np.arange(len(series))
        skipped = rank == _KEPT
        self._raise_floor(series[skipped], times[skipped])
        for each in range(min(_KEPT - 1, int(rank.max(initial=0))), -1, -1):
            now = rank == each
            self._remember(series[now], times[now], values[now])
        ends = series[last_of_each]
        self.last[ends] = np.maximum(self.last[ends], times[last_of_each])

    def _remember(self, sid: IntArray, ts: IntArray, bits: BitArray) -> None:
        """At most one sample per series: the oldest of the ring and it gives way."""
        known = ts >= self._floor[sid]
        sid, ts, bits = sid[known], ts[known], bits[known]
        slot = np.argmin(self._times[sid], axis=1)
        oldest = self._times[sid, slot]
        takes = ts > oldest
        self._times[sid[takes], slot[takes]] = ts[takes]
        self._bits[sid[takes], slot[takes]] = bits[takes]
        dropped = np.where(takes, oldest, ts)
        gone = dropped != _NEVER
        self._raise_floor(sid[gone], dropped[gone])

    def _raise_floor(self, sid: IntArray, ts: IntArray) -> None:
        self._floor[sid] = np.maximum(self._floor[sid], ts + 1)
