"""The Costs page: the sentence, bars over time, the table with its way down, and the doors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal

from markupsafe import Markup

from seedance.facts import words
from seedance.facts.costquery import UNATTRIBUTED, CostQuery
from seedance.facts.window import Window
from seedance.flows.reporting.answers import CostAnswer, CostItem
from seedance.web.pages import chart as charts
from seedance.web.pages import figures, links, menus, sentences
from seedance.web.pages.desk import Desk
from seedance.web.pages.figures import Money
from seedance.web.pages.table import Table, table

BY = ("namespace",)
WINDOW = "7d"
PATH = "/costs"
_WORTH_SAYING = Decimal("0.001")
"""The part of a total that is worth a sentence."""


@dataclass(frozen=True, slots=True)
class Pager:
    """Where this page of rows stands."""

    first: int
    last: int
    total: int
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class CostsPage:
    """Everything the template of the Costs page shows."""

    query: CostQuery
    lead: Markup
    bars: str
    table: Table
    pager: Pager
    crumbs: list[links.Link]
    notes: list[str]
    empty: str


def costs_page(
    desk: Desk, query: CostQuery, *, chosen: bool = True
) -> tuple[CostsPage, CostAnswer]:
    """Asks for the table.

    Where nobody chose the grouping and there are several clusters, namespaces of the same name
    are told apart by their cluster.
    """
    answer = desk.costs(query)
    if not chosen and len({name for item in answer.items for name in item.clusters}) > 1:
        query = replace(query, by=("cluster", *query.by))
        answer = desk.costs(query)
    first = query.offset == 0 and query.sort == "-cost"
    page = CostsPage(
        query=query,
        lead=lead(query, answer),
        bars=charts.bars_url(query) if answer.items else "",
        table=table(query, answer, colours=charts.COLOURS if first else 0),
        pager=pager(query, answer),
        crumbs=links.crumbs(query),
        notes=answer.notes,
        empty=_empty(query, answer),
    )
    return page, answer


def lead(query: CostQuery, answer: CostAnswer) -> Markup:
    """What the view says in one or two sentences, each figure a link to its rows."""
    money = Money(answer.currency)
    idle = split(answer)[1]
    first = sentences.sentence(
        "page:spent",
        who=subject(query),
        cost=sentences.figure(money.words(answer.total.cost), links.computed(query, {})),
        when=menus.when(query.window),
        unused=sentences.figure(
            money.words(answer.total.unused_cost),
            replace(query, sort="-unusedCost", offset=0).url(PATH),
            "waste",
        ),
    )
    return sentences.join(first, _idle(query, answer, money, idle), _owing(query, answer, money))


def split(answer: CostAnswer) -> tuple[Decimal | None, Decimal]:
    """What was charged to pods, and what was idle, of the total."""
    share = answer.shares.get("idle")
    idle = (share.value if share else None) or answer.total.idle or Decimal(0)
    cost = answer.total.cost
    if answer.idle_mode != "rows" or cost is None:
        return cost, idle
    return cost - idle, idle


def subject(query: CostQuery) -> Markup:
    """Who the sentence is about: what the filter pins last, or everything."""
    pinned = [
        item for item in links.comparisons(query) if item.operator == "equals" and not item.negated
    ]
    if pinned and len(pinned[-1].values) == 1:
        kind, _, key = pinned[-1].dimension.partition(":")
        value = links.shown_value(pinned[-1].dimension, pinned[-1].values[0])
        name = f"{words.name(f'dimension:{kind}')} {key}".strip()
        return Markup("{} <b>{}</b>").format(name, value)
    code = "page:filtered" if query.filters else "page:everything"
    return Markup("{}").format(words.name(code))


def _idle(query: CostQuery, answer: CostAnswer, money: Money, idle: Decimal) -> Markup | None:
    share = answer.shares.get("idle")
    if share is None or share.share is None or answer.idle_mode != "rows":
        return None
    if not idle:
        return sentences.sentence("page:idle-none") if not query.filters else None
    filters = (*query.filters, "kind:idle")
    href = links.at(query, by=("instanceType",), filters=filters).url(PATH)
    return sentences.sentence(
        "page:idle",
        idle=sentences.figure(money.words(idle), href, "waste"),
        share=figures.percent(share.share) or "",
    )


def _owing(query: CostQuery, answer: CostAnswer, money: Money) -> Markup | None:
    owing = sum(
        (item.cost or Decimal(0) for item in answer.items if UNATTRIBUTED in item.keys.values()),
        Decimal(0),
    )
    if not answer.total.cost or owing / answer.total.cost < _WORTH_SAYING:
        return None
    filters = (*query.filters, "kind:unattributed")
    href = links.at(query, by=("node",), filters=filters).url(PATH)
    return sentences.sentence("page:unattributed", cost=sentences.figure(money.words(owing), href))


def pager(query: CostQuery, answer: CostAnswer) -> Pager:
    """The rows shown, and the links to the pages beside."""
    page = answer.page
    last = page.offset + len(answer.items)
    before = max(page.offset - page.limit, 0)
    return Pager(
        first=min(page.offset + 1, last),
        last=last,
        total=page.total,
        before=replace(query, offset=before).url(PATH) if page.offset else None,
        after=replace(query, offset=last).url(PATH) if last < page.total else None,
    )


def edges(answer: CostAnswer) -> Window:
    """The window that was answered."""
    return Window(answer.window.start, answer.window.end)


def _empty(query: CostQuery, answer: CostAnswer) -> str:
    if answer.items:
        return ""
    return "empty:filtered" if query.filters else "empty:costs"


def top_items(answer: CostAnswer, count: int) -> list[CostItem]:
    """The most expensive charged rows."""
    return [item for item in answer.items if not links.is_aside(item.keys)][:count]
