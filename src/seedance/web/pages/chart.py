"""Stacked bars of money over time, as plain values that the chart script draws.

Two questions make a chart: the keys on the table's top and the kinds of rows, each step by step
(with a step, a limit counts keys, and each key brings all of its steps). What the top rows leave
over is one series, so the bars add up to the whole. A step that was never settled is None, drawn
hatched, never 0.

The script asks for them after the first paint, so the page itself waits for its table only.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from zoneinfo import ZoneInfo

from seedance.facts import words
from seedance.facts.costquery import CostQuery
from seedance.facts.window import Window, floor_hour, format_instant
from seedance.facts.windowwords import midnight, parse_window
from seedance.flows.reporting.answers import CostItem
from seedance.web.pages.desk import Desk
from seedance.web.pages.links import is_aside, shown_keys

PATH = "/costs/bars"
COLOURS = 6
"""How many rows get a colour of their own; the rest is one grey series."""

_ASIDE = {"idle": "idle", "system": "system", "unattributed": "unattributed"}
_STEPS = ((3, "5m"), (50, "hour"), (24 * 70, "day"), (24 * 400, "week"))
_CHARGED = ("container", "pod")
_KEYS = COLOURS + len(_ASIDE)
_DUST = Decimal("0.000001")
"""Less than this left over is the rounding of a reader's own sums, not a row."""


@dataclass(frozen=True, slots=True)
class Series:
    """One colour of the bars: `look` is the CSS name of its swatch."""

    name: str
    look: str
    values: list[Decimal | None]


@dataclass(frozen=True, slots=True)
class Chart:
    """A drawn answer: labels under the bars, series from the bottom up, and its caption.

    `links` lead to the rows of each step; `provisional` says that the last one may change.
    """

    labels: list[str]
    links: list[str]
    provisional: bool
    series: list[Series]
    unit: str
    caption: str

    def data(self) -> str:
        """The values for the script, as JSON."""
        return json.dumps(
            {
                "labels": self.labels,
                "links": self.links,
                "provisional": self.provisional,
                "unit": self.unit,
                "title": self.caption,
                "series": [
                    {
                        "name": item.name,
                        "look": item.look,
                        "values": [None if v is None else float(v) for v in item.values],
                    }
                    for item in self.series
                ],
            },
            separators=(",", ":"),
            ensure_ascii=False,
        )


def step_of(query: CostQuery, now: datetime) -> str:
    """The step that was asked for, else one that gives a readable number of bars."""
    if query.step != "none":
        return query.step
    hours = parse_window(query.window, now=now, zone=query.zone).seconds / 3600
    return next((step for limit, step in _STEPS if hours <= limit), "month")


def bars_url(query: CostQuery) -> str:
    """Where the script finds the values of the chart above the table of `query`."""
    return replace(query, sort="-cost", offset=0).url(PATH)


def bars(desk: Desk, query: CostQuery) -> Chart:
    """Asks for the top keys and for the kinds of rows, each step by step.

    Raises:
        NoDataError: nothing is settled in the window.
    """
    step = step_of(query, desk.now())
    over = replace(query, step=step, sort="-cost", limit=_KEYS, offset=0)
    kinds = desk.costs(replace(over, by=("kind",)))
    tops = desk.costs(over) if query.by not in {("kind",), ()} else None
    window = Window(kinds.window.start, kinds.window.end)
    starts = _starts(window, step, query.zone, kinds.items)
    series = [*_named(tops.items, query.by, starts)] if tops else []
    rest = _rest(kinds.items, series, starts)
    series += [rest] if any(value and value > _DUST for value in rest.values) else []
    series += _aside(kinds.items, starts)
    labels = [_label(at, step, query.zone) for at in starts]
    caption = f"{kinds.currency} {_per(step)}, {query.zone}"
    return Chart(
        labels=labels,
        links=[_rows_of(query, cut) for cut in pairwise([*starts, window.end])],
        provisional=kinds.provisional,
        series=series,
        unit=kinds.currency,
        caption=caption,
    )


def _rows_of(query: CostQuery, cut: tuple[datetime, datetime]) -> str:
    words_of = ",".join(format_instant(at) for at in cut)
    return replace(query, window=words_of, step="none", offset=0).url("/costs")


def _named(
    items: Iterable[CostItem], by: Sequence[str], starts: Sequence[datetime]
) -> Iterable[Series]:
    found: dict[tuple[str, ...], dict[datetime, Decimal]] = {}
    names: list[str] = []
    for item in items:
        if item.start is None or is_aside(item.keys):
            continue
        key = tuple(item.keys.get(name, "") for name in by)
        if key not in found:
            names.append(shown_keys(item.keys))
        found.setdefault(key, {})[item.start] = item.cost or Decimal(0)
    for number, (name, values) in enumerate(zip(names, found.values(), strict=True)):
        if number < COLOURS:
            yield Series(name, f"s{number}", [values.get(at) for at in starts])


def _rest(items: Iterable[CostItem], named: Sequence[Series], starts: Sequence[datetime]) -> Series:
    charged = _sums(items, _CHARGED)
    values: list[Decimal | None] = []
    for number, at in enumerate(starts):
        if at not in charged:
            values.append(None)
            continue
        taken = sum((one.values[number] or Decimal(0) for one in named), Decimal(0))
        values.append(max(charged[at] - taken, Decimal(0)))
    code = "key:__rest__" if named else "kind:charged"
    return Series(words.name(code), "s-rest" if named else "s3", values)


def _aside(items: Sequence[CostItem], starts: Sequence[datetime]) -> Iterable[Series]:
    for kind, look in _ASIDE.items():
        sums = _sums(items, (kind,))
        if any(sums.values()):
            yield Series(words.name(f"kind:{kind}"), look, [sums.get(at) for at in starts])


def _sums(items: Iterable[CostItem], kinds: Sequence[str]) -> Mapping[datetime, Decimal]:
    sums: dict[datetime, Decimal] = {}
    for item in items:
        kind = item.keys.get("kind", "").strip("_")
        if item.start is not None and kind in kinds:
            sums[item.start] = sums.get(item.start, Decimal(0)) + (item.cost or Decimal(0))
    return sums


def _starts(window: Window, step: str, zone: str, items: Iterable[CostItem]) -> Sequence[datetime]:
    """Every step of the window, those without a row included, where steps can be counted."""
    known = {item.start for item in items if item.start is not None}
    place = ZoneInfo(zone)
    if step == "hour":
        count = range(int((window.end - floor_hour(window.start)) / timedelta(hours=1)) + 1)
        whole = [floor_hour(window.start) + timedelta(hours=n) for n in count]
    elif step == "day":
        days = (window.end.astimezone(place).date() - window.start.astimezone(place).date()).days
        whole = [midnight(window.start, place, days=n) for n in range(days + 1)]
    else:
        return sorted(known)
    known.update(at for at in whole if at < window.end and not _near(at, window, known))
    return sorted(known)


def _near(at: datetime, window: Window, known: set[datetime]) -> bool:
    """Whether the first step stands for `at` already, cut by the window's start."""
    return at < window.start and window.start in known


def _label(at: datetime, step: str, zone: str) -> str:
    local = at.astimezone(ZoneInfo(zone))
    if step in {"day", "week"}:
        return f"{local.day} {local:%b}"
    if step == "month":
        return f"{local:%b %Y}"
    return f"{local:%H:%M}" if local.hour or local.minute else f"{local.day} {local:%b}"


def _per(step: str) -> str:
    return f"per {step}" if step in {"hour", "day", "week", "month"} else f"per {step} step"
