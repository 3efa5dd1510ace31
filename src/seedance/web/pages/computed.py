"""How a number was computed: the charged amounts, the prices, the products, and their sum."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal

from seedance.facts import words
from seedance.facts.costquery import CostQuery
from seedance.flows.reporting.answers import CostAnswer, CostItem, PriceSource, ResourceOf
from seedance.web.pages import costs as costs_page
from seedance.web.pages import figures, links, table
from seedance.web.pages.desk import Desk
from seedance.web.pages.figures import Money

PATH = "/costs/computed"
BY = ("resource", "kind", "instanceType", "capacityType")
LINES = 60
_RUNS = ("container", "pod")
_SMALLEST_PRICE = Decimal("0.000001")


@dataclass(frozen=True, slots=True)
class Line:
    """One product: amount times price per unit is cost, and what of it was unused."""

    resource: str
    purpose: str
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
    lines = [line for item in answer.items for line in _lines(item, money)]
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


def _lines(item: CostItem, money: Money) -> Iterator[Line]:
    """The priced part of a row as a product, and its unpriced part with the reason."""
    for key, part in item.resources.items():
        whole = part.charged + part.idle
        priced = max(whole - part.unpriced, 0.0)
        if part.cost is not None and (part.cost or priced):
            yield _line(item, key, part, amount=priced, money=money)
        if part.unpriced or (part.cost is None and whole):
            bare = part.model_copy(update={"cost": None, "unused_cost": None})
            yield _line(item, key, bare, amount=part.unpriced, money=money)


def _line(item: CostItem, key: str, part: ResourceOf, *, amount: float, money: Money) -> Line:
    kind = item.keys.get("kind", "").strip("_")
    runs = kind in _RUNS
    names = (value for name in BY[2:] if (value := item.keys.get(name, "")))
    price = _unit_price(part.cost, amount) if part.cost is not None else None
    return Line(
        resource=table.resource_name(key),
        purpose=words.name(f"kind:{kind}") if kind else "",
        machine=" ".join(name for name in names if not name.startswith("__")),
        requested=figures.quantity(part.requested) if runs else "",
        used=figures.quantity(part.used) if runs else "",
        amount=f"{amount:,.3f}",
        unit=table.unit_of(key, part),
        price=price,
        cost=money.cell(part.cost),
        unused=money.cell(part.unused_cost) if runs and part.used is not None else None,
        why="" if part.cost is not None else table.missing_of(item),
    )


def _unit_price(cost: Decimal, amount: float) -> str | None:
    if amount <= 0:
        return None
    return f"{(cost / Decimal(amount)).quantize(_SMALLEST_PRICE):f}"


def _total(answer: CostAnswer, money: Money) -> Line:
    return Line(
        resource=words.name("page:sum"),
        purpose="",
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
