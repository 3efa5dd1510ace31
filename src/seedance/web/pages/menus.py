"""The menus of a page: window, group by, idle, and "Take it with you"."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime
from zoneinfo import ZoneInfo

from seedance.facts import words
from seedance.facts.costquery import DIMENSIONS, CostQuery
from seedance.facts.window import format_instant
from seedance.flows.reporting.answers import CostAnswer
from seedance.web.pages import figures
from seedance.web.pages.links import Link

WINDOWS = ("today", "yesterday", "week", "lastweek", "month", "lastmonth", "7d", "30d", "90d")
"""The windows that the picker offers; any other can be written."""

_DAYS = re.compile(r"^(\d+)([mhdw])$")


@dataclass(frozen=True, slots=True)
class Picker:
    """The window picker: what is in force, the choices, and the edges for picking by hand."""

    label: str
    choices: list[Link]
    start: str
    end: str
    zones: list[Link]


@dataclass(frozen=True, slots=True)
class Take:
    """The same view elsewhere."""

    csv: str
    steps: str
    permalink: str
    api: str
    command: str


def window_name(text: str, lang: str = "en") -> str:
    """`7d` is `Last 7 days`; a window by hand is `Custom`."""
    length = _DAYS.match(text)
    if length:
        return words.name(f"window:last-{length[2]}", lang).format(n=length[1])
    return words.name("window:custom" if "," in text else f"window:{text}", lang)


def when(text: str, lang: str = "en") -> str:
    """The window inside a sentence: `this month`, `in the last 7 days`."""
    length = _DAYS.match(text)
    if length:
        return words.say(f"window:last-{length[2]}", lang, n=length[1])
    return words.sentence("window:custom" if "," in text else f"window:{text}", lang)


def picker(query: CostQuery, path: str, edges: tuple[datetime, datetime] | None) -> Picker:
    """The window picker of the page at `path`."""
    place = ZoneInfo(query.zone)
    start, end = (f"{at.astimezone(place):%Y-%m-%dT%H:%M}" for at in edges) if edges else ("", "")
    choices = [
        Link(
            window_name(text),
            replace(query, window=text, offset=0).url(path),
            text == query.window,
            text,
        )
        for text in WINDOWS
    ]
    zones = [
        Link(zone, replace(query, zone=zone, offset=0).url(path), zone == query.zone)
        for zone in dict.fromkeys(("UTC", query.zone))
    ]
    return Picker(window_name(query.window), choices, start, end, zones)


def groups(query: CostQuery) -> list[Link]:
    """Each dimension the table can be grouped by."""
    return [
        Link(
            words.name(f"dimension:{name}"),
            replace(query, by=(name,), offset=0, sort="-cost").url("/costs"),
            (name,) == query.by,
        )
        for name in DIMENSIONS
    ]


def group_name(by: tuple[str, ...] | list[str]) -> str:
    """`Namespace, Team`, `Label app`."""
    found = []
    for name in by:
        kind, _, key = name.partition(":")
        found.append(f"{words.name(f'dimension:{kind}')} {key}".strip())
    return ", ".join(found) or words.name("page:everything")


def idle_modes(query: CostQuery) -> list[Link]:
    """How idle is shown: as rows, spread over those who are charged, or left out."""
    return [
        Link(
            words.name(f"idle:{mode}"),
            replace(query, idle=mode, offset=0).url("/costs"),
            mode == query.idle,
            words.sentence(f"idle:{mode}"),
        )
        for mode in ("rows", "share", "hide")
    ]


def take(query: CostQuery, answer: CostAnswer, origin: str, path: str, *, step: str = "") -> Take:
    """The same numbers as CSV, as a link that does not move with time, by API, by command."""
    fixed = f"{format_instant(answer.window.start)},{format_instant(answer.window.end)}"
    return Take(
        csv=query.url("/api/v1/costs", format="csv"),
        steps=replace(query, step=step, offset=0).url("/api/v1/costs", format="csv")
        if step
        else "",
        permalink=origin + replace(query, window=fixed).url(path),
        api=origin + query.url("/api/v1/costs"),
        command=query.command(),
    )


def described(answer: CostAnswer) -> str:
    """The window of an answer in words with its zone: `1-30 Nov 2026 (UTC)`."""
    window = answer.window
    text = figures.window_words(window.start, window.end, window.zone)
    return f"{text} ({window.zone})"
