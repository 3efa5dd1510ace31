"""The inventory of one cluster: sights in, versions and dirty hours out, restart-safe.

The flow: events are taken by the ledger, versions are written, then the hours about which they are
news are marked. What a complete list no longer holds ended unseen: a pod's end is put at its last
sample, where that is newer than the last time the API server told of it, and corrected for a while,
since samples that a sender kept back may still arrive.

Synchronous and thread-safe; used by the watcher, the demo and tests alike.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import structlog

from seedance.facts.errors import IntakeError, SeedanceError
from seedance.facts.inventory import Cluster, ClusterId, ObjectVersion, Uid
from seedance.facts.window import HOUR, floor_hour
from seedance.flows.ledger import End, Event, Ledger
from seedance.store.objects import (
    clusters,
    last_sight,
    open_versions,
    put_cluster,
    put_versions,
)
from seedance.store.samples import last_samples_of_pods
from seedance.store.settles import mark_dirty
from seedance.store.store import Store

log = structlog.get_logger()

UNSEEN = timedelta(seconds=150)
"""Silence after which a deletion that is told may have happened at any moment of it."""

CORRECTED_FOR = timedelta(hours=1)
"""How long an estimated end follows samples that arrive late."""

_REMEMBERED_EVERY = timedelta(seconds=30)
_MOMENT = timedelta(milliseconds=1)
_FIRST_CORRECTION = timedelta(minutes=1)

Name = tuple[str, str]
"""Namespace and name of an object."""


@dataclass(frozen=True, slots=True)
class Written:
    """Versions that are in the store now, and the earliest instant they are news about."""

    versions: tuple[ObjectVersion, ...]
    since: datetime | None


@dataclass(frozen=True, slots=True)
class _Bounds:
    """An end that nobody saw: the best guess, and the instant before which it must have been."""

    at: datetime
    before: datetime


@dataclass(frozen=True, slots=True)
class _Estimate:
    """An end that was guessed at `noticed`, and when to look for later samples again."""

    version: ObjectVersion
    before: datetime
    noticed: datetime
    due: datetime


class Inventory:
    """The objects of one cluster, as versions in the store. Thread-safe."""

    def __init__(self, store: Store, cluster: Cluster, *, now: datetime) -> None:
        self.cluster = cluster
        self.unreadable = 0
        """Documents that could not be read since the start."""
        self._store = store
        self._lock = threading.RLock()
        self._seen_before = last_sight(store, cluster.id)
        self._sights: dict[str, datetime] = {}
        self._remembered = self._seen_before
        self._estimates: list[_Estimate] = []
        self._ledger = Ledger(cluster.id, open_versions(store, cluster.id))
        if self._seen_before is None:
            put_cluster(store, cluster, now=now)

    def record(self, events: Iterable[Event], *, now: datetime) -> int:
        """Take events in their order, write what they change and mark the hours they are late for.

        A document that cannot be read is logged and counted; the others go on.

        Returns:
            How many versions were written.

        Raises:
            BusyError: if the store cannot write; nothing is lost, the next call writes it.
        """
        with self._lock:
            self.take(events)
            written = self.write(now=now)
            self.mark(written, now=now)
        return len(written.versions)

    def take(self, events: Iterable[Event]) -> None:
        """Take events without writing yet."""
        with self._lock:
            for event in events:
                try:
                    self._take(event)
                except IntakeError as error:
                    self.unreadable += 1
                    log.warning("object cannot be read", cluster=self.cluster.name, why=str(error))

    def write(self, *, now: datetime) -> Written:
        """Write what waits; `mark` it afterwards with a later clock.

        Raises:
            BusyError: as `record`.
        """
        with self._lock:
            versions = tuple(self._ledger.pending.values())
            since = self._ledger.since
            if versions:
                put_versions(self._store, versions, now=now)
                self._ledger.forget(versions)
            return Written(versions, since if versions else None)

    def mark(self, written: Written, *, now: datetime, reason: str = "inventory") -> None:
        """Mark the past hours that `written` is news about.

        Not before the cluster was first seen, nor before the oldest raw sample that is kept.
        """
        if written.since is None:
            return
        kept = timedelta(days=self._store.retention.raw_days)
        first = max(written.since, self.cluster.first_seen, now - kept)
        hours = _hours(floor_hour(first), floor_hour(now))
        if hours:
            mark_dirty(self._store, self.cluster.id, hours, reason=reason, now=now)

    def absent(self, kind: str, listed: Collection[Uid], *, now: datetime) -> int:
        """Take the end of a complete list: what lives here and is not in it ended unseen.

        Returns:
            How many objects ended.
        """
        with self._lock:
            missing = self._ledger.known(kind).difference(listed)
            for uid, bounds in self._bounds(kind, missing, now).items():
                version = self._ledger.end(uid, End(bounds.at, "estimated"))
                self._guessed(version, bounds, now)
            return len(missing)

    def vanished(self, *, now: datetime) -> None:
        """Take that the cluster itself is gone: everything in it ended unseen."""
        with self._lock:
            for kind in self._ledger.counts():
                self.absent(kind, (), now=now)
            self.write(now=now)

    def correct(self, *, now: datetime) -> int:
        """Move estimated ends of pods to samples that arrived since; returns how many moved."""
        with self._lock:
            due = [estimate for estimate in self._estimates if estimate.due <= now]
            by_limit: dict[datetime, list[_Estimate]] = {}
            for estimate in due:
                by_limit.setdefault(estimate.before, []).append(estimate)
            self._estimates = [estimate for estimate in self._estimates if estimate.due > now]
            return sum(
                self._correct(before, together, now) for before, together in by_limit.items()
            )

    def saw(self, kind: str, at: datetime, *, current: bool) -> None:
        """Take that a kind was told of at `at`; `current`: everything up to then has been told.

        After a long silence only what is current ends it: until then the past is told.
        """
        with self._lock:
            if current or at - self._sights.get(kind, at) <= UNSEEN:
                self._sights[kind] = max(at, self._sights.get(kind, at))

    def remember(self, *, now: datetime) -> None:
        """Keep in the store until when the cluster was seen, for estimates after a restart."""
        with self._lock:
            if "Pod" not in self._sights:
                return
            sight = min(now, self._sights["Pod"], self._sights.get("Node", now))
            if self._remembered is None or sight - self._remembered >= _REMEMBERED_EVERY:
                put_cluster(self._store, self.cluster, now=sight)
                self._remembered = sight

    def mark_gap(self, *, now: datetime) -> None:
        """Mark the hours in which nobody watched: what lived through them is charged for them."""
        since = self._seen_before or self.cluster.first_seen
        self.mark(Written((), since), now=now, reason="not-watched")

    def counts(self) -> dict[str, int]:
        """How many objects live, by kind."""
        with self._lock:
            return self._ledger.counts()

    def pods_on_nodes(self) -> dict[str, set[tuple[str, str]]]:
        """Namespace and name of the pods that run, by node."""
        with self._lock:
            return self._ledger.pods_on_nodes()

    def metrics_paths(self) -> dict[str, str]:
        """By node: the path of its resource metrics, "" for the usual one."""
        with self._lock:
            return self._ledger.metrics_paths()

    def sample_names(self) -> tuple[str, ...]:
        """What a sample's cluster may say and mean this one; "" if there is no other."""
        only = len(clusters(self._store)) <= 1
        return (self.cluster.id, self.cluster.name, *([""] if only else []))

    def _take(self, event: Event) -> None:
        if event.type != "DELETED":
            self._ledger.sight(event)
        elif event.observed - self._sights.get(event.kind, event.observed) <= UNSEEN:
            self._ledger.gone(event)
        else:
            self._take_late(event)

    def _take_late(self, event: Event) -> None:
        """A deletion told after a silence: it may have happened at any moment of it."""
        uid = Uid(event.document["metadata"]["uid"])
        if self._ledger.ended(uid):
            return
        self._ledger.sight(replace(event, type="MODIFIED"))
        bounds = self._bounds(event.kind, {uid}, event.observed)[uid]
        version = self._ledger.end(uid, End(bounds.at, "estimated"))
        self._guessed(version, bounds, event.observed)

    def _guessed(self, version: ObjectVersion, bounds: _Bounds, now: datetime) -> None:
        if version.kind == "Pod":
            due = now + _FIRST_CORRECTION
            self._estimates.append(_Estimate(version, bounds.before, now, due))

    def _bounds(self, kind: str, missing: Collection[Uid], noticed: datetime) -> dict[Uid, _Bounds]:
        """When objects ended that nobody saw ending: between the last sight of them and now.

        A pod's end is its last sample, up to the creation of another pod that took its name.
        """
        sight = self._sights.get(kind) or self._seen_before
        names = {uid: self._ledger.named(uid) for uid in missing}
        births = self._ledger.births(but=missing) if kind == "Pod" and missing else {}
        limits = {uid: min(noticed, births.get(name, noticed)) for uid, name in names.items()}
        found = {}
        for limit in set(limits.values()):
            together = {uid: names[uid] for uid, at in limits.items() if at == limit}
            samples = (
                self._last_samples(set(together.values()), limit, sight) if kind == "Pod" else {}
            )
            for uid, name in together.items():
                told = self._ledger.facts_until(uid, limit)
                at = max(told, min(sight or told, limit), samples.get(name, told))
                found[uid] = _Bounds(at, limit)
        return found

    def _last_samples(
        self, names: Collection[Name], before: datetime, since: datetime | None
    ) -> dict[Name, datetime]:
        """By pod; a store that cannot answer now is asked again when estimates are corrected."""
        try:
            return last_samples_of_pods(
                self._store,
                cluster_names=self.sample_names(),
                pods=names,
                before=before,
                reach=max(before - since, _MOMENT) if since else None,
            )
        except SeedanceError as error:
            log.warning("last samples are not known", cluster=self.cluster.name, why=str(error))
            return {}

    def _correct(self, before: datetime, estimates: Sequence[_Estimate], now: datetime) -> int:
        """Look for later samples of pods that share a limit."""
        ends = {estimate.version.uid: estimate.version.valid_to for estimate in estimates}
        since = min(end for end in ends.values() if end is not None)
        names = {(e.version.namespace, e.version.name) for e in estimates}
        samples = self._last_samples(names, before, since)
        moved = 0
        for estimate in estimates:
            version = estimate.version
            sample = samples.get((version.namespace, version.name))
            if sample and version.valid_to and sample > version.valid_to:
                corrected = self._ledger.correct(version, sample)
                if corrected is None:
                    continue
                version, moved = corrected, moved + 1
            age = max(now - estimate.noticed, _FIRST_CORRECTION)
            if age < CORRECTED_FOR:
                again = replace(estimate, version=version, due=now + age)
                self._estimates.append(again)
        return moved


def _hours(first: datetime, end: datetime) -> list[datetime]:
    return [first + HOUR * n for n in range(int((end - first) / HOUR))]


def known_cluster(store: Store, uid: ClusterId, *, name: str, now: datetime) -> Cluster:
    """The cluster of that identity under the name it has now, first seen when it really was."""
    earlier = [cluster.first_seen for cluster in clusters(store) if cluster.id == uid]
    return Cluster(uid, name=name, first_seen=min([*earlier, now]))


def record(store: Store, cluster: Cluster, events: Iterable[Event], *, now: datetime) -> int:
    """Record events of a cluster once; who records often keeps an `Inventory`.

    Returns:
        How many versions were written.
    """
    return Inventory(store, cluster, now=now).record(events, now=now)
