"""One hour of a run of nodes: ledger, use, capacity and price come together and become rows.

A *run* is a range of neighbouring nodes whose epochs cut the hour at the same minutes; a *stretch*
is the part of the hour between two cuts. Runs keep the matrices small: memory is bounded by the
run, not by the cluster.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from seedance.costs import charge, rows
from seedance.costs.charge import Accounts, BoolArray, Segments
from seedance.costs.epochs import Epoch
from seedance.costs.ledger import MEASURED, Ledger
from seedance.costs.minutes import MINUTE_MS, Grid, MinuteUse
from seedance.costs.rows import Cells, RowBlock, UInt64Array
from seedance.facts.costs import Flag, Reason
from seedance.facts.inventory import Node
from seedance.facts.money import to_picos
from seedance.facts.prices import NodePrice, base_units, priced_quantity
from seedance.facts.samples import FloatArray, IntArray

_RUN_ACCOUNTS = 4_000  # 60 minutes × 8 bytes × this many = 2 MB a matrix: stays in the cache
_UNSEEN = 1e15
"""Capacity of a node that nobody has seen: its pods are charged what they ask, and unpriced."""


@dataclass(frozen=True, slots=True)
class NodeHour:
    """A node in an hour: its epochs, its charged span and the entities of its own rows."""

    epochs: tuple[Epoch, ...]
    alive: tuple[int, int]
    seen: bool
    idle: int
    system: int
    unattributed: int


@dataclass(frozen=True, slots=True)
class Use:
    """Minutes of use per member; column 0 is the minute that starts at `start_ms`."""

    start_ms: int
    by_resource: Mapping[str, MinuteUse]


def runs(ledger: Ledger, nodes: Sequence[NodeHour]) -> Iterator[tuple[int, int]]:
    """Ranges (first, last) of node numbers, last not included, to be settled together."""
    width = len(ledger.resources)
    bounds = np.searchsorted(ledger.accounts.cell, np.arange(len(nodes) + 1) * width)
    first = 0
    for at in range(1, len(nodes) + 1):
        if (
            at == len(nodes)
            or _cuts(nodes[at]) != _cuts(nodes[first])
            or bounds[at + 1] - bounds[first] > _RUN_ACCOUNTS
        ):
            yield first, at
            first = at


def _cuts(node: NodeHour) -> tuple[int, ...]:
    return tuple(epoch.start for epoch in node.epochs)


def settle_run(
    ledger: Ledger,
    use: Use,
    nodes: Sequence[NodeHour],
    *,
    run: tuple[int, int],
    hour: Grid,
    until: int,
    entity: UInt64Array,
    gap_seconds: float,
) -> Iterator[tuple[Cells, RowBlock, RowBlock]]:
    """Rows of a run, stretch by stretch: (cells, container rows, node rows).

    Args:
        ledger, use: of a block of hours that holds this one.
        nodes: one a node of the ledger.
        run: from `runs`.
        hour: the hour's 60 minutes.
        until: the instant (ms) up to which the hour is settled; later minutes stay empty.
        entity: entity number per member.
        gap_seconds: from how much unknown time on a row is partly known.
    """
    picked = _accounts_in(ledger, run, hour.start_ms, min(hour.end_ms, until))
    accounts = _local(ledger, run, picked)
    segments = _segments_of(ledger, picked, until)
    reserved, alive = charge.reserve(segments, accounts=len(picked), grid=hour)
    used, known = _use_of(ledger, use, picked, hour)
    member = ledger.member[picked]
    flags = ledger.flags[picked] | _not_running(ledger, picked, min(hour.end_ms, until))
    for at in range(len(nodes[run[0]].epochs)):
        first, last = _minutes(nodes[run[0]].epochs[at], hour)
        cut = slice(first, last)
        lived = _node_alive(nodes[run[0] : run[1]], hour, until)[:, cut]
        cells = _cells(nodes[run[0] : run[1]], ledger.resources, at, lived)
        node_alive = np.repeat(lived, len(ledger.resources), axis=0) / 1000.0
        charges = charge.charge(
            accounts,
            reserved=reserved[:, cut],
            alive=alive[:, cut],
            used=used[:, cut],
            known=known[:, cut],
            capacity=cells.capacity[:, None] * node_alive,
            kept_back=cells.kept_back[:, None] * node_alive,
            node_alive=node_alive,
        )
        containers = rows.container_rows(
            accounts,
            charges,
            cells,
            entity=entity[member],
            flags=flags,
            reserved=reserved[:, cut],
            alive=alive[:, cut],
            node_alive=node_alive,
            first_minute=first,
            gap_seconds=gap_seconds,
            measured=len(MEASURED),
        )
        containers, own = rows.node_rows(charges, cells, containers, first_minute=first)
        yield cells, containers, _only_seen(own, nodes, run, len(ledger.resources))


def _only_seen(
    own: RowBlock, nodes: Sequence[NodeHour], run: tuple[int, int], width: int
) -> RowBlock:
    """Node rows without those of nodes that nobody has seen: they have no capacity to be idle."""
    if all(node.seen for node in nodes[run[0] : run[1]]):
        return own
    seen = np.array([node.seen for node in nodes[run[0] : run[1]]])
    keep = seen[own.cell // width]
    return RowBlock(**{name: getattr(own, name)[keep] for name in RowBlock.__slots__})


def _accounts_in(ledger: Ledger, run: tuple[int, int], start: int, end: int) -> IntArray:
    width = len(ledger.resources)
    first, last = np.searchsorted(ledger.accounts.cell, [run[0] * width, run[1] * width])
    inside = (ledger.start[first:last] < end) & (ledger.end[first:last] > start)
    picked: IntArray = np.flatnonzero(inside) + first
    return picked


def _local(ledger: Ledger, run: tuple[int, int], picked: IntArray) -> Accounts:
    mine = ledger.accounts
    return Accounts(
        cell=mine.cell[picked] - run[0] * len(ledger.resources),
        pod=mine.pod[picked],
        role=mine.role[picked],
        may_exceed=mine.may_exceed[picked],
    )


def _segments_of(ledger: Ledger, picked: IntArray, until: int) -> Segments:
    if not len(picked):
        nothing = np.empty(0, np.int64)
        return Segments(nothing, nothing, nothing, np.empty(0))
    all_of = ledger.segments
    first, last = np.searchsorted(all_of.account, [picked[0], picked[-1] + 1])
    rank = np.full(int(picked[-1] - picked[0]) + 1, -1, np.int64)
    rank[picked - picked[0]] = np.arange(len(picked))
    account = rank[all_of.account[first:last] - picked[0]]
    keep = account >= 0
    return Segments(
        account=account[keep],
        start=all_of.start[first:last][keep],
        end=np.minimum(all_of.end[first:last][keep], until),
        request=all_of.request[first:last][keep],
    )


def _use_of(
    ledger: Ledger, use: Use, picked: IntArray, hour: Grid
) -> tuple[FloatArray, FloatArray]:
    """Unit-seconds used and seconds known, accounts × 60."""
    used, known = np.zeros((len(picked), hour.minutes)), np.zeros((len(picked), hour.minutes))
    kind = ledger.accounts.cell[picked] % len(ledger.resources)
    first = (hour.start_ms - use.start_ms) // MINUTE_MS
    cut = slice(first, first + hour.minutes)
    for number, resource in enumerate(ledger.resources):
        minutes = use.by_resource.get(resource)
        if minutes is None:
            continue
        mine = np.flatnonzero(kind == number)
        member = ledger.member[picked[mine]]
        used[mine] = minutes.used[member, cut] / base_units(resource)
        known[mine] = minutes.known[member, cut] / 1000.0
    return used, known


def _not_running(ledger: Ledger, picked: IntArray, end: int) -> IntArray:
    """The flag of accounts whose container had not started by `end` or by the pod's end."""
    began = np.array([member.began for member in ledger.members], np.int64)[ledger.member[picked]]
    role = ledger.accounts.role[picked]
    late = (began >= np.minimum(ledger.end[picked], end)) & (role == charge.Role.APP)
    flags: IntArray = np.where(late, int(Flag.RESERVED_NOT_RUNNING), 0)
    return flags


