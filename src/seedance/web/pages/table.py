"""The cost table: rows of an answer as cells, totals that add up, and the notes under it.

Charged rows come first, then what no pod is behind (idle, system, unattributed), then what other
pages hold, then what the filter hides: together they are the total of the window, on one screen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

from seedance.facts import words
from seedance.facts.costquery import CostQuery
from seedance.facts.words_phrase import Phrase
from seedance.flows.reporting.answers import CostAnswer, CostItem, ResourceOf
from seedance.web.pages import figures, links, menus
from seedance.web.pages.figures import Money

_LOOKS = {"__idle__": "idle", "__system__": "system", "__unattributed__": "unattributed"}
_RESOURCES = ("cpu", "memory")
_RESOURCE_NAMES = {"cpu": "CPU", "memory": "Memory"}


@dataclass(frozen=True, slots=True)
class Note:
    """A word that a row carries; its sentence stands once under the table."""

    id: str
    phrase: Phrase
    aside: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table; text is ready, None is a dash with its reason."""

    name: str
    look: str = ""
    href: str | None = None
    cost: str | None = None
    cost_href: str | None = None
    cost_tip: str = ""
    missing: str = "missing:cost"
    share: str | None = None
    meter: int = 0
    unused: str | None = None
    efficiency: str | None = None
    quantities: tuple[str | None, ...] = ()
    notes: tuple[Note, ...] = ()
    aside: bool = False

    @property
    def more_notes(self) -> str:
        """The names of the notes after the first, which the row has no room for."""
        return ", ".join(one.phrase.name for one in self.notes[1:])


@dataclass(frozen=True, slots=True)
class Measured:
    """A resource whose requested and used amounts are columns: its name and unit."""

    key: str
    name: str
    unit: str


@dataclass(frozen=True, slots=True)
class Table:
    """Everything the table's template needs."""

    head: str
    money: Money
    measured: list[Measured]
    rows: list[Row]
    aside: list[Row]
    sums: list[Row]
    notes: list[Note]
    context: str
    sorts: dict[str, links.Link] = field(default_factory=dict)


def table(query: CostQuery, answer: CostAnswer, *, colours: int = 0) -> Table:
    """The table of an answer; the first `colours` charged rows get the chart's colours."""
    whole = _sum(answer.total.cost, answer.hidden.cost)
    money = Money.of(answer.currency, [whole])
    measured = _measured(answer)
    sources = list(dict.fromkeys(source_of(item) for item in answer.items))
    common = sources[0] if len(sources) == 1 else ""
    maker = _Maker(query, money, whole, measured, common)
    charged = [item for item in answer.items if not links.is_aside(item.keys)]
    rows = [
        maker.row(item, f"s{n}" if n < colours else "s-rest" if colours else "")
        for n, item in enumerate(charged)
    ]
    aside = [
        maker.row(item, _LOOKS[links.is_aside(item.keys)])
        for item in answer.items
        if links.is_aside(item.keys)
    ]
    aside += maker.remainder("key:__rest__", answer.page.rest)
    return Table(
        menus.group_name(answer.by),
        money,
        measured,
        rows,
        aside,
        maker.sums(answer, whole),
        _legend((*rows, *aside)),
        " · ".join(part for part in (context_of(answer), common) if part),
        links.sorts(query, ("name", "cost", "unusedCost", "efficiency")),
    )


def context_of(answer: CostAnswer) -> str:
    """What holds for every number of a view: window, freshness, mark. For tips and captions."""
    parts = [menus.described(answer)]
    if answer.as_of is not None:
        at = figures.instant(answer.as_of, answer.window.zone)
        parts.append(words.say("fact:settled", at=at))
    if answer.provisional:
        parts.append(words.name("mark:provisional"))
    return " · ".join(parts)


class _Maker:
    """Makes rows that share query, money format and total."""

    def __init__(
        self,
        query: CostQuery,
        money: Money,
        whole: Decimal | None,
        measured: Sequence[Measured],
        common: str,
    ) -> None:
        self.query = query
        self.money = money
        self.whole = whole
        self.measured = measured
        self.common = common

    def source(self, item: CostItem) -> str:
        """Where the row's prices come from, unless that is said once for all rows."""
        own = source_of(item)
        return "" if own == self.common else f", {own}"

    def row(self, item: CostItem, look: str) -> Row:
        share = _ratio(item.cost, self.whole)
        aside = bool(links.is_aside(item.keys))
        return Row(
            name=links.shown_keys(item.keys),
            look=look,
            href=links.drill(self.query, item.keys),
            cost=self.money.cell(item.cost),
            cost_href=links.computed(self.query, item.keys),
            cost_tip=self.money.exact(item.cost) + self.source(item),
            missing=missing_of(item),
            share=figures.percent(share),
            meter=figures.meter(item.cost, self.whole),
            unused=None if aside or unknown(item.resources) else self.money.cell(item.unused_cost),
            efficiency=None if aside else figures.percent(item.efficiency),
            quantities=quantities({} if aside else item.resources, self.measured),
            notes=notes_of(item),
            aside=aside,
        )

    def remainder(self, code: str, cost: Decimal | None) -> list[Row]:
        if not cost:
            return []
        blank = ("",) * (2 * len(self.measured))
        return [
            Row(
                name=words.name(code),
                look="none",
                cost=self.money.cell(cost),
                cost_tip=self.money.exact(cost),
                share=figures.percent(_ratio(cost, self.whole)),
                quantities=blank,
                aside=True,
            )
        ]

    def sums(self, answer: CostAnswer, whole: Decimal | None) -> list[Row]:
        """The last lines: the total, or what the filter leaves, what it hides, and the total."""
        shown = self.shown(answer)
        if not answer.hidden.cost:
            return [replace(shown, name=words.name("page:total"))]
        total = self.remainder("page:total", whole)
        hidden = self.remainder("key:__hidden__", answer.hidden.cost)
        return [shown, *hidden, *(replace(row, aside=False) for row in total)]

    def shown(self, answer: CostAnswer) -> Row:
        """The sum of every row that the filter leaves, on all pages."""
        total = answer.total
        return Row(
            name=words.name("page:shown"),
            look="none",
            cost=self.money.cell(total.cost),
            cost_href=links.computed(self.query, {}),
            cost_tip=self.money.exact(total.cost),
            share=figures.percent(_ratio(total.cost, self.whole)),
            unused=self.money.cell(total.unused_cost),
            efficiency=figures.percent(total.efficiency),
            quantities=quantities(total.resources, self.measured),
        )


