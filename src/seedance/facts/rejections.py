"""Why a sample was not taken, and the answer that its sender gets."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Rejection(StrEnum):
    """Why a sample of a readable body is not stored. Sending it again would not help."""

    NO_LABELS = "no-labels"
    """The series has no labels at all."""
    NO_METRIC_NAME = "no-metric-name"
    """The series has no label `__name__`."""
    EMPTY_LABEL = "empty-label"
    """A label without a name or without a value."""
    DUPLICATE_LABEL = "duplicate-label"
    """The same label name twice in one series."""
    INVALID_UTF8 = "invalid-utf-8"
    """A label name or value that is not UTF-8."""
    TOO_MANY_LABELS = "too-many-labels"
    """More labels than the limit."""
    LABEL_TOO_LONG = "label-too-long"
    """A label name, value or set over its limit."""
    TOO_MANY_SERIES = "too-many-series"
    """A new series over the limit on series."""
    WRONG_TIME_UNIT = "wrong-time-unit"
    """The timestamp makes sense in seconds, micro- or nanoseconds; it must be milliseconds."""
    IN_FUTURE = "in-future"
    """Further ahead of the server's clock than allowed."""
    TOO_OLD = "too-old"
    """Older than raw samples are kept."""
    OUT_OF_ORDER = "out-of-order"
    """Further behind the newest sample of its series than allowed."""
    CONFLICT = "duplicate-timestamp"
    """Another value is stored for the same series and timestamp; the first one stays."""


@dataclass(frozen=True, slots=True)
class Example:
    """One rejected sample: its series as text, its timestamp in ms (None: all of them), details."""

    series: str
    ts: int | None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Rejected:
    """All samples of one body that were rejected for one reason, with the first few as examples."""

    reason: Rejection
    count: int
    examples: tuple[Example, ...]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What a body held besides float samples, and was not kept: counts, not failures."""

    metadata: int = 0
    exemplars: int = 0
    histograms: int = 0


NOTHING_LEFT_OUT = LeftOut()


@dataclass(frozen=True, slots=True)
class Accepted:
    """What became of a body: samples that are in the log (exact resends included), the rest.

    `samples` is how many the body held: `written` + rejected ones.
    """

    samples: int
    written: int
    rejected: tuple[Rejected, ...] = ()
    left_out: LeftOut = NOTHING_LEFT_OUT
