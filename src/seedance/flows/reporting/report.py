"""Questions about money, answered: the one source of API, pages, command line and metrics.

A question comes in as `CostQuery` (plain text), is checked, its window is laid over the settled
sets, the store sums (`store.reports`, the only place where costs are added up), and the sums are
dressed for people: keys with reasons, shares that name their numerator, links to the other doors.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

from seedance.facts.costquery import (
    MAX_LIMIT,
    MAX_ROWS,
    SORTS,
    STEPS,
    CostQuery,
    parse_dimensions,
)
from seedance.facts.errors import NoDataError, UsageError
from seedance.facts.filters import Comparison, parse_filters
from seedance.facts.window import MINUTE, Window, format_instant
from seedance.facts.windowwords import midnight, parse_window, parse_zone
from seedance.flows.reporting.answers import CostAnswer
from seedance.flows.reporting.dress import dress
from seedance.store.reports import Ask, cluster_names, extent, prices_of, sum_costs
from seedance.store.store import Store

__all__ = ["MAX_ROWS", "CostAnswer", "CostQuery", "costs", "only_of", "steps_of"]

MAX_STEPS = 3_000
"""The most steps of one answer."""

_LENGTH = re.compile(r"^([1-9]\d{0,4})([mhdw])$")
_IDLE = ("rows", "share", "hide")


def costs(store: Store, query: CostQuery, *, now: datetime) -> CostAnswer:
    """What the window cost, grouped, filtered, sorted and paged as the query says.

    With a step, sort and page count keys, and each key brings its rows of all steps.

    Raises:
        UsageError: a word of the query that makes no sense; says which and what would.
        NoDataError: nothing was settled in the window; says why and since when there is data.
    """
    names = cluster_names(store)
    ask = _ask(query, names, now=now)
    sums = sum_costs(store, ask, now=now)
    if sums.plan.empty:
        raise _no_data(store, ask)
    parts = (*sums.items, *sums.totals, *sums.hidden)
    ids = {ident for part in parts for ident in part["prices"]}
    return dress(query, ask, sums, prices=prices_of(store, sorted(ids)), clusters=names, now=now)


def steps_of(window: Window, step: str, zone: ZoneInfo) -> tuple[Window, ...]:
    """The window cut at the edges of a step: hours, the zone's days, weeks and months, or lengths.

    Raises:
        UsageError: an unknown step, or more than `MAX_STEPS`.
    """
    if step in {"none", ""}:
        return (window,)
    edges = [window.start]
    while edges[-1] < window.end:
        edges.append(min(_next_edge(edges[-1], step, zone, window.start), window.end))
        if len(edges) > MAX_STEPS + 1:
            raise UsageError(
                f"step {step!r} cuts the window into more than {MAX_STEPS} pieces",
                hint="ask for a longer step or a shorter window",
            )
    return tuple(Window(start, end) for start, end in pairwise(edges))


def only_of(bound: str, names: Mapping[str, str]) -> tuple[str, ...]:
    """The cluster ids that a reader bound to a cluster (id or name, "" for none) may see.

    A bound cluster that was never seen gives an id that matches nothing.
    """
    if not bound:
        return ()
    return tuple(i for i, name in names.items() if bound in (i, name)) or (bound,)


def _next_edge(at: datetime, step: str, zone: ZoneInfo, start: datetime) -> datetime:
    local = at.astimezone(zone)
    match step:
        case "hour":
            return at.replace(minute=0) + timedelta(hours=1)
        case "day":
            return midnight(at, zone, days=1)
        case "week":
            return midnight(at, zone, days=7 - local.weekday())
        case "month":
            later = midnight(at, zone, days=32 - local.day).astimezone(zone)
            return midnight(later, zone, days=1 - later.day)
        case _:
            return _next_length(at, step, zone, start)


def _next_length(at: datetime, step: str, zone: ZoneInfo, start: datetime) -> datetime:
    match = _LENGTH.match(step)
    if match is None:
        raise UsageError(
            f"step {step!r} is not known",
            hint=f"write one of {', '.join(STEPS)} or a length such as 6h or 2d",
        )
    count, unit = int(match[1]), match[2]
    if unit in "dw":
        return midnight(at, zone, days=count * (7 if unit == "w" else 1))
    length = count * (MINUTE if unit == "m" else timedelta(hours=1))
    return start + ((at - start) // length + 1) * length


def _ask(query: CostQuery, names: Mapping[str, str], *, now: datetime) -> Ask:
    zone = parse_zone(query.zone)
    window = parse_window(query.window, now=now, zone=query.zone)
    steps = steps_of(window, query.step, zone)
    field, down = query.sort.removeprefix("-"), query.sort.startswith("-")
    if field not in SORTS:
        raise UsageError(f"sort {query.sort!r} is not known", hint=f"sort by {', '.join(SORTS)}")
    if query.idle not in _IDLE:
        raise UsageError(f"idle {query.idle!r} is not known", hint="rows, share or hide")
    if not 1 <= query.limit <= MAX_LIMIT or query.offset < 0:
        raise UsageError(f"limit is 1 to {MAX_LIMIT} and offset at least 0")
    if len(steps) * query.limit > MAX_ROWS:
        raise UsageError(
            f"{len(steps)} steps of {query.limit} keys are more than {MAX_ROWS} rows",
            hint=f"ask for at most limit={MAX_ROWS // len(steps)} or a longer step",
        )
    return Ask(
        window=window,
        steps=steps,
        by=parse_dimensions(query.by),
        comparisons=tuple(_by_id(item, names) for item in parse_filters(query.filters)),
        idle=query.idle,
        idle_by_node=query.idle_by_node,
        clusters=only_of(query.only_cluster, names),
        sort=(field, down),
        limit=query.limit,
        offset=query.offset,
    )


def _by_id(comparison: Comparison, names: Mapping[str, str]) -> Comparison:
    """A comparison of cluster names as one of cluster ids; ids stand for themselves."""
    if comparison.dimension != "cluster":
        return comparison
    fits: dict[str, Callable[[str, str], bool]] = {
        "equals": lambda text, value: text == value,
        "contains": lambda text, value: value in text,
        "starts": str.startswith,
        "ends": str.endswith,
    }
    fit = fits[comparison.operator]
    found = [
        ident
        for ident, name in names.items()
        if any(fit(text, value) for text in (ident, name) for value in comparison.values)
    ]
    return replace(comparison, operator="equals", values=tuple(found))


def _no_data(store: Store, ask: Ask) -> NoDataError:
    known = extent(store, ask.clusters)
    asked = f"{format_instant(ask.window.start)} to {format_instant(ask.window.end)}"
    if known is None:
        return NoDataError(
            f"nothing is settled yet, so nothing is known from {asked}",
            hint="a server settles within two minutes of seeing a cluster; see the status page",
        )
    return NoDataError(
        f"nothing is settled from {asked}; there is data from {format_instant(known.start)} "
        f"to {format_instant(known.end)}",
        hint="ask for a window inside that",
    )
