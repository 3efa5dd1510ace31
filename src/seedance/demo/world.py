"""The world of the demo at a moment: what happened in the company up to it and soon will.

    company → plan → place → events that Kubernetes tells, in order, and meters of containers

The same `now` gives the same world, to the byte.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from seedance.demo import dice, kube
from seedance.demo.cast import Box, Machine, Site
from seedance.demo.company import COMPANY
from seedance.demo.kube import Stay
from seedance.demo.loads import SHAPE_NUMBER, Meters, Name
from seedance.demo.place import Slot, place
from seedance.demo.plan import Plan
from seedance.facts.inventory import Cluster, ClusterId
from seedance.facts.window import floor_day, floor_minute
from seedance.flows.watching.ledger import Event

FAR_MS = 4_102_444_800_000
"""2100: the end of what still runs."""

AHEAD = timedelta(days=2)
"""How far the plan reaches beyond now: so long the demo may stay and see something new."""

_OLD = timedelta(days=75)
_GONE_AFTER = timedelta(minutes=30)
"""How long a pod that finished stays before it is cleaned up."""


@dataclass(frozen=True, slots=True)
class Scene:
    """A cluster, what its API server tells in order, and its pods."""

    cluster: Cluster
    events: tuple[Event, ...]
    stays: tuple[Stay, ...]


@dataclass(frozen=True, slots=True)
class World:
    """Everything from `begin`, a midnight, to `AHEAD` of `now`."""

    begin: datetime
    now: datetime
    scenes: tuple[Scene, ...]
    meters: Meters


def build(now: datetime, *, days: int, company: Sequence[Site] = COMPANY) -> World:
    """The world at `now` with a history of at least `days` whole days."""
    begin = floor_day(now - timedelta(days=days))
    scenes = tuple(_scene(site, begin, now) for site in company)
    return World(begin, now, scenes, _meters(scenes))


def _scene(site: Site, begin: datetime, now: datetime) -> Scene:
    slots = [_slot(machine, begin, now) for machine in site.machines]
    plan = Plan(site, begin, now + AHEAD, slots)
    for slot in slots:
        born = slot.since
        document = kube.node(site, slot.machine, born)
        plan.tell("ADDED", "Node", document, born)
        if slot.until:
            plan.tell("DELETED", "Node", document, slot.until)
    for space in site.spaces:
        plan.tell("ADDED", "Namespace", kube.space(site, space, begin - _OLD), begin)
    for program in site.programs:
        plan.add(program)
    stays = place(plan.stays, slots)
    for stay in stays:
        _tell_pod(plan, stay)
    uid = dice.uid(site.name, "Namespace", "kube-system")
    cluster = Cluster(ClusterId(uid), name=site.name, first_seen=begin)
    events = sorted(plan.events, key=lambda event: event.observed)
    return Scene(cluster, tuple(events), tuple(stays))


def _slot(machine: Machine, begin: datetime, now: datetime) -> Slot:
    """A machine in time; one that comes later does so four minutes after its forerunner left."""
    since = begin - _OLD
    if machine.since > 0:
        since = floor_minute(begin + (now - begin) * machine.since) + timedelta(minutes=4)
    until = floor_minute(begin + (now - begin) * machine.until) if machine.until < 1 else None
    return Slot(machine, since, until)


def _tell_pod(plan: Plan, stay: Stay) -> None:
    """The life of a pod as a watch sees it."""
    if not stay.node:
        plan.tell("ADDED", "Pod", kube.pod(stay, "Pending"), stay.created)
        return
    if stay.pull:
        plan.tell("ADDED", "Pod", kube.pod(stay, "Pending"), stay.scheduled)
    running = kube.pod(stay, "Running")
    plan.tell("MODIFIED" if stay.pull else "ADDED", "Pod", running, stay.started)
    if stay.end and stay.finishes:
        done = kube.pod(stay, "Succeeded")
        plan.tell("MODIFIED", "Pod", done, stay.end)
        plan.tell("DELETED", "Pod", done, stay.end + _GONE_AFTER)
    elif stay.end:
        plan.tell("DELETED", "Pod", kube.pod(stay, "Running", deletion=stay.end), stay.end)


def _meters(scenes: Sequence[Scene]) -> Meters:
    rows = [row for scene in scenes for stay in scene.stays for row in _measured(stay)]
    loads = [box.load for _, box in rows if box.load]
    seeds = [dice.number("meter", stay.uid, box.name) for stay, box in rows]
    return Meters(
        names=tuple(_name(stay, box) for stay, box in rows),
        start=np.array([_ms(stay.started) for stay, _ in rows], np.int64),
        end=np.array([_ms(s.end) if s.end else FAR_MS for s, _ in rows], np.int64),
        shape=np.array([SHAPE_NUMBER[load.shape] for load in loads], np.int64),
        cpu=np.array([load.cpu for load in loads], np.float64),
        memory=np.array([load.memory for load in loads], np.float64),
        seed=np.array(seeds, np.uint64),
    )


def _measured(stay: Stay) -> Iterator[tuple[Stay, Box]]:
    if stay.node and (stay.end is None or stay.end > stay.started):
        yield from ((stay, box) for box in stay.boxes if box.load)


def _name(stay: Stay, box: Box) -> Name:
    return Name(stay.cluster, stay.node, stay.namespace, stay.name, box.name, kube.image(box))


def _ms(at: datetime) -> int:
    return int(at.timestamp() * 1000)
