"""Price books and nodes made in one line, for tests of prices."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from seedance.costs.pricing import price_at
from seedance.facts.inventory import Node
from seedance.facts.prices import NodePrice, Unpriced
from seedance.facts.window import Window
from seedance.manifests.pricebook import PriceBook

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
