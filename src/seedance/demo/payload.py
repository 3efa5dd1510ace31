"""Samples as remote write 1.0 carries them: protobuf written in arrays, then a snappy block.

A sample is `12 10 09 VALUE(8) 10 TIME(6)`: 18 bytes, since timestamps of this century in
milliseconds take six. So the samples of a series are one cut of a matrix of bytes.
"""

from __future__ import annotations

from collections.abc import Iterable

import cramjam
import numpy as np
import numpy.typing as npt

from seedance.facts.samples import STALE_BITS, FloatArray, IntArray

_SAMPLE = 18
_TIME_BYTES = 6
_SERIES = b"\x0a"
_MORE = 0x80

SampleBytes = npt.NDArray[np.uint8]
"""Encoded samples, series × instants × 18."""


def encode_samples(ts: IntArray, values: FloatArray) -> SampleBytes:
    """Samples of many series: `ts` in ms and `values`, both series × instants."""
    out = np.empty((*ts.shape, _SAMPLE), np.uint8)
    out[..., :3] = (0x12, 0x10, 0x09)
    bits = np.ascontiguousarray(values, "<f8")
    out[..., 3:11] = bits.view(np.uint8).reshape(*ts.shape, 8)
    out[..., 11] = 0x10
    for byte in range(_TIME_BYTES):
        more = _MORE if byte < _TIME_BYTES - 1 else 0
        out[..., 12 + byte] = (ts >> 7 * byte) & 0x7F | more
    return out


def stale_samples(ts: IntArray) -> SampleBytes:
    """The markers that tell that series ended at `ts`."""
    values = np.full(ts.shape, STALE_BITS, np.uint64).view(np.float64)
    return encode_samples(ts, values)


def message(series: Iterable[tuple[bytes, bytes]]) -> bytes:
    """A write request, compressed, of (label bytes, sample bytes)."""
    parts: list[bytes] = []
    for labels, samples in series:
        parts += (_SERIES, _length(len(labels) + len(samples)), labels, samples)
    return bytes(cramjam.snappy.compress_raw(b"".join(parts)))


def _length(size: int) -> bytes:
    out = bytearray()
    while size >= _MORE:
        out.append(size & 0x7F | _MORE)
        size >>= 7
    out.append(size)
    return bytes(out)
