"""The biggest wastes of a window, found through the question that API, pages and client ask.

Three things count as waste: capacity of a machine type that nobody requested, what a workload is
charged for and did not use, and GPUs that a workload held in hours in which its processes slept.
The money of the three never overlaps: idle is nobody's, unused is cores and memory, held is GPUs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from seedance.costs.pricing import is_accelerator
from seedance.facts.costquery import CostQuery
from seedance.flows.reporting.answers import CostAnswer, CostItem, ResourceOf

Ask = Callable[[CostQuery], CostAnswer]
"""Answers a cost query at the moment of the report."""

ASLEEP = 0.02
"""A process that uses less than this share of its requested cores in an hour sleeps."""

_AWAKE = 0.7
"""Workloads that use this share of their cores over the window are not looked at by the hour."""

_MOST = 100
_WORKLOAD = ("cluster", "namespace", "workload")


@dataclass(frozen=True, slots=True)
class Waste:
    """Money that bought nothing, in words, and the question whose answer shows it."""

    cost: Decimal
    title: str
    why: str
    query: CostQuery


def biggest(ask: Ask, window: str, *, count: int = 3) -> list[Waste]:
    """The `count` biggest wastes of a window, biggest first."""
    found = [*_idle(ask, window), *_unused(ask, window), *_held(ask, window)]
    found = [waste for waste in found if waste.cost > 0]
    return sorted(found, key=lambda waste: -waste.cost)[:count]


def _idle(ask: Ask, window: str) -> Iterator[Waste]:
    types = CostQuery(window=window, by=("instanceType",), limit=_MOST)
    whole = {item.keys["instanceType"]: item.cost for item in ask(types).items}
    for item in ask(replace(types, filters=("kind:idle",))).items:
        kind, cost = item.keys["instanceType"], item.cost or Decimal(0)
        named = [f"{count:,.0f} {name}" for name, count in _quantities(item)]
        yield Waste(
            cost,
            f"{kind}: capacity that nobody requested",
            f"{_percent(cost, whole.get(kind))} of what these nodes cost; {', '.join(named)}.",
            replace(types, by=("node",), filters=("kind:idle", f"instanceType:{kind}")),
        )


def _quantities(item: CostItem) -> Iterator[tuple[str, float]]:
    """Idle quantities, GPUs first."""
    for name in sorted(item.resources, key=lambda name: (not is_accelerator(name), name)):
        of = item.resources[name]
        if of.idle > 0:
            yield ("GPU-hours" if is_accelerator(name) else f"{of.unit}s"), of.idle


def _unused(ask: Ask, window: str) -> Iterator[Waste]:
    query = CostQuery(window=window, by=_WORKLOAD, sort="-unusedCost", limit=5)
    for item in _workloads(ask, query):
        share = item.efficiency
        yield Waste(
            item.unused_cost or Decimal(0),
            f"{_where(item)}: charged for what it requests and does not use",
            f"It uses {share:.0%} of its cores and memory, by cost." if share is not None else "",
            replace(query, by=("pod", "resource"), filters=_filters(item)),
        )


def _held(ask: Ask, window: str) -> Iterator[Waste]:
    query = CostQuery(window=window, by=_WORKLOAD, limit=_MOST)
    for item in _workloads(ask, query):
        cpu = item.resources.get("cpu")
        if not _gpu_cost(item) or cpu is None or _busy(cpu) > _AWAKE:
            continue
        hourly = replace(query, step="hour", filters=_filters(item), limit=1)
        asleep = [hour for hour in _workloads(ask, hourly) if _sleeps(hour)]
        gpu_hours = sum(of.charged for hour in asleep for of in _gpus(hour))
        if asleep:
            yield Waste(
                sum((_gpu_cost(hour) for hour in asleep), Decimal(0)),
                f"{_where(item)}: holds GPUs while its processes sleep",
                f"In {len(asleep)} hours they used less than {ASLEEP:.0%} of their cores and kept "
                f"{gpu_hours:,.0f} GPU-hours from others.",
                replace(hourly, limit=_MOST),
            )


def _workloads(ask: Ask, query: CostQuery) -> list[CostItem]:
    """The rows of an answer that are a workload's, without idle, system and the like."""
    return [item for item in ask(query).items if not item.keys["workload"].startswith("__")]


def _filters(item: CostItem) -> tuple[str, ...]:
    return tuple(f"{name}:{item.keys[name]}" for name in _WORKLOAD)


def _where(item: CostItem) -> str:
    return f"{item.keys['workload']} in {item.keys['namespace']} ({item.keys['cluster']})"


def _gpus(item: CostItem) -> Sequence[ResourceOf]:
    return [of for name, of in item.resources.items() if is_accelerator(name)]


def _gpu_cost(item: CostItem) -> Decimal:
    return sum((of.cost or Decimal(0) for of in _gpus(item)), Decimal(0))


def _busy(cpu: ResourceOf) -> float:
    """Share of requested cores that are used; 1 where that is not known."""
    return 1.0 if cpu.used is None or not cpu.requested else cpu.used / cpu.requested


def _sleeps(item: CostItem) -> bool:
    cpu = item.resources.get("cpu")
    return cpu is not None and _busy(cpu) < ASLEEP


def _percent(part: Decimal, whole: Decimal | None) -> str:
    return f"{part / whole:.0%}" if whole else "an unknown share"
