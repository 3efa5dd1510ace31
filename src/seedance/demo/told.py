"""What the demo prints: costs by team, the biggest wastes in words, and where to look further.

The table is the one that `seedancectl cost` prints for the same question; the command stands
beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from decimal import Decimal

from seedance.demo.wastes import Ask, Waste, biggest
from seedance.facts.costquery import CostQuery
from seedance.facts.window import Window, format_instant
from seedance.flows.reporting.answers import CostAnswer, CostItem, Total

_NAMED = ("cpu", "memory")
_UNKNOWN = "-"
_CENT = Decimal("0.01")
_HALF_PERCENT = Decimal("0.005")
_HEADS = ("TEAM", "CPU", "MEMORY", "OTHER", "COST({})", "SHARE", "UNUSED")


def report(ask: Ask, window: Window, *, days: int, url: str) -> Iterator[str]:
    """The lines that are printed; `window` is that of the table, `url` the server's."""
    words = f"{format_instant(window.start)},{format_instant(window.end)}"
    query = CostQuery(window=words, by=("team",))
    answer = ask(query)
    yield f"Costs of the last {days} days by team, {_span(window)}"
    yield ""
    yield from table(answer)
    yield ""
    wastes = biggest(ask, words)
    yield "The three biggest wastes"
    for number, waste in enumerate(wastes, start=1):
        yield ""
        yield from _told(number, waste, answer.currency, url)
    yield ""
    yield f"Pages      {url}/?window=7d"
    yield f"This table {url}{answer.links.page}"
    yield f"           {_command(query, url)}"


def table(answer: CostAnswer) -> list[str]:
    """The answer as aligned lines: a row for each key, then the sum."""
    heads = [head.format(answer.currency) for head in _HEADS]
    rows = [[_key(item, answer.by), *_cells(item, answer.total)] for item in answer.items]
    rows.append(["TOTAL", *_cells(answer.total, answer.total)])
    widths = [max(len(row[at]) for row in [heads, *rows]) for at in range(len(heads))]
    return [
        "   ".join(
            cell.rjust(width) if at else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in [heads, *rows]
    ]


def _key(item: CostItem, by: Sequence[str]) -> str:
    return ",".join(item.keys.get(name) or _UNKNOWN for name in by)


def _cells(item: CostItem | Total, total: Total) -> list[str]:
    costs = {name: of.cost for name, of in item.resources.items()}
    others = [cost for name, cost in costs.items() if name not in _NAMED and cost is not None]
    return [
        *(_figure(costs.get(name)) for name in _NAMED),
        _figure(sum(others, Decimal(0)) if others else None),
        _figure(item.cost),
        _share(item.cost, total.cost),
        _figure(item.unused_cost),
    ]


def _figure(amount: Decimal | None) -> str:
    if amount is None:
        return _UNKNOWN
    rounded = amount.quantize(_CENT)
    return f"<{_CENT}" if amount > 0 and not rounded else f"{rounded:f}"


def _share(part: Decimal | None, whole: Decimal | None) -> str:
    if part is None or not whole:
        return _UNKNOWN
    share = part / whole
    return "<1%" if 0 < share < _HALF_PERCENT else f"{share:.0%}"


def _told(number: int, waste: Waste, currency: str, url: str) -> Iterator[str]:
    yield f"  {number}. {currency} {waste.cost:,.2f}  {waste.title}"
    if waste.why:
        yield f"     {waste.why}"
    yield f"     {_command(waste.query, url)}"


def _command(query: CostQuery, url: str) -> str:
    """The command line; the server is named where it is not where the client looks."""
    command = query.command()
    return command if url.endswith(":9091") else f"{command} --server {url}"


def _span(window: Window) -> str:
    return f"{_minute(window.start)} to {_minute(window.end)} UTC"


def _minute(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M}"
