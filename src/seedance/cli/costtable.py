"""The table of a cost answer: keys, money per resource, the sum, what is hidden, and the notes.

Works on the API's document as it came. Money stands in the currency that the header names; the
resource-hours and the reasons for what is unknown are columns of `-o wide`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import tzinfo
from decimal import Decimal
from typing import Any

from seedance.cli import cells
from seedance.cli.tables import Column, Table

Item = Mapping[str, Any]

_NAMED = ("cpu", "memory")
_LONG_STEPS = ("day", "week", "month")
_DAY_LENGTH = len("2026-11-30")


def cost_table(body: Item, zone: tzinfo) -> Table:
    """Rows of the answer, then the rest of other pages, the total, and what a filter hid."""
    items: Sequence[Item] = body["items"]
    keys: Sequence[str] = body["by"]
    step: str = body["step"]
    footer = _footer(body)
    columns = (
        *(() if step == "none" else (Column("START"),)),
        *(Column(key.upper()) for key in keys),
        *(() if keys or step != "none" else (Column("ALL"),)),
        *_measure_columns(body["currency"]),
    )
    measured = list(zip(*_measures([*items, *footer.values()], body), strict=True))
    labels = [_labels(item, keys, step, zone) for item in items]
    rows = [
        (*label, *figures, *_remarks(item))
        for label, figures, item in zip(labels, measured, items, strict=False)
    ]
    blanks = [""] * (len(labels[0]) - 1)
    sums = [
        (title, *blanks, *figures, "", "", "")
        for title, figures in zip(footer, measured[len(items) :], strict=True)
    ]
    names = tuple(",".join(f"{key}/{_key(item, key)}" for key in keys) or "all" for item in items)
    return Table(columns, tuple(rows), names, tuple(sums))


def _footer(body: Item) -> dict[str, Item]:
    """Titles and values of the rows below the last: other pages, total, hidden."""
    page, hidden = body["page"], body["hidden"]
    more = int(page["total"]) - len(body["items"])
    footer: dict[str, Item] = {}
    if more > 0:
        footer[f"({more} more)"] = {"cost": page.get("rest")}
    footer["TOTAL"] = body["total"]
    if hidden["count"]:
        footer["(hidden)"] = {"cost": hidden["cost"]}
    return footer


def _measure_columns(currency: str) -> tuple[Column, ...]:
    money = f"({currency})" if currency else ""
    return (
        Column("CPU", right=True),
        Column("MEMORY", right=True),
        Column("OTHER", right=True),
        Column(f"COST{money}", right=True),
        Column("SHARE", right=True),
        Column("UNUSED", right=True),
        Column("CPU-CORE-H", right=True, wide=True),
        Column("CPU-USED", right=True, wide=True),
        Column("MEM-GIB-H", right=True, wide=True),
        Column("MEM-USED", right=True, wide=True),
        Column("FLAGS", wide=True),
        Column("WHY-UNKNOWN", wide=True),
        Column("PRICES", wide=True),
    )


def _measures(items: Sequence[Item], body: Item) -> list[list[str]]:
    """The columns of figures, each over all rows and sums."""
    whole = cells.number(body["total"].get("cost"))
    costs = [cells.number(item.get("cost")) for item in items]
    money = _places([*costs, whole])
    return [
        *(
            cells.figures([_resource(item, name, "cost") for item in items], places=money)
            for name in _NAMED
        ),
        cells.figures([_other_cost(item) for item in items], places=money),
        cells.figures(costs, places=money),
        [
            cells.UNKNOWN if _is_outside(item, body) else cells.share(amount, whole)
            for item, amount in zip(items, costs, strict=True)
        ],
        cells.figures([cells.number(item.get("unusedCost")) for item in items], places=money),
        *(
            cells.figures([_resource(item, name, measure) for item in items], places=2)
            for name in _NAMED
            for measure in ("charged", "used")
        ),
    ]


def _places(amounts: Sequence[Decimal | None]) -> int:
    return cells.places_for([amount for amount in amounts if amount is not None])


def _is_outside(item: Item, body: Item) -> bool:
    """Whether the row is the hidden one, which is no share of the total."""
    return bool(body["hidden"]["count"]) and item == {"cost": body["hidden"]["cost"]}


def _resource(item: Item, name: str, measure: str) -> Decimal | None:
    found = (item.get("resources") or {}).get(name) or {}
    return cells.number(found.get(measure))


def _other_cost(item: Item) -> Decimal | None:
    """Cost of everything but cpu and memory; None where there is nothing else with a price."""
    costs = [
        cells.number(values.get("cost"))
        for name, values in (item.get("resources") or {}).items()
        if name not in _NAMED
    ]
    known = [amount for amount in costs if amount is not None]
    return sum(known, Decimal(0)) if known else None


def _key(item: Item, key: str) -> str:
    return cells.text(item["keys"].get(key))


def _labels(item: Item, keys: Sequence[str], step: str, zone: tzinfo) -> tuple[str, ...]:
    values = tuple(_key(item, key) for key in keys)
    if step == "none":
        return values or ("everything",)
    start = cells.when(item.get("start"), zone)
    return (start[:_DAY_LENGTH] if step in _LONG_STEPS else start, *values)


def _remarks(item: Item) -> tuple[str, str, str]:
    """Flags, reasons of what is unknown, and the prices' places."""
    why = [f"{key}={value}" for key, value in (item.get("reasons") or {}).items()]
    why += [f"{name}=unpriced" for name in item.get("unpriced") or ()]
    sources = item.get("priceSources") or ()
    why += sorted({str(source["reason"]) for source in sources if source.get("reason")})
    prices = [_price(source) for source in sources if not source.get("reason")]
    return cells.text(item.get("flags") or ()), cells.text(why), cells.text(prices)


def _price(source: Item) -> str:
    mark = " (estimate)" if source.get("estimate") else ""
    return f"{source.get('book')}/{source.get('entry')}{mark}"


def notes_of(body: Item, zone: tzinfo) -> list[str]:
    """What the reader of the table must know, one line each."""
    window = body["window"]
    name = window.get("zone") or "UTC"
    lines = [f"{cells.when(window['start'], zone)} to {cells.when(window['end'], zone)} {name}"]
    if window.get("snapped"):
        lines.append(str(window["snapped"]))
    if body.get("provisional"):
        lines.append(f"settled until {cells.when(body.get('asOf'), zone)} {name}")
    if int(body["page"]["total"]) > len(body["items"]):
        lines.append("--limit 0 shows all rows")
    for said in body.get("shares", {}).values():
        percent = cells.share(cells.number(said.get("share")), Decimal(1))
        if percent != cells.UNKNOWN:
            lines.append(f"{said['numerator']}: {percent} of {said['denominator']}")
    return [*lines, *(str(note) for note in body.get("notes") or ())]
