"""The inventory of one cluster: sights in, versions and dirty hours out, restart-safe.

The flow: events are taken by the ledger, versions are written, then the hours about which they are
news are marked. What a complete list no longer holds ended unseen, and its end is estimated.

Synchronous and thread-safe; used by the watcher, the demo and tests alike.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import structlog

from seedance.facts.errors import IntakeError, SeedanceError, account_of
from seedance.facts.inventory import Cluster, ClusterId, ObjectVersion, Uid
from seedance.facts.window import HOUR, floor_hour
from seedance.flows.watching.estimates import CORRECTED_FOR, Estimates, Name
from seedance.flows.watching.ledger import Event, Ledger
from seedance.store.objects import (
    clusters,
    estimated_since,
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

_REMEMBERED_EVERY = timedelta(seconds=30)
_MOMENT = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class Written:
    """Versions that are in the store now, and the earliest instant they are news about."""

    versions: tuple[ObjectVersion, ...]
    since: datetime | None


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
        self._ledger = Ledger(cluster.id, open_versions(store, cluster.id))
        self._estimates = Estimates(self._ledger, self._last_samples)
        guessed = estimated_since(
            store, cluster=cluster.id, kinds=("Node", "Pod"), since=now - CORRECTED_FOR
        )
        self._estimates.resume(guessed, now=now)
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
                    log.warning(
                        "object cannot be read", cluster=self.cluster.name, **account_of(error)
                    )

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
            self._estimates.end(kind, missing, sight=self._sight(kind), noticed=now)
            return len(missing)

    def vanished(self, *, now: datetime) -> None:
        """Take that the cluster itself is gone: everything in it ended unseen."""
        with self._lock:
            for kind in self._ledger.counts():
                self.absent(kind, (), now=now)
            self.write(now=now)

    def correct(self, *, now: datetime) -> int:
        """Move estimated ends to samples that arrived since; returns how many moved."""
        with self._lock:
            return self._estimates.correct(now=now)

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
        sight = self._sight(event.kind)
        self._estimates.end(event.kind, {uid}, sight=sight, noticed=event.observed)

    def _sight(self, kind: str) -> datetime | None:
        """Until when everything about a kind has been told, also to an earlier process."""
        return self._sights.get(kind) or self._seen_before

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
