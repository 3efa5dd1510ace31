"""Prices of nodes: the examples of docs/explain/prices.md, which entry wins, pieces, exactness."""

import re
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seedance.costs.pricing import gpu_model, price_at, price_pieces
from seedance.facts.costs import Reason
from seedance.facts.inventory import Node
from seedance.facts.prices import NodePrice, Unpriced
from seedance.facts.window import Window
from seedance.manifests.load import load_text
from seedance.manifests.pricebook import PriceBook
from seedance.manifests.priceentry import default_weights

PAGE = Path(__file__).parents[2] / "docs" / "explain" / "prices.md"
GIB = 2.0**30
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
DAY = Window(NOON - timedelta(hours=12), NOON + timedelta(hours=12))
FLAT = {"perResource": {"cpuCoreHour": "0.03", "memoryGiBHour": "0.004", "gpuHour": "2.00"}}


def book(*entries: Mapping[str, Any], **spec: Any) -> PriceBook:
    named = [{"name": f"entry-{index}", **entry} for index, entry in enumerate(entries)]
    return PriceBook.model_validate(
        {
            "apiVersion": "cost.seedance.io/v2",
            "kind": "PriceBook",
            "metadata": {"name": spec.pop("name", "book")},
            "spec": {"currency": "USD", "source": "test", **spec, "entries": named},
        }
    )


def node(cpu: float = 4, gib: float = 16, *, gpus: int = 0, model: str = "", **facts: Any) -> Node:
    capacity = {"cpu": cpu, "memory": gib * GIB, "nvidia.com/gpu": gpus, "pods": 110}
    labels = {"nvidia.com/gpu.product": model} if model else {}
    return Node(created=NOON, **{"capacity": capacity, "labels": labels, **facts})


def priced(found: NodePrice | Unpriced) -> NodePrice:
    assert isinstance(found, NodePrice), found
    return found


def price(one: PriceBook, what: Node, at: datetime = NOON) -> NodePrice:
    return priced(price_at([one], what, at))


EXAMPLES = {
    "A": FLAT,
    "B": {"nodeHour": "35", "splitWeights": {"cpu": 30, "memory": 10, "gpu": 30}, "unusual": "x"},
    "C": {"nodeHour": "1", "splitWeights": {"cpu": 9, "memory": 1, "gpu": 90}},
    "D": {"nodeHour": "10", "splitWeights": {"cpu": "0.9", "memory": "0.1", "gpu": 9}},
    "E": {"nodeHour": "1", "splitWeights": {"cpu": 1, "memory": 1, "gpu": 1}},
    "F": {
        "perResource": {"cpuCoreHour": "1", "memoryGiBHour": "0.5", "gpuHour": "12"},
        "discount": {"percent": 30},
    },
}


def _table(letter: str) -> tuple[dict[str, float], dict[str, Decimal]]:
    """Capacity and price per hour, as the page's example has them."""
    block = PAGE.read_text().split(f"**Example {letter} ", maxsplit=1)[1].split("\n\n", 1)[0]
    rows = [
        [cell.strip() for cell in line.strip("> |\n").split("|")]
        for line in block.splitlines()
        if line.startswith("> |") and "---" not in line
    ]
    heads, figures = rows[0][1:], rows[1][1:]
    capacity: dict[str, float] = {}
    for head in heads[:-1]:
        name, amount = head.split()[:2]
        capacity[name] = float(amount) * (GIB if name == "memory" else 1)
    names = [*capacity, "node"]
    return capacity, {name: Decimal(text) for name, text in zip(names, figures, strict=True)}


@pytest.mark.parametrize("letter", EXAMPLES)
def test_the_examples_of_the_page_come_out_to_the_last_place(letter: str) -> None:
    capacity, expected = _table(letter)
    found = price(book(EXAMPLES[letter]), Node(created=NOON, capacity=capacity))
    assert dict(found.per_hour) | {"node": found.total} == expected


def test_the_page_has_no_example_that_is_not_tested() -> None:
    assert re.findall(r"\*\*Example (\w) ", PAGE.read_text()) == list(EXAMPLES)


@pytest.mark.parametrize(
    ("weights", "model_share"),
    [
        (None, "0.84"),
        ({"cpu": "7.46", "memory": 1, "gpu": 224}, "0.34"),
        ({"cpu": 9, "memory": 1, "gpu": 90}, "0.16"),
    ],
)
def test_the_shares_of_eight_h100_that_the_page_states(
    weights: Mapping[str, Any] | None, model_share: str
) -> None:
    entry = {"nodeHour": "50"} | ({"splitWeights": weights} if weights else {})
    machine = node(192, 2048, gpus=8, model="NVIDIA-H100-80GB-HBM3")
    found = price(book(entry), machine)
    share = dict(found.per_hour)["nvidia.com/gpu"] / found.total
    assert f"{share:.2f}" == model_share


