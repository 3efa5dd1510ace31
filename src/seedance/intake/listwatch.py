"""One kind of one cluster, for ever: list, then watch, and list again when the server forgot us.

The flow: `follow` lists in pages (bounded memory) and hands each page on, then watches from the
list's version. Bookmarks move the version on while nothing happens, so that a watch that ends (the
server ends each after some minutes) goes on without a list. 410 means list and compare. Whoever
consumes learns the end of a list and compares: what it knows and the list did not hold is gone.

It never ends and never raises on its own: trouble is news too, followed by a growing, jittered
pause, or by the pause that the server asked for. lightkube's own `watch` is not used: it has no
read time-out, no bookmarks, and loses deletions over a 410 (docs/decisions/0003-watching.md).
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Literal

from seedance.facts.errors import (
    BusyError,
    SeedanceError,
)
from seedance.intake.inventory import Resource
from seedance.intake.kubernetes import Connection, FaultError, GoneError, error_of
from seedance.intake.meta import Json

ChangeType = Literal["ADDED", "MODIFIED", "DELETED"]
_SILENT = 2
"""Watches in a row that told nothing, not even a bookmark, before the version is not believed:
a server whose data went back (a restored backup) is silent until it is ahead of us again."""
_FAULTS = 3
"""Faults in a row after which the version itself may be what the server cannot bear."""
_TYPES = frozenset({"ADDED", "MODIFIED", "DELETED", "BOOKMARK"})


@dataclass(frozen=True, slots=True)
class Pace:
    """How patient a watch is. Seconds, and objects a page.

    Attributes:
        page: objects asked for at once while listing.
        watch_seconds: the server ends a watch after this to twice this.
        read_timeout: silence after which a watch is given up; the server sends a bookmark a minute.
        pause, longest_pause: first and longest wait after trouble, before jitter.
        steady: a watch that lasted this long is resumed at once, and its end is no trouble.
    """

    page: int = 500
    watch_seconds: int = 240
    read_timeout: float = 150.0
    pause: float = 0.5
    longest_pause: float = 60.0
    steady: float = 5.0


@dataclass(frozen=True, slots=True)
class Page:
    """A part of a list. `first` starts a list anew, `last` completes it."""

    objects: list[Json]
    first: bool
    last: bool


@dataclass(frozen=True, slots=True)
class Changes:
    """What a watch told, in order."""

    events: list[tuple[ChangeType, Json]]


@dataclass(frozen=True, slots=True)
class Alive:
    """The server answers. `current` (a bookmark): everything up to now has been told."""

    current: bool


@dataclass(frozen=True, slots=True)
class Trouble:
    """It does not work at the moment; the next try comes in `pause` seconds."""

    error: SeedanceError
    pause: float


News = Page | Changes | Alive | Trouble


async def follow(
    connection: Connection, resource: Resource, *, pace: Pace
) -> AsyncGenerator[News, None]:
    """Everything that happens to a kind, for ever; close it (`contextlib.aclosing`) to stop."""
    follower = _Follower(connection, resource, pace)
    while True:
        try:
            async with aclosing(follower.attempt()) as attempt:
                async for news in attempt:
                    yield news
        except SeedanceError as error:
            trouble = follower.after(error)
            if trouble is not None:
                yield trouble
                await asyncio.sleep(trouble.pause)


class _Follower:
    """The state of one watch: where it stands and how often it failed in a row."""

    def __init__(self, connection: Connection, resource: Resource, pace: Pace) -> None:
        self._connection = connection
        self._resource = resource
        self._pace = pace
        self._version = ""
        self._failures = 0  # in a row, without anything told in between
        self._forgotten = 0  # 410 in a row, likewise
        self._torn = 0  # 410 in the middle of a list, in a row
        self._silent = 0  # watches that were open and told nothing at all, in a row
        self._since: float | None = None

    async def attempt(self) -> AsyncGenerator[News, None]:
        """One list, if one is due, and one watch."""
        self._since = None
        if self._silent >= _SILENT:
            self._version, self._silent = "", 0
        if not self._version:
            async with aclosing(self._list()) as pages:
                async for page in pages:
                    yield page
        async with aclosing(self._watch()) as told:
            async for news in told:
                yield news
        if self._lasted():
            self._failures = 0
        else:
            self._failures += 1
            await asyncio.sleep(self._growing_pause())

    def after(self, error: SeedanceError) -> Trouble | None:
        """What to do about an error; None: go on at once, it is part of a watch's life."""
        if isinstance(error, GoneError):
            self._version = ""
            self._forgotten += 1
            if self._forgotten == 1:
                return None
        elif self._lasted():
            self._failures = 0
            return None
        self._failures += 1
        if isinstance(error, FaultError) and self._failures > _FAULTS:
            self._version = ""
        return Trouble(error, self._pause_after(error))

    def _lasted(self) -> bool:
        if self._since is None:
            return False
        return asyncio.get_running_loop().time() - self._since >= self._pace.steady

    def _pause_after(self, error: SeedanceError) -> float:
        if isinstance(error, BusyError):
            return error.retry_after * (1.0 + random.random() / 4)  # noqa: S311  # jitter
        return self._growing_pause()

    def _growing_pause(self) -> float:
        # Refusals too begin with short pauses: a server that has just started refuses everybody
        # until it has read its roles.
        doubled = self._pace.pause * 2.0 ** min(self._failures - 1, 16)
        return _jittered(min(doubled, self._pace.longest_pause))

    async def _list(self) -> AsyncGenerator[Page, None]:
        """The list in pages; torn by a 410 between two pages, the next try has larger ones."""
        doing = f"list {self._resource.plural}"
        params = {"limit": str(self._pace.page * 10 ** min(self._torn, 3))}
        version = token = ""
        while True:
            first = not token
            try:
                body = await self._connection.get_json(self._resource.path, params, doing=doing)
            except GoneError:
                self._torn += 1
                raise
            metadata = body.get("metadata") or {}
            version = version or str(metadata.get("resourceVersion") or "")
            token = metadata.get("continue") or ""
            yield Page(body.get("items") or [], first=first, last=not token)
            if not token:
                self._version, self._torn = version, 0
                return
            params["continue"] = token

    async def _watch(self) -> AsyncGenerator[News, None]:
        seconds = self._pace.watch_seconds
        params = {
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": self._version,
            "timeoutSeconds": str(random.randint(seconds, 2 * seconds)),  # noqa: S311  # spread
        }
        lines = self._connection.stream_lines(
            self._resource.path,
            params,
            doing=f"watch {self._resource.plural}",
            read_timeout=self._pace.read_timeout,
        )
        async with aclosing(lines) as batches:
            async for batch in batches:
                if self._since is None:
                    self._since = asyncio.get_running_loop().time()
                    self._silent += 1
                    yield Alive(current=False)
                for news in self._read(batch):
                    yield news

    def _read(self, lines: list[bytes]) -> Iterator[News]:
        """News of a batch of lines; an error among them comes after what was told before it."""
        events: list[tuple[ChangeType, Json]] = []
        current, failed = False, None
        for line in lines:
            kind, document = _event(line)
            if kind == "ERROR":
                failed = _told_error(document, self._connection.server, self._resource)
                break
            self._version = document["metadata"].get("resourceVersion") or self._version
            if kind == "BOOKMARK":
                current = True
            else:
                events.append((kind, document))
        if events or current:
            self._failures = self._forgotten = self._silent = 0
        if events:
            yield Changes(events)
        if current:
            yield Alive(current=True)
        if failed:
            raise failed


def _jittered(seconds: float) -> float:
    return seconds * (0.5 + random.random() / 2)  # noqa: S311  # jitter, no secret


def _event(line: bytes) -> tuple[Any, Json]:
    """Type and object of one line of a watch; a line that is no event becomes an error event."""
    try:
        event = json.loads(line)
        kind, document = event["type"], event["object"]
        if kind == "ERROR" or (kind in _TYPES and isinstance(document["metadata"], dict)):
            return kind, document
    except (ValueError, KeyError, TypeError):
        pass
    return "ERROR", {"code": 500, "message": f"no watch event: {line[:200]!r}"}


def _told_error(status: Json, server: str, resource: Resource) -> SeedanceError:
    code = int(status.get("code") or 500)
    delay = (status.get("details") or {}).get("retryAfterSeconds")
    return error_of(
        code,
        f"{server} ends watch {resource.plural} with {code}: {status.get('message') or status}",
        retry_after=str(delay) if delay else None,
    )
