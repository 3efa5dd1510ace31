"""What every sample decoder yields: series as raw label bytes, samples as columns.

A series is named by a *key*: its label fields in the wire form of remote write 1.0
(`0a LEN 0a LEN name 12 LEN value` per label, `__name__` among them), in whatever order the sender
used. The recorder compares keys byte for byte and reads the labels of a key only when it meets
it for the first time (`intake.labelset`). Doors with another format build keys with
`labelset.encode_labels`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from seedance.facts.rejections import NOTHING_LEFT_OUT, LeftOut
from seedance.facts.samples import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Decoded:
    """Series and samples of one body, in the order of the body.

    `counts[i]` samples belong to `keys[i]`; `ts` (ms) and `value` hold them series by series, so
    both have `counts.sum()` elements. The same key may appear more than once.
    """

    keys: Sequence[bytes]
    counts: IntArray
    ts: IntArray
    value: FloatArray
    left_out: LeftOut = NOTHING_LEFT_OUT


class Decoder(Protocol):
    """A door's decoder: pure, and the same samples in the same order for the same body, always.

    The write-ahead log keeps bodies as they came and says by position which samples were taken.
    """

    def __call__(self, body: bytes, now: datetime, known: Collection[bytes]) -> Decoded:
        """The body's samples; `known` are keys that were read before (a decoder may skip them).

        Raises:
            IntakeError: if the body is not what it says.
        """
