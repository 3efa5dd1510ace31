"""What the URL of a page asks for.

Pages take the API's parameters. Forms without JavaScript add three of their own, which
`canonical` folds into the API's spelling so that a permalink has one form only: `from` and `to`
(a window by hand, in the zone), `group` (dimensions by hand) and empty fields.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Literal, cast
from zoneinfo import ZoneInfo

from starlette.datastructures import QueryParams

from seedance.facts.costquery import CostQuery
from seedance.facts.errors import UsageError
from seedance.facts.window import format_instant
from seedance.facts.windowwords import parse_zone

PAGE_ROWS = 100
"""Rows of a page: keeps its HTML under 100 KB (a test says so)."""

_OURS = frozenset({"from", "to", "group"})


def query_of(
    params: QueryParams, *, window: str, by: tuple[str, ...], zone: str = "UTC"
) -> CostQuery:
    """The question in the URL, with the page's own defaults for window and grouping.

    Raises:
        UsageError: a number that is none, a zone or an idle mode that is not known.
    """
    zone = params.get("zone") or zone
    parse_zone(zone)
    idle = params.get("idle") or "rows"
    if idle not in ("rows", "share", "hide"):
        raise UsageError(f"idle={idle!r} is not known", hint="write rows, share or hide")
    names = params.get("by")
    return CostQuery(
        window=params.get("window") or window,
        by=by if names is None else tuple(name for name in names.split(",") if name.strip()),
        filters=tuple(text for text in params.getlist("filter") if text.strip()),
        step=params.get("step") or "none",
        zone=zone,
        sort=params.get("sort") or "-cost",
        limit=min(_number(params, "limit", PAGE_ROWS), PAGE_ROWS),
        offset=_number(params, "offset", 0),
        idle=cast("Literal['rows', 'share', 'hide']", idle),
    )


def canonical(params: QueryParams, query: CostQuery) -> CostQuery | None:
    """The question in the API's spelling where the URL came from a form, else None."""
    blank = any(not text.strip() for text in params.getlist("filter"))
    if not blank and not _OURS & params.keys():
        return None
    start, end = params.get("from", ""), params.get("to", "")
    if start and end:
        query = replace(query, window=f"{_local(start, query.zone)},{_local(end, query.zone)}")
    group = tuple(name.strip() for name in params.get("group", "").split(",") if name.strip())
    return replace(query, by=group or query.by, offset=0)


def instant_of(params: QueryParams, zone: str, now: datetime) -> datetime | None:
    """The instant that `at` asks for, None for now.

    Raises:
        UsageError: if it is no instant, or lies in the future.
    """
    text = params.get("at", "").strip()
    if not text:
        return None
    found = _parse(text, zone)
    if found > now:
        raise UsageError(
            f"at={text!r} lies in the future", hint="ask for an instant that has passed"
        )
    return found


def _local(text: str, zone: str) -> str:
    return format_instant(_parse(text, zone))


def _parse(text: str, zone: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(
            f"{text!r} is no instant", hint="write it as 2026-11-30T12:00 or with an offset"
        ) from None
    return found if found.tzinfo else found.replace(tzinfo=ZoneInfo(zone))


def _number(params: QueryParams, name: str, default: int) -> int:
    text = params.get(name, "").strip()
    if not text:
        return default
    if not text.isdecimal():
        raise UsageError(f"{name}={text!r} is no number", hint="write a whole number, 0 or more")
    return int(text)
