"""The worked examples of docs/explain/cost-arithmetic.md, by their numbers, and public cases."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import pytest

from seedance.facts.costs import Flag
from seedance.facts.inventory import Node
from seedance.facts.prices import NodePrice, Unpriced
from seedance.facts.window import Window

from .scene import GIB, Scene, a_container, at, per_unit, total


def sums_exactly(scene: Scene, rows: Sequence[object]) -> None:
    assert scene.violations == []
    assert total(rows) == scene.node_costs  # type: ignore[arg-type]


def test_example_1_two_lives_of_one_name_are_two_rows_each_at_its_nodes_price() -> None:
    prices = {"a": Decimal("1.00"), "b": Decimal("0.40")}

    def price_of(node: Node, window: Window) -> list[tuple[Window, NodePrice | Unpriced]]:
        pot = prices[node.pool] * Decimal(str(node.capacity["cpu"]))
        price = NodePrice(
            (("cpu", pot), ("memory", Decimal(0))), "USD", "b", "e", "t", estimate=False
        )
        return [(window, price)]

    scene = Scene(price_of)
    for name in ("a", "b"):
        scene.node(name, cpu=2)
        life = scene.nodes[-1]
        facts = Node(created=at(0), capacity=life.newest.capacity, pool=name)
        scene.nodes[-1] = type(life)(
            life.uid, "", name, "Node", ((life.versions[0][0], facts),), life.end, estimated=False
        )
    scene.pod("trainer-0", node="a", cpu=1, scheduled=0, gone=120)
    scene.pod("trainer-0", node="b", cpu=1, scheduled=22 * 60, gone=24 * 60)
    rows = scene.settle(hours_=24)
    assert total(rows, "trainer-0") == Decimal("2.80")
    mine = [r for r in rows if r.who == "trainer-0/main" and r.resource == "cpu"]
    assert sum(r.charged for r in mine) == pytest.approx(4.0)
    assert len(mine) == 4
    sums_exactly(scene, rows)


@pytest.mark.parametrize("scrape", [None, 1, 5])
def test_example_2_a_short_job_costs_its_seconds_whatever_the_scrapes(scrape: int | None) -> None:
    scene = Scene(per_unit(cpu="0.03", memory="0.004", gpu=3))
    scene.node(cpu=64, memory_gib=512, gpu=8)
    scene.pod("job", gpu=8, scheduled=10, finished=11.5)
    if scrape:
        scene.use("job", "cpu", (10 + scrape / 2, 3.0), (10 + scrape, 6.0))
    rows = scene.settle()
    assert total(rows, "job", "nvidia.com/gpu") == Decimal("0.60")
    sums_exactly(scene, rows)


def test_example_3_waiting_for_an_image_costs_what_is_reserved() -> None:
    scene = Scene(per_unit(gpu=3, cpu=0, memory=0))
    scene.node(gpu=1)
    scene.pod("pull", containers=[a_container(gpu=1, started=None)])
    rows = scene.settle()
    assert total(rows, "pull") == Decimal("3.00")
    row = next(r for r in rows if r.who == "pull/main" and r.resource == "nvidia.com/gpu")
    assert Flag.RESERVED_NOT_RUNNING in row.flags
    assert Flag.NO_METRICS not in row.flags  # there is no metric of a GPU's use to be without
    sums_exactly(scene, rows)


def test_example_6_overcommit_conserves_the_node() -> None:
    scene = Scene(per_unit(cpu=0, memory=1))
    scene.node(memory_gib=1)
    scene.pod("p1")
    scene.pod("p2", memory_gib=1)
    scene.steady("p1", memory_gib=1)
    scene.steady("p2", memory_gib=0)
    rows = scene.settle()
    assert total(rows, "p1") == total(rows, "p2") == Decimal("0.50")
    assert total(rows, "n:idle", "memory") == 0
    row = next(r for r in rows if r.who == "p1/main" and r.resource == "memory")
    assert row.overcommit == pytest.approx(2.0)
    assert Flag.OVERCOMMITTED in row.flags
    assert row.used == pytest.approx(1.0)
    sums_exactly(scene, rows)


def test_example_7_a_price_change_is_applied_to_the_minutes_on_each_side() -> None:
    def price_of(node: Node, window: Window) -> list[tuple[Window, NodePrice | Unpriced]]:
        noon = at(12 * 60 + 30)
        parts = [
            (Window(window.start, min(window.end, noon)) if window.start < noon else None, "1.00"),
            (Window(max(window.start, noon), window.end) if window.end > noon else None, "2.00"),
        ]
        return [
            (
                part,
                NodePrice(
                    (("cpu", Decimal(price) * 4), ("memory", Decimal(0))),
                    "USD",
                    "b",
                    price,
                    "t",
                    estimate=False,
                ),
            )
            for part, price in parts
            if part
        ]

    scene = Scene(price_of)
    scene.node(cpu=4)
    scene.pod("p", cpu=1, scheduled=12 * 60)
    rows = scene.settle(hours_=24)
    assert total(rows, "p") == Decimal("23.50")  # half an hour at 1.00, eleven and a half at 2.00
    sums_exactly(scene, rows)


def test_example_8_flat_prices_count_cores_memory_and_gpus() -> None:
    scene = Scene(per_unit(cpu="0.03", memory="0.004", gpu="2.00"))
    scene.node(cpu=64, memory_gib=512, gpu=8)
    rows = scene.settle()
    assert total(rows) == Decimal("19.968") == scene.node_costs
    assert {r.who for r in rows} == {"n:idle"}


def test_use_above_the_request_is_charged_and_below_it_is_unused() -> None:
    scene = Scene(per_unit(cpu=1, memory=0))
    scene.node(cpu=4)
    scene.pod("big", cpu=1)
    scene.pod("small", cpu=1)
    scene.steady("big", cpu=2)
    scene.steady("small", cpu=0.25)
    rows = scene.settle()
    assert total(rows, "big") == Decimal(2)
    assert total(rows, "small") == Decimal(1)
    row = next(r for r in rows if r.who == "small/main" and r.resource == "cpu")
    assert row.unused == pytest.approx(0.75)
    assert total(rows, "n:idle") == Decimal(1)
    sums_exactly(scene, rows)


def test_an_init_container_that_is_done_leaves_no_doubt_about_the_rest_of_the_node() -> None:
    scene = Scene(per_unit(cpu=1))
    scene.node(cpu=4)
    init = a_container("init", type="init", started=0, finished=3)
    scene.pod("p", containers=[a_container(cpu=1), init])
    scene.steady("p", cpu=1)
    rows = scene.settle()
    doubt = total(rows, "n:unattributed", "cpu")
    assert doubt == pytest.approx(Decimal(3) * 3 / 60, abs=Decimal("1e-9"))
    assert total(rows, "n:idle", "cpu") == Decimal(3) - doubt


def test_unknown_use_makes_the_rest_of_the_node_unattributed_unless_a_limit_forbids_it() -> None:
    scene = Scene(per_unit(cpu=1, memory=0))
    scene.node(cpu=4)
    scene.pod("blind", cpu=1)
    rows = scene.settle()
    assert total(rows, "n:idle", "cpu") == 0
    assert total(rows, "n:unattributed", "cpu") == Decimal(3)
    row = next(r for r in rows if r.who == "blind/main" and r.resource == "cpu")
    assert Flag.NO_METRICS in row.flags
    assert row.cost == Decimal(1)
    sums_exactly(scene, rows)

    bounded = Scene(per_unit(cpu=1, memory=0))
    bounded.node(cpu=4)
    limits = {"cpu": 1.0, "memory": GIB}
    bounded.pod("blind", containers=[a_container(cpu=1, memory_gib=1, limits=limits)])
    rows = bounded.settle()
    assert total(rows, "n:idle", "cpu") == Decimal(3)
    assert total(rows, "n:unattributed") == 0


def test_what_the_kubelet_keeps_back_is_the_system_row_until_pods_need_it() -> None:
    scene = Scene(per_unit(cpu=1, memory=0))
    scene.node(cpu=4, kept_back={"cpu": 0.5})
    scene.pod("p", cpu=1)
    scene.steady("p", cpu=3.8)
    rows = scene.settle()
    assert total(rows, "p") == Decimal("3.8")
    assert total(rows, "n:system", "cpu") == Decimal("0.2")
    sums_exactly(scene, rows)


def test_a_pod_that_outlives_its_node_costs_nothing_afterwards() -> None:
    scene = Scene(per_unit(cpu=1, memory=0))
    scene.node(cpu=4, dies=30)
    scene.pod("p", cpu=1)
    rows = scene.settle()
    assert total(rows, "p") == Decimal("0.5")
    assert (
        Flag.NODE_GONE in next(r for r in rows if r.who == "p/main" and r.resource == "cpu").flags
    )
    assert scene.node_costs == Decimal(2)
    sums_exactly(scene, rows)


def test_the_excess_of_the_effective_request_is_the_pods_own_row() -> None:
    scene = Scene(per_unit(cpu=1, memory=0))
    scene.node(cpu=8)
    init = a_container("init", type="init", cpu=3)
    scene.pod("p", containers=[a_container(cpu=1), init], effective={"cpu": 3.0})
    scene.use("p", "cpu", *((m, 60.0 * m) for m in range(61)))
    scene.use("p", "cpu", (0, 0.0), (1, 120.0), (2, 240.0), container="init")
    rows = scene.settle()
    assert total(rows, "p") == Decimal(3)  # never below the reservation, never above it here
    init_row = next(r for r in rows if r.who == "p/init" and r.resource == "cpu")
    assert init_row.charged == pytest.approx(4 / 60)
    sums_exactly(scene, rows)


def test_no_price_is_no_money_but_still_a_quantity() -> None:
    scene = Scene(lambda _node, window: [(window, Unpriced("no-matching-entry"))])
    scene.node(cpu=4)
    scene.pod("p", cpu=1)
    rows = scene.settle()
    assert all(r.cost is None and r.reason == "no-matching-entry" for r in rows)
    assert next(r for r in rows if r.who == "p/main").charged == pytest.approx(1.0)


def test_the_running_hour_is_settled_up_to_now() -> None:
    scene = Scene(per_unit(cpu=1, memory=0))
    scene.node(cpu=2)
    scene.pod("p", cpu=1)
    rows = scene.settle(until=15)
    assert scene.node_costs == Decimal("0.5")
    assert total(rows, "p") == Decimal("0.25")
    sums_exactly(scene, rows)
