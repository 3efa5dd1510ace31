"""When flows run: settling each minute, sweeping each hour, manifests read again when edited.

Everything happens in one worker thread at a time, so a slow settle delays the next one instead of
running beside it. A settle that fails is told of (`state`) and tried again a minute later.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import structlog

from seedance.facts.errors import SeedanceError, account_of
from seedance.facts.window import floor_minute
from seedance.flows.reporting.status import strangers
from seedance.flows.settling.adopt import adopt
from seedance.flows.settling.settle import Settler, SettleResult
from seedance.manifests.load import Manifests, load_manifests
from seedance.store.objects import clusters
from seedance.store.settles import sweep
from seedance.store.store import Store

log = structlog.get_logger()

SWEEP_EVERY = timedelta(hours=1)
_BEHIND = 5
"""A settle that took longer than this many periods is worth a reason in the state."""


@dataclass(frozen=True, slots=True)
class ClockState:
    """How settling goes.

    `seconds` is how long the last round took, `hours` how many hours it settled, `violations` how
    many broken invariants it found, `settled` and `failures` count since the start.
    """

    healthy: bool
    reason: str
    last_round: datetime | None
    seconds: float
    hours: int
    violations: int
    settled: int
    failures: int
    swept: int


@dataclass(frozen=True, slots=True)
class ManifestState:
    """What was loaded; `reason` says why an edit was not taken."""

    healthy: bool
    reason: str
    fingerprint: str
    currency: str
    books: tuple[str, ...]
    rules: tuple[str, ...]
    notes: tuple[str, ...]


class Clock:
    """Runs the flows of one store until it is stopped.

    Args:
        store: the opened store.
        settler: settles it.
        paths: where the settler's manifests were read from.
        every: seconds between two rounds.
        now: the clock, UTC.
    """

    def __init__(
        self,
        store: Store,
        settler: Settler,
        *,
        paths: Sequence[Path],
        every: float,
        now: Callable[[], datetime],
    ) -> None:
        self._store = store
        self._settler = settler
        self._paths = tuple(paths)
        self._every = every
        self._now = now
        self._stop = asyncio.Event()
        self._stamp = _stamp(self._paths)
        self._edit = ""
        self._swept_at = now()
        self._strange: set[str] = set()
        self._told: set[str] = set()
        self._state = ClockState(
            healthy=True, reason="", last_round=None, seconds=0.0, hours=0, violations=0,
            settled=0, failures=0, swept=0,
        )  # fmt: skip

    async def run(self) -> None:
        """Round after round, until `stop`; a round that runs is finished."""
        while not self._stop.is_set():
            began = time.monotonic()
            await asyncio.to_thread(self.round)
            wait = self._every - (time.monotonic() - began)
            try:
                await asyncio.wait_for(self._stop.wait(), max(wait, 1.0))
            except TimeoutError:
                continue

    def stop(self) -> None:
        """Lets `run` end after the round that runs."""
        self._stop.set()

    def round(self) -> list[SettleResult]:
        """One round: manifests if they were edited, what is due, a sweep each hour."""
        began = time.monotonic()
        try:
            self._read_again()
            # Up to the whole minute: then a window that ends now reads the running hour's set as a
            # whole, instead of cutting it by its minutes, and nothing is counted twice.
            results = self._settler.settle_due(floor_minute(self._now()))
            swept = self._sweep()
            self._tell_strangers()
        except SeedanceError as error:
            return self._failed(str(error), began, account_of(error))
        except Exception as error:
            log.exception("settling failed")
            reason = f"{type(error).__name__}: {error}"
            return self._failed(reason, began, {"why": reason})
        seconds = time.monotonic() - began
        broken = [text for result in results for text in result.violations]
        self._state = ClockState(
            healthy=True,  # a sum that is off is told of, and no reason to stop serving
            reason=f"{len(broken)} sums are off: {broken[0]}" if broken else self._slow(seconds),
            last_round=self._now(),
            seconds=seconds,
            hours=len(results),
            violations=len(broken),
            settled=self._state.settled + len(results),
            failures=self._state.failures,
            swept=self._state.swept + swept,
        )
        return results

    def state(self) -> ClockState:
        """How it goes; any thread may ask."""
        return self._state

    def manifest_state(self) -> ManifestState:
        """What prices and rules are in force."""
        manifests = self._settler.manifests
        return ManifestState(
            healthy=not self._edit,
            reason=self._edit,
            fingerprint=manifests.fingerprint,
            currency=manifests.currency,
            books=tuple(book.metadata.name for book in manifests.books),
            rules=tuple(rules.metadata.name for rules in manifests.rules),
            notes=manifests.notes,
        )

    def _failed(self, reason: str, began: float, account: Mapping[str, str]) -> list[SettleResult]:
        log.error("settling failed", **account)
        before = self._state
        self._state = ClockState(
            healthy=False,
            reason=f"settling fails: {reason}",
            last_round=before.last_round,
            seconds=time.monotonic() - began,
            hours=0,
            violations=before.violations,
            settled=before.settled,
            failures=before.failures + 1,
            swept=before.swept,
        )
        return []

    def _slow(self, seconds: float) -> str:
        if seconds < self._every * _BEHIND:
            return ""
        return f"the last round took {seconds:.0f} s, rounds are due every {self._every:.0f} s"

    def _sweep(self) -> int:
        now = self._now()
        if now - self._swept_at < SWEEP_EVERY:
            return 0
        self._swept_at = now
        return sweep(self._store, now=now)

    def _tell_strangers(self) -> None:
        """Says once of each name that samples bear and no watched cluster has.

        At the second sight: at the start samples may be here before their cluster has answered.
        """
        before = self._strange
        self._strange = {stranger.word for stranger in strangers(self._store, now=self._now())}
        found = (self._strange & before) - self._told
        watched = [cluster.name for cluster in clusters(self._store)] if found else []
        if not watched:
            return
        self._told |= found
        log.warning(
            "samples name a cluster that is not watched",
            arriving=sorted(found),
            watched=watched,
            do="--cluster NAME=KUBECONFIG with the samples' name, or Prometheus' external label",
        )

    def _read_again(self) -> None:
        """Takes an edit of the manifests; a broken one is told of and leaves the old in force."""
        stamp = _stamp(self._paths)
        if stamp == self._stamp:
            return
        try:
            manifests: Manifests = load_manifests(self._paths)
            marked = adopt(self._store, manifests, now=self._now())
        except SeedanceError as error:
            if self._edit != str(error):
                log.warning("edited manifests are not taken", why=str(error))
            self._edit = str(error)
            return
        self._stamp, self._edit = stamp, ""
        self._settler.manifests = manifests
        log.info("manifests read again", hours_to_settle=marked)


def _stamp(paths: Sequence[Path]) -> tuple[tuple[str, int, int], ...]:
    """What tells that a file was edited: name, time and size of each file."""
    files = [
        file
        for path in paths
        for file in (sorted(path.iterdir()) if path.is_dir() else [path])
        if file.exists()
    ]
    return tuple((str(f), f.stat().st_mtime_ns, f.stat().st_size) for f in files)
