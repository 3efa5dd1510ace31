"""Looking up single stored samples: what a sample that came before its turn is compared with."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime

import numpy as np

from seedance.facts.samples import SampleColumns
from seedance.store.statements import statement
from seedance.store.store import Store

_MS = 1000


def samples_between(
    store: Store, *, metric_ids: Collection[int], sids: Collection[int], first: int, last: int
) -> SampleColumns:
    """Samples of these series (which are of these metrics) in [first, last] ms, in no order."""
    found = store.engine.columns(
        statement("samples_between"),
        {
            "metric_ids": sorted(metric_ids),
            "sids": sorted(sids),
            "first": datetime.fromtimestamp(first / _MS, UTC),
            "last": datetime.fromtimestamp(last / _MS, UTC),
        },
    )
    if not found:
        return SampleColumns(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
    return SampleColumns(found["sid"].view(np.int64), found["ts"].view(np.int64), found["value"])


def newest_of(
    store: Store, *, metric_ids: Collection[int], sids: Collection[int]
) -> dict[int, int]:
    """The ms of the newest stored sample of each of these series; without any, left out."""
    found = store.engine.columns(
        statement("newest_of"), {"metric_ids": sorted(metric_ids), "sids": sorted(sids)}
    )
    if not found:
        return {}
    return dict(zip(found["sid"].tolist(), found["ts"].view(np.int64).tolist(), strict=True))


def sync_inserts(store: Store) -> None:
    """From now on a sample is on the disk when its insert returns, and stays so over merges.

    Without this a power cut can take the last seconds, whatever the write-ahead log did, since
    a batch leaves the log when it is in the store. Costs a few syncs per insert.
    """
    for name in ("sync_samples", "sync_series", "sync_metrics"):
        store.engine.command(statement(name))
