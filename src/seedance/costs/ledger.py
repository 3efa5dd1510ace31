"""Inventory to accounts: who is charged on which node, for what, from when to when.

Reads like a register: pods take places on nodes, each container and each pod's excess is a
*member*, each resource of a member an account with segments of constant request. Members are
numbered; the minutes of their use and their entities are kept under that number.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from seedance.costs.charge import Accounts, Role, Segments
from seedance.costs.lives import FAR, Life, Span, charged_span, first_started, millis
from seedance.costs.pricing import is_accelerator
from seedance.facts.inventory import Container, Node, Pod
from seedance.facts.prices import priced_quantity
from seedance.facts.samples import IntArray

MEASURED = ("cpu", "memory")
"""Resources whose use is known from metrics; every container has an account of them."""

POD_EXCESS = "(pod)"
"""The container name under which a pod's excess is shown."""


@dataclass(frozen=True, slots=True)
class Place:
    """A pod on a node: its life, its charged span and the number of its node."""

    life: Life[Pod]
    span: Span
    node: int


@dataclass(frozen=True, slots=True)
class Member:
    """A container of a placed pod, or its excess: (place number, container name, role, began)."""

    place: int
    container: str
    role: Role
    began: int


@dataclass(frozen=True, slots=True)
class Ledger:
    """Accounts sorted by (cell, member's place); `cell` = node × len(resources) + resource.

    `nodes` ends with nodes that pods name but nobody has seen (`unseen` and after).
    """

    resources: tuple[str, ...]
    nodes: tuple[Life[Node] | None, ...]
    node_names: tuple[str, ...]
    places: tuple[Place, ...]
    members: tuple[Member, ...]
    accounts: Accounts
    member: IntArray
    flags: IntArray
    start: IntArray
    end: IntArray
    segments: Segments


@dataclass(slots=True)
class _Draft:
    """Columns of accounts and segments while they are collected."""

    cell: list[int] = field(default_factory=list)
    place: list[int] = field(default_factory=list)
    role: list[int] = field(default_factory=list)
    may_exceed: list[bool] = field(default_factory=list)
    member: list[int] = field(default_factory=list)
    flags: list[int] = field(default_factory=list)
    seg_account: list[int] = field(default_factory=list)
    seg_start: list[int] = field(default_factory=list)
    seg_end: list[int] = field(default_factory=list)
    seg_request: list[float] = field(default_factory=list)


def build(
    pods: Iterable[Life[Pod]],
    nodes: Sequence[Life[Node]],
    *,
    start: int,
    end: int,
    priced: Collection[str] = (),
) -> Ledger:
    """The ledger of everything charged between `start` and `end` (milliseconds).

    Accounts are kept of cpu, memory, accelerators and whatever else is `priced`.
    """
    known: dict[str, list[int]] = {}
    for number, life in enumerate(nodes):
        known.setdefault(life.name, []).append(number)
    names = [life.name for life in nodes]
    all_nodes: list[Life[Node] | None] = list(nodes)
    places: list[Place] = []
    for pod in pods:
        span = charged_span(pod)
        if span is None or span.end <= start or span.start >= end:
            continue
        node = _node_number(pod.newest.node, span, nodes, known)
        if node is None:
            node = len(names)
            known.setdefault(pod.newest.node, []).append(node)
            names.append(pod.newest.node)
            all_nodes.append(None)
        places.append(Place(pod, span, node))
    resources = _resources(nodes, places, priced)
    return _ledger(tuple(all_nodes), tuple(names), tuple(places), resources)


def _node_number(
    name: str, span: Span, nodes: Sequence[Life[Node]], known: Mapping[str, list[int]]
) -> int | None:
    """The node of that name that lived when the pod was scheduled, else the last one before."""
    numbers = known.get(name)
    if not numbers:
        return None
    if len(numbers) == 1 or numbers[0] >= len(nodes):
        return numbers[0]
    born = sorted((millis(nodes[n].newest.created), n) for n in numbers)
    earlier = [number for created, number in born if created <= span.start]
    return earlier[-1] if earlier else born[0][1]


def _resources(
    nodes: Sequence[Life[Node]], places: Sequence[Place], priced: Collection[str]
) -> tuple[str, ...]:
    names = {name for life in nodes for name, held in life.newest.capacity.items() if held}
    names |= {name for place in places for name in place.life.newest.effective}
    others = names - set(MEASURED)
    extended = sorted(name for name in others if name in priced or is_accelerator(name))
    return (*MEASURED, *extended)


def _ledger(
    nodes: tuple[Life[Node] | None, ...],
    names: tuple[str, ...],
    places: tuple[Place, ...],
    resources: tuple[str, ...],
) -> Ledger:
    draft, members = _Draft(), list[Member]()
    numbers = {name: number for number, name in enumerate(resources)}
    for at, place in enumerate(places):
        _enter(at, place, numbers, draft, members)
    accounts, order, segments = _sorted(draft)
    member = np.array(draft.member, np.int64)[order]
    place_of = accounts.pod
    starts = np.array([place.span.start for place in places], np.int64)
    ends = np.array([place.span.end for place in places], np.int64)
    return Ledger(
        resources=resources,
        nodes=nodes,
        node_names=names,
        places=places,
        members=tuple(members),
        accounts=accounts,
        member=member,
        flags=np.array(draft.flags, np.int64)[order],
        start=starts[place_of] if len(places) else starts,
        end=ends[place_of] if len(places) else ends,
        segments=segments,
    )


