"""Keys to labels and back: reading, checking and writing the label bytes that name a series.

`read_labels` is asked once per series, when its key is first met, so it may take its time and
check everything the remote-write specification demands of labels. Sorting is forgiven: the
labels come back in order, and the recorder gives every order of them the same number.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from seedance.facts.errors import IntakeError
from seedance.facts.limits import Limits
from seedance.facts.rejections import Rejection
from seedance.intake.wire import MORE, read_fields

METRIC_NAME = "__name__"
_NAME, _VALUE = 0x0A, 0x12
_LABEL = b"\x0a"
_TEXT_MAX = 400


@dataclass(frozen=True, slots=True)
class LabelSet:
    """Labels of a series that passed every check; `labels` sorted by name, without the metric."""

    metric: str
    labels: tuple[tuple[str, str], ...]

    def key(self) -> bytes:
        """The one key that stands for all orders of these labels."""
        return encode_labels(((METRIC_NAME, self.metric), *self.labels))


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a label set is not taken, and what exactly is wrong with it."""

    reason: Rejection
    detail: str = ""


def read_labels(key: bytes, limits: Limits) -> LabelSet | Refusal:
    """The labels of `key`, checked.

    Raises:
        IntakeError: if the bytes are no label fields at all.
    """
    pairs = split_labels(key)
    if not pairs:
        return Refusal(Rejection.NO_LABELS)
    refusal = _over_limit(key, pairs, limits)
    if refusal:
        return refusal
    try:
        texts = [(name.decode(), value.decode()) for name, value in pairs]
    except UnicodeDecodeError as error:
        return Refusal(Rejection.INVALID_UTF8, f"{error.object[:40]!r}")
    return _checked(texts)


def split_labels(key: bytes) -> list[tuple[bytes, bytes]]:
    """Name and value of each label in `key`, raw and unchecked.

    Raises:
        IntakeError: if the bytes are no label fields.
    """
    pairs = _split_plain(key)
    return _split_any(key) if pairs is None else pairs


def _split_plain(key: bytes) -> list[tuple[bytes, bytes]] | None:
    """The labels of a key in which every length is one byte and nothing unusual stands."""
    pairs, at, end = [], 0, len(key)
    while at + 3 < end:
        name, size = at + 4, key[at + 3]
        value = name + size + 2
        stop = at + 2 + key[at + 1]
        if value > stop or stop > end or size >= MORE or key[at + 1] >= MORE:
            return None
        if key[at] != _NAME or key[at + 2] != _NAME or key[value - 2] != _VALUE:
            return None
        if key[value - 1] != stop - value:
            return None
        pairs.append((key[name : value - 2], key[value:stop]))
        at = stop
    return pairs if at == end else None


def _split_any(key: bytes) -> list[tuple[bytes, bytes]]:
    pairs = []
    for field in read_fields(key, 0, len(key)):
        if field.tag != _NAME:
            raise IntakeError(f"field {field.tag >> 3} among the labels of a series")
        name = value = b""
        for part in read_fields(key, field.start, field.end):
            if part.tag == _NAME:
                name = key[part.start : part.end]
            elif part.tag == _VALUE:
                value = key[part.start : part.end]
        pairs.append((name, value))
    return pairs


def are_labels(key: bytes) -> bool:
    """Whether `key` consists of label fields and nothing else."""
    try:
        split_labels(key)
    except IntakeError:
        return False
    return True


def encode_labels(labels: Iterable[tuple[str, str]]) -> bytes:
    """The key of `labels` (with `__name__` among them), sorted by name."""
    parts = []
    for name, value in sorted(labels):
        label = b"".join((_LABEL, _sized(name.encode()), b"\x12", _sized(value.encode())))
        parts.append(_LABEL + _sized(label))
    return b"".join(parts)


def series_text(key: bytes) -> str:
    """`key` as people write a series, `up{job="x"}`, fit for a message: escaped and cut."""
    try:
        pairs = split_labels(key)
    except IntakeError:
        return "(unreadable labels)"
    texts = [(_show(name), _show(value)) for name, value in pairs]
    names = [value for name, value in texts if name == METRIC_NAME]
    metric = names[0] if names else ""
    rest = [(n, v) for n, v in texts if n != METRIC_NAME]
    rest += [(METRIC_NAME, value) for value in names[1:]]
    text = metric + "{" + ", ".join(f'{name}="{value}"' for name, value in rest) + "}"
    return text if len(text) <= _TEXT_MAX else text[:_TEXT_MAX] + "…"


def _sized(data: bytes) -> bytes:
    size = len(data)
    head = bytearray()
    while size >= MORE:
        head.append(size & 0x7F | MORE)
        size >>= 7
    head.append(size)
    return bytes(head) + data


def _show(raw: bytes) -> str:
    text = raw[:_TEXT_MAX].decode(errors="backslashreplace")
    return "".join(
        c
        if c.isprintable() and c not in '"\\'
        else c.encode("unicode_escape").decode()
        if c not in '"\\'
        else "\\" + c
        for c in text
    )


def _over_limit(key: bytes, pairs: list[tuple[bytes, bytes]], limits: Limits) -> Refusal | None:
    if len(pairs) > limits.labels:
        return Refusal(Rejection.TOO_MANY_LABELS, f"{len(pairs)} labels, at most {limits.labels}")
    if len(key) > limits.label_set_bytes:
        return Refusal(
            Rejection.LABEL_TOO_LONG,
            f"all labels together have {len(key)} bytes, at most {limits.label_set_bytes}",
        )
    for name, value in pairs:
        if len(name) > limits.label_name_bytes:
            return Refusal(
                Rejection.LABEL_TOO_LONG,
                f"a name has {len(name)} bytes, at most {limits.label_name_bytes}",
            )
        if len(value) > limits.label_value_bytes:
            return Refusal(
                Rejection.LABEL_TOO_LONG,
                f"{_show(name)} has {len(value)} bytes, at most {limits.label_value_bytes}",
            )
    return None


def _checked(texts: list[tuple[str, str]]) -> LabelSet | Refusal:
    labels: dict[str, str] = {}
    for name, value in texts:
        if not name:
            return Refusal(Rejection.EMPTY_LABEL, "a label has no name")
        if name in labels:
            return Refusal(Rejection.DUPLICATE_LABEL, name)
        if not value and name != METRIC_NAME:
            return Refusal(Rejection.EMPTY_LABEL, f"{name} has no value")
        labels[name] = value
    metric = labels.pop(METRIC_NAME, "")
    if not metric:
        return Refusal(Rejection.NO_METRIC_NAME)
    return LabelSet(metric, tuple(sorted(labels.items())))
