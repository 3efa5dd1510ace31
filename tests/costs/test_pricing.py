"""Prices of nodes: the examples of docs/explain/prices.md."""

import re
import time
from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seedance.costs.pricing import gpu_model, price_at, price_pieces
from seedance.facts.costs import Reason
from seedance.facts.inventory import Node
from seedance.facts.prices import Unpriced
from seedance.facts.window import Window
from seedance.manifests.priceentry import default_weights

from .priced_nodes import FLAT, GIB, NOON, book, node, price

PAGE = Path(__file__).parents[2] / "docs" / "explain" / "prices.md"

EXAMPLES: dict[str, dict[str, Any]] = {
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
