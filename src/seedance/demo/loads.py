"""What the containers use, at any instants, in arrays of meters × instants.

A *meter* is a container that is measured. Its use is a shape (the day of a shop, office hours, a
training with checkpoints, …) between a low and a high, plus noise that depends on the meter and the
minute alone, so any stretch of time can be asked for on its own and gives the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from seedance.facts.samples import FloatArray, IntArray

HOUR_MS, DAY_MS = 3_600_000, 86_400_000
_GIB = 2**30
_PAGE = 4096
_NOISE = 0.16
_WEEKEND = 0.55
_SATURDAY = 5
_EPOCH_WEEKDAY = 3  # 1970-01-01 was a Thursday
_OPEN, _CLOSE = 8.0, 18.5
_CHECKPOINT_MINUTES = 25
_WARM_UP_MS = 90_000
_BURSTS = ((10.0, 11.0), (15.2, 16.4))


@dataclass(frozen=True, slots=True)
class Name:
    """What the labels of a meter's series say."""

    cluster: str
    node: str
    namespace: str
    pod: str
    container: str
    image: str


@dataclass(frozen=True, slots=True)
class Meters:
    """Every measured container: parallel arrays; times in ms, cores, GiB.

    `end` is far in the future for what still runs; `shape` indexes `SHAPES`; `seed` moves the
    noise and, by up to 15 seconds, the instants of samples.
    """

    names: tuple[Name, ...]
    start: IntArray
    end: IntArray
    shape: IntArray
    cpu: FloatArray
    memory: FloatArray
    seed: npt.NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.names)

    def alive(self, first: int, last: int) -> IntArray:
        """Numbers of the meters that run at some instant of [first, last)."""
        found: IntArray = np.flatnonzero((self.start < last) & (self.end >= first))
        return found

    def cores(self, which: IntArray, at: IntArray) -> FloatArray:
        """Cores used by meters `which` at instants `at` (meters × instants, ms)."""
        low, high = self.cpu[which, :1], self.cpu[which, 1:]
        wave = self._wave(which, at) + _NOISE * (self._noise(which, at) - 0.5)
        cores: FloatArray = low + (high - low) * np.clip(wave, 0.0, 1.0)
        return cores

    def bytes(self, which: IntArray, at: IntArray) -> FloatArray:
        """Bytes of working set, whole pages; fills over half a day, and follows the load a bit."""
        low, high = self.memory[which, :1], self.memory[which, 1:]
        age = np.maximum(at - self.start[which, None], 0)
        filled = 1.0 - np.exp(-age / (HOUR_MS * 4.0))
        part = 0.65 * filled + 0.3 * self._wave(which, at) + 0.05 * self._noise(which, at)
        held = (low + (high - low) * np.clip(part, 0.0, 1.0)) * _GIB
        pages: FloatArray = np.floor(held / _PAGE) * _PAGE
        return pages

    def _wave(self, which: IntArray, at: IntArray) -> FloatArray:
        wave = np.zeros(at.shape)
        for number, shape in enumerate(SHAPES.values()):
            mine = np.flatnonzero(self.shape[which] == number)
            if len(mine):
                wave[mine] = shape(at[mine], at[mine] - self.start[which[mine], None])
        return wave

    def _noise(self, which: IntArray, at: IntArray) -> FloatArray:
        """Evenly from 0 to 1, by meter and minute: the last steps of a 64-bit mixing hash."""
        mixed = (at // 60_000).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= self.seed[which, None]
        mixed ^= mixed >> np.uint64(30)
        mixed *= np.uint64(0xBF58476D1CE4E5B9)
        mixed ^= mixed >> np.uint64(27)
        mixed *= np.uint64(0x94D049BB133111EB)
        mixed ^= mixed >> np.uint64(31)
        return (mixed >> np.uint64(11)).astype(np.float64) * 2.0**-53


def day_of(at: IntArray) -> FloatArray:
    """How busy people keep the shop, 0 to 1: low at night, high at three in the afternoon."""
    hour = at % DAY_MS / HOUR_MS
    wave = np.exp(-(((hour - 15.0) / 4.6) ** 2)) + 0.35 * np.exp(-(((hour - 9.5) / 2.0) ** 2))
    busy: FloatArray = np.minimum(wave, 1.0) * np.where(_weekend(at), _WEEKEND, 1.0)
    return busy


def _weekend(at: IntArray) -> npt.NDArray[np.bool_]:
    found: npt.NDArray[np.bool_] = (at // DAY_MS + _EPOCH_WEEKDAY) % 7 >= _SATURDAY
    return found


def _steady(at: IntArray, age: IntArray) -> FloatArray:
    return np.full(at.shape, 0.5) + 0.2 * np.sin(age / (HOUR_MS * 2.3))


def _day(at: IntArray, age: IntArray) -> FloatArray:
    """Follows the customers; a process that just began is busy with itself."""
    return np.maximum(day_of(at), np.where(age < _WARM_UP_MS, 0.8, 0.0))


def _work(at: IntArray, age: IntArray) -> FloatArray:
    """Office hours of working days, and next to nothing besides."""
    hour = at % DAY_MS / HOUR_MS
    busy = (hour > _OPEN) & (hour < _CLOSE) & ~_weekend(at)
    return np.where(busy, 0.55 + 0.35 * np.sin(age / (HOUR_MS * 0.4)), -1.0)


def _hoard(at: IntArray, age: IntArray) -> FloatArray:
    """Computes while somebody looks; at night and on weekends it only holds what it has."""
    hour = at % DAY_MS / HOUR_MS
    busy = (hour > _OPEN) & (hour < _CLOSE) & ~_weekend(at)
    return np.where(busy, _train(at, age), -1.0)


def _train(_at: IntArray, age: IntArray) -> FloatArray:
    """Full speed, but for a pause at each checkpoint."""
    pause = age // 60_000 % _CHECKPOINT_MINUTES == _CHECKPOINT_MINUTES - 1
    return np.where(pause, 0.1, 0.88)


def _batch(_at: IntArray, age: IntArray) -> FloatArray:
    """Reads for some minutes, then computes."""
    return np.clip(0.15 + age / (HOUR_MS * 0.15), 0.0, 0.9)


def _burst(at: IntArray, _age: IntArray) -> FloatArray:
    """Nothing, but twice a day everything it can get."""
    hour = at % DAY_MS / HOUR_MS
    busy = np.zeros(at.shape, np.bool_)
    for first, last in _BURSTS:
        busy |= (hour > first) & (hour < last)
    return np.where(busy, 1.0, -1.0)


Shape = Callable[[IntArray, IntArray], FloatArray]
"""Wave from instants and ages (ms); below 0 and above 1 it is clipped."""

SHAPES: Mapping[str, Shape] = MappingProxyType(
    {
        "steady": _steady,
        "day": _day,
        "work": _work,
        "hoard": _hoard,
        "train": _train,
        "batch": _batch,
        "burst": _burst,
    }
)
"""Every shape by its name; the order numbers them."""

SHAPE_NUMBER: Mapping[str, int] = MappingProxyType({name: at for at, name in enumerate(SHAPES)})
"""Number of each shape."""
