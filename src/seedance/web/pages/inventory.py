"""The Inventory: cluster, namespace or node, workload, pod, container, as they stood at an instant.

One level is open at a time and the way to it stays above it, so a tree of any size is one small
page. Where an object is chosen, its facts, versions and containers stand beside the level below.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from starlette.datastructures import QueryParams

from seedance.facts import words
from seedance.facts.costquery import CostQuery
from seedance.facts.filters import quote_value
from seedance.facts.window import format_instant
from seedance.flows.reporting.answers import Description, ObjectItem, ObjectList
from seedance.web.pages import figures, links
from seedance.web.pages.asked import PAGE_ROWS
from seedance.web.pages.computed import Fact
from seedance.web.pages.costs import Pager
from seedance.web.pages.desk import Desk
from seedance.web.pages.objects import COLUMNS, Cells, containers_of, facts_of, versions_of

PATH = "/inventory"


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the tree the reader stands; "" means that level is not chosen."""

    cluster: str = ""
    namespace: str = ""
    workload: str = ""
    pod: str = ""
    node: str = ""
    via: str = "namespaces"
    at: str = ""
    zone: str = "UTC"

    def url(self, **change: str) -> str:
        """The URL of the place with these levels changed."""
        place = replace(self, **change)
        names = ("cluster", "namespace", "workload", "pod", "node", "at")
        pairs = [(name, value) for name in names if (value := getattr(place, name))]
        pairs += [("via", place.via)] if place.via != "namespaces" else []
        pairs += [("zone", place.zone)] if place.zone != "UTC" else []
        return f"{PATH}?{urlencode(pairs)}" if pairs else PATH

    @property
    def level(self) -> str:
        """The kind of the rows that are listed here."""
        if self.pod:
            return "containers"
        if self.workload or self.node:
            return "pods"
        if self.namespace:
            return "workloads"
        return self.via if self.cluster else "clusters"


@dataclass(frozen=True, slots=True)
class TreeRow:
    """One object of the open level."""

    name: str
    href: str | None
    kind: str
    cells: Cells


@dataclass(frozen=True, slots=True)
class InventoryPage:
    """Everything the template of the Inventory shows."""

    place: Place
    at: datetime
    past: bool
    way: list[links.Link]
    tabs: list[links.Link]
    head: str
    columns: tuple[str, ...]
    rows: list[TreeRow]
    pager: Pager | None
    title: str = ""
    facts: list[Fact] = field(default_factory=list)
    versions: list[Fact] = field(default_factory=list)
    costs_href: str = ""
    count: int = 0


def place_of(params: QueryParams, zone: str) -> Place:
    """The place in the URL."""
    names = ("cluster", "namespace", "workload", "pod", "node", "at")
    via = "nodes" if params.get("via") == "nodes" else "namespaces"
    return Place(**{name: params.get(name, "") for name in names}, via=via, zone=zone)


def inventory(desk: Desk, place: Place, at: datetime | None, *, offset: int = 0) -> InventoryPage:
    """Asks for the open level, and for the chosen object where there is one."""
    instant = at or desk.now()
    place = replace(place, at=format_instant(at) if at else "")
    chosen = _chosen(desk, place, instant)
    rows, listed = _rows(desk, place, instant, chosen, offset)
    page = InventoryPage(
        place=place,
        at=instant,
        past=at is not None,
        way=_way(place),
        tabs=_tabs(place),
        head=words.name(f"level:{place.level}"),
        columns=tuple(words.name(f"column:{name}") for name in COLUMNS[place.level]),
        rows=rows,
        pager=_pager(place, listed) if listed else None,
        count=listed.page.total if listed else len(rows),
    )
    if chosen is None:
        return page
    return replace(
        page,
        title=f"{chosen.object.kind} {chosen.object.name}",
        facts=facts_of(chosen, place.zone),
        versions=versions_of(chosen, place.zone),
        costs_href=_costs_href(place),
    )


