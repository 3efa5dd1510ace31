"""Prometheus remote write 1.0: headers, snappy block, protobuf, to columns.

The flow: `check_headers` answers 415 before anything is decoded; `unpack` reads the length that
the snappy block declares, refuses what is too large or cannot be, then decompresses; `scan` reads
the message. Senders write a series as its labels followed by its samples, and a sample in one of
two shapes, so `intake.peel` cuts samples of those shapes off the end of all series at once. Where
what remains of a series is labels and nothing else, that was right; any other series is walked
field by field. Both ways give the same columns (a test compares them with protobuf's own parser).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime
from struct import unpack_from

import cramjam
import numpy as np

from seedance.facts.errors import IntakeError, MediaTypeError, TooLargeError
from seedance.facts.limits import Limits
from seedance.facts.rejections import LeftOut
from seedance.intake.decoded import Decoded, Decoder
from seedance.intake.labelset import are_labels
from seedance.intake.peel import peel
from seedance.intake.wire import MORE, read_field, read_fields, read_varint

_SERIES, _METADATA = 0x0A, 0x1A
_LABELS, _SAMPLES, _EXEMPLARS, _HISTOGRAMS = 0x0A, 0x12, 0x1A, 0x22
_VALUE, _TIMESTAMP = 0x09, 0x10

_TWO_BYTES = 1 << 14
"""Lengths from here on take three bytes or more."""
_SNAPPY_EXPANSION = 22
"""No snappy element of 3 bytes yields more than 64; a block that declares more is a bomb."""
_FRAMED = b"\xff\x06\x00\x00sNaPpY"


def check_headers(*, content_type: str, content_encoding: str) -> None:
    """Refuse what is not a snappy-compressed remote write 1.0 message, before reading it.

    Raises:
        MediaTypeError: with a text for the sender's log.
    """
    media, _, parameters = content_type.partition(";")
    if media.strip().lower() != "application/x-protobuf":
        raise MediaTypeError(
            f"Content-Type is {content_type or 'missing'}; this door takes application/x-protobuf"
        )
    for parameter in parameters.split(";"):
        name, _, value = parameter.partition("=")
        proto = value.strip().strip('"')
        if name.strip().lower() == "proto" and proto != "prometheus.WriteRequest":
            raise MediaTypeError(
                f"the message {proto} is not taken; send remote write 1.0 "
                "(protobuf_message: prometheus.WriteRequest)"
            )
    if content_encoding.strip().lower() != "snappy":
        raise MediaTypeError(
            f"Content-Encoding is {content_encoding or 'missing'}; "
            "this door takes snappy (block format)"
        )


def decode(body: bytes, *, limits: Limits, known: Collection[bytes] = ()) -> Decoded:
    """The samples of a body as it came over the wire; see `Decoder` for `known`.

    Raises:
        TooLargeError: if it declares more than `limits.body_bytes`.
        IntakeError: if it is no snappy block or no remote-write message.
    """
    return scan(unpack(body, limits=limits), known=known)


def decoder(limits: Limits) -> Decoder:
    """`decode` under these limits, as the recorder wants it."""

    def bound(body: bytes, now: datetime, known: Collection[bytes]) -> Decoded:  # noqa: ARG001
        return decode(body, limits=limits, known=known)

    return bound


def unpack(body: bytes, *, limits: Limits) -> bytes:
    """The message inside a snappy block; nothing is allocated before its length is believed.

    Raises:
        TooLargeError: if the declared length is over `limits.body_bytes`.
        IntakeError: if it is no snappy block.
    """
    if body.startswith(_FRAMED):
        raise IntakeError(
            "the body is in snappy's framed format; remote write takes the block format"
        )
    try:
        size, start = read_varint(body, 0, min(len(body), 5))
    except IntakeError:
        raise IntakeError(
            "the body is no snappy block: it does not begin with its length"
        ) from None
    if size > limits.body_bytes:
        raise TooLargeError(
            f"the body declares {size} bytes, at most {limits.body_bytes} are taken; "
            "lower max_samples_per_send"
        )
    if size > (len(body) - start) * _SNAPPY_EXPANSION:
        raise IntakeError(f"the body declares {size} bytes, more than {len(body)} can hold")
    try:
        return bytes(cramjam.snappy.decompress_raw(body, output_len=size))
    except cramjam.DecompressionError as error:
        raise IntakeError(f"the body is no snappy block: {error}") from None


def scan(data: bytes, *, known: Collection[bytes] = ()) -> Decoded:
    """The samples of a remote write 1.0 message.

    Raises:
        IntakeError: if it is no well-formed message.
    """
    spans = _find_series(data)
    peeled = peel(data, spans.starts, spans.stops)
    ends = peeled.ends.tolist()
    keys = [data[start:end] for start, end in zip(spans.starts, ends, strict=True)]
    fast = peeled.sound & np.array([key in known or are_labels(key) for key in keys], np.bool_)
    counts = peeled.counts
    walked: dict[int, _Walk] = {}
    for index in np.flatnonzero(~fast).tolist():
        walk = _walk_series(data, spans.starts[index], spans.stops[index])
        walked[index] = walk
        keys[index] = b"".join(walk.labels)
        counts[index] = len(walk.ts)
    offsets = np.cumsum(counts) - counts
    ts, value = peeled.columns(data, offsets=offsets, wanted=fast, total=int(counts.sum()))
    for index, walk in walked.items():
        here = slice(offsets[index], offsets[index] + counts[index])
        ts[here], value[here] = walk.ts, walk.values
    left_out = LeftOut(
        metadata=spans.metadata,
        exemplars=sum(walk.exemplars for walk in walked.values()),
        histograms=sum(walk.histograms for walk in walked.values()),
    )
    return Decoded(keys, counts, ts, value, left_out)


@dataclass(slots=True)
class _Spans:
    """Where the series of a message lie."""

    starts: list[int] = field(default_factory=list)
    stops: list[int] = field(default_factory=list)
    metadata: int = 0


def _find_series(data: bytes) -> _Spans:
    spans = _Spans()
    begins, ends = spans.starts.append, spans.stops.append
    at, end = 0, len(data)
    while at + 2 < end:
        # The tag and a length of one or two bytes, the shape of nearly all series, read in place.
        start, size = at + 2, data[at + 1]
        if size >= MORE:
            size += (data[start] << 7) - MORE
            start += 1
        if data[at] != _SERIES or size >= _TWO_BYTES:
            found = read_field(data, at, end)
            spans.metadata += found.tag == _METADATA
            if found.tag != _SERIES:
                at = found.end
                continue
            start, size = found.start, found.end - found.start
        begins(start)
        at = start + size
        ends(at)
    while at < end:
        found = read_field(data, at, end)
        spans.metadata += found.tag == _METADATA
        if found.tag == _SERIES:
            begins(found.start)
            ends(found.end)
        at = found.end
    if at > end:
        raise IntakeError("the last series ends outside the message: it is truncated")
    return spans


@dataclass(slots=True)
class _Walk:
    """A series, read field by field."""

    labels: list[bytes] = field(default_factory=list)
    ts: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    exemplars: int = 0
    histograms: int = 0


def _walk_series(data: bytes, start: int, stop: int) -> _Walk:
    walk = _Walk()
    for part in read_fields(data, start, stop):
        if part.tag == _LABELS:
            for _ in read_fields(data, part.start, part.end):
                pass  # a malformed label makes the whole message malformed
            walk.labels.append(data[part.at : part.end])
        elif part.tag == _SAMPLES:
            ts, value = _walk_sample(data, part.start, part.end)
            walk.ts.append(ts)
            walk.values.append(value)
        elif part.tag == _EXEMPLARS:
            walk.exemplars += 1
        elif part.tag == _HISTOGRAMS:
            walk.histograms += 1
    return walk


def _walk_sample(data: bytes, start: int, stop: int) -> tuple[int, float]:
    ts, value = 0, 0.0
    for part in read_fields(data, start, stop):
        if part.tag == _TIMESTAMP:
            ts = part.number - (part.number >> 63 << 64)
        elif part.tag == _VALUE:
            (value,) = unpack_from("<d", data, part.start)
    return ts, value
