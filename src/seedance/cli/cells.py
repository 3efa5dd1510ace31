"""How one value looks in a table: money, quantities, ages, instants; unknown is `-`, never 0.

A column of numbers shares its number of decimals, so that right-aligned figures line up on the
point. What is not 0 never prints as 0: it prints as `<0.01`.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta, tzinfo
from decimal import Context, Decimal, InvalidOperation
from typing import Any

from seedance.cli.terminal import safe
from seedance.facts.window import parse_instant

UNKNOWN = "-"

_EXACT = Context(prec=60)
"""Sums have up to 38 digits; the default context would refuse to round them."""

_GIB = 2**30
_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86400, 365 * 86400


def number(value: Any) -> Decimal | None:
    """A number of the API (text or JSON number), None where it is not known."""
    if value is None or value == "":
        return None
    try:
        return Decimal(str(value))
    except InvalidOperation:
        return None


def figures(values: Sequence[Decimal | None], *, places: int | None = None) -> list[str]:
    """A column of numbers with the same decimals, `-` where a value is not known."""
    if places is None:
        places = places_for([value for value in values if value is not None])
    return [_figure(value, places) for value in values]


def places_for(values: Sequence[Decimal]) -> int:
    """How many decimals show the largest value well: 2 from one unit on, else 4, else 6."""
    largest = max((abs(value) for value in values), default=Decimal(0))
    if not largest or largest >= 1:
        return 2
    return 4 if largest >= Decimal("0.01") else 6


def _figure(value: Decimal | None, places: int) -> str:
    if value is None:
        return UNKNOWN
    smallest = Decimal(1).scaleb(-places)
    rounded = value.quantize(smallest, context=_EXACT)
    if value and not rounded:
        return f"<{smallest:f}" if value > 0 else f">-{smallest:f}"
    return f"{rounded or abs(rounded):f}"  # no minus before a zero


def share(part: Decimal | None, whole: Decimal | None) -> str:
    """`part` of `whole` in percent, `-` where either is not known or the whole is 0."""
    if part is None or not whole:
        return UNKNOWN
    percent = part / whole * 100
    if percent and abs(percent) < Decimal("0.5"):
        return "<1%"
    return f"{percent:.0f}%"


def text(value: Any) -> str:
    """Any value as one safe line, `-` where there is none."""
    if value is None or value in ("", [], (), {}):
        return UNKNOWN
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ",".join(text(item) for item in value)
    if isinstance(value, dict):
        return ",".join(f"{safe(str(key))}={safe(str(item))}" for key, item in value.items())
    return safe(str(value))


def cores(value: Any) -> str:
    """Cores as kubectl writes them: whole cores, else millicores (`250m`)."""
    amount = number(value)
    if amount is None:
        return UNKNOWN
    if amount == amount.to_integral_value():
        return f"{amount:.0f}"
    milli = amount * 1000
    return f"{milli:.0f}m" if abs(milli) >= 1 else "<1m"


def memory(value: Any) -> str:
    """Bytes in the largest binary unit that leaves a figure of at least 1 (`1.5Gi`, `200Mi`)."""
    amount = number(value)
    if amount is None:
        return UNKNOWN
    for unit, size in (("Ti", 2**40), ("Gi", _GIB), ("Mi", 2**20), ("Ki", 2**10)):
        if abs(amount) >= size:
            return f"{_trim(amount / size)}{unit}"
    return f"{amount:.0f}"


def _trim(value: Decimal) -> str:
    return f"{value:.1f}".removesuffix(".0")


def quantity(resource: str, value: Any) -> str:
    """A quantity of any Kubernetes resource in its usual unit."""
    if resource == "cpu":
        return cores(value)
    if resource in {"memory", "ephemeral-storage"} or resource.startswith("hugepages-"):
        return memory(value)
    amount = number(value)
    return UNKNOWN if amount is None else _trim(amount)


def age(since: Any, *, until: datetime) -> str:
    """Time since an instant as kubectl writes it: `45s`, `12m`, `5h30m`, `3d4h`, `2y10d`."""
    at = instant(since)
    if at is None:
        return UNKNOWN
    return duration(until - at)


def duration(length: timedelta) -> str:
    """A stretch of time in its one or two largest units."""
    seconds = max(0, int(length.total_seconds()))
    if seconds < 2 * _MINUTE:
        return f"{seconds}s"
    for unit, size, small, small_size, two_until in (
        ("m", _MINUTE, "s", 1, 10),
        ("h", _HOUR, "m", _MINUTE, 8),
        ("d", _DAY, "h", _HOUR, 8),
        ("y", _YEAR, "d", _DAY, 8),
    ):
        limit = {"m": 3 * _HOUR, "h": 2 * _DAY, "d": 2 * _YEAR}.get(unit)
        if limit is None or seconds < limit:
            whole, rest = divmod(seconds, size)
            small_part = rest // small_size
            both = whole < two_until and small_part
            return f"{whole}{unit}{small_part}{small}" if both else f"{whole}{unit}"
    raise AssertionError("years have no limit")


def instant(value: Any) -> datetime | None:
    """An instant of the API, None where it is not known."""
    if not value:
        return None
    try:
        return parse_instant(str(value))
    except ValueError:
        return None


def when(value: Any, zone: tzinfo, *, seconds: bool = False) -> str:
    """An instant in a zone, without its name: the caller names the zone once."""
    at = value if isinstance(value, datetime) else instant(value)
    if at is None:
        return UNKNOWN
    return at.astimezone(zone).strftime("%Y-%m-%d %H:%M:%S" if seconds else "%Y-%m-%d %H:%M")
