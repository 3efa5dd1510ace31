"""Order, resends and conflicts against the plainest model there is: a dictionary of all samples."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from seedance.flows.recording.newest import Newest, Verdict

LATE = 15
Batch = list[tuple[int, int, int]]


class Model:
    """Every sample ever taken: {(series, ms): bits}."""

    def __init__(self) -> None:
        self.taken: dict[tuple[int, int], int] = {}

    def last(self, sid: int) -> int | None:
        return max((ts for of, ts in self.taken if of == sid), default=None)

    def judge(self, batch: Batch) -> list[Verdict]:
        before = dict(self.taken)
        verdicts = [self._judge_one(*sample) for sample in batch]
        self.taken = before
        return verdicts

    def _judge_one(self, sid: int, ts: int, bits: int) -> Verdict:
        there = self.taken.get((sid, ts))
        if there is not None:
            return Verdict.RESEND if there == bits else Verdict.CONFLICT
        last = self.last(sid)
        if last is not None and ts < last - LATE:
            return Verdict.OUT_OF_ORDER
        self.taken[sid, ts] = bits
        return Verdict.NEW


def fresh(model: Model) -> Newest:
    """The state of a new process over a store that holds what the model holds."""

    def look_up(sids: Collection[int], first: int, last: int) -> dict[tuple[int, int], int]:
        return {
            key: bits
            for key, bits in model.taken.items()
            if key[0] in sids and first <= key[1] <= last
        }

    def last_of(sids: Collection[int]) -> dict[int, int]:
        found = {sid: model.last(sid) for sid in sids}
        return {sid: ts for sid, ts in found.items() if ts is not None}

    return Newest(look_up=look_up, last_of=last_of, late_ms=LATE)


def restart(model: Model, since: int) -> Newest:
    newest = fresh(model)
    stored = sorted({sid for sid, _ in model.taken})
    lasts = {sid: model.last(sid) for sid in stored}
    recent = {sid: ts for sid, ts in lasts.items() if ts is not None and ts >= since}
    newest.load(
        stored=np.array(stored, np.int64),
        since=since,
        sid=np.array(list(recent), np.int64),
        ts=np.array(list(recent.values()), np.int64),
    )
    return newest


SAMPLES = st.lists(
    st.tuples(st.integers(1, 3), st.integers(0, 80), st.integers(0, 1)), min_size=1, max_size=25
)
RISING = st.tuples(st.integers(1, 3), st.integers(0, 60), st.integers(1, 20)).map(
    lambda run: [(run[0], run[1] + step, 0) for step in range(run[2])]
)
STEPS = st.lists(
    st.one_of(SAMPLES, RISING, st.integers(0, 90).map(lambda since: ("restart", since))),
    max_size=12,
)


@settings(max_examples=400, deadline=None)
@given(STEPS)
def test_verdicts_are_those_of_the_model(steps: list[Batch | tuple[str, int]]) -> None:
    model = Model()
    newest = fresh(model)
    newest.reserve(3)
    for step in steps:
        if isinstance(step, tuple):
            newest = restart(model, step[1])
            newest.reserve(3)
            continue
        sid, ts, bits = (np.array(column, np.int64) for column in zip(*step, strict=True))
        verdicts = newest.judge(sid, ts, bits)
        assert [Verdict(each) for each in verdicts.tolist()] == model.judge(step)
        taken = verdicts == Verdict.NEW
        newest.commit(sid[taken], ts[taken], bits[taken])
        for sample in np.flatnonzero(taken).tolist():
            of, at, value = step[sample]
            model.taken[of, at] = value


def test_numbers_of_series_may_grow() -> None:
    newest = fresh(Model())
    newest.reserve(10_000)
    sid = np.array([9_999, 1], np.int64)
    newest.commit(sid, np.array([5, 6]), np.array([1, 1]))
    assert newest.judge(sid, np.array([5, 7]), np.array([1, 1])).tolist() == [1, 0]
