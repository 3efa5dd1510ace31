"""Use that belongs to nobody known: samples without a cluster, or of pods nobody has seen.

It is shown, with its reason and without money: what it costs is in the rows of the node it ran on,
if that node is known at all. A series that is known for less than the gap limit is an echo of a pod
that has just ended, and is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from seedance.costs.identity import Entity, stray_entity
from seedance.costs.minutes import Float32Array, MinuteUse
from seedance.costs.rows import RowBlock
from seedance.facts.prices import base_units


@dataclass(frozen=True, slots=True)
class Stray:
    """Use of a namespace's unknown pods, per minute of a block: base-unit seconds and seconds."""

    namespace: str
    resource: str
    used: Float32Array
    known: Float32Array


def strays_of(
    use: MinuteUse, namespaces: Sequence[str], resource: str, *, gap_ms: int
) -> list[Stray]:
    """Lanes (a row each, in the namespaces given) as strays by namespace, echoes left out."""
    real = use.known.sum(axis=1, dtype=np.int64) >= gap_ms
    by_namespace: dict[str, list[int]] = {}
    for row in np.flatnonzero(real).tolist():
        by_namespace.setdefault(namespaces[row], []).append(row)
    return [
        Stray(
            namespace,
            resource,
            use.used[rows].sum(axis=0),
            (use.known[rows].sum(axis=0, dtype=np.int64) / 1000).astype(np.float32),
        )
        for namespace, rows in sorted(by_namespace.items())
    ]


def stray_rows(
    strays: Sequence[Stray],
    *,
    cluster: str,
    reason: str,
    resources: Sequence[str],
    first_minute: int,
) -> tuple[RowBlock, list[Entity]]:
    """Rows of one hour, which begins at `first_minute` of the block, and their entities."""
    cut = slice(first_minute, first_minute + 60)
    mine = [stray for stray in strays if stray.known[cut].any()]
    entities = [stray_entity(cluster, stray.namespace, reason) for stray in mine]
    count = len(mine)
    units = np.array([base_units(stray.resource) for stray in mine])
    used = np.array([stray.used[cut] for stray in mine]).reshape(count, 60) / units[:, None]
    known = np.array([stray.known[cut] for stray in mine]).reshape(count, 60)
    nothing, empty = np.zeros(count), np.zeros((count, 60), np.float32)
    block = RowBlock(
        entity=np.array([entity["entity"] for entity in entities], np.uint64),
        resource=np.array([resources.index(stray.resource) for stray in mine], np.int64),
        price_id=np.zeros(count, np.uint64),
        requested=nothing,
        used=used.sum(axis=1) / 3600,
        charged=nothing,
        unused=nothing,
        covered=known.sum(axis=1) / 3600,
        alive=known.sum(axis=1) / 3600,
        picos=np.zeros(count, np.int64),
        unused_picos=np.zeros(count, np.int64),
        priced=np.zeros(count, dtype=bool),
        overcommit=np.zeros(count, np.float32),
        flags=np.zeros(count, np.int64),
        reason=np.array([reason] * count, np.object_),
        requested_minutes=empty,
        used_minutes=(used / 60).astype(np.float32),
        charged_minutes=empty,
        covered_minutes=np.minimum(known, 60).astype(np.uint8),
        cell=np.zeros(count, np.int64),
    )
    return block, entities
