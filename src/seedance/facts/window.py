"""Stretches of time: half-open [start, end), UTC inside, shown in a zone that is named."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, order=True)
class Window:
    """Half-open [start, end) of timezone-aware UTC instants; start < end.

    Raises:
        ValueError: if an instant is naive or start is not before end.
    """

    start: datetime
    end: datetime

    def __post_init__(self) -> None:
        if self.start.tzinfo is None or self.end.tzinfo is None:
            raise ValueError("a window needs instants with a time zone")
        if self.start >= self.end:
            raise ValueError("a window ends after it starts")

    @property
    def seconds(self) -> float:
        """Length in seconds."""
        return (self.end - self.start).total_seconds()

    def hours(self) -> Iterator[datetime]:
        """Start of each UTC hour that the window touches, in order."""
        at = floor_hour(self.start)
        while at < self.end:
            yield at
            at += HOUR

    def overlap(self, other: Window) -> Window | None:
        """The common stretch, or None where there is none."""
        start, end = max(self.start, other.start), min(self.end, other.end)
        return Window(start, end) if start < end else None


def floor_minute(at: datetime) -> datetime:
    """Start of the UTC minute that holds `at`."""
    return at.astimezone(UTC).replace(second=0, microsecond=0)


def floor_hour(at: datetime) -> datetime:
    """Start of the UTC hour that holds `at`."""
    return at.astimezone(UTC).replace(minute=0, second=0, microsecond=0)


def floor_day(at: datetime) -> datetime:
    """Start of the UTC day that holds `at`."""
    return at.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def parse_instant(text: str) -> datetime:
    """RFC 3339 text with an offset (`Z` or `+02:00`) as an aware UTC instant.

    Raises:
        ValueError: if the text is no instant or has no offset.
    """
    at = datetime.fromisoformat(text.strip().replace("Z", "+00:00").replace("z", "+00:00"))
    if at.tzinfo is None:
        raise ValueError(f"{text!r} has no offset; write it as 2026-11-30T12:00:00Z")
    return at.astimezone(UTC)


def format_instant(at: datetime) -> str:
    """`at` as RFC 3339 in UTC with `Z`, milliseconds only where there are any."""
    text = at.astimezone(UTC).isoformat(timespec="milliseconds" if at.microsecond else "seconds")
    return text.replace("+00:00", "Z")
