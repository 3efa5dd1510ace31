"""The order of the play: start the server, tell the company's history, settle, report, stay.

    world → inventory flow → samples over HTTP → settle all hours → table and wastes → live

Everything runs in the thread that `serve` hands to whoever waits for its start, and looks at the
server's end between two steps, so that Ctrl-C ends it at any time.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import structlog

from seedance.demo.progress import stage
from seedance.demo.sender import Sender
from seedance.demo.told import report
from seedance.demo.world import Scene, World, build
from seedance.facts.errors import RefusedError, SeedanceError, UsageError
from seedance.facts.window import DAY, Window, floor_hour
from seedance.flows.recording.record import Recorder
from seedance.flows.reporting.report import costs
from seedance.flows.reporting.status import Parts
from seedance.flows.settling.settle import Settler
from seedance.flows.watching.inventory import Inventory
from seedance.settings.fields import (
    KubernetesSettings,
    LogSettings,
    RetentionSettings,
    Settings,
    SettleSettings,
    StoreSettings,
    WebSettings,
)
from seedance.store import objects
from seedance.store.store import Store

log = structlog.get_logger()

DAYS = 14
"""Days of history, unless fewer are asked for."""

MIN_DAYS, MAX_DAYS = 1, 14
REPORT_DAYS = 7
"""The table is of this many days, or of the whole history where that is shorter."""

SHEETS = Path(__file__).parent / "sheets"

_SLICE_MS = 6 * 3_600_000
_STEP_MS, _LIVE_STEP_MS = 60_000, 15_000
_LIVE_EVERY, _ROUND_EVERY, _LOOK_EVERY = 15.0, 60.0, 0.25
_HOURS_AT_ONCE = 24
_NEVER = 1e8
"""Seconds between the clock's own rounds: the play asks for them, so that none comes between."""


class Rounds(Protocol):
    """The server's settling clock."""

    def round(self) -> Sequence[Any]:
        """Settles what is due."""


class Context(Protocol):
    """What the server's doors share."""

    @property
    def now(self) -> Callable[[], datetime]:
        """The clock."""

    @property
    def parts(self) -> Parts:
        """The running parts; `stopping` once the server ends."""


class Server(Protocol):
    """What the play needs of a running server."""

    @property
    def store(self) -> Store:
        """The opened store, for the inventory flow."""

    @property
    def recorder(self) -> Recorder:
        """Tells how many samples wait."""

    @property
    def settler(self) -> Settler:
        """Settles hours."""

    @property
    def clock(self) -> Rounds:
        """Settles the running hour."""

    @property
    def context(self) -> Context:
        """Clock and end of the server."""

    @property
    def url(self) -> str:
        """Where it listens."""


class RunServer(Protocol):
    """Runs a server until its end; `started` is called once it answers, True ends it."""

    def __call__(self, settings: Settings, *, started: Callable[[Server], bool]) -> int:
        """The exit code."""


def main(run: RunServer, *, leave: bool, listen: str = "", days: int = DAYS) -> int:
    """Plays the demo on a server that `run` starts; the exit code.

    `leave` ends it after the report, `listen` is the address, `days` the length of the history.

    Raises:
        UsageError: `days` or `listen` make no sense.
        RefusedError: the port is in use, or nothing may be written.
    """
    if not MIN_DAYS <= days <= MAX_DAYS:
        raise UsageError(f"--days {days}: give {MIN_DAYS} to {MAX_DAYS}")
    os.environ.pop("KUBERNETES_SERVICE_HOST", None)  # in a pod, its own cluster is not of the play
    play = Play(leave=leave, days=days)
    with _throw_away() as folder:
        code = run(_settings(Path(folder) / "data", listen), started=play.started)
    if play.failed is not None:
        raise play.failed
    return code


def _throw_away() -> tempfile.TemporaryDirectory[str]:
    """The folder that is removed at the end.

    Raises:
        RefusedError: there is no place for temporary files.
    """
    try:
        return tempfile.TemporaryDirectory(prefix="seedance-demo-", ignore_cleanup_errors=True)
    except OSError as error:
        raise RefusedError(
            f"cannot make a folder for the demo: {error}", hint="set TMPDIR to one you may write to"
        ) from None


def _settings(data: Path, listen: str) -> Settings:
    """A server like any other, but for its folder and for who says when to settle."""
    web = WebSettings(listen=listen) if listen else WebSettings()
    return Settings(
        store=StoreSettings(data=str(data)),
        retention=RetentionSettings(raw=MAX_DAYS + 3),
        kubernetes=KubernetesSettings(scrape=False),
        settle=SettleSettings(manifests=(str(SHEETS),), every=_NEVER),
        web=web,
        log=LogSettings(level="warning"),
    )


class _StoppedError(Exception):
    """The server ends: so does the play."""


