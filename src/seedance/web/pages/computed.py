"""How a number was computed: the charged amounts, the prices, the products, and their sum."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal

from seedance.facts import words
from seedance.facts.costquery import CostQuery
from seedance.flows.answers import CostAnswer, CostItem, PriceSource, ResourceOf
from seedance.web.pages import costs as costs_page
from seedance.web.pages import figures, links, table
from seedance.web.pages.desk import Desk
from seedance.web.pages.figures import Money

PATH = "/costs/computed"
BY = ("resource", "instanceType", "capacityType")
LINES = 60
_SMALLEST_PRICE = Decimal("0.000001")


@dataclass(frozen=True, slots=True)
class Line:
    """One product: amount times price per unit is cost, and what of it was unused."""

    resource: str
    machine: str
    requested: str | None
    used: str | None
    amount: str | None
    unit: str
    price: str | None
    cost: str | None
    unused: str | None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Fact:
    """A name and what it holds, with a sentence that explains it."""

    name: str
    text: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class ComputedPage:
    """Everything the template of the arithmetic shows."""

    title: str
    figure: str
    currency: str
    lines: list[Line]
    total: Line
    rest: str | None
    prices: list[PriceSource]
    facts: list[Fact]
    notes: list[table.Note]
    crumbs: list[links.Link]
    rows_href: str


def computed(desk: Desk, query: CostQuery) -> tuple[ComputedPage, CostAnswer]:
    """Asks for the figure's parts by resource and machine type."""
    answer = desk.costs(replace(query, by=BY, sort="-cost", offset=0, limit=LINES, step="none"))
    money = Money.of(answer.currency, [answer.total.cost])
    lines = [_line(item, money) for item in answer.items]
    way = links.crumbs(query)
    notes = {note.id: note for item in answer.items for note in table.notes_of(item)}
    page = ComputedPage(
        title=_title(query, way),
        figure=money.cell(answer.total.cost) or words.name("missing:cost"),
        currency=answer.currency,
        lines=lines,
        total=_total(answer, money),
        rest=money.cell(answer.page.rest) if answer.page.rest else None,
        prices=_prices(answer),
        facts=_facts(answer),
        notes=[note for note in notes.values() if note.id.startswith("flag")],
        crumbs=way,
        rows_href=links.at(query, by=costs_page.BY, filters=query.filters).url(costs_page.PATH),
    )
    return page, answer


def _title(query: CostQuery, way: list[links.Link]) -> str:
    if len(way) > 1:
        return f"{words.name(f'dimension:{way[-1].hint}')} {way[-1].text}"
    return ", ".join(query.filters) or words.name("page:everything")


def _line(item: CostItem, money: Money) -> Line:
    key = item.keys.get("resource", "")
    part = item.resources.get(key) or next(iter(item.resources.values()), None)
    machine = " ".join(
        value for name in BY[1:] if (value := item.keys.get(name, "")) and value[:2] != "__"
    )
    if part is None:
        return Line(table.resource_name(key), machine, "", "", "", "", None, None, None)
    amount = part.charged or part.idle
    return Line(
        resource=table.resource_name(key),
        machine=machine,
        requested=figures.quantity(part.requested),
        used=figures.quantity(part.used),
        amount=figures.quantity(amount),
        unit=table.unit_of(key, part),
        price=_unit_price(part, amount),
        cost=money.cell(part.cost),
        unused=money.cell(part.unused_cost),
        why="" if part.cost is not None else table.missing_of(item),
    )


def _unit_price(part: ResourceOf, amount: float) -> str | None:
    if part.cost is None or not amount:
        return None
    priced = Decimal(amount) - Decimal(part.unpriced)
    if priced <= 0:
        return None
    price = (part.cost / priced).quantize(_SMALLEST_PRICE)
    return f"{price:f}"


def _total(answer: CostAnswer, money: Money) -> Line:
    return Line(
        resource=words.name("page:sum"),
        machine="",
        requested="",
        used="",
        amount="",
        unit="",
        price="",
        cost=money.cell(answer.total.cost),
        unused=money.cell(answer.total.unused_cost),
    )


def _prices(answer: CostAnswer) -> list[PriceSource]:
    found = {
        (price.book, price.entry, price.reason): price
        for item in answer.items
        for price in item.price_sources
    }
    return [found[key] for key in sorted(found)]


def _facts(answer: CostAnswer) -> list[Fact]:
    parts = answer.total.resources.values()
    alive = sum(part.alive for part in parts)
    covered = sum(part.covered for part in parts)
    exact = Money(answer.currency).exact(answer.total.cost)
    facts = [
        Fact(words.name("fact:exact"), exact, words.sentence("fact:exact")),
        Fact(words.name("fact:window"), table.context_of(answer), answer.window.snapped),
        Fact(words.name("measure:charged"), words.sentence("measure:charged")),
        Fact(words.name("fact:unused"), words.sentence("measure:unused")),
    ]
    if alive:
        share = figures.percent(covered / alive) or ""
        facts.append(Fact(words.name("measure:covered"), share, words.sentence("measure:covered")))
    if answer.hidden.cost:
        text = Money(answer.currency).exact(answer.hidden.cost)
        facts.append(Fact(words.name("key:__hidden__"), text, words.sentence("key:__hidden__")))
    return facts
