"""Versions of an object to its life: when it was there, and when a pod is charged.

See "When a pod is charged" in `docs/explain/cost-arithmetic.md`. Instants are milliseconds since
the epoch; FAR is the end of what has not ended.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

from seedance.facts.costs import Flag
from seedance.facts.inventory import ObjectVersion, Pod

FAR = 4_102_444_800_000
"""2100-01-01, the end of what lives."""

TERMINAL = frozenset({"Succeeded", "Failed"})

T = TypeVar("T")


def millis(at: datetime) -> int:
    """Milliseconds since the epoch."""
    return round(at.timestamp() * 1000)


@dataclass(frozen=True, slots=True)
class Life(Generic[T]):
    """All versions of one object: (valid from, facts) in order, and where it ended."""

    uid: str
    namespace: str
    name: str
    kind: str
    versions: tuple[tuple[int, T], ...]
    end: int
    estimated: bool

    @property
    def newest(self) -> T:
        """The facts of the newest version."""
        return self.versions[-1][1]

    def before(self, at: int) -> T:
        """The facts that held just before `at`; the first ones for earlier instants."""
        place = bisect_left(self.versions, at, key=lambda version: version[0])
        return self.versions[max(place - 1, 0)][1]

    def steady(self, start: int, end: int) -> bool:
        """Did one version hold from `start` to `end`?"""
        return not any(start < at < end for at, _ in self.versions[1:])


def lives(
    versions: Iterable[ObjectVersion], parse: Callable[[Mapping[str, Any]], T]
) -> dict[str, Life[T]]:
    """Lives by UID from versions in any order."""
    found: dict[str, list[ObjectVersion]] = {}
    for version in versions:
        found.setdefault(version.uid, []).append(version)
    return {uid: _life(mine, parse) for uid, mine in found.items()}


def _life(versions: list[ObjectVersion], parse: Callable[[Mapping[str, Any]], T]) -> Life[T]:
    versions.sort(key=lambda version: version.valid_from)
    last = versions[-1]
    ended = bool(last.ended) and last.valid_to is not None
    return Life(
        uid=last.uid,
        namespace=last.namespace,
        name=last.name,
        kind=last.kind,
        versions=tuple((millis(v.valid_from), parse(v.doc)) for v in versions),
        end=millis(last.valid_to) if ended and last.valid_to else FAR,
        estimated=last.ended == "estimated",
    )


@dataclass(frozen=True, slots=True)
class Span:
    """When a pod is charged: [start, end) in milliseconds, and what must be said about it."""

    start: int
    end: int
    flags: Flag


def charged_span(life: Life[Pod]) -> Span | None:
    """The charged interval of a pod; None where it was never scheduled, or ended before."""
    pod = life.newest
    if pod.scheduled is None or not pod.node:
        return None
    start, flags = millis(pod.scheduled), Flag(0)
    ends = [life.end]
    if pod.phase in TERMINAL and pod.finished is not None:
        ends.append(millis(pod.finished))
    elif pod.deletion is not None:
        ends.append(millis(pod.deletion))
    end = min(ends)
    if life.estimated and end == life.end:
        flags |= Flag.END_ESTIMATED
    return Span(start, end, flags) if start < end else None


def first_started(life: Life[Pod], container: str) -> int:
    """When a container first ran, as far as any version tells; FAR where it never did."""
    starts = [
        millis(one.started)
        for _, pod in life.versions
        for one in pod.containers
        if one.name == container and one.started is not None
    ]
    return min(starts, default=FAR)
