"""What a node costs per hour, as found in a price book at an instant."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

GIB = 2**30

RESOURCE_UNITS = {
    "cpu": ("core-hour", 1.0),
    "memory": ("GiB-hour", float(GIB)),
    "ephemeral-storage": ("GiB-hour", float(GIB)),
}
"""Priced unit of a resource and how many base units it has; every other resource counts ones."""


def base_units(resource: str) -> float:
    """How many base units (cores, bytes, counts) the unit that is priced has: 1, or 2^30."""
    if resource.startswith("hugepages-"):
        return float(GIB)
    return RESOURCE_UNITS.get(resource, ("", 1.0))[1]


def priced_quantity(resource: str, base: float) -> float:
    """`base` units (cores, bytes, counts) in the unit that is priced (cores, GiB, counts)."""
    return base / base_units(resource)


@dataclass(frozen=True, slots=True)
class NodePrice:
    """The price of one node: exact amounts per hour for the capacity of each resource.

    `per_hour[resource]` is what the whole capacity of that resource costs an hour; their sum is
    the node's price. `book` and `entry` name where it stands, `source` is the book's own word for
    where the figure comes from, with the split weights and discount that applied, `estimate` is
    true for list prices nobody agreed to pay. `unpriced` names the resources (of cpu, memory and
    accelerators) that the node has and the entry has no price for: reason `no-resource-price`.
    """

    per_hour: tuple[tuple[str, Decimal], ...]
    currency: str
    book: str
    entry: str
    source: str
    estimate: bool
    unpriced: tuple[str, ...] = ()

    @property
    def total(self) -> Decimal:
        """Price of the whole node for one hour."""
        return sum((amount for _, amount in self.per_hour), Decimal(0))


@dataclass(frozen=True, slots=True)
class Unpriced:
    """No price, and why: a word of `facts.costs.Reason`."""

    reason: str
