"""Our reading of remote write against protobuf's own parser, on good and on broken messages."""

from __future__ import annotations

import math
import struct

import numpy as np
import pytest
from google.protobuf.message import DecodeError
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from remote_write_messages import WriteRequest, message, series
from seedance.facts.errors import IntakeError
from seedance.intake.decoded import Decoded
from seedance.intake.labelset import split_labels
from seedance.intake.remotewrite import scan

T = 1_796_000_000_000

Flat = list[tuple[tuple[tuple[bytes, bytes], ...], tuple[tuple[int, bytes], ...]]]


def ours(decoded: Decoded) -> Flat:
    """The decoded columns as nested tuples, values by their bits."""
    flat, at = [], 0
    for key, count in zip(decoded.keys, decoded.counts.tolist(), strict=True):
        ts = decoded.ts[at : at + count].tolist()
        values = [struct.pack("<d", v) for v in decoded.value[at : at + count]]
        flat.append((tuple(split_labels(key)), tuple(zip(ts, values, strict=True))))
        at += count
    assert at == len(decoded.ts) == len(decoded.value)
    return flat


def theirs(data: bytes) -> tuple[Flat, tuple[int, int, int]]:
    """What protobuf reads in the same bytes."""
    request = WriteRequest.FromString(data)
    flat = [
        (
            tuple((label.name, label.value) for label in of.labels),
            tuple((s.timestamp, struct.pack("<d", s.value)) for s in of.samples),
        )
        for of in request.timeseries
    ]
    exemplars = sum(len(of.exemplars) for of in request.timeseries)
    histograms = sum(len(of.histograms) for of in request.timeseries)
    return flat, (len(request.metadata), exemplars, histograms)


def agree(data: bytes, *, known: set[bytes] | None = None) -> None:
    """Both accept with equal contents, or both refuse."""
    try:
        flat, left_out = theirs(data)
    except DecodeError:
        with pytest.raises(IntakeError):
            scan(data, known=known or set())
        return
    decoded = scan(data, known=known or set())
    assert ours(decoded) == flat
    rest = decoded.left_out
    assert (rest.metadata, rest.exemplars, rest.histograms) == left_out


LOOKALIKE = st.sampled_from(
    [
        b"\x12\x10\x09" + bytes(8) + b"\x10" + b"\x80" * 5 + b"\x01",
        b"\x12\x07\x10" + b"\x80" * 5 + b"\x01",
        b"\x12\x07\x10" + b"\x80" * 5 + b"\x81",
        b"\x12\x10\x09",
        b"\n\x04\n\x01a\x12",
    ]
)
TEXT = st.one_of(st.binary(max_size=8), LOOKALIKE, st.binary(min_size=120, max_size=140))
VALUES = st.one_of(
    st.floats(width=64),
    st.sampled_from([0.0, -0.0, math.nan, math.inf]),
    st.integers(0, 2**64 - 1).map(lambda bits: struct.unpack("<d", struct.pack("<Q", bits))[0]),
)
TIMES = st.one_of(
    st.integers(T - 10**6, T + 10**6),
    st.integers(-(2**63), 2**63 - 1),
    st.sampled_from([0, T // 1000, T * 1000]),
)
SERIES = st.builds(
    series,
    st.lists(st.tuples(TEXT, TEXT), max_size=4),
    st.lists(st.tuples(TIMES, VALUES), max_size=5),
)


@settings(max_examples=300, deadline=None)
@given(st.lists(SERIES, max_size=20))
@example([series([(b"a", b"b")], [(T, float(i % 3)) for i in range(300)])])
@example([series([(b"a", b"b")], [(T, 1.0)] * 300)] * 3)
@example([series([(b"a", b"b" * 20_000)], [(T, 1.0)])])
def test_well_formed_messages_read_alike(content: list[object]) -> None:
    data = message(*content)
    agree(data)
    agree(data, known=set(scan(data).keys))


FIELD_BYTES = st.one_of(
    st.binary(max_size=12),
    st.tuples(st.integers(1, 6), st.integers(0, 7), st.binary(max_size=12)).map(
        lambda parts: bytes([parts[0] << 3 | parts[1]]) + parts[2]
    ),
    st.sampled_from(
        [
            b"\x2b\x08\x01\x2c",  # a group of an unknown field
            b"\x2b\x08\x01\x34",  # ended by another field's end
            b"\x1a\x00",  # metadata, or an exemplar, without content
            b"\x22\x02\x18\x00",
            b"\x8a\x00\x00",  # the tag of field 1 in two bytes
            b"\x10" + b"\xff" * 9 + b"\x01",
            b"\x10" + b"\xff" * 9 + b"\x02",
            b"\x10" + b"\xff" * 10 + b"\x01",
        ]
    ),
)


def spliced(data: bytes, at: int, extra: bytes, removed: int) -> bytes:
    """`data` with `removed` bytes at `at` (modulo its length) replaced by `extra`."""
    at %= len(data) + 1
    return data[:at] + extra + data[at + removed :]


@settings(max_examples=600, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(SERIES, max_size=4),
    st.lists(st.tuples(st.integers(0, 400), FIELD_BYTES, st.integers(0, 3)), max_size=3),
)
def test_damaged_messages_are_refused_or_read_alike(
    content: list[object], edits: list[tuple[int, bytes, int]]
) -> None:
    data = message(*content)
    known = set(scan(data).keys)
    for at, extra, removed in edits:
        data = spliced(data, at, extra, removed)
    agree(data)
    agree(data, known=known)


def framed(number: int, payload: bytes) -> bytes:
    """A length-delimited field."""
    assert len(payload) < 128
    return bytes([number << 3 | 2, len(payload)]) + payload


@settings(max_examples=600, deadline=None)
@given(st.lists(FIELD_BYTES, max_size=5), st.lists(FIELD_BYTES, max_size=3))
def test_odd_series_are_refused_or_read_alike(parts: list[bytes], inner: list[bytes]) -> None:
    label, sample = framed(1, b"\n\x01a" + b"".join(inner)), framed(2, b"".join(inner))
    inside = label + b"".join(parts) + sample
    agree(framed(1, inside[:127]) + framed(3, b"") + b"".join(parts))


def test_stale_bits_survive() -> None:
    stale = struct.unpack("<d", struct.pack("<Q", 0x7FF0000000000002))[0]
    decoded = scan(message(series([("__name__", "g")], [(T, 5.0), (T + 1000, stale)])))
    assert decoded.value.view(np.uint64).tolist()[1] == 0x7FF0000000000002