def _chosen(desk: Desk, place: Place, at: datetime) -> Description | None:
    for kind, name in (
        ("pods", place.pod),
        ("workloads", place.workload),
        ("nodes", place.node),
        ("namespaces", place.namespace),
    ):
        if name:
            where = "" if kind in {"nodes", "namespaces"} else place.namespace
            return desk.describe(kind, name, at=at, cluster=place.cluster, namespace=where)
    return None


def _rows(
    desk: Desk, place: Place, at: datetime, chosen: Description | None, offset: int
) -> tuple[list[TreeRow], ObjectList | None]:
    level = place.level
    if level == "containers" and chosen is not None:
        return [
            TreeRow(name, None, kind, cells) for name, kind, cells in containers_of(chosen)
        ], None
    if level == "pods" and chosen is not None:
        related = [item for item in chosen.related if item.kind == "Pod"]
        return [_row(place, level, item) for item in related], None
    listed = desk.objects(
        level,
        at=at,
        cluster=place.cluster,
        namespace=place.namespace,
        limit=PAGE_ROWS,
        offset=offset,
    )
    rows = [_row(place, level, item) for item in listed.items]
    if level == "workloads" and chosen is not None and not offset:
        bare = [item for item in chosen.related if not item.facts.get("owner")]
        rows += [_row(place, level, item) for item in bare if item.kind == "Pod"]
    return rows, listed


def _row(place: Place, level: str, item: ObjectItem) -> TreeRow:
    down: dict[str, Callable[[], str]] = {
        "clusters": lambda: place.url(cluster=item.cluster_name or item.cluster),
        "namespaces": lambda: place.url(namespace=item.name),
        "nodes": lambda: place.url(node=item.name),
        "workloads": lambda: place.url(workload=item.name),
        "pods": lambda: place.url(namespace=item.namespace, pod=item.name),
    }
    name = item.cluster_name if level == "clusters" and item.cluster_name else item.name
    if level == "workloads" and item.kind == "Pod":
        return TreeRow(name, place.url(pod=item.name), item.kind, _cells(level, item, place.zone))
    return TreeRow(name, down[level](), item.kind, _cells(level, item, place.zone))


def _cells(level: str, item: ObjectItem, zone: str) -> Cells:
    makers = COLUMNS[level]
    return tuple(make(item, zone) for make in makers.values())


def _way(place: Place) -> list[links.Link]:
    root = Place(at=place.at, zone=place.zone)
    way = [links.Link(words.name("level:all"), root.url(), hint="all")]
    at = root
    for name in ("cluster", "node", "namespace", "workload", "pod"):
        value = getattr(place, name)
        if value:
            at = replace(at, **{name: value}, via=place.via if name == "cluster" else at.via)
            way.append(links.Link(value, at.url(), hint=name))
    return way


def _tabs(place: Place) -> list[links.Link]:
    if not place.cluster or place.level not in {"namespaces", "nodes"}:
        return []
    return [
        links.Link(words.name(f"level:{via}"), place.url(via=via), via == place.via)
        for via in ("namespaces", "nodes")
    ]


def _pager(place: Place, listed: ObjectList) -> Pager:
    page = listed.page
    last = page.offset + len(listed.items)
    base = place.url()
    join = "&" if "?" in base else "?"
    before = max(page.offset - page.limit, 0)
    return Pager(
        first=min(page.offset + 1, last),
        last=last,
        total=page.total,
        before=f"{base}{join}offset={before}" if page.offset else None,
        after=f"{base}{join}offset={last}" if last < page.total else None,
    )


def _costs_href(place: Place) -> str:
    names: Sequence[str] = ("cluster", "namespace", "workload", "pod", "node")
    pairs: list[tuple[str, Any]] = [(name, getattr(place, name)) for name in names]
    filters = tuple(f"{name}:{quote_value(value)}" for name, value in pairs if value)
    by = "container" if place.pod else "pod" if place.workload or place.node else "workload"
    return CostQuery(window="7d", by=(by,), filters=filters, zone=place.zone).url("/costs")


def when(at: datetime, zone: str) -> str:
    """The instant of the page with its zone."""
    return f"{figures.instant(at, zone)} {zone}"
