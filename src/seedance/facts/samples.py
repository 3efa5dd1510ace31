"""Samples and series as they leave intake: columns, not objects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NewType

import numpy as np
import numpy.typing as npt

SeriesId = NewType("SeriesId", int)
"""Number of a label set in this store, handed out once and never reused (UInt64, from 1)."""

STALE_BITS = np.uint64(0x7FF0000000000002)
"""Prometheus' stale marker, the one NaN that means "this series has ended"; compare bits."""

Door = Literal["remote-write", "kubelet"]
"""Which door a sample came through; part of its series' identity."""

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Series:
    """A label set with its number.

    `labels` are raw and sorted by name, `__name__` is in `metric`, not in `labels`.
    `cluster` is the cluster the token or door is bound to (a cluster id), else the value of the
    cluster label, else "": it is matched to a cluster when a window is settled.
    """

    id: SeriesId
    metric: str
    labels: tuple[tuple[str, str], ...]
    cluster: str
    door: Door


@dataclass(frozen=True, slots=True)
class SampleColumns:
    """Three arrays of equal length: series number, milliseconds since the epoch, value."""

    sid: IntArray
    ts: IntArray
    value: FloatArray

    def __len__(self) -> int:
        return len(self.sid)
