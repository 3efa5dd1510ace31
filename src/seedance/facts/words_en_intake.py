"""English: why a sample was not taken, as its sender reads it in the answer and in its log.

`{detail}` is what the rejection names: a label, a limit, a unit, an instant.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from seedance.facts.rejections import Rejection
from seedance.facts.words_phrase import Phrase

_R = Rejection

_PHRASES: dict[Rejection, Phrase] = {
    _R.NO_LABELS: Phrase(
        "no labels", "The series has no labels.", "Send the labels with every series."
    ),
    _R.NO_METRIC_NAME: Phrase(
        "no metric name",
        "The series has no label __name__.",
        "Check the write_relabel_configs: one of them drops __name__.",
    ),
    _R.EMPTY_LABEL: Phrase(
        "empty label",
        "An empty name or value: {detail}.",
        "Leave a label without a value out.",
    ),
    _R.DUPLICATE_LABEL: Phrase(
        "duplicate label name",
        "The label {detail} is there twice.",
        "Name each label once; relabelling may have made two names equal.",
    ),
    _R.INVALID_UTF8: Phrase(
        "invalid UTF-8",
        "A label is not UTF-8: {detail}.",
        "Send label names and values in UTF-8.",
    ),
    _R.TOO_MANY_LABELS: Phrase(
        "too many labels",
        "The series has {detail}.",
        "Drop labels with write_relabel_configs, or raise the limit.",
    ),
    _R.LABEL_TOO_LONG: Phrase(
        "label too long",
        "A label is over its limit: {detail}.",
        "Shorten or drop it with write_relabel_configs, or raise the limit.",
    ),
    _R.TOO_MANY_SERIES: Phrase(
        "too many series",
        "The store numbers {detail}.",
        "Drop what is not needed with write_relabel_configs, or raise the limit.",
    ),
    _R.WRONG_TIME_UNIT: Phrase(
        "timestamp in the wrong unit",
        "The timestamp looks like {detail}; milliseconds are expected.",
        "Send milliseconds since 1970.",
    ),
    _R.IN_FUTURE: Phrase(
        "timestamp in the future",
        "The sample is further ahead of the server's clock than allowed.",
        "Check the clocks of sender and server.",
    ),
    _R.TOO_OLD: Phrase(
        "timestamp too old",
        "The sample is older than raw samples are kept.",
        "Raise the retention of raw samples, or do not send what is older.",
    ),
    _R.OUT_OF_ORDER: Phrase(
        "out of order",
        "The newest sample of the series is of {detail}.",
        "Check whether two senders share the series; give each its own external label.",
    ),
    _R.CONFLICT: Phrase(
        "duplicate timestamp, other value",
        "Another value is stored for this timestamp; the first one stays.",
        "Check whether two senders share the series; give each its own external label.",
    ),
}

INTAKE: Mapping[str, Phrase] = MappingProxyType(
    {f"rejection:{reason.value}": phrase for reason, phrase in _PHRASES.items()}
)
"""Code to phrase."""
