"""What the recorder counts, and what it says about itself."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from seedance.flows.recording.judging import Judged
from seedance.intake.decoded import Decoded

_RATE_S = 30.0


@dataclass(frozen=True, slots=True)
class RecorderStats:
    """How the recorder is.

    Attributes:
        healthy: samples are taken; if not, `reason` says why.
        series: series that have a number.
        bodies, samples: accepted since the start; `resent` of the samples were there already.
        rejected: rejected samples by reason since the start.
        left_out: metadata, exemplars and histograms that came and are not kept.
        samples_per_second: mean of the last half minute.
        queue_rows: samples in the log that are not in the store, and `queue_age_s` since when.
        last_flush: when a batch was last stored; `stored` samples since the start.
        log_bytes: size of the write-ahead log; `log_damage` what in it could not be read.
    """

    healthy: bool
    reason: str
    series: int
    bodies: int
    samples: int
    resent: int
    rejected: Mapping[str, int]
    left_out: Mapping[str, int]
    samples_per_second: float
    queue_rows: int
    queue_age_s: float
    last_flush: datetime | None
    stored: int
    log_bytes: int
    log_damage: tuple[str, ...]


@dataclass(slots=True)
class Counts:
    """Counters since the start; not thread-safe."""

    bodies: int = 0
    samples: int = 0
    resent: int = 0
    stored: int = 0
    last_flush: datetime | None = None
    rejected: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    marks: deque[tuple[datetime, int]] = field(default_factory=deque)

    def add(self, decoded: Decoded, judged: Judged) -> None:
        """Count a body."""
        rest = decoded.left_out
        self.bodies += 1
        self.samples += judged.written
        self.resent += judged.written - len(judged.columns)
        self.rejected.update({str(each.reason): each.count for each in judged.rejected})
        self.left_out.update(
            metadata=rest.metadata, exemplars=rest.exemplars, histograms=rest.histograms
        )

    def mark(self, now: datetime) -> None:
        """Remember how many there were, for `rate`."""
        self.marks.append((now, self.samples))
        while (now - self.marks[0][0]).total_seconds() > _RATE_S:
            self.marks.popleft()

    def rate(self, now: datetime) -> float:
        """Samples per second over the last half minute."""
        if not self.marks:
            return 0.0
        at, samples = self.marks[0]
        return (self.samples - samples) / max((now - at).total_seconds(), 1.0)