def test_the_default_weights_are_those_of_the_page() -> None:
    heads, _, figures = (
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in PAGE.read_text().split("| T4 |", 1)[1].splitlines()[:3]
    )
    stated = dict(zip(["T4", *heads], figures, strict=True))
    weights = default_weights()
    found = dict(weights.gpu.by_model) | {"any other": weights.gpu.default}
    assert found.pop("A10G") == found["A10"]
    found["A10, A10G"] = found.pop("A10")
    assert found == {model: Decimal(figure) for model, figure in stated.items()}
    assert (weights.cpu, weights.memory) == (Decimal("7.46"), 1)


def test_the_weights_of_the_split_are_told_in_the_source() -> None:
    found = price(book({"nodeHour": "1"}), node(gpus=1, model="Tesla-T4"))
    assert found.source == ("test; split cpu 7.46 : memory 1 : nvidia.com/gpu 83 (default weights)")


def test_flat_prices_price_the_gpus_of_a_node_without_a_gpu_label() -> None:
    assert price(book(FLAT), node(64, 512, gpus=8)).total == Decimal("19.968")


def test_unit_prices_of_a_large_node_without_labels_are_sums_not_one_core() -> None:
    ones = {"perResource": {"cpuCoreHour": "1", "memoryGiBHour": "1", "gpuHour": "1"}}
    assert price(book(ones), node(128, 512, gpus=4)).total == Decimal(644)


def test_a_discount_covers_gpus_and_can_be_set_apart_for_them() -> None:
    entry = {
        "perResource": {"cpuCoreHour": "0.2", "memoryGiBHour": "0.1", "gpuHour": "12"},
        "discount": {"percent": 30},
    }
    machine = node(5, 10, gpus=2)  # 1 + 1 + 24
    assert price(book(entry), machine).total == Decimal("18.20")
    entry["discount"] = {"percent": 30, "gpuPercent": 0}
    apart = price(book(entry), machine)
    assert apart.total == Decimal("25.40")
    assert apart.source == "test; 30 % off, accelerators 0 % off"


def test_a_discounted_node_price_still_adds_up() -> None:
    found = price(book({"nodeHour": "1", "discount": {"percent": 25}}), node(3, 7))
    assert found.total == Decimal("0.75")


def test_a_resource_without_capacity_costs_nothing_and_is_not_unpriced() -> None:
    found = price(book(FLAT), node(gpus=0))
    assert [name for name, _ in found.per_hour] == ["cpu", "memory"]
    assert found.unpriced == ()


@pytest.mark.parametrize(
    "resource", ["nvidia.com/gpu", "nvidia.com/mig-1g.10gb", "habana.ai/gaudi"]
)
def test_an_accelerator_without_a_price_is_unpriced_while_the_rest_keeps_its_price(
    resource: str,
) -> None:
    entry = {"perResource": {"cpuCoreHour": "0.03", "memoryGiBHour": "0.004"}}
    machine = Node(created=NOON, capacity={"cpu": 4, "memory": GIB, resource: 1, "pods": 110})
    found = price(book(entry), machine)
    assert found.unpriced == (resource,)
    assert dict(found.per_hour) == {"cpu": Decimal("0.12"), "memory": Decimal("0.004")}


def test_an_entry_that_prices_nothing_the_node_has_says_so() -> None:
    entry = {"perResource": {"resources": {"example.com/fpga": "1"}}}
    assert price_at([book(entry)], node(), NOON) == Unpriced(Reason.NO_RESOURCE_PRICE)


def test_other_resources_are_priced_by_name_and_storage_per_gib() -> None:
    entry = {"perResource": {"resources": {"ephemeral-storage": "0.0001", "habana.ai/gaudi": "3"}}}
    machine = Node(created=NOON, capacity={"ephemeral-storage": 100 * GIB, "habana.ai/gaudi": 8})
    found = price(book(entry), machine)
    assert dict(found.per_hour) == {"ephemeral-storage": Decimal("0.01"), "habana.ai/gaudi": 24}


MODELS = {
    "gpuHour": {
        "default": "1",
        "byModel": {"H100": "3", "A100": "1.5", "A100-80GB": "2", "L4": "0.5", "Tesla-T4": "0.3"},
    }
}


