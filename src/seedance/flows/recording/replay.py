"""A body from the log as the rows that it was, whatever the limits are now."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from seedance.facts.limits import Limits
from seedance.facts.samples import Door, SampleColumns
from seedance.flows.recording.judging import from_ms
from seedance.flows.recording.seriestable import SeriesTable
from seedance.intake.decoded import Decoder
from seedance.store.logformat import Entry

_ANY = Limits(
    labels=1 << 30, label_name_bytes=1 << 30, label_value_bytes=1 << 30, label_set_bytes=1 << 30,
    series=1 << 62,
)  # fmt: skip
"""What is in the log was taken under the limits of its day."""


def read_again(
    entry: Entry, *, decoders: Mapping[Door, Decoder], table: SeriesTable
) -> SampleColumns:
    """The samples that were taken of a body, in its order; new series get numbers.

    Raises:
        SeedanceError: if the decoder refuses the body.
        KeyError: if no decoder knows the door.
        ValueError: if the body is not the one that was judged.
    """
    known = table.known(entry.door, entry.cluster)
    decoded = decoders[entry.door](entry.body, from_ms(entry.received), known)
    mask = entry.mask()
    if len(mask) != len(decoded.ts):
        raise ValueError(f"it has {len(decoded.ts)} samples where {len(mask)} were")
    owner = np.repeat(np.arange(len(decoded.keys)), decoded.counts)[mask]
    used = np.unique(owner)
    keys = [decoded.keys[index] for index in used.tolist()]
    numbers = np.zeros(len(decoded.keys), np.int64)
    numbers[used], refusals = table.number(
        keys, door=entry.door, cluster=entry.cluster, limits=_ANY
    )
    if refusals:
        raise ValueError(f"labels that were taken are refused: {next(iter(refusals.values()))}")
    return SampleColumns(numbers[owner], decoded.ts[mask], decoded.value[mask])
