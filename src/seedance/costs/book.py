"""The book of a range of hours: what inventory and manifests say of a cluster, hour by hour.

Holds the ledger, the epochs of every node with numbered prices, and the entities of members and
nodes. What stands still over the whole range is worked out once.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any

import numpy as np

from seedance.costs import epochs, identity, ledger, pricing
from seedance.costs.epochs import Epoch
from seedance.costs.hour import NodeHour
from seedance.costs.identity import Entity, Kin
from seedance.costs.ledger import Ledger
from seedance.costs.lives import Life, lives, millis
from seedance.costs.minutes import Grid
from seedance.costs.ownership import rule_changes, rules_at
from seedance.costs.rows import UInt64Array
from seedance.facts.costs import Kind, Reason
from seedance.facts.inventory import Cluster, Node, ObjectVersion, Pod, Workload
from seedance.facts.prices import NodePrice, Unpriced
from seedance.facts.window import Window
from seedance.manifests.load import Manifests

_OWN_KINDS = (Kind.IDLE, Kind.SYSTEM, Kind.UNATTRIBUTED)
_NOT_OWNERS = frozenset({"Pod", "Node", "PersistentVolumeClaim"})


@dataclass(slots=True)
class Book:
    """See the module; `price_rows` are rows of the table `prices`, less `at`."""

    cluster: Cluster
    manifests: Manifests
    ledger: Ledger
    kin: Kin
    start: int
    end: int
    price_rows: list[dict[str, Any]] = field(default_factory=list)
    _epochs: list[list[Epoch]] = field(default_factory=list)
    _by_place: list[list[int]] = field(default_factory=list)
    _steady_members: UInt64Array | None = None
    _loose: list[int] = field(default_factory=list)
    _own: dict[int, list[int]] = field(default_factory=dict)
    _fresh: list[Entity] = field(default_factory=list)
    _rules_change: bool = False

    @classmethod
    def of(
        cls,
        cluster: Cluster,
        versions: Sequence[ObjectVersion],
        window: Window,
        manifests: Manifests,
    ) -> Book:
        """The book of a window from all versions of the objects that overlap it."""
        pods = lives((v for v in versions if v.kind == "Pod"), Pod.from_doc)
        nodes = lives((v for v in versions if v.kind == "Node"), Node.from_doc)
        others = lives((v for v in versions if v.kind not in _NOT_OWNERS), Workload.from_doc)
        start, end = millis(window.start), millis(window.end)
        in_order = sorted(nodes.values(), key=lambda life: (life.name, life.versions[0][0]))
        epochs_of = [_epochs_of(life, manifests, start, end) for life in in_order]
        priced = {
            name
            for parts in epochs_of
            for part in parts
            if isinstance(part.price, NodePrice)
            for name, _ in part.price.per_hour
        }
        made = ledger.build(pods.values(), in_order, start=start, end=end, priced=priced)
        unseen = len(made.nodes) - len(in_order)
        epochs_of += [
            [epochs.unseen_epoch(start=start, end=end, reason=str(Reason.NO_OBJECT))]
            for _ in range(unseen)
        ]
        book = cls(cluster, manifests, made, Kin.of(cluster.id, others), start, end)
        changes = [millis(at) for at in rule_changes(manifests.rules)]
        book._rules_change = any(start < at < end for at in changes)
        book._epochs = epochs_of
        book._by_place = [[] for _ in made.places]
        for number, member in enumerate(made.members):
            book._by_place[member.place].append(number)
        book._number_prices()
        return book

    def _number_prices(self) -> None:
        """Number the prices; two stretches of one node never share a number."""
        known: set[int] = set()
        for parts in self._epochs:
            taken: set[int] = set()
            for at, part in enumerate(parts):
                content = price_columns(part.price)
                number = _hash(content)
                while number in taken:
                    number += 1
                taken.add(number)
                parts[at] = replace(part, price_id=number)
                if number not in known:
                    known.add(number)
                    self.price_rows.append({"price_id": number, **content})

    def nodes_in(self, grid: Grid) -> list[NodeHour]:
        """Every node of the ledger in an hour."""
        return [self._node_in(at, grid) for at in range(len(self.ledger.nodes))]

    def _node_in(self, at: int, grid: Grid) -> NodeHour:
        life = self.ledger.nodes[at]
        parts = tuple(
            replace(part, start=max(part.start, grid.start_ms), end=min(part.end, grid.end_ms))
            for part in self._epochs[at]
            if part.start < grid.end_ms and part.end > grid.start_ms
        )
        watched = millis(self.cluster.first_seen)
        alive = epochs.alive_span(life, watched_from=watched) if life else (self.start, self.end)
        return NodeHour(parts, alive, life is not None, *self._own_entities(at, life, grid))

    def _own_entities(self, at: int, life: Life[Node] | None, grid: Grid) -> list[int]:
        known = self._own.get(at)
        if known is None or not (life is None or life.steady(self.start, self.end)):
            name = self.ledger.node_names[at]
            made = [
                identity.node_entity(self.kin, name, life, kind, at=grid.end_ms)
                for kind in _OWN_KINDS
            ]
            known = self._remember(made)
            self._own[at] = known
        return known

    def members_in(self, grid: Grid) -> UInt64Array:
        """The entity number of every member in an hour; 0 for some of those that were not there."""
        if self._steady_members is None:
            self._steady_members, self._loose = self._settle_steady()
        numbers = self._steady_members.copy()
        for at in self._loose:
            place = self.ledger.places[at]
            if place.span.end > grid.start_ms and place.span.start < grid.end_ms:
                numbers[self._by_place[at]] = self._identify(at, grid.end_ms)
        return numbers

    def _settle_steady(self) -> tuple[UInt64Array, list[int]]:
        """Entities of the places that stand still over the range, and the places that do not."""
        numbers, loose = np.zeros(len(self.ledger.members), np.uint64), list[int]()
        for at in range(len(self.ledger.places)):
            if self._steady(at):
                numbers[self._by_place[at]] = self._identify(at, self.end)
            else:
                loose.append(at)
        return numbers, loose

    def _identify(self, at: int, instant: int) -> list[int]:
        """Entity numbers of the members of a place just before an instant (milliseconds)."""
        rules = rules_at(self.manifests.rules, datetime.fromtimestamp((instant - 1) / 1000, UTC))
        names = [self.ledger.members[number].container for number in self._by_place[at]]
        made = identity.pod_entities(
            self.ledger, self.ledger.places[at], names, self.kin, rules, at=instant
        )
        return self._remember(made)

    def new_entities(self) -> list[Entity]:
        """Entities made since the last call."""
        fresh, self._fresh = self._fresh, []
        return fresh

    def _remember(self, made: Sequence[Entity]) -> list[int]:
        self._fresh += made
        return [entity["entity"] for entity in made]

    def _steady(self, at: int) -> bool:
        """Do pod, owners, namespace and node stand still over the whole range of hours?"""
        place = self.ledger.places[at]
        if self._rules_change or not place.life.steady(self.start, self.end):
            return False
        around: list[Life[Workload] | Life[Node] | None] = [
            self.ledger.nodes[place.node],
            self.kin.namespace(place.life.namespace, self.end),
            *self.kin.chain(place.life.newest.owner, self.end)[1],
        ]
        return all(life is None or life.steady(self.start, self.end) for life in around)


def _epochs_of(life: Life[Node], manifests: Manifests, start: int, end: int) -> list[Epoch]:
    def price_of(node: Node, window: Window) -> Sequence[tuple[Window, NodePrice | Unpriced]]:
        return pricing.price_pieces(manifests.books, node, window)

    return epochs.node_epochs(life, price_of, start=start, end=end)


def _hash(content: dict[str, Any]) -> int:
    text = json.dumps(content, sort_keys=True, default=str)
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


def price_columns(price: NodePrice | Unpriced) -> dict[str, Any]:
    """A row of the table `prices`, less number and `at`."""
    if isinstance(price, Unpriced):
        empty = {"currency": "", "book": "", "entry": "", "source": "", "estimate": 0}
        return {**empty, "per_hour": {}, "reason": price.reason}
    return {
        "currency": price.currency,
        "book": price.book,
        "entry": price.entry,
        "source": price.source,
        "estimate": int(price.estimate),
        "per_hour": dict(price.per_hour),
        "reason": "",
    }
