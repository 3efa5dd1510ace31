"""Words for time: `today`, `lastweek`, `12h`, `7d`, `START,END` become a window in a named zone.

    today      from midnight until now          yesterday  the day before
    week       from Monday until now            lastweek   Monday to Monday before it
    month      from the 1st until now           lastmonth  the month before
    30m, 12h   that long until now, to the minute
    7d, 2w     today until now and the six whole days before it (as OpenCost counts days)
    START,END  RFC 3339 instants or days, `2026-11-01,2026-11-08T12:00:00Z`

A day is the zone's, so it has 23 or 25 hours where clocks change. Windows are cut to whole
minutes and end at `now` at the latest: nothing is known beyond it.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

from seedance.facts.errors import UsageError
from seedance.facts.window import MINUTE, Window, floor_minute

WORDS = ("today", "yesterday", "week", "lastweek", "month", "lastmonth", "30m", "12h", "7d")
"""What people may write, with three examples of lengths; shown in help, errors and completion."""

LONGEST = timedelta(days=3660)
"""No window is longer than ten years: a typing error, not a question."""

_LENGTH = re.compile(r"^([1-9]\d{0,5})([mhdw])$")
_DAY = re.compile(r"^\d{4}-\d{2}-\d{2}$")
_HINT = f"write one of {', '.join(WORDS)} or START,END, such as 2026-11-01,2026-11-08T12:00:00Z"


def parse_zone(name: str) -> ZoneInfo:
    """The IANA zone of that name (`UTC`, `Europe/Berlin`).

    Raises:
        UsageError: if there is no such zone.
    """
    try:
        return ZoneInfo(name)
    except (LookupError, ValueError, OSError):
        raise UsageError(
            f"zone {name!r} is not known", hint="write an IANA name such as UTC or Europe/Berlin"
        ) from None


def parse_window(words: str, *, now: datetime, zone: str = "UTC") -> Window:
    """The window that `words` mean at `now` in `zone`, on whole minutes, ending at `now` at most.

    Raises:
        UsageError: unknown word or zone, end before start, start in the future, over ten years.
    """
    place = parse_zone(zone)
    now = floor_minute(now)
    text = words.strip()
    start, end = _pair(text, place) if "," in text else _named(text, now, place)
    if start >= now and not (start == now and "," not in text):
        raise UsageError(
            f"window {words!r} lies in the future: it starts at {start.isoformat()} "
            f"and now is {now.isoformat()}",
            hint="ask for a window that has begun",
        )
    if start >= end and "," in text:
        raise UsageError(
            f"window {words!r} is reversed or empty: it ends at or before its start",
            hint="write the earlier instant first, at least one minute before the later",
        )
    end = max(min(end, now), start + MINUTE)
    if end - start > LONGEST:
        raise UsageError(f"window {words!r} is longer than ten years", hint=_HINT)
    return Window(start, end)


def midnight(at: datetime, zone: ZoneInfo, *, days: int = 0) -> datetime:
    """The UTC instant at which the zone's day of `at` began, `days` calendar days later."""
    day = at.astimezone(zone).date() + timedelta(days=days)
    return datetime.combine(day, time(), tzinfo=zone).astimezone(UTC)


def _named(text: str, now: datetime, zone: ZoneInfo) -> tuple[datetime, datetime]:
    today = midnight(now, zone)
    local = now.astimezone(zone)
    monday = midnight(now, zone, days=-local.weekday())
    first = midnight(now, zone, days=1 - local.day)
    match text:
        case "today":
            return today, now
        case "yesterday":
            return midnight(now, zone, days=-1), today
        case "week":
            return monday, now
        case "lastweek":
            return midnight(monday, zone, days=-7), monday
        case "month":
            return first, now
        case "lastmonth":
            last = (first - MINUTE).astimezone(zone)
            return midnight(last, zone, days=1 - last.day), first
        case _:
            return _length(text, now, zone)


def _length(text: str, now: datetime, zone: ZoneInfo) -> tuple[datetime, datetime]:
    match = _LENGTH.match(text)
    if match is None:
        raise UsageError(f"window {text!r} is not known", hint=_HINT)
    count, unit = int(match[1]), match[2]
    if unit in "dw":
        days = count * (7 if unit == "w" else 1)
        if days > LONGEST.days:
            raise UsageError(f"window {text!r} is longer than ten years", hint=_HINT)
        return midnight(now, zone, days=1 - days), now
    return now - count * timedelta(minutes=1 if unit == "m" else 60), now


def _pair(text: str, zone: ZoneInfo) -> tuple[datetime, datetime]:
    first, _, last = text.partition(",")
    return _instant(first, zone), _instant(last, zone)


def _instant(text: str, zone: ZoneInfo) -> datetime:
    text = text.strip()
    try:
        if _DAY.match(text):
            day = datetime.fromisoformat(text)
            return day.replace(tzinfo=zone).astimezone(UTC)
        at = datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        raise UsageError(
            f"{text!r} is no instant", hint="write it as 2026-11-30T12:00:00Z or as 2026-11-30"
        ) from None
    if at.tzinfo is None:
        raise UsageError(
            f"{text!r} has no offset from UTC",
            hint="write it as 2026-11-30T12:00:00Z or 2026-11-30T12:00:00+01:00",
        )
    return floor_minute(at)
