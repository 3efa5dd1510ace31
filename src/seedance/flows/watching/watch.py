"""Watching one cluster: every kind is listed and watched, and what is seen goes into the store.

The flow: who is this (the UID of its `kube-system` namespace)? → one task per kind follows the API
server and puts what it tells into one bounded queue → one task takes from the queue in order, lets
the inventory write, and marks hours. So at most a few pages are in memory, the store is written to
a few times a second at most, and a slow store slows the lists down instead of filling memory.

Nothing here ends on its own. A kind that is refused or broken is named in the state, the others go
on; a store that cannot write is asked again until it can; a cluster that became another one (same
address, new identity) is begun anew.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

import structlog

from seedance.facts.errors import NotFoundError, RefusedError, SeedanceError, account_of
from seedance.facts.inventory import ClusterId, Uid
from seedance.flows.watching.inventory import Inventory, known_cluster, record
from seedance.flows.watching.ledger import Event
from seedance.intake.inventory import RESOURCES, Resource
from seedance.intake.kubernetes import Connection
from seedance.intake.listwatch import Alive, Changes, News, Pace, Page, Trouble, follow
from seedance.store.store import Store

__all__ = ["Event", "Inventory", "KindState", "WatchState", "Watcher", "record"]

log = structlog.get_logger()

Clock = Callable[[], datetime]

_ESSENTIAL = frozenset({"Node", "Namespace", "Pod"})
_IDENTITY = "/api/v1/namespaces/kube-system"
_QUEUE = 64  # batches of changes that wait at most; each is what one read of a watch held
_PAGES = 3  # pages of lists that wait at most
_GATHER = 0.2  # seconds in which changes gather, so that a busy cluster makes few large writes
_STORE_PAUSE = 1.0
_TICK = 15.0
_CRASH_PAUSE = 30.0


@dataclass(frozen=True, slots=True)
class KindState:
    """How the watch of one kind is.

    `synced`: listed completely and being watched. `refused`: no rights, or not served here.
    `last_event` is when something last changed, `last_seen` when the server last told of the kind.
    """

    kind: str
    synced: bool
    refused: bool
    objects: int
    last_event: datetime | None
    last_seen: datetime | None
    error: str


@dataclass(frozen=True, slots=True)
class WatchState:
    """How the watch of one cluster is.

    Healthy: identified, every kind synced but those that are refused, pods, nodes and namespaces
    not among the latter, and the store takes what is seen. `reason` says what is not.
    `refused` names the kinds that are left out.
    """

    cluster: str
    cluster_name: str
    server: str
    healthy: bool
    reason: str
    refused: tuple[str, ...]
    kinds: tuple[KindState, ...]
    unreadable: int
    versions_written: int


@dataclass(slots=True)
class _Kind:
    synced: bool = False
    refused: bool = False
    last_event: datetime | None = None
    last_seen: datetime | None = None
    error: str = "not listed yet"
    listed: set[Uid] = field(default_factory=set)


class _OtherClusterError(Exception):
    """The address leads to a cluster with another identity."""


class _BeginAnewError(Exception):
    """What was told could not be taken in: list everything again."""


_Told = tuple[Resource, News, datetime]


class _Queue:
    """What was told and is not taken in yet, in order: bounded batches and fewer pages."""

    def __init__(self) -> None:
        self._waiting: asyncio.Queue[_Told] = asyncio.Queue(_QUEUE)
        self._pages = asyncio.Semaphore(_PAGES)

    async def put(self, told: _Told) -> None:
        """Add; waits while there is no room."""
        if isinstance(told[1], Page):
            await self._pages.acquire()
        await self._waiting.put(told)

    async def take(self) -> list[_Told]:
        """All that waits, at least one; changes are given a moment to gather."""
        batch = [await self._waiting.get()]
        if not isinstance(batch[0][1], Page) and self._waiting.qsize() < _QUEUE // 2:
            await asyncio.sleep(_GATHER)
        while not self._waiting.empty():
            batch.append(self._waiting.get_nowait())
        return batch

    def taken(self, batch: Sequence[_Told]) -> None:
        """Make room for as many pages as the batch held."""
        for _, news, _ in batch:
            if isinstance(news, Page):
                self._pages.release()


class Watcher:
    """Watches one cluster until it is cancelled."""

    def __init__(
        self,
        store: Store,
        *,
        name: str,
        connection: Connection,
        clock: Clock,
        pace: Pace | None = None,
        resources: Sequence[Resource] = RESOURCES,
    ) -> None:
        self.name = name
        self.inventory: Inventory | None = None
        """The cluster's inventory, once it is known which cluster this is."""
        self._store = store
        self._connection = connection
        self._clock = clock
        self._pace = pace or Pace()
        self._resources = tuple(resources)
        self._kinds = {resource.kind: _Kind() for resource in self._resources}
        self._error = "not connected yet"
        self._store_error = ""
        self._written = 0
        self._gap_marked = False

    async def run(self) -> None:
        """Watch until cancelled."""
        pause = self._pace.pause
        while True:
            try:
                uid = await self._identity()
            except SeedanceError as error:
                if self._error != str(error):
                    log.warning("cluster does not answer", cluster=self.name, why=str(error))
                self._error = str(error)
                await asyncio.sleep(pause)
                pause = min(pause * 2.0, self._pace.longest_pause)
                continue
            pause = self._pace.pause
            await self._watch(uid)

    def state(self) -> WatchState:
        """How it is; any thread may ask."""
        inventory = self.inventory
        counts = inventory.counts() if inventory else {}
        kinds = tuple(
            KindState(
                kind=kind,
                synced=state.synced,
                refused=state.refused,
                objects=counts.get(kind, 0),
                last_event=state.last_event,
                last_seen=state.last_seen,
                error=state.error,
            )
            for kind, state in self._kinds.items()
        )
        reason = self._reason(kinds)
        return WatchState(
            cluster=inventory.cluster.id if inventory else "",
            cluster_name=self.name,
            server=self._connection.server,
            healthy=not reason,
            reason=reason,
            refused=tuple(kind.kind for kind in kinds if kind.refused),
            kinds=kinds,
            unreadable=inventory.unreadable if inventory else 0,
            versions_written=self._written,
        )

    def _reason(self, kinds: Sequence[KindState]) -> str:
        if self._error:
            return self._error
        if self._store_error:
            return self._store_error
        broken = [
            f"{kind.kind}: {kind.error}"
            for kind in kinds
            if not kind.synced and (not kind.refused or kind.kind in _ESSENTIAL)
        ]
        return "; ".join(broken)

    async def _identity(self) -> ClusterId:
        namespace = await self._connection.get_json(_IDENTITY, doing="get namespace kube-system")
        return ClusterId(namespace["metadata"]["uid"])

    async def _watch(self, uid: ClusterId) -> None:
        """Watch the cluster until its address leads to another one."""
        inventory = await asyncio.to_thread(self._open, uid)
        queue = _Queue()
        self.inventory, self._error, self._gap_marked = inventory, "", False
        self._kinds = {resource.kind: _Kind() for resource in self._resources}
        try:
            async with asyncio.TaskGroup() as tasks:
                for resource in self._resources:
                    follow_kind = partial(self._follow, resource, uid, queue)
                    tasks.create_task(self._endless(follow_kind))
                tasks.create_task(self._take(inventory, queue))
                tasks.create_task(self._endless(partial(self._tick, inventory, uid)))
        except* _OtherClusterError:
            log.warning("the address leads to another cluster now", cluster=self.name, was=uid)
            self._error = "the address leads to another cluster now"
            await asyncio.to_thread(inventory.vanished, now=self._clock())
        except* _BeginAnewError:
            self._error = "the inventory failed and begins anew; the log says why"
            await asyncio.sleep(_CRASH_PAUSE)

    def _open(self, uid: ClusterId) -> Inventory:
        now = self._clock()
        cluster = known_cluster(self._store, uid, name=self.name, now=now)
        return Inventory(self._store, cluster, now=now)

    async def _endless(self, work: Callable[[], Coroutine[None, None, None]]) -> None:
        """Begin again what ends by a fault of ours: the rest must not die of it."""
        while True:
            try:
                await work()
            except _OtherClusterError:
                raise
            except Exception:
                log.exception("a part of the watch failed and begins again", cluster=self.name)
            await asyncio.sleep(_CRASH_PAUSE)

    async def _follow(self, resource: Resource, uid: ClusterId, queue: _Queue) -> None:
        async with aclosing(follow(self._connection, resource, pace=self._pace)) as told:
            async for news in told:
                if isinstance(news, Page) and news.first:
                    await self._same_cluster(uid)
                await queue.put((resource, news, self._clock()))

    def _reflect(self, resource: Resource, news: News) -> None:
        """Say in the state what is in the store by now."""
        state = self._kinds[resource.kind]
        if isinstance(news, Trouble):
            self._trouble(resource, news)
        elif isinstance(news, Alive) or (isinstance(news, Page) and news.last):
            state.synced, state.refused, state.error = True, False, ""

    def _trouble(self, resource: Resource, trouble: Trouble) -> None:
        state = self._kinds[resource.kind]
        state.synced = False
        state.refused = isinstance(trouble.error, RefusedError | NotFoundError)
        if state.error != str(trouble.error):
            log.warning("watch is broken", cluster=self.name, kind=resource.kind, why=trouble.error)
        state.error = str(trouble.error)

    async def _same_cluster(self, uid: ClusterId) -> None:
        """Raise if the address leads to another cluster; no answer says nothing."""
        try:
            found = await self._identity()
        except SeedanceError:
            return
        if found != uid:
            raise _OtherClusterError

    async def _take(self, inventory: Inventory, queue: _Queue) -> None:
        """Take news from the queue in order and write what it changes."""
        while True:
            batch = await queue.take()
            try:
                await asyncio.to_thread(self._apply, inventory, batch)
            except Exception as fault:
                log.exception("what the cluster told cannot be taken in", cluster=self.name)
                raise _BeginAnewError from fault
            queue.taken(batch)
            await self._write(inventory)
            for resource, news, _ in batch:
                self._reflect(resource, news)

    def _apply(self, inventory: Inventory, batch: Sequence[_Told]) -> None:
        for resource, news, observed in batch:
            state = self._kinds[resource.kind]
            if not isinstance(news, Trouble):
                state.last_seen = observed
            if isinstance(news, Page):
                self._take_page(inventory, resource, news, observed)
            elif isinstance(news, Changes):
                state.last_event = observed
                inventory.take(
                    Event(kind, resource.kind, document, observed) for kind, document in news.events
                )
                inventory.saw(resource.kind, observed, current=False)
            elif isinstance(news, Alive) and news.current:
                inventory.saw(resource.kind, observed, current=True)

    def _take_page(
        self, inventory: Inventory, resource: Resource, page: Page, observed: datetime
    ) -> None:
        state = self._kinds[resource.kind]
        if page.first:
            state.listed = set()
        inventory.take(
            Event("ADDED", resource.kind, document, observed) for document in page.objects
        )
        state.listed.update(
            Uid((document.get("metadata") or {}).get("uid", "")) for document in page.objects
        )
        if page.last:
            inventory.absent(resource.kind, state.listed, now=observed)
            inventory.saw(resource.kind, observed, current=True)
            state.listed = set()
            state.last_event = observed

    async def _write(self, inventory: Inventory) -> None:
        """Write until it is written: the queue waits meanwhile."""
        while True:
            try:
                await asyncio.to_thread(self._write_once, inventory)
            except SeedanceError as error:
                self._store_error = f"the inventory cannot be written: {error}"
                log.warning(
                    "the inventory cannot be written", cluster=self.name, **account_of(error)
                )
                await asyncio.sleep(_STORE_PAUSE)
            else:
                self._store_error = ""
                return

    def _write_once(self, inventory: Inventory) -> None:
        written = inventory.write(now=self._clock())
        self._written += len(written.versions)
        inventory.mark(written, now=self._clock())

    async def _tick(self, inventory: Inventory, uid: ClusterId) -> None:
        """What is due now and then: estimates, the last sight, who this is."""
        while True:
            await asyncio.sleep(_TICK)
            await self._same_cluster(uid)
            if not all(self._kinds[kind].synced for kind in ("Pod", "Node")):
                continue
            await asyncio.to_thread(self._look_after, inventory)

    def _look_after(self, inventory: Inventory) -> None:
        now = self._clock()
        inventory.remember(now=now)
        if not self._gap_marked:
            inventory.mark_gap(now=now)
            self._gap_marked = True
        if inventory.correct(now=now):
            self._write_once(inventory)