@dataclass(slots=True)
class Play:
    """One demo; `failed` is what ended it, if anything did."""

    leave: bool
    days: int
    failed: BaseException | None = None
    _sent_until: int = 0
    _told: dict[str, int] = field(default_factory=dict)

    def started(self, server: Server) -> bool:
        """Plays on a server that answers; True once it may end."""
        try:
            self._play(server)
        except _StoppedError:
            pass
        except BaseException as error:  # noqa: BLE001 - raised again by whoever ran the server
            if not server.context.parts.stopping:
                self.failed = error
        return True

    def _play(self, server: Server) -> None:
        world = build(server.context.now(), days=self.days)
        _note(
            f"A made-up company: {len(world.scenes)} clusters, {self.days} days of history, "
            f"on a throw-away store. {server.url} answers already."
        )
        sender = Sender(server.url, world.meters, lambda: server.context.parts.stopping)
        try:
            inventories = self._tell_history(server, world)
            self._send_history(server, world, sender)
            _settle_all(server)
            self._live(server, world, sender, inventories)
            _stored(server)
            server.clock.round()
            _print(server, days=min(self.days, REPORT_DAYS))
            if not self.leave:
                _note("\nSamples keep coming every 15 s. Ctrl-C ends the demo and removes it.")
                self._stay(server, world, sender, inventories)
        finally:
            sender.close()

    def _tell_history(self, server: Server, world: World) -> list[Inventory]:
        """Objects: what the watch of each cluster would have told until now."""
        found = []
        with stage("Telling what ran", len(world.scenes)) as shown:
            for scene in world.scenes:
                now = server.context.now()
                inventory = Inventory(server.store, scene.cluster, now=now)
                self._tell(scene, inventory, now=world.now)
                found.append(inventory)
                shown.advance()
        return found

    def _tell(self, scene: Scene, inventory: Inventory, *, now: datetime) -> None:
        first = self._told.get(scene.cluster.id, 0)
        last = bisect_right(scene.events, now, key=lambda event: event.observed)
        if last > first:
            inventory.record(scene.events[first:last], now=now)
        self._told[scene.cluster.id] = last

    def _send_history(self, server: Server, world: World, sender: Sender) -> None:
        """Samples of each minute, oldest first; then waits until they are in the store."""
        begin, end = _ms(world.begin), _ms(world.now)
        slices = range(begin, end, _SLICE_MS)
        with stage("Sending samples", len(slices) + 1) as shown:
            for first in slices:
                _go_on(server)
                sender.send(first, min(first + _SLICE_MS, end), step=_STEP_MS)
                shown.advance()
            _stored(server)
            shown.advance()
        self._sent_until = end
        _note(f"{sender.sent:,} samples taken")

    def _live(
        self, server: Server, world: World, sender: Sender, inventories: Sequence[Inventory]
    ) -> None:
        """What happened since the last time."""
        now = server.context.now()
        for scene, inventory in zip(world.scenes, inventories, strict=True):
            self._tell(scene, inventory, now=now)
        sender.send(self._sent_until, _ms(now), step=_LIVE_STEP_MS)
        self._sent_until = _ms(now)

    def _stay(
        self, server: Server, world: World, sender: Sender, inventories: Sequence[Inventory]
    ) -> None:
        """Live until the server ends; a failed step is told of and tried again."""
        rounded = time.monotonic()
        for _ in _ticks(server):
            try:
                self._live(server, world, sender, inventories)
            except SeedanceError as error:
                if not server.context.parts.stopping:
                    log.warning("the demo's samples wait", why=str(error))
                continue
            if time.monotonic() - rounded >= _ROUND_EVERY:
                rounded = time.monotonic()
                server.clock.round()


def _settle_all(server: Server) -> None:
    """Every hour of the history, oldest first."""
    clusters = objects.clusters(server.store)
    due = sum(len(server.settler.due(cluster, server.context.now())) for cluster in clusters)
    with stage("Settling hours", due) as shown:
        while True:
            _go_on(server)
            results = server.settler.settle_due(server.context.now(), most=_HOURS_AT_ONCE + 1)
            for result in results:
                if result.violations:
                    log.warning("sums are off", hour=str(result.start), what=result.violations[0])
            shown.advance(len(results) - len(clusters))
            if len(results) <= len(clusters):  # only the running hour of each
                return


def _print(server: Server, *, days: int) -> None:
    now = server.context.now()
    end = floor_hour(now)
    ask = partial(costs, server.store, now=now)
    lines = report(ask, Window(end - days * DAY, end), days=days, url=server.url)
    sys.stdout.write("\n" + "\n".join(lines) + "\n")
    sys.stdout.flush()


def _ticks(server: Server) -> Iterator[None]:
    """Every 15 seconds, until the server ends."""
    due = time.monotonic() + _LIVE_EVERY
    while not server.context.parts.stopping:
        if time.monotonic() >= due:
            due += _LIVE_EVERY
            yield
        time.sleep(_LOOK_EVERY)


def _stored(server: Server) -> None:
    """Waits until everything that was sent is in the store."""
    while server.recorder.stats().queue_rows:
        _go_on(server)
        time.sleep(_LOOK_EVERY)


def _go_on(server: Server) -> None:
    if server.context.parts.stopping:
        raise _StoppedError


def _note(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def _ms(at: datetime) -> int:
    return int(at.timestamp() * 1000)