def _minutes(epoch: Epoch, hour: Grid) -> tuple[int, int]:
    first = max(epoch.start - hour.start_ms, 0) // MINUTE_MS
    last = min(epoch.end - hour.start_ms, hour.minutes * MINUTE_MS) // MINUTE_MS
    return int(first), int(last)


def _node_alive(nodes: Sequence[NodeHour], hour: Grid, until: int) -> IntArray:
    """Milliseconds for which each node existed in each minute, nodes × 60."""
    edges = hour.start_ms + np.arange(hour.minutes, dtype=np.int64) * MINUTE_MS
    start = np.array([node.alive[0] for node in nodes], np.int64)[:, None]
    end = np.minimum(np.array([node.alive[1] for node in nodes], np.int64), until)[:, None]
    span: IntArray = np.minimum(end, edges + MINUTE_MS) - np.maximum(start, edges)
    return np.maximum(span, 0)


def _cells(
    mine: Sequence[NodeHour],
    resources: Sequence[str],
    at: int,
    lived: IntArray,
) -> Cells:
    """The cells of a run in its stretch number `at`; `lived` is nodes × minutes in milliseconds."""
    width = len(resources)
    priced = [_priced(node.epochs[at], resources) for node in mine]
    held = [_held(node, at, resources) for node in mine]
    ids = [node.epochs[at].price_id for node in mine]

    def own(name: str) -> UInt64Array:
        return np.repeat(np.array([getattr(node, name) for node in mine], np.uint64), width)

    flags: BoolArray = np.array([[reason == "" for _, reason in row] for row in priced]).ravel()
    return Cells(
        resource=np.tile(np.arange(width), len(mine)),
        capacity=np.array([[c for c, _ in row] for row in held]).ravel(),
        kept_back=np.array([[k for _, k in row] for row in held]).ravel(),
        pot=np.array([[pot for pot, _ in row] for row in priced], np.int64).ravel(),
        priced=flags,
        price_id=np.repeat(np.array(ids, np.uint64), width),
        reason=np.array([[reason for _, reason in row] for row in priced], np.object_).ravel(),
        node_ms=np.repeat(lived.sum(axis=1), width),
        idle=own("idle"),
        system=own("system"),
        unattributed=own("unattributed"),
    )


def _held(node: NodeHour, at: int, resources: Sequence[str]) -> list[tuple[float, float]]:
    """(capacity, kept back) per resource in priced units."""
    if not node.seen:
        return [(_UNSEEN, 0.0) for _ in resources]
    facts: Node = node.epochs[at].node
    held = []
    for resource in resources:
        capacity = facts.capacity.get(resource, 0.0)
        back = max(capacity - facts.allocatable.get(resource, capacity), 0.0)
        held.append((priced_quantity(resource, capacity), priced_quantity(resource, back)))
    return held


def _priced(epoch: Epoch, resources: Sequence[str]) -> list[tuple[int, str]]:
    """(picos an hour for the whole capacity, reason why there is no price or "") per resource."""
    price = epoch.price
    if not isinstance(price, NodePrice):
        return [(0, price.reason) for _ in resources]
    pots = {name: to_picos(amount) for name, amount in price.per_hour}
    return [
        (pots[name], "") if name in pots else (0, str(Reason.NO_RESOURCE_PRICE))
        for name in resources
    ]
