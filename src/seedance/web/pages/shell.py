"""What surrounds every page: the rail's links, the reader, the choices of looks, freshness."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from fastapi import Request

from seedance.facts import words
from seedance.facts.costquery import CostQuery
from seedance.flows.reporting.answers import CostAnswer
from seedance.web.context import AppContext
from seedance.web.pages import costs, figures, inventory, overview
from seedance.web.pages.render import THEMES, Look

STATUS_PATH = "/status"
_STALE = timedelta(minutes=15)


@dataclass(frozen=True, slots=True)
class NavLink:
    """A page in the rail: `href` keeps window, filters and zone, `home` does not."""

    text: str
    href: str
    home: str
    current: bool
    hint: str


@dataclass(frozen=True, slots=True)
class Shell:
    """View values of the frame around a page."""

    nav: list[NavLink]
    here: str
    other_theme: str
    signed_in: bool
    version: str


@dataclass(frozen=True, slots=True)
class Freshness:
    """Whether the figures end too early, and when."""

    stale: bool
    at: str


def shell_of(request: Request, context: AppContext, query: CostQuery | None = None) -> Shell:
    """The frame for this request; `query` is what the page shows, kept across pages."""
    here = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    look = Look.of(request)
    given = bool(request.query_params.get("window"))
    return Shell(
        nav=_nav(request.url.path, query, given=given),
        here=here,
        other_theme=THEMES[(THEMES.index(look.theme) + 1) % len(THEMES)],
        signed_in=getattr(request.state, "session", None) is not None,
        version=context.version,
    )


def freshness_of(answer: CostAnswer, now: datetime) -> Freshness:
    """Stale where the window reaches now and nothing newer was settled for a while."""
    window = answer.window
    if answer.as_of is None or window.end < now - timedelta(hours=1):
        return Freshness(stale=False, at="")
    at = f"{figures.instant(answer.as_of, window.zone)} {window.zone}"
    return Freshness(stale=now - answer.as_of > _STALE, at=at)


def _nav(path: str, query: CostQuery | None, *, given: bool) -> list[NavLink]:
    zone = query.zone if query else "UTC"
    kept = CostQuery(zone=zone, filters=query.filters if query else ())
    window = query.window if query and given else ""
    over = replace(kept, by=("team",), window=window or overview.WINDOW)
    cost = replace(kept, by=costs.BY, window=window or costs.WINDOW)
    plain = not given and not kept.filters and zone == "UTC"
    tree = inventory.Place(zone=zone).url()
    pages = (
        ("o", overview.PATH, overview.PATH if plain else over.url(overview.PATH)),
        ("c", costs.PATH, costs.PATH if plain else cost.url(costs.PATH)),
        ("i", inventory.PATH, tree),
        ("s", STATUS_PATH, STATUS_PATH),
    )
    return [
        NavLink(words.name(f"nav:{hint}"), href, home, _is(path, home), hint)
        for hint, home, href in pages
    ]


def _is(path: str, home: str) -> bool:
    return path == home or (home != "/" and path.startswith(f"{home}/"))
