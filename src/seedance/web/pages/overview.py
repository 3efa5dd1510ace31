"""The Overview: what it cost, who spent it, what was wasted, how fresh the figures are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal

from markupsafe import Markup

from seedance.facts import words
from seedance.facts.costquery import UNALLOCATED, CostQuery
from seedance.flows.reporting.answers import CostAnswer, CostItem
from seedance.web.pages import chart as charts
from seedance.web.pages import costs as costs_page
from seedance.web.pages import figures, links, menus, sentences
from seedance.web.pages.asked import PAGE_ROWS
from seedance.web.pages.desk import Desk
from seedance.web.pages.figures import Money
from seedance.web.pages.table import Table, table

WINDOW = "month"
PATH = "/"
TOP_ROWS = 8
WASTES = 5
_ENOUGH = 0.5


@dataclass(frozen=True, slots=True)
class Figure:
    """A headline figure: its name, text, meaning and link."""

    name: str
    text: str | None
    note: str
    href: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Waste:
    """Money that bought nothing: what, how much, why, and where its rows are."""

    name: str
    where: str
    cost: str | None
    meter: int
    why: str
    href: str


@dataclass(frozen=True, slots=True)
class OverviewPage:
    """Everything the template of the Overview shows."""

    query: CostQuery
    lead: Markup
    figures: list[Figure]
    bars: str
    table: Table
    group: str
    costs_href: str
    wastes: list[Waste]
    notes: list[str]


def overview(desk: Desk, query: CostQuery) -> tuple[OverviewPage, CostAnswer]:
    """Asks for the owners and for the largest wastes."""
    query = replace(query, sort="-cost", offset=0, limit=PAGE_ROWS, step="none")
    answer, query = _owners(desk, query)
    answer = folded(answer)
    money = Money.of(answer.currency, [answer.total.cost])
    page = OverviewPage(
        query=query,
        lead=sentences.join(costs_page.lead(query, answer), _top(query, answer)),
        figures=headline(query, answer, money),
        bars=charts.bars_url(query) if answer.items else "",
        table=table(query, answer, colours=charts.COLOURS),
        group=menus.group_name(answer.by),
        costs_href=replace(query, limit=PAGE_ROWS).url(costs_page.PATH),
        wastes=wastes(desk, query, money),
        notes=answer.notes,
    )
    return page, answer


def folded(answer: CostAnswer) -> CostAnswer:
    """The answer with its smaller charged rows put into the remainder of the page."""
    charged = [item for item in answer.items if not links.is_aside(item.keys)]
    small = charged[TOP_ROWS:]
    if not small:
        return answer
    gone = sum((item.cost or Decimal(0) for item in small), answer.page.rest or Decimal(0))
    kept = [item for item in answer.items if item not in small]
    page = answer.page.model_copy(update={"rest": gone})
    return answer.model_copy(update={"items": kept, "page": page})


def _owners(desk: Desk, query: CostQuery) -> tuple[CostAnswer, CostQuery]:
    """By team; by namespace where most of the money has no team."""
    answer = desk.costs(query)
    if query.by != ("team",):
        return answer, query
    nobody = sum(
        (item.cost or Decimal(0) for item in answer.items if UNALLOCATED in item.keys.values()),
        Decimal(0),
    )
    charged = costs_page.split(answer)[0] or Decimal(0)
    if charged and nobody / charged <= _ENOUGH:
        return answer, query
    query = replace(query, by=("namespace",))
    return desk.costs(query), query


def _top(query: CostQuery, answer: CostAnswer) -> Markup | None:
    whole = answer.total.cost
    top = [item for item in costs_page.top_items(answer, 2) if item.cost]
    if not whole or not top or answer.page.total <= len(top):
        return None
    part = sum((item.cost or Decimal(0) for item in top), Decimal(0)) / whole
    share = figures.percent(part) or ""
    named = [_named(query, item) for item in top]
    if len(named) == 1:
        return sentences.sentence("page:top-one", first=named[0], share=share)
    return sentences.sentence("page:top", first=named[0], second=named[1], share=share)


def _named(query: CostQuery, item: CostItem) -> Markup:
    return sentences.figure(links.shown_keys(item.keys), links.drill(query, item.keys))


def headline(query: CostQuery, answer: CostAnswer, money: Money) -> list[Figure]:
    """Total, unused, idle share and what has no owner or price."""
    everything = links.at(query, by=query.by, filters=query.filters)
    idle = answer.shares.get("idle")
    total = _figure("page:cost", money.cell(answer.total.cost), everything.url(costs_page.PATH))
    unused = _figure(
        "measure:unused",
        money.cell(answer.total.unused_cost),
        replace(everything, by=("workload",), sort="-unusedCost").url(costs_page.PATH),
        kind="waste",
    )
    found = [total, unused]
    if idle is not None:
        named = {"numerator": idle.numerator.capitalize(), "denominator": idle.denominator}
        note = words.say("measure:idle-share", **named)
        href = links.at(query, by=("node",), filters=(*query.filters, "kind:idle"))
        name = words.name("measure:idle-share")
        found.append(Figure(name, figures.percent(idle.share), note, href.url(costs_page.PATH)))
    used = figures.percent(answer.total.efficiency)
    return [*found, _figure("measure:efficiency", used, everything.url(costs_page.PATH))]


def _figure(code: str, text: str | None, href: str, kind: str = "") -> Figure:
    return Figure(words.name(code), text, words.sentence(code), href, kind)


def wastes(desk: Desk, query: CostQuery, money: Money) -> list[Waste]:
    """The workloads that leave most unused and the machine types that idle most, as one list."""
    rows = replace(query, by=("cluster", "namespace", "workload"), sort="-unusedCost", limit=WASTES)
    types = replace(query, by=("instanceType",), filters=(*query.filters, "kind:idle"))
    types = replace(types, limit=WASTES)
    unused = [(item.unused_cost or Decimal(0), item, "unused") for item in desk.costs(rows).items]
    idle = [(item.cost or Decimal(0), item, "idle") for item in desk.costs(types).items]
    unused = [entry for entry in unused if not links.is_aside(entry[1].keys)]
    found = sorted((*unused, *idle), key=lambda entry: -entry[0])[:WASTES]
    most = found[0][0] if found else Decimal(0)
    makers = {"unused": (_unused, rows), "idle": (_idle, types)}
    return [
        makers[kind][0](makers[kind][1], item, money.cell(cost), figures.meter(cost, most))
        for cost, item, kind in found
        if cost > 0
    ]


def _unused(query: CostQuery, item: CostItem, cost: str | None, meter: int) -> Waste:
    share = figures.percent(item.efficiency)
    why = words.say("waste:unused", share=share) if share else words.sentence("waste:unknown")
    where = f"{item.keys.get('cluster', '')} / {item.keys.get('namespace', '')}"
    href = links.drill(query, item.keys) or links.computed(query, item.keys)
    return Waste(item.keys.get("workload", ""), where, cost, meter, why, href)


def _idle(query: CostQuery, item: CostItem, cost: str | None, meter: int) -> Waste:
    keys = {name: value for name, value in item.keys.items() if value}
    filters = links.pinned(query, keys)
    href = links.at(query, by=("node",), filters=filters).url(costs_page.PATH)
    where = next(iter(keys.values()), "")
    return Waste(words.name("kind:idle"), where, cost, meter, words.sentence("kind:idle"), href)
