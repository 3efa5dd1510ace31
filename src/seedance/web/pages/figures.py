"""Numbers as people read them: money, quantities, shares, instants, and the bars beside them.

Exact values stay in the answers; here they become short text. A column of money has one number of
decimal places, so that its points stand under each other. What is not known is None all the way
to the template, which shows a dash with the reason.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

_SYMBOLS = {"USD": "$", "EUR": "€", "GBP": "£", "JPY": "¥", "CNY": "¥", "INR": "₹", "KRW": "₩"}
_UNITS = (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10))
_MINUS = "\u2212"
_DASH = "\u2013"
_THOUSAND, _HUNDRED, _THOUSANDTH = 1000, 100, 0.001
_TEN_PERCENT, _LEAST_PERCENT = 9.95, 0.05
_MINUTE, _HOUR, _DAY = 60, 3600, 86400

METER_WIDTH = 64
"""Width of a share bar in a table, in pixels, as `.meter` in the style sheet."""


@dataclass(frozen=True, slots=True)
class Money:
    """How one view writes money: its currency and the decimal places of its columns."""

    currency: str
    places: int = 2

    @classmethod
    def of(cls, currency: str, amounts: Iterable[Decimal | None]) -> Money:
        """Enough places for the largest of `amounts` to have two digits that count."""
        largest = max((abs(amount) for amount in amounts if amount is not None), default=Decimal(0))
        places = 2 if largest >= 1 or largest == 0 else 4 if largest >= Decimal("0.01") else 6
        return cls(currency, places)

    def cell(self, amount: Decimal | None) -> str | None:
        """`1,234.50` in a column; `<0.01` for what would round to nothing; None if unknown."""
        if amount is None:
            return None
        least = Decimal(1).scaleb(-self.places)
        if amount and abs(amount) < least / 2:
            return f"{_MINUS if amount < 0 else ''}<{least:f}"
        return f"{amount:,.{self.places}f}".replace("-", _MINUS)

    def words(self, amount: Decimal | None) -> str:
        """`$12,480` in a sentence: three digits that count, the rest left to the rows."""
        if amount is None:
            return "an unknown sum"
        size = abs(amount)
        places = 0 if size >= _THOUSAND else 2 if size >= 1 or size == 0 else 4
        symbol = _SYMBOLS.get(self.currency, f"{self.currency}\u00a0")
        sign = _MINUS if amount < 0 else ""
        if size and size < Decimal("0.0001"):
            return f"less than {symbol}0.0001"
        return f"{sign}{symbol}{size:,.{places}f}"

    def exact(self, amount: Decimal | None) -> str:
        """Every digit there is, with the currency's code."""
        if amount is None:
            return "not known"
        text = f"{amount:,f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
        return f"{text} {self.currency}"


def quantity(value: float | None) -> str | None:
    """`1,234`, `12.3`, `0.042`: about three digits that count; None if unknown."""
    if value is None:
        return None
    size = abs(value)
    if size == 0:
        return "0"
    if size >= _HUNDRED:
        return f"{value:,.0f}"
    if size >= 1:
        return f"{value:.1f}"
    return f"{value:.3g}" if size >= _THOUSANDTH else "<0.001"


def count(value: float) -> str:
    """`16`, `0.5`: a capacity or a number of things, whole where it is whole."""
    return f"{value:,.0f}" if value == int(value) else quantity(value) or ""


def percent(share: float | Decimal | None) -> str | None:
    """`81 %`; one place below ten percent; None if unknown."""
    if share is None:
        return None
    value = float(share) * 100
    if 0 < abs(value) < _LEAST_PERCENT:
        return "<0.1\u202f%"
    return f"{value:.{1 if 0 < abs(value) < _TEN_PERCENT else 0}f}\u202f%"


def byte_size(count: float) -> str:
    """`12.4 GiB`."""
    for unit, size in _UNITS:
        if count >= size:
            return f"{count / size:,.1f} {unit}"
    return f"{count:.0f} B"


def instant(at: datetime | None, zone: str) -> str:
    """`30 Nov 2026, 20:14` in the zone that the page names; a dash if there is none."""
    if at is None:
        return _DASH
    local = at.astimezone(ZoneInfo(zone))
    return f"{local.day} {local:%b %Y, %H:%M}"


def span(seconds: float) -> str:
    """`42 s`, `12 min`, `3 h`, `4 days`: how long, in one unit."""
    if seconds < _MINUTE:
        return f"{seconds:.0f} s"
    if seconds < _HOUR:
        return f"{seconds // _MINUTE:.0f} min"
    if seconds < 2 * _DAY:
        return f"{seconds // _HOUR:.0f} h"
    return f"{seconds // _DAY:.0f} days"


def window_words(start: datetime, end: datetime, zone: str) -> str:
    """`1–30 Nov 2026` or, where an edge is inside a day, both instants in full."""
    place = ZoneInfo(zone)
    first, last = start.astimezone(place), end.astimezone(place)
    whole = first.time() == last.time() == datetime.min.time()
    if not whole and first.time() == datetime.min.time() and first.year == last.year:
        return f"{first.day} {first:%b} {_DASH} {instant(end, zone)}"
    if not whole:
        return f"{instant(start, zone)} {_DASH} {instant(end, zone)}"
    last -= timedelta(days=1)
    if first.date() == last.date():
        return f"{first.day} {first:%b %Y}"
    if (first.year, first.month) == (last.year, last.month):
        return f"{first.day}{_DASH}{last.day} {last:%b %Y}"
    return f"{first.day} {first:%b %Y} {_DASH} {last.day} {last:%b %Y}"


def meter(part: Decimal | float | None, whole: Decimal | float | None) -> int:
    """Width of the bar of `part` in `whole`, in pixels, 0 to `METER_WIDTH`."""
    if not part or not whole or part <= 0 or whole <= 0:
        return 0
    return max(1, min(METER_WIDTH, round(float(part) / float(whole) * METER_WIDTH)))
