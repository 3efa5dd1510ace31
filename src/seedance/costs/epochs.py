"""Nodes to epochs: stretches in which a node's capacity and price stand still, on whole minutes.

A price changes on whole minutes (the manifest sees to that); a change of capacity counts from the
start of the minute in which it was seen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from seedance.costs.lives import Life, millis
from seedance.costs.minutes import MINUTE_MS
from seedance.facts.inventory import Node
from seedance.facts.prices import NodePrice, Unpriced
from seedance.facts.window import Window

PriceOf = Callable[[Node, Window], Sequence[tuple[Window, NodePrice | Unpriced]]]
"""Price pieces of a node that cover a window fully, in order."""


@dataclass(frozen=True, slots=True)
class Epoch:
    """[start, end) in milliseconds, whole minutes inside the window asked for.

    `price_id` is the number under which the price is kept, 0 until it has one.
    """

    start: int
    end: int
    node: Node
    price: NodePrice | Unpriced
    price_id: int = 0


def node_epochs(life: Life[Node], price_of: PriceOf, *, start: int, end: int) -> list[Epoch]:
    """Epochs of a node that cover [start, end) fully, whether it lived or not."""
    found: list[Epoch] = []
    for begin, finish, node in _stretches(life, start, end):
        window = Window(_instant(begin), _instant(finish))
        found += [
            Epoch(millis(piece.start), millis(piece.end), node, price)
            for piece, price in price_of(node, window)
        ]
    return found


def unseen_epoch(*, start: int, end: int, reason: str) -> Epoch:
    """The one epoch of a node that pods name but nobody has seen."""
    return Epoch(start, end, Node(created=_instant(start)), Unpriced(reason))


def alive_span(life: Life[Node], *, watched_from: int) -> tuple[int, int]:
    """When the node is charged: from its creation, but not before its cluster was watched."""
    return max(millis(life.newest.created), watched_from), life.end


def _instant(at: int) -> datetime:
    return datetime.fromtimestamp(at / 1000, UTC)


def _stretches(life: Life[Node], start: int, end: int) -> list[tuple[int, int, Node]]:
    """Stretches of equal priced facts over [start, end), cut at whole minutes."""
    cuts = [start]
    nodes = [life.versions[0][1]]
    for at, node in life.versions[1:]:
        minute = at // MINUTE_MS * MINUTE_MS
        if minute >= end:
            break
        if _priced_facts(node) == _priced_facts(nodes[-1]):
            continue
        if minute <= cuts[-1]:
            nodes[-1] = node
        else:
            cuts.append(minute)
            nodes.append(node)
    ends = [*cuts[1:], end]
    return list(zip(cuts, ends, nodes, strict=True))


def _priced_facts(node: Node) -> tuple[object, ...]:
    return (
        node.capacity,
        node.allocatable,
        node.labels,
        node.instance_type,
        node.capacity_type,
        node.zone,
        node.region,
        node.pool,
    )