def _sorted(draft: _Draft) -> tuple[Accounts, IntArray, Segments]:
    cell, place = np.array(draft.cell, np.int64), np.array(draft.place, np.int64)
    order = np.lexsort((place, cell))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    accounts = Accounts(
        cell=cell[order],
        pod=place[order],
        role=np.array(draft.role, np.int64)[order],
        may_exceed=np.array(draft.may_exceed, dtype=bool)[order],
    )
    account = rank[np.array(draft.seg_account, np.int64)]
    by_account = np.argsort(account, kind="stable")
    segments = Segments(
        account=account[by_account],
        start=np.array(draft.seg_start, np.int64)[by_account],
        end=np.array(draft.seg_end, np.int64)[by_account],
        request=np.array(draft.seg_request, np.float64)[by_account],
    )
    return accounts, order, segments


def _enter(
    at: int, place: Place, numbers: Mapping[str, int], draft: _Draft, members: list[Member]
) -> None:
    """Enter one pod: a member for each container and one for the excess, if it ever has one."""
    versions = _reserving_versions(place)
    for container in place.life.newest.containers:
        role = Role.INIT if container.type == "init" else Role.APP
        number = len(members)
        members.append(Member(at, container.name, role, first_started(place.life, container.name)))
        for resource in _resources_of(container, numbers, role):
            pieces = [
                (begin, end, _own_request(pod, container.name, resource))
                for begin, end, pod in versions
            ]
            request = pieces[-1][2]
            limit = container.limits.get(resource)
            exceed = resource in MEASURED and (
                limit is None or priced_quantity(resource, limit) > request
            )
            if role == Role.INIT:
                pieces = _until(_finish(container), pieces)
            cell = place.node * len(numbers) + numbers[resource]
            entry = _Entry(cell, at, role, number, may_exceed=exceed)
            _account(draft, entry, place.span, pieces)
    _enter_excess(at, place, numbers, draft, members)


def _enter_excess(
    at: int,
    place: Place,
    numbers: Mapping[str, int],
    draft: _Draft,
    members: list[Member],
) -> None:
    number, versions = -1, _reserving_versions(place)
    for resource in numbers:
        pieces = [(begin, end, _excess(pod, resource)) for begin, end, pod in versions]
        if not any(amount for _, _, amount in pieces):
            continue
        if number < 0:
            number = len(members)
            members.append(Member(at, POD_EXCESS, Role.POD, FAR))
        cell = place.node * len(numbers) + numbers[resource]
        entry = _Entry(cell, at, Role.POD, number, may_exceed=False)
        _account(draft, entry, place.span, pieces)


def _reserving_versions(place: Place) -> list[tuple[int, int, Pod]]:
    """(from, to, facts) over the charged span; the first version reaches back to its start."""
    versions = place.life.versions
    begins = [place.span.start, *(at for at, _ in versions[1:])]
    ends = [*begins[1:], place.span.end]
    pieces = [
        (max(begin, place.span.start), min(end, place.span.end), pod)
        for begin, end, (_, pod) in zip(begins, ends, versions, strict=True)
    ]
    return [piece for piece in pieces if piece[0] < piece[1]]


def _resources_of(container: Container, numbers: Mapping[str, int], role: Role) -> list[str]:
    if role == Role.INIT:
        return list(MEASURED)
    return [*MEASURED, *(r for r in container.requests if r in numbers and r not in MEASURED)]


def _finish(container: Container) -> int:
    """When an init container was done; FAR where it is not."""
    return FAR if container.finished is None else millis(container.finished)


def _until(end: int, pieces: list[tuple[int, int, float]]) -> list[tuple[int, int, float]]:
    """The pieces before `end`, at least a millisecond of the first."""
    end = max(end, pieces[0][0] + 1)
    return [(begin, min(stop, end), amount) for begin, stop, amount in pieces if begin < end]


def _own_request(pod: Pod, name: str, resource: str) -> float:
    for container in pod.containers:
        if container.name == name:
            own = 0.0 if container.type == "init" else container.requests.get(resource, 0.0)
            return priced_quantity(resource, own)
    return 0.0


def _excess(pod: Pod, resource: str) -> float:
    """What the effective request has beyond the containers', in priced units, never below 0."""
    own = sum(c.requests.get(resource, 0.0) for c in pod.containers if c.type != "init")
    beyond = pod.effective.get(resource, 0.0) - own
    return priced_quantity(resource, beyond) if beyond > own * 1e-9 else 0.0


@dataclass(frozen=True, slots=True)
class _Entry:
    """One account about to be entered."""

    cell: int
    place: int
    role: Role
    member: int
    may_exceed: bool


def _account(
    draft: _Draft, entry: _Entry, span: Span, pieces: Sequence[tuple[int, int, float]]
) -> None:
    """Enter an account with a segment for each stretch of constant request."""
    number = len(draft.cell)
    draft.cell.append(entry.cell)
    draft.place.append(entry.place)
    draft.role.append(entry.role)
    draft.member.append(entry.member)
    draft.may_exceed.append(entry.may_exceed)
    draft.flags.append(int(span.flags))
    begin, request = pieces[0][0], pieces[0][2]
    for (_, end, _), following in zip(pieces, [*pieces[1:], None], strict=True):
        if following is not None and following[2] == request:
            continue
        draft.seg_account.append(number)
        draft.seg_start.append(begin)
        draft.seg_end.append(end)
        draft.seg_request.append(request)
        if following is not None:
            begin, request = following[0], following[2]
