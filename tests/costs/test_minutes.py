"""Samples to minutes: counters, gauges, gaps, resets, stale markers, lifetimes and sources."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seedance.costs.minutes import Grid, Lanes, MinuteUse, combine, minute_use
from seedance.facts.samples import STALE_BITS, SampleColumns

T0 = 1_793_491_200_000
GAP = 300_000
STALE = np.array([STALE_BITS]).view(np.float64)[0]


def columns(*points: tuple[int, float, float]) -> SampleColumns:
    """Samples (sid, seconds after T0, value)."""
    return SampleColumns(
        np.array([p[0] for p in points], np.int64),
        np.array([T0 + round(p[1] * 1000) for p in points], np.int64),
        np.array([p[2] for p in points], np.float64),
    )


def lanes(*rows: tuple[int, float, float, float]) -> Lanes:
    """Lanes (sid, start, end, began) in seconds after T0; began -1 for unknown."""
    return Lanes(
        np.array([r[0] for r in rows], np.int64),
        np.array([T0 + round(r[1] * 1000) for r in rows], np.int64),
        np.array([T0 + round(r[2] * 1000) for r in rows], np.int64),
        np.array([-1 if r[3] < 0 else T0 + round(r[3] * 1000) for r in rows], np.int64),
    )


ONE = lanes((1, 0, 1e6, -1))


def use(samples: SampleColumns, table: Lanes = ONE, minutes: int = 6, *, counter: bool = True):  # noqa: ANN201
    return minute_use(samples, table, grid=Grid(T0, minutes), gap_ms=GAP, counter=counter)


def test_example_4_a_fall_is_a_reset_and_the_new_value_its_increase() -> None:
    found = use(columns((1, 0, 100), (1, 60, 130), (1, 120, 10)))
    assert found.used[0, :3].tolist() == [30.0, 10.0, 0.0]
    assert found.known[0, :3].tolist() == [60000, 60000, 0]


def test_example_5_nothing_is_known_across_a_gap_longer_than_the_limit() -> None:
    assert use(columns((1, 0, 0), (1, 360, 999))).known.sum() == 0
    found = use(columns((1, 0, 0), (1, 300, 150)))
    assert found.used[0, :5].tolist() == [30.0] * 5
    assert found.known[0].tolist() == [60000] * 5 + [0]


def test_a_gauge_holds_its_earlier_value() -> None:
    found = use(columns((1, 0, 10), (1, 30, 20), (1, 90, 5)), counter=False)
    assert found.used[0, :2].tolist() == [10 * 30 + 20 * 30, 20 * 30]
    assert found.known[0, :2].tolist() == [60000, 30000]


def test_a_stale_marker_ends_a_series_and_an_ordinary_nan_is_no_measurement() -> None:
    for broken in (STALE, np.nan, np.inf):
        found = use(columns((1, 0, 0), (1, 60, 30), (1, 90, broken), (1, 120, 60), (1, 180, 90)))
        assert found.known[0].tolist() == [60000, 0, 60000, 0, 0, 0]


def test_the_time_from_the_start_of_a_container_to_its_first_sample_is_known() -> None:
    found = use(columns((1, 90, 45)), lanes((1, 0, 1e6, 30)))
    assert found.used[0, :2].tolist() == [22.5, 22.5]
    assert found.known[0, :2].tolist() == [30000, 30000]
    late = use(columns((1, 400, 45)), lanes((1, 0, 1e6, 30)), minutes=8)
    assert late.known.sum() == 0


def test_a_counter_is_never_differenced_across_two_lives() -> None:
    table = lanes((1, 0, 100, -1), (1, 110, 1e6, -1))
    found = use(columns((1, 0, 0), (1, 60, 30), (1, 120, 60), (1, 180, 90)), table)
    assert found.used[0].sum() == 30.0
    assert found.used[1].sum() == 30.0
    assert found.used[1, 2] == 30.0


def test_samples_in_any_order_and_twice_give_the_same() -> None:
    points = [(1, 0.0, 0.0), (1, 60.0, 30.0), (1, 125.0, 70.0), (2, 10.0, 1.0), (2, 70.0, 9.0)]
    table = lanes((1, 0, 1e6, -1), (2, 0, 1e6, -1))
    straight = use(columns(*points), table)
    mixed = use(columns(*reversed(points), points[1], points[4]), table)
    assert np.array_equal(straight.used, mixed.used)
    assert np.array_equal(straight.known, mixed.known)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(1, 290), min_size=1, max_size=30),
    st.lists(st.floats(0, 100, allow_nan=False), min_size=31, max_size=31),
)
def test_the_whole_increase_arrives_in_the_minutes(steps: list[int], rises: list[float]) -> None:
    at, total, points = 0, 0.0, [(1, 0.0, 0.0)]
    for step, rise in zip(steps, rises, strict=False):
        at, total = at + step, total + rise
        points.append((1, float(at), total))
    found = use(columns(*points), minutes=at // 60 + 1)
    assert float(found.used.sum(dtype=np.float64)) == pytest.approx(total, rel=1e-5, abs=1e-5)
    assert int(found.known.sum(dtype=np.int64)) == at * 1000


def test_two_lanes_of_one_source_add_and_known_time_stays_within_the_minute() -> None:
    each = MinuteUse(np.full((2, 1), 30.0, np.float32), np.full((2, 1), 60_000, np.uint16))
    zero = np.zeros(2, np.int64)
    found = combine(each, slot=zero, pod=zero, rank=zero, slots=1)
    assert (found.used[0, 0], found.known[0, 0]) == (60.0, 60_000)


def test_of_two_sources_the_one_that_knows_more_feeds_the_pod_and_rank_breaks_ties() -> None:
    used = np.array([[10.0, 10.0], [99.0, 99.0]], np.float32)
    known = np.array([[60_000, 30_000], [60_000, 60_000]], np.uint16)
    found = combine(
        MinuteUse(used, known),
        slot=np.zeros(2, np.int64),
        pod=np.zeros(2, np.int64),
        rank=np.array([0, 1]),
        slots=1,
    )
    assert found.used[0].tolist() == [10.0, 99.0]
