"""What to read for a report: the window laid over the settled sets, coarsest grain first.

    whole UTC day, fresh day set    → the day set
    whole hour                      → the hour's set
    hour cut by an edge             → minutes of the hour's set

A set holds nothing of the time after it was begun, so the running hour is whole where the window
reaches that far, and is cut where it ends before. An edge inside an hour whose minutes have expired
is moved to the hour, outwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from seedance.facts.window import DAY, HOUR, MINUTE, Window, floor_day, floor_hour
from seedance.store.statements import statement
from seedance.store.store import Store

_TICK = timedelta(microseconds=1)

HourSet = tuple[int, bool, datetime]
"""Settle id, whether it is provisional, and when it was begun."""


@dataclass(slots=True)
class Plan:
    """Sets to read, each with the number of the time step it counts for.

    `start` and `end` bound what the sets hold; `as_of` is when the newest of them was settled.
    """

    start: datetime
    end: datetime
    days: dict[int, int] = field(default_factory=dict)
    hours: dict[int, int] = field(default_factory=dict)
    cuts: list[tuple[int, int, int, int]] = field(default_factory=list)
    """(settle id, step, first minute, last minute)."""
    finished: set[int] = field(default_factory=set)
    """Those of `hours` that are not provisional."""
    provisional: bool = False
    as_of: datetime | None = None
    settled: int = 0

    @property
    def empty(self) -> bool:
        """Whether nothing was settled in the window."""
        return not (self.days or self.hours or self.cuts)


@dataclass(frozen=True, slots=True)
class DaySets:
    """The sets of one cluster and UTC day: the fresh day set, else its hours."""

    day: datetime
    day_id: int
    hours: dict[datetime, HourSet]


def snap(
    window: Window, steps: Sequence[Window], *, minutes_from: datetime, hours_from: datetime
) -> tuple[Window, list[Window]]:
    """Window and steps with edges moved outwards to what is kept: whole hours, whole UTC days.

    Args:
        window: what was asked for.
        steps: adjacent stretches of it, in order.
        minutes_from: minutes are kept from this instant on.
        hours_from: hours are kept from this instant on.
    """

    def down(at: datetime) -> datetime:
        if at < hours_from:
            return floor_day(at)
        return floor_hour(at) if at < minutes_from else at

    def up(at: datetime) -> datetime:
        if at < hours_from:
            return floor_day(at + DAY - _TICK)
        return floor_hour(at + HOUR - _TICK) if at < minutes_from else at

    whole = Window(down(window.start), up(window.end))
    edges = [whole.start, *(down(step.start) for step in steps[1:]), whole.end]
    return whole, [Window(start, end) for start, end in pairwise(edges) if start < end]


def make_plan(store: Store, steps: Sequence[Window], *, clusters: Sequence[str]) -> Plan:
    """The sets that answer for adjacent `steps`, of some clusters or, with (), of all."""
    plan = Plan(steps[0].start, steps[-1].end)
    for sets in _sets(store, steps, clusters, plan):
        inside = [
            (number, part)
            for number, step in enumerate(steps)
            if (part := step.overlap(Window(sets.day, sets.day + DAY))) is not None
        ]
        _plan_day(plan, sets, inside)
    return plan


def _sets(
    store: Store, steps: Sequence[Window], clusters: Sequence[str], plan: Plan
) -> Iterable[DaySets]:
    start, end = steps[0].start, steps[-1].end
    # A step that begins inside a UTC day splits it, so the hours are needed throughout.
    by_day = all(step.start == floor_day(step.start) for step in steps[1:])
    first = floor_day(start + DAY - _TICK)
    params = {
        "start": start,
        "end": end,
        "clusters": list(clusters),
        "whole_start": first if by_day else start,
        "whole_end": floor_day(end) if by_day else start,
    }
    for row in store.engine.rows(statement("report_sets"), params):
        plan.as_of = row["ended"] if plan.as_of is None else max(plan.as_of, row["ended"])
        hours = {
            datetime.fromtimestamp(at, UTC): (ident, bool(provisional), _instant(begun))
            for at, ident, provisional, begun in row["hours"]
        }
        if row["fresh"]:
            plan.provisional |= bool(row["provisional"])
        yield DaySets(row["day"], row["day_id"] if row["fresh"] else 0, hours)


def _plan_day(plan: Plan, sets: DaySets, inside: Sequence[tuple[int, Window]]) -> None:
    if sets.day_id:
        plan.days[sets.day_id] = inside[0][0]
        plan.settled += 24
        return
    for start, (ident, provisional, begun) in sets.hours.items():
        for number, step in inside:
            part = step.overlap(Window(start, start + HOUR))
            if part is None:
                continue
            plan.provisional |= provisional
            plan.settled += 1
            first = int((part.start - start) / MINUTE)
            last = 60 if part.end >= begun else int((part.end - start) / MINUTE)
            if (first, last) == (0, 60):
                plan.hours[ident] = number
                plan.finished |= set() if provisional else {ident}
            else:
                plan.cuts.append((ident, number, first, last))


def _instant(micros: int) -> datetime:
    return datetime.fromtimestamp(micros / 1e6, UTC)
