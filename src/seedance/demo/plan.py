"""What the programs of a site do over a stretch of time: pods to be, and what owns them.

    program + stretch → stays (pods without nodes yet) and events (workload objects)

A service follows its customers by the half hour and is rolled out at its hours, a batch runs at its
hours, an agent is on every node. What was there before the stretch begins was created long ago.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from seedance.demo import dice, kube
from seedance.demo.cast import Agent, Batch, Part, Program, Service, Site
from seedance.demo.kube import Ref, Stay
from seedance.demo.loads import day_of
from seedance.demo.place import Slot
from seedance.flows.watching.ledger import Event
from seedance.intake.inventory import RESOURCES

_WATCHED = frozenset(resource.kind for resource in RESOURCES)
_STEP = timedelta(minutes=30)
_NEXT = timedelta(seconds=40)
_GAP = timedelta(seconds=5)
_SLOW_IMAGE = timedelta(minutes=50)
_KEPT_JOBS = timedelta(hours=2)

Change = Literal["ADDED", "MODIFIED", "DELETED"]


@dataclass(slots=True)
class Plan:
    """Stays and events of one site from `begin` to `horizon`."""

    site: Site
    begin: datetime
    horizon: datetime
    slots: Sequence[Slot]
    stays: list[Stay] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)

    def add(self, program: Service | Agent | Batch) -> None:
        """Plan a program."""
        if isinstance(program, Service):
            self._service(program)
        elif isinstance(program, Agent):
            self._agent(program)
        else:
            self._batch(program)

    def tell(self, change: Change, kind: str, document: kube.Doc, at: datetime) -> None:
        """Add an event that is seen at `at`, or when the watch began, if it was before."""
        self.events.append(Event(change, kind, document, max(at, self.begin)))

    def _service(self, service: Service) -> None:
        born = self._long_ago(service)
        rolls = [at for at in self._moments(service.rolls) if self.begin < at < self.horizon]
        owner = self._owner(service, service.kind, service.name, born)
        counts = _replicas(service, self.begin, self.horizon)
        if service.kind in _WATCHED:
            for at, count in counts:
                metadata = self._meta(service, owner, born)
                document = kube.workload(service.kind, metadata, replicas=count)
                change: Change = "ADDED" if at == self.begin else "MODIFIED"
                self.tell(change, service.kind, document, at)
        edges = [born, *rolls, self.horizon]
        for turn, (first, last) in enumerate(pairwise(edges)):
            parent = owner
            if service.kind == "Deployment":
                parent = self._replica_set(service, owner, turn, first, last)
            self.stays += self._revision(service, parent, turn, (first, last), counts)
        if service.disk:
            self._claims(born)

    def _revision(
        self,
        service: Service,
        parent: Ref,
        turn: int,
        span: tuple[datetime, datetime],
        counts: Sequence[tuple[datetime, int]],
    ) -> Iterator[Stay]:
        """The pods of one roll-out, slot by slot: the old one goes, the new one comes."""
        first, last = span
        for slot in range(service.replicas[1]):
            lead, trail = first + _NEXT * slot, last + _NEXT * slot - _GAP
            for at, until in _runs(counts, slot, lead, trail):
                end = None if last == self.horizon and until >= trail else until
                yield self._stay(
                    service, parent, service.boxes, at, end,
                    slot=slot, turn=f"{turn}.{slot}.{at:%d%H%M}",
                )  # fmt: skip

    def _stay(
        self,
        program: Program,
        owner: Ref,
        boxes: tuple[Any, ...],
        created: datetime,
        end: datetime | None,
        *,
        slot: int,
        turn: str,
    ) -> Stay:
        service = program if isinstance(program, Service) else None
        numbered = service is not None and service.kind != "Deployment"
        role = "worker-" if service and service.kind == "PyTorchJob" else ""
        return Stay(
            cluster=self.site.name,
            namespace=program.namespace,
            stem=f"{owner.name}-{role}{slot}" if numbered else owner.name,
            turn=turn,
            owner=owner,
            boxes=boxes,
            created=created,
            end=end,
            pool=program.pool,
            labels={"app": program.name, **program.pod_labels},
            annotations=program.pod_annotations,
            fixed=numbered,
            crowd=service is not None and service.crowd,
            disk=service.disk if service else 0,
        )

    def _replica_set(
        self, service: Service, owner: Ref, turn: int, first: datetime, last: datetime
    ) -> Ref:
        name = f"{service.name}-{dice.letters(9, self.site.name, service.name, turn)}"
        mine = Ref("ReplicaSet", name, self._uid("ReplicaSet", service.namespace, name))
        for change, at, count in (("ADDED", first, service.replicas[0]), ("MODIFIED", last, 0)):
            if at >= self.horizon:
                continue
            metadata = kube.meta(
                name, mine.uid, first, namespace=service.namespace,
                labels={"app": service.name, **service.pod_labels}, owner=owner,
            )  # fmt: skip
            document = kube.workload("ReplicaSet", metadata, replicas=count)
            self.tell("ADDED" if change == "ADDED" else "MODIFIED", "ReplicaSet", document, at)
        return mine

    def _claims(self, born: datetime) -> None:
        """A claim for each replica that was planned last; a replica keeps it over its lives."""
        known = {event.document["metadata"]["uid"] for event in self.events}
        for stay in [stay for stay in self.stays if stay.disk]:
            document = kube.claim(stay, born)
            if document["metadata"]["uid"] not in known:
                known.add(document["metadata"]["uid"])
                self.tell("ADDED", "PersistentVolumeClaim", document, born)

    def _agent(self, agent: Agent) -> None:
        born = self._long_ago(agent)
        owner = self._owner(agent, "DaemonSet", agent.name, born)
        there = sum(slot.holds(self.begin) for slot in self.slots)
        metadata = self._meta(agent, owner, born)
        document = kube.workload("DaemonSet", metadata, replicas=there)
        self.tell("ADDED", "DaemonSet", document, born)
        for slot in self.slots:
            created = max(born, slot.since) + _GAP
            name = slot.machine.name
            stay = self._stay(agent, owner, agent.boxes, created, slot.until, slot=0, turn=name)
            self.stays.append(replace(stay, home=name))

    def _batch(self, batch: Batch) -> None:
        born = self._long_ago(batch)
        cron = None
        if batch.kind == "CronJob":
            cron = self._owner(batch, "CronJob", batch.name, born)
            document = kube.workload("CronJob", self._meta(batch, cron, born))
            self.tell("ADDED", "CronJob", document, born)
        days = int((self.horizon - self.begin) / timedelta(days=1)) + 1
        for day in range(days):
            midnight = self.begin + timedelta(days=day)
            if midnight.weekday() not in batch.days:
                continue
            for hour in batch.hours:
                late = timedelta(seconds=int(120 * dice.draw(batch.name, midnight, hour)))
                at = midnight + timedelta(hours=hour) + late
                if self.begin <= at < self.horizon:
                    self._run(batch, at, cron)

    def _run(self, batch: Batch, at: datetime, cron: Ref | None) -> None:
        name = f"{batch.name}-{at:%Y%m%d-%H}"
        kind = batch.kind
        if cron is not None:
            kind, name = "Job", f"{batch.name}-{int(at.timestamp() // 60)}"
        owner = Ref(kind, name, self._uid(kind, batch.namespace, name))
        slow = batch.slow_pull and at.toordinal() % batch.slow_pull == 0
        ends = [
            self._part(batch, part, owner, at, _SLOW_IMAGE if slow else timedelta(0))
            for part in batch.parts
        ]
        if cron is not None:
            self._job(batch, owner, cron, at, max(ends))

    def _part(
        self, batch: Batch, part: Part, owner: Ref, at: datetime, pull: timedelta
    ) -> datetime:
        created = at + timedelta(minutes=part.after)
        for slot in range(part.count):
            much = 0.94 + 0.12 * dice.draw(owner.name, part.role, slot)
            length = timedelta(seconds=int(60 * part.minutes * much))
            end = created + length + pull
            stay = self._stay(
                batch, owner, part.boxes, created, end, slot=slot, turn=f"{part.role}{slot}"
            )
            stem = f"{owner.name}-{part.role}" if part.role else owner.name
            self.stays.append(replace(stay, stem=stem, finishes=True, pull=pull))
        return created + timedelta(minutes=part.minutes * 1.06) + pull

    def _job(self, batch: Batch, job: Ref, cron: Ref, at: datetime, end: datetime) -> None:
        metadata = kube.meta(
            job.name, job.uid, at, namespace=batch.namespace, labels=batch.pod_labels, owner=cron
        )
        done = kube.workload("Job", metadata, done=True)
        self.tell("ADDED", "Job", kube.workload("Job", metadata), at)
        self.tell("MODIFIED", "Job", done, end)
        self.tell("DELETED", "Job", done, end + _KEPT_JOBS)

    def _owner(self, program: Program, kind: str, name: str, born: datetime) -> Ref:
        at = f"{born:%Y%m%d}"
        return Ref(kind, name, self._uid(kind, program.namespace, f"{name}/{at}"))

    def _meta(self, program: Program, owner: Ref, born: datetime) -> kube.Doc:
        return kube.meta(
            owner.name, owner.uid, born, namespace=program.namespace,
            labels={"app": program.name, **program.labels}, annotations=program.annotations,
        )  # fmt: skip

    def _uid(self, kind: str, namespace: str, name: str) -> str:
        return dice.uid(self.site.name, kind, namespace, name)

    def _long_ago(self, program: Program) -> datetime:
        """When a program was first installed: some days before the stretch begins."""
        days = 3 + int(40 * dice.draw("born", program.namespace, program.name))
        minutes = int(1440 * dice.draw("hour", program.namespace, program.name))
        return self.begin - timedelta(days=days, minutes=minutes)

    def _moments(self, weekly: Sequence[tuple[int, float]]) -> list[datetime]:
        """Instants of (weekday, hour) in the stretch, in order."""
        days = int((self.horizon - self.begin) / timedelta(days=1)) + 1
        midnights = [self.begin + timedelta(days=day) for day in range(days)]
        return sorted(
            midnight + timedelta(hours=hour)
            for midnight in midnights
            for weekday, hour in weekly
            if midnight.weekday() == weekday
        )


def _replicas(service: Service, begin: datetime, horizon: datetime) -> list[tuple[datetime, int]]:
    """(from, replicas) at each change; the first at `begin`."""
    low, high = service.replicas
    if low == high:
        return [(begin, low)]
    first, last = int(begin.timestamp() * 1000), int(horizon.timestamp() * 1000)
    at = np.arange(first, last, int(_STEP.total_seconds() * 1000), dtype=np.int64)
    wanted = low + np.round((high - low) * day_of(at)).astype(int)
    found: list[tuple[datetime, int]] = []
    for ms, count in zip(at.tolist(), wanted.tolist(), strict=True):
        if not found or found[-1][1] != count:
            moment = datetime.fromtimestamp(ms / 1000, UTC)
            wait = timedelta(seconds=int(400 * dice.draw("scale", service.name, ms)))
            found.append((moment + wait if found else moment, count))
    return found


def _runs(
    counts: Sequence[tuple[datetime, int]], slot: int, first: datetime, last: datetime
) -> Iterator[tuple[datetime, datetime]]:
    """Stretches between `first` and `last` in which more than `slot` replicas are wanted."""
    start: datetime | None = None
    ends = [at for at, _ in counts[1:]]
    for number, ((at, count), until) in enumerate(zip(counts, [*ends, last], strict=True)):
        begin, end = max(at, first) if number else first, min(until, last)
        if begin >= end:
            continue
        if count > slot:
            start = start or begin
        elif start:
            yield start, begin
            start = None
    if start:
        yield start, last