def unknown(resources: Mapping[str, ResourceOf]) -> bool:
    """Whether nothing is known of the use, so that what was unused is not known either."""
    return bool(resources) and all(part.used is None for part in resources.values())


def source_of(item: CostItem) -> str:
    """Where the prices of a row come from, in a few words."""
    sources = [price for price in item.price_sources if not price.reason]
    if not sources:
        return words.name("missing:price")
    names = sorted({price.source or price.book for price in sources})
    estimate = any(price.estimate for price in sources)
    mark = f"{words.name('mark:estimate')}: " if estimate else ""
    more = f" +{len(names) - 1}" if len(names) > 1 else ""
    return f"{mark}{names[0]}{more}"


def missing_of(item: CostItem) -> str:
    """The code that says why a row has no cost."""
    reasons = [price.reason for price in item.price_sources if price.reason]
    return f"reason:{reasons[0]}" if reasons else "missing:cost"


def note(code: str) -> Note:
    """The note of a catalogue code; its id is what chips and dashes link to."""
    return Note(code.replace(":", "-"), words.phrase(code))


def _legend(rows: Sequence[Row]) -> list[Note]:
    """Each note of the rows once, those behind dashes included."""
    found = [one for row in rows for one in row.notes]
    found += [note(row.missing) for row in rows if row.cost is None]
    blank = any(text is None for row in rows if not row.aside for text in row.quantities)
    found += [note("missing:usage")] if blank else []
    return list({one.id: one for one in found}.values())


def notes_of(item: CostItem) -> tuple[Note, ...]:
    """Flags, reasons and missing prices of a row, each a word with its sentence."""
    codes = [f"flag:{flag}" for flag in item.flags]
    codes += [f"reason:{reason}" for reason in item.reasons.values() if reason]
    found = [note(code) for code in dict.fromkeys(codes)]
    if item.unpriced and item.cost is not None:
        amounts = ", ".join(f"{figures.quantity(v)} {k}-hours" for k, v in item.unpriced.items())
        reason = words.phrase(missing_of(item))
        phrase = Phrase(words.name("note:unpriced"), reason.sentence, reason.step)
        found.append(Note("note-unpriced", phrase, amounts))
    return tuple(found)


def quantities(
    resources: dict[str, ResourceOf], measured: Sequence[Measured]
) -> tuple[str | None, ...]:
    """Requested and used of each measured resource; "" where a row has nothing of it."""
    found: list[str | None] = []
    for column in measured:
        part = resources.get(column.key)
        if part is None:
            found += ["", ""]
        else:
            found += [figures.quantity(part.requested), figures.quantity(part.used)]
    return tuple(found)


def resource_name(key: str) -> str:
    """`CPU`, `Memory`, `GPU`, else the resource's own name."""
    return _RESOURCE_NAMES.get(key) or ("GPU" if key.endswith("/gpu") else key)


def unit_of(key: str, part: ResourceOf) -> str:
    """`core-hours`, `GiB-hours`, `GPU-hours`."""
    return "GPU-hours" if key.endswith("/gpu") else f"{part.unit}s"


def _measured(answer: CostAnswer) -> list[Measured]:
    known = answer.total.resources
    others = sorted(
        (key for key in known if key not in _RESOURCES and key.endswith("/gpu")),
        key=lambda key: -(known[key].cost or 0),
    )
    keys = [*(key for key in _RESOURCES if key in known), *others[:1]]
    return [Measured(key, resource_name(key), unit_of(key, known[key])) for key in keys]


def _sum(one: Decimal | None, other: Decimal | None) -> Decimal | None:
    known = [amount for amount in (one, other) if amount is not None]
    return sum(known, Decimal(0)) if known else None


def _ratio(part: Decimal | None, whole: Decimal | None) -> float | None:
    return float(part / whole) if part is not None and whole else None
