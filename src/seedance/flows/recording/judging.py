"""Which samples of a body are taken, and what the sender is told about the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
import numpy.typing as npt

from seedance.facts.limits import Limits
from seedance.facts.rejections import Example, Rejected, Rejection
from seedance.facts.samples import IntArray, SampleColumns
from seedance.facts.window import format_instant
from seedance.flows.recording.newest import Newest
from seedance.intake.decoded import Decoded
from seedance.intake.labelset import Refusal, series_text

_EXAMPLES = 3
_REASONS = tuple(Rejection)
_TAKEN, _RESENT = 0, 255
_CODE = {reason: index + 1 for index, reason in enumerate(_REASONS)}
_OF_VERDICT = np.array(
    [_TAKEN, _RESENT, _CODE[Rejection.OUT_OF_ORDER], _CODE[Rejection.CONFLICT]], np.uint8
)
_UNITS = (("seconds", 1000, 1), ("microseconds", 1, 1000), ("nanoseconds", 1, 1_000_000))


@dataclass(frozen=True, slots=True)
class Judged:
    """What is to be stored, by position in the body and as columns, and what is not, and why.

    `written` counts the samples taken and the exact resends of samples that are there.
    """

    mask: npt.NDArray[np.bool_]
    columns: SampleColumns
    written: int
    rejected: tuple[Rejected, ...]


def judge(
    decoded: Decoded,
    *,
    numbers: IntArray,
    refusals: Mapping[int, Refusal],
    newest: Newest,
    limits: Limits,
    now: datetime,
) -> Judged:
    """Judge every sample of a body; `numbers` are the series of its keys, 0 where refused."""
    owner = np.repeat(np.arange(len(numbers)), decoded.counts)
    sid, ts = numbers[owner], decoded.ts
    codes = np.zeros(len(ts), np.uint8)
    for index, refusal in refusals.items():
        codes[owner == index] = _CODE[refusal.reason]
    _judge_times(codes, ts, limits=limits, now=now)
    rest = codes == _TAKEN
    if len(ts):
        bits = decoded.value.view(np.int64)
        newest.reserve(int(sid.max()))
        codes[rest] = _OF_VERDICT[newest.judge(sid[rest], ts[rest], bits[rest])]
    mask = codes == _TAKEN
    written = int(np.count_nonzero(mask | (codes == _RESENT)))
    rejected: tuple[Rejected, ...] = ()
    if written < len(ts) or refusals:
        explain = _Explanation(decoded, owner=owner, refusals=refusals, newest=newest, sid=sid)
        rejected = tuple(explain.rejected(codes))
    columns = SampleColumns(sid[mask], ts[mask], decoded.value[mask])
    return Judged(mask=mask, columns=columns, written=written, rejected=rejected)


def _judge_times(
    codes: npt.NDArray[np.uint8], ts: IntArray, *, limits: Limits, now: datetime
) -> None:
    """Mark samples that are too old, too new, or in another unit than milliseconds."""
    first, last = _bounds(limits, now)
    outside = (codes == _TAKEN) & ((ts < first) | (ts > last))
    if not outside.any():
        return
    codes[outside & (ts < first)] = _CODE[Rejection.TOO_OLD]
    codes[outside & (ts > last)] = _CODE[Rejection.IN_FUTURE]
    for _, times, by in _UNITS:
        wrong = outside & (ts // by >= first // times) & (ts // by <= last // times)
        codes[wrong] = _CODE[Rejection.WRONG_TIME_UNIT]


def _bounds(limits: Limits, now: datetime) -> tuple[int, int]:
    return to_ms(now - limits.retention), to_ms(now + limits.future)


def to_ms(at: datetime) -> int:
    """Milliseconds since the epoch."""
    return int(at.timestamp() * 1000)


def from_ms(ms: int) -> datetime:
    """The instant of milliseconds since the epoch."""
    return datetime.fromtimestamp(ms / 1000, UTC)


def _unit(ts: int) -> str:
    """The unit that a timestamp which is not in milliseconds is likely in."""
    return next(name for name, digits in _DIGITS if len(str(abs(ts))) <= digits)


_DIGITS = (("seconds", 11), ("microseconds", 17), ("nanoseconds", 20))


@dataclass(slots=True)
class _Explanation:
    """Puts rejections into words that name series and times."""

    decoded: Decoded
    owner: IntArray
    refusals: Mapping[int, Refusal]
    newest: Newest
    sid: IntArray

    def rejected(self, codes: npt.NDArray[np.uint8]) -> Iterator[Rejected]:
        for reason in _REASONS:
            found = np.flatnonzero(codes == _CODE[reason])
            if len(found):
                examples = tuple(self._example(reason, i) for i in found[:_EXAMPLES].tolist())
                yield Rejected(reason, len(found), examples)
        yield from self._without_samples()

    def _without_samples(self) -> Iterator[Rejected]:
        for index, refusal in self.refusals.items():
            if not self.decoded.counts[index]:
                text = series_text(self.decoded.keys[index])
                yield Rejected(refusal.reason, 0, (Example(text, None, refusal.detail),))

    def _example(self, reason: Rejection, at: int) -> Example:
        index, ts = int(self.owner[at]), int(self.decoded.ts[at])
        detail = ""
        if index in self.refusals:
            detail = self.refusals[index].detail
        elif reason is Rejection.WRONG_TIME_UNIT:
            detail = _unit(ts)
        elif reason is Rejection.OUT_OF_ORDER:
            detail = format_instant(from_ms(int(self.newest.last[self.sid[at]])))
        return Example(series_text(self.decoded.keys[index]), ts, detail)
