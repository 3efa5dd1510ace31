"""Cutting samples off the end of many series at once, with arrays.

A sender writes a sample as `12 10 09 VALUE(8) 10 TIME(6)`, or as `12 07 10 TIME(6)` where the
value is 0; a timestamp of this century in milliseconds has six bytes. Seen from the end of a
series these are 18 or 9 bytes of a known look, so all series of a body are peeled in step: one
round of array operations per sample of a series. This is a guess by looks: label bytes may
happen to look like a sample. The caller makes it exact, since it believes the guess only where
what remains is label fields and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from seedance.facts.samples import FloatArray, IntArray

_FULL, _ZERO = 18, 9
_FULL_HEAD = 0x091012
_ZERO_HEAD = 0x100712
_HEAD_MASK = 0xFFFFFF
_TIME_TAG = 0x10
_CONTINUES = 0x808080808080
_LAST_OF_SIX = 0x008080808080
_FEW = 16
"""Where fewer series than that have samples left, they are peeled one by one."""

_Mask = npt.NDArray[np.bool_]


class _Layer(NamedTuple):
    """Samples that were peeled together: of which series, where, and how far from its end."""

    series: IntArray
    at: IntArray
    rank: IntArray
    zero: _Mask


@dataclass(slots=True)
class Peeled:
    """Series after peeling: where the rest ends, how many samples came off, whether all are sound.

    A series is not `sound` where something that looked like a sample had no timestamp of six
    bytes; it has to be walked.
    """

    ends: IntArray
    counts: IntArray
    sound: _Mask
    layers: list[_Layer]

    def columns(
        self, data: bytes, *, offsets: IntArray, wanted: _Mask, total: int
    ) -> tuple[IntArray, FloatArray]:
        """Timestamps and values of the `wanted` series at their `offsets`, the rest zero."""
        ts, value = np.zeros(total, np.int64), np.zeros(total, np.float64)
        for layer in self.layers:
            of = wanted[layer.series]
            series, at, zero = layer.series[of], layer.at[of], layer.zero[of]
            target = offsets[series] + self.counts[series] - 1 - layer.rank[of]
            ts[target] = _times(data, at=at, zero=zero)
            full = ~zero
            value[target[full]] = _unaligned(data, "<f8")[at[full] + 3]
        return ts, value


def peel(data: bytes, starts: list[int], stops: list[int]) -> Peeled:
    """Peel samples off the end of each series `data[start:stop]`."""
    begins, ends = np.array(starts, np.int64), np.array(stops, np.int64)
    peeled = Peeled(ends, np.zeros_like(ends), np.ones(len(ends), np.bool_), [])
    if len(data) < _FULL + 2:
        return peeled
    heads: npt.NDArray[np.uint32] = _unaligned(data, "<u4")
    active = np.arange(len(ends), dtype=np.int64)
    rank = 0
    while len(active) >= _FEW or (rank == 0 and len(active)):
        active = _peel_once(data, heads, begins=begins, active=active, peeled=peeled, rank=rank)
        rank += 1
    for series in active.tolist():
        _peel_run(data, heads, begin=int(begins[series]), series=series, peeled=peeled)
    return peeled


def _peel_once(
    data: bytes,
    heads: npt.NDArray[np.uint32],
    *,
    begins: IntArray,
    active: IntArray,
    peeled: Peeled,
    rank: int,
) -> IntArray:
    ends, room = peeled.ends[active], peeled.ends[active] - begins[active]
    full = (room >= _FULL) & (heads[np.maximum(ends - _FULL, 0)] & _HEAD_MASK == _FULL_HEAD)
    zero = (room >= _ZERO) & (heads[np.maximum(ends - _ZERO, 0)] & _HEAD_MASK == _ZERO_HEAD)
    zero &= ~full
    hit = full | zero
    active, zero = active[hit], zero[hit]
    at = ends[hit] - np.where(zero, _ZERO, _FULL)
    peeled.layers.append(_Layer(active, at, np.full(len(active), rank, np.int64), zero))
    peeled.sound[active] &= _look_right(data, at=at, zero=zero)
    peeled.ends[active] = at
    peeled.counts[active] += 1
    return active


def _peel_run(
    data: bytes, heads: npt.NDArray[np.uint32], *, begin: int, series: int, peeled: Peeled
) -> None:
    """Peel a long run of full samples off one series; other shapes leave it to be walked."""
    end = int(peeled.ends[series])
    at = np.arange(end - _FULL, begin - 1, -_FULL, dtype=np.int64)
    misses = np.flatnonzero(heads[at] & _HEAD_MASK != _FULL_HEAD)
    at = at[: misses[0]] if len(misses) else at
    zero = np.zeros(len(at), np.bool_)
    rank = np.arange(len(at), dtype=np.int64) + peeled.counts[series]
    peeled.layers.append(_Layer(np.full(len(at), series, np.int64), at, rank, zero))
    peeled.sound[series] &= bool(_look_right(data, at=at, zero=zero).all())
    peeled.ends[series] = end - _FULL * len(at)
    peeled.counts[series] += len(at)


def _unaligned(data: bytes, kind: str) -> npt.NDArray[Any]:
    """`data` as numbers of `kind` that begin at every byte."""
    size = np.dtype(kind).itemsize
    return np.ndarray((max(len(data) - size + 1, 0),), kind, data, strides=(1,))


def _raw_times(data: bytes, *, at: IntArray, zero: _Mask) -> IntArray:
    """The six bytes of each timestamp as one number, with the byte before them on top."""
    last_eight = at + np.where(zero, _ZERO, _FULL) - 8
    raw: IntArray = _unaligned(data, "<i8")[last_eight]
    return raw


def _look_right(data: bytes, *, at: IntArray, zero: _Mask) -> _Mask:
    raw = _raw_times(data, at=at, zero=zero)
    tag = raw >> 8 & 0xFF
    right: _Mask = (tag == _TIME_TAG) & (raw >> 16 & _CONTINUES == _LAST_OF_SIX)
    return right


def _times(data: bytes, *, at: IntArray, zero: _Mask) -> IntArray:
    raw = _raw_times(data, at=at, zero=zero) >> 16
    ts = raw & 0x7F
    for byte in range(1, 6):
        ts |= raw >> byte & 0x7F << 7 * byte
    return ts
