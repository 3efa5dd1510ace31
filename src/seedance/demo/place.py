"""The scheduler of the company: each pod to a node of its pool, in the order of their creation.

A pod takes the node with the most free cores (a crowding one: the fewest) that has room for its
requests. Where none has, the pod waits unplaced. A pod that outlives its node ends with it, and
the one that takes its place is created right after.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from seedance.demo.cast import Machine
from seedance.demo.kube import GPU, Stay, room

_SOON = timedelta(seconds=5)
_FAR = datetime(9999, 1, 1, tzinfo=UTC)
_DUST = 1e-9


@dataclass(slots=True)
class Slot:
    """A node while it is there, and what is free on it."""

    machine: Machine
    since: datetime
    until: datetime | None
    free: dict[str, float] = field(init=False)

    def __post_init__(self) -> None:
        cores, memory = room(self.machine)
        self.free = {"cpu": cores, "memory": memory, GPU: float(self.machine.gpus)}

    def holds(self, at: datetime) -> bool:
        """Whether the node is there at `at`."""
        return self.since <= at < (self.until or _FAR)

    def fits(self, stay: Stay) -> bool:
        """Whether there is room for the pod's requests."""
        return all(stay.requests(name) <= left + _DUST for name, left in self.free.items())

    def take(self, stay: Stay, sign: int) -> None:
        """Take (1) or give back (-1) the pod's requests."""
        for name in self.free:
            self.free[name] -= sign * stay.requests(name)


def place(stays: Iterable[Stay], slots: Iterable[Slot]) -> list[Stay]:
    """The pods with their nodes, by creation; those without a node found no room."""
    by_pool: dict[str, list[Slot]] = {}
    by_name: dict[str, Slot] = {}
    for slot in slots:
        by_pool.setdefault(slot.machine.pool, []).append(slot)
        by_name[slot.machine.name] = slot
    waiting = [(stay.created, number, stay) for number, stay in enumerate(stays)]
    heapq.heapify(waiting)
    leaving: list[tuple[datetime, int, Stay]] = []
    placed: list[Stay] = []
    number = len(waiting)
    while waiting:
        at, _, stay = heapq.heappop(waiting)
        while leaving and leaving[0][0] <= at:
            _, _, gone = heapq.heappop(leaving)
            by_name[gone.node].take(gone, -1)
        chosen = by_name.get(stay.home) or _choose(stay, by_pool.get(stay.pool, []))
        if chosen is None:
            placed.append(stay)
            continue
        number += 1
        stay = replace(stay, node=chosen.machine.name)
        if chosen.until and (stay.end is None or stay.end > chosen.until):
            heapq.heappush(
                waiting, (chosen.until + _SOON, number, stay.again(chosen.until + _SOON))
            )
            stay = replace(stay, end=chosen.until, finishes=False)
        chosen.take(stay, 1)
        if stay.end:
            heapq.heappush(leaving, (stay.end, number, stay))
        placed.append(stay)
    return placed


def _choose(stay: Stay, slots: Iterable[Slot]) -> Slot | None:
    able = [slot for slot in slots if slot.holds(stay.created) and slot.fits(stay)]
    sign = 1 if stay.crowd else -1
    return min(able, key=lambda slot: (sign * slot.free["cpu"], slot.machine.name), default=None)
