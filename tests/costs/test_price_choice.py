"""Which entry prices a node, and when: selectors, order, pieces of a window."""

from datetime import datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seedance.costs.pricing import price_at, price_pieces
from seedance.facts.costs import Reason
from seedance.facts.prices import NodePrice, Unpriced
from seedance.facts.window import Window
from seedance.manifests.load import load_text

from .priced_nodes import DAY, FLAT, NOON, book, node, price, priced


def test_without_a_book_in_force_and_without_an_entry_that_fits_the_reasons_differ() -> None:
    old = book(FLAT, validTo="2026-01-01T00:00:00Z")
    assert price_at([], node(), NOON) == Unpriced(Reason.NO_PRICE_BOOK)
    assert price_at([old], node(), NOON) == Unpriced(Reason.NO_PRICE_BOOK)
    elsewhere = book({"node": {"zone": "a"}, **FLAT})
    assert price_at([elsewhere], node(zone="b"), NOON) == Unpriced(Reason.NO_MATCHING_ENTRY)


SELECTORS: list[tuple[dict[str, Any], bool]] = [
    ({}, True),
    ({"instanceType": "m5.large"}, True),
    ({"instanceType": ["c5.large", "m5.large"]}, True),
    ({"instanceType": "m5.xlarge"}, False),
    ({"instanceType": "m5.large", "zone": "b"}, False),
    ({"capacityType": "spot", "zone": "a", "region": "r", "pool": "p"}, True),
    ({"labels": {"team.io/name": "x"}}, True),
    ({"labels": {"team-io/name": "x"}}, False),
]


@pytest.mark.parametrize(("selector", "fits"), SELECTORS)
def test_a_selector_fits_if_all_that_it_names_fits(selector: dict[str, Any], fits: bool) -> None:
    machine = node(
        instance_type="m5.large",
        capacity_type="spot",
        zone="a",
        region="r",
        pool="p",
        labels={"team.io/name": "x"},
    )
    found = price_at([book({"node": selector, **FLAT})], machine, NOON)
    assert isinstance(found, NodePrice) == fits


def test_priority_beats_specificity_beats_a_later_start() -> None:
    machine = node(zone="a", pool="p")
    plain, zone, late = (
        {"nodeHour": "1"},
        {"nodeHour": "2", "node": {"zone": "a"}},
        {
            "nodeHour": "3",
            "validFrom": "2026-06-01T00:00:00Z",
        },
    )
    assert price(book(plain, zone, late), machine).total == 2
    assert price(book(plain, late), machine).total == 3
    assert price(book(plain | {"priority": 1}, zone, late), machine).total == 1
    both = [book(zone, name="a"), book(plain, name="b", priority=1)]
    assert priced(price_at(both, machine, NOON)).book == "b"


def test_any_book_beats_the_built_in_sheet_and_spot_has_no_list_price() -> None:
    mine = load_text(
        """
        apiVersion: cost.seedance.io/v2
        kind: PriceBook
        metadata: {name: mine}
        spec:
          currency: USD
          source: s
          priority: -1000
          entries: [{name: lab, node: {pool: lab}, nodeHour: 0.1}]
        """
    ).books
    lab = node(instance_type="m5.xlarge", pool="lab")
    assert priced(price_at(mine, lab, NOON)).book == "mine"
    listed = priced(price_at(mine, node(instance_type="m5.xlarge"), NOON))
    assert (listed.book, listed.total, listed.estimate) == (
        "list-prices-aws",
        Decimal("0.192"),
        True,
    )
    spot = node(instance_type="m5.xlarge", capacity_type="spot")
    assert price_at(mine, spot, NOON) == Unpriced(Reason.NO_MATCHING_ENTRY)


def test_a_price_change_cuts_the_window_where_it_happens() -> None:
    changing = book(
        {"perResource": {"cpuCoreHour": "1.00"}, "validTo": "2026-11-30T12:00:00Z"},
        {"perResource": {"cpuCoreHour": "2.00"}, "validFrom": "2026-11-30T12:00:00Z"},
    )
    pieces = price_pieces([changing], node(1, 0), DAY)
    assert [(piece, priced(found).total) for piece, found in pieces] == [
        (Window(DAY.start, NOON), 1),
        (Window(NOON, DAY.end), 2),
    ]
    afternoon = price_pieces([changing], node(1, 0), Window(NOON, DAY.end))
    cost = sum(priced(found).total * int(piece.seconds) / 3600 for piece, found in afternoon)
    assert cost == Decimal("24.00")


def test_a_gap_between_books_is_unpriced_for_just_that_time() -> None:
    gap = [
        book(FLAT, name="before", validTo="2026-11-30T06:00:00Z"),
        book(FLAT, name="after", validFrom="2026-11-30T07:00:00Z"),
    ]
    reasons = [getattr(found, "reason", "") for _, found in price_pieces(gap, node(), DAY)]
    assert reasons == ["", Reason.NO_PRICE_BOOK, ""]


def test_changes_of_entries_that_do_not_matter_do_not_cut() -> None:
    other = book(FLAT, {"node": {"zone": "z"}, "validFrom": "2026-11-30T12:00:00Z", **FLAT})
    assert len(price_pieces([other], node(zone="a"), DAY)) == 1
    lower = book(FLAT, {"priority": -1, "validFrom": "2026-11-30T12:00:00Z", **FLAT})
    assert len(price_pieces([lower], node(), DAY)) == 1


instants = st.integers(-3000, 3000).map(lambda minutes: NOON + timedelta(minutes=minutes))


@settings(deadline=None)  # the first call of a busy machine may be slow
@given(st.lists(st.tuples(instants, instants, st.integers(0, 3)), max_size=8), instants, instants)
def test_pieces_cover_the_window_exactly_and_no_two_neighbours_are_equal(
    entries: list[tuple[datetime, datetime, int]], start: datetime, end: datetime
) -> None:
    if start == end:
        return
    window = Window(min(start, end), max(start, end))
    made = [
        {"nodeHour": str(index + 1), "priority": priority, "validFrom": low, "validTo": high}
        for index, (low, high, priority) in enumerate(entries)
        if low < high
    ]
    pieces = price_pieces([book(*made)] if made else [], node(), window)
    assert [piece.start for piece, _ in pieces[1:]] == [piece.end for piece, _ in pieces[:-1]]
    assert (pieces[0][0].start, pieces[-1][0].end) == (window.start, window.end)
    assert all(one[1] != other[1] for one, other in pairwise(pieces))
    books = [book(*made)] if made else []
    for piece, found in pieces:
        assert price_at(books, node(), piece.start) == found
        assert price_at(books, node(), piece.end - timedelta(minutes=1)) == found
