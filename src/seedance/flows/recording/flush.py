"""From closed batches to the store: names, series, samples, marks of changed hours, in that order.

Every step may be repeated, and a batch is repeated from its first step until all went well: rows
of names and series replace equal ones, samples are written once per token, marks only move on.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import numpy as np

from seedance.facts.samples import SampleColumns
from seedance.facts.window import floor_hour
from seedance.flows.recording.seriestable import SeriesTable
from seedance.store.logformat import Token
from seedance.store.objects import clusters
from seedance.store.samples import put_metric_ids, put_samples, put_series
from seedance.store.settles import mark_dirty
from seedance.store.store import Store
from seedance.store.wal import Batch

REASON = "samples"
"""What a mark of a changed hour says of its cause."""

_REMARK = timedelta(minutes=1)
_REACH_MS = 300_000
"""A sample changes what is known between it and its neighbours, at most this far away."""
_STEPS_AN_HOUR = 12
_STEP_BITS = 32
_STEP_MASK = (1 << _STEP_BITS) - 1


@dataclass(slots=True)
class Pending:
    """Samples that are in the log and not in the store; `token` is "" while the batch is open.

    `since` is when the first of them came, `earlier` the batch of an earlier run that they are of.
    """

    token: Token = ""
    chunks: list[SampleColumns] = field(default_factory=list)
    rows: int = 0
    since: datetime | None = None
    earlier: Batch | None = None

    def add(self, columns: SampleColumns) -> None:
        """Add samples at the end."""
        self.chunks.append(columns)
        self.rows += len(columns)

    def columns(self) -> SampleColumns:
        """All samples, in order."""
        parts = zip(*((c.sid, c.ts, c.value) for c in self.chunks), strict=True)
        return SampleColumns(*(np.concatenate(part) for part in parts))


class Flusher:
    """Writes batches to the store; used by one thread. `lock` guards the series table."""

    def __init__(
        self,
        store: Store,
        table: SeriesTable,
        *,
        lock: threading.RLock,
        clock: Callable[[], datetime],
    ) -> None:
        self._store = store
        self._table = table
        self._lock = lock
        self._clock = clock
        self._marked: dict[tuple[str, datetime], datetime] = {}

    def write(self, batch: Pending) -> None:
        """Write a batch; on return it is in the store, and the hours it touches are marked.

        Raises:
            SeedanceError: whatever the store says; the batch may be written again.
        """
        if not batch.rows:
            return
        columns = batch.columns()
        self._save_series()
        put_samples(self._store, self._table.metric_of[columns.sid], columns, token=batch.token)
        self._mark(columns)

    def _save_series(self) -> None:
        with self._lock:
            taken = self._table.take_unsaved()
        try:
            now = self._clock()
            if taken.metrics:
                put_metric_ids(self._store, taken.metrics, now=now)
            if taken.series:
                put_series(self._store, taken.series, now=now)
        except BaseException:
            with self._lock:
                self._table.put_back(taken)
            raise

    def _mark(self, columns: SampleColumns) -> None:
        """Mark the hours that these samples change, the running one at most once a minute."""
        now = self._clock()
        running = floor_hour(now)
        for name, hours in self._touched(columns).items():
            for cluster in self._ids_of(name):
                due = [
                    hour
                    for hour in hours
                    if hour < running
                    or now - self._marked.get((cluster, hour), now - _REMARK) >= _REMARK
                ]
                if due:
                    mark_dirty(self._store, cluster, due, reason=REASON, now=now)
                    self._marked.update({(cluster, hour): now for hour in due if hour >= running})
        self._marked = {key: at for key, at in self._marked.items() if key[1] >= running}

    def _touched(self, columns: SampleColumns) -> dict[str, list[datetime]]:
        """Cluster names to the hours that hold a sample or lie within its reach."""
        code = self._table.cluster_of[columns.sid]
        steps = np.unique(code << _STEP_BITS | columns.ts // _REACH_MS)
        names = self._table.clusters
        touched: dict[str, set[datetime]] = {}
        for both in steps.tolist():
            hours = touched.setdefault(names[both >> _STEP_BITS], set())
            step = both & _STEP_MASK
            for near in (step - 1, step, step + 1):
                hours.add(datetime.fromtimestamp(near // _STEPS_AN_HOUR * 3600, UTC))
        return {name: sorted(hours) for name, hours in touched.items()}

    def _ids_of(self, name: str) -> list[str]:
        """The clusters that samples of this cluster name settle in, or the name itself."""
        known = clusters(self._store)
        if not name and len(known) == 1:
            return [known[0].id]
        return [each.id for each in known if name in {each.id, each.name}] or [name]