@pytest.mark.parametrize(
    ("model", "per_gpu"),
    [
        ("NVIDIA-H100-80GB-HBM3", "3"),
        ("nvidia-h100-80gb", "3"),
        ("NVIDIA-A100-SXM4-40GB", "1.5"),
        ("NVIDIA-A100-SXM4-80GB", "2"),
        ("A100-80GB", "2"),
        ("NVIDIA-L4", "0.5"),
        ("NVIDIA-L40S", "1"),
        ("tesla-t4", "0.3"),
        ("Tesla-T4-SHARED", "0.3"),
        ("", "1"),
    ],
)
def test_gpus_take_the_price_of_their_model(model: str, per_gpu: str) -> None:
    found = price(book({"perResource": MODELS}), node(gpus=2, model=model))
    assert dict(found.per_hour)["nvidia.com/gpu"] == 2 * Decimal(per_gpu)


def test_the_gpu_model_is_read_from_the_first_label_that_has_it() -> None:
    assert gpu_model({"cloud.google.com/gke-accelerator": "nvidia-l4"}) == "nvidia-l4"
    assert gpu_model({}) == ""


def test_a_node_without_capacity_is_unpriced() -> None:
    empty = Node(created=NOON)
    assert price_at([book({"nodeHour": "1"})], empty, NOON) == Unpriced(Reason.NO_CAPACITY)
    assert price_at([book(FLAT)], empty, NOON) == Unpriced(Reason.NO_CAPACITY)


def test_a_monthly_node_price_of_an_unknown_machine_is_caught_by_its_capacity() -> None:
    monthly = book({"nodeHour": "140.16"})
    assert price_at([monthly], node(4, 16), NOON) == Unpriced(Reason.IMPLAUSIBLE_PRICE)
    meant = price(book({"nodeHour": "140.16", "unusual": "leased with support"}), node(4, 16))
    assert meant.total == Decimal("140.16")
    assert meant.source.endswith("; unusual: leased with support")


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


amounts = st.decimals(0, 400, places=12, allow_nan=False, allow_infinity=False)


@settings(deadline=None)  # the first call of a busy machine may be slow
@given(
    amounts,
    st.lists(st.decimals("0.001", 1000, places=3), min_size=3, max_size=3),
    st.floats(0.001, 1000),
    st.integers(1, 2**44),
    st.integers(0, 16),
)
def test_the_parts_of_a_node_price_add_up_exactly_and_none_is_below_zero(
    total: Decimal, weights: list[Decimal], cpu: float, memory: int, gpus: int
) -> None:
    split = dict(zip(("cpu", "memory", "gpu"), map(str, weights), strict=True))
    entry = {"nodeHour": str(total), "splitWeights": split, "unusual": "any"}
    machine = Node(created=NOON, capacity={"cpu": cpu, "memory": memory, "nvidia.com/gpu": gpus})
    found = price(book(entry), machine)
    assert found.total == total
    assert all(part >= 0 for _, part in found.per_hour)


@settings(deadline=None)  # the first call of a busy machine may be slow
@given(st.decimals("0.000001", 1, places=12), st.floats(0.001, 1000), st.integers(1, 2**44))
def test_unit_prices_are_exact_to_half_a_pico(unit: Decimal, cpu: float, memory: int) -> None:
    entry = {"perResource": {"cpuCoreHour": str(unit), "memoryGiBHour": str(unit)}}
    machine = Node(created=NOON, capacity={"cpu": cpu, "memory": memory})
    found = dict(price(book(entry), machine).per_hour)
    assert abs(found["cpu"] - unit * Decimal(str(cpu))) <= Decimal("5e-13")
    assert abs(found["memory"] - unit * Decimal(memory) / 2**30) <= Decimal("5.01e-13")


def test_a_thousand_nodes_and_sixty_entries_take_less_than_half_a_second() -> None:
    entries = [{"node": {"instanceType": f"type-{i}"}, "nodeHour": "1"} for i in range(50)]
    entries += [{"node": {"pool": f"pool-{i}"}, "nodeHour": "1"} for i in range(9)]
    one = book(*entries, FLAT)
    nodes = [
        node(8, 32, gpus=i % 2, instance_type=f"type-{i % 70}", pool=f"pool-{i % 30}")
        for i in range(1000)
    ]
    hour = Window(NOON, NOON + timedelta(hours=1))
    began = time.process_time()
    for machine in nodes:
        price_pieces([one], machine, hour)
    assert time.process_time() - began < 0.5
