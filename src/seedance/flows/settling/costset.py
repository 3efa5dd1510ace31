"""A cost set: the rows of one hour of one cluster on their way to the store.

Maps row blocks to the columns of `cost_hours` and `usage_minutes` once, writes them in batches
under the set's settle id, and keeps the sums that make the set checkable.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np

from seedance.costs.identity import Entity
from seedance.costs.rows import RowBlock, concat
from seedance.facts.samples import IntArray
from seedance.store import settles
from seedance.store.native import ArrayColumn, DecimalColumn
from seedance.store.store import Store

_BATCH_ROWS = 25_000
"""Rows written at once: their minutes take 20 MB."""


@dataclass(slots=True)
class CostSet:
    """Collects and writes the rows of one settle; `count`, `row_picos`, `node_picos` sum it up.

    A batch is written by `writer` while the next one is collected; one at a time, and `finish`
    waits for the last.
    """

    store: Store
    settle_id: int
    hour: datetime
    now: datetime
    writer: Executor
    count: int = 0
    row_picos: int = 0
    node_picos: int = 0
    _waiting: list[tuple[RowBlock, tuple[str, ...]]] = field(default_factory=list)
    _entities: list[Entity] = field(default_factory=list)
    _began: float = field(default_factory=time.perf_counter)
    _writing: Future[None] | None = None

    def elapsed(self) -> float:
        """Seconds since the set was begun."""
        return time.perf_counter() - self._began

    def entities(self, entities: Iterable[Entity]) -> None:
        """Entities that rows will point to."""
        self._entities += entities

    def node_cost(self, picos: IntArray) -> None:
        """Add to what the nodes cost."""
        self.node_picos += int(picos.sum())

    def rows(self, block: RowBlock, resources: tuple[str, ...]) -> None:
        """Take rows; they are written when enough have come together."""
        if not len(block):
            return
        self.count += len(block)
        self.row_picos += int(block.picos[block.priced].sum())
        self._waiting.append((block, resources))
        if sum(len(waiting) for waiting, _ in self._waiting) >= _BATCH_ROWS:
            self._hand_over()

    def finish(self) -> None:
        """Write what waits and see to it that everything is written."""
        self._hand_over()
        if self._writing is not None:
            self._writing.result()
            self._writing = None

    def _hand_over(self) -> None:
        """Give the batch to the writer, once it is through with the one before."""
        if self._writing is not None:
            self._writing.result()
        blocks, entities = self._waiting, self._entities
        self._waiting, self._entities = [], []
        self._writing = self.writer.submit(self._write, blocks, entities)

    def _write(
        self, waiting: Sequence[tuple[RowBlock, tuple[str, ...]]], entities: Sequence[Entity]
    ) -> None:
        """Write a batch, entities before the rows that point to them."""
        settles.put_entities(self.store, entities, now=self.now)
        if waiting:
            self._write_rows([block for block, _ in waiting], waiting[0][1])

    def _write_rows(self, blocks: Sequence[RowBlock], resources: tuple[str, ...]) -> None:
        block = concat(blocks, minutes=False)
        key = {
            "settle_id": np.full(len(block), self.settle_id, np.uint64),
            "hour": np.full(len(block), int(self.hour.timestamp()), np.uint32),
            "entity": block.entity,
            "resource": [resources[at] for at in block.resource],
            "price_id": block.price_id,
        }
        settles.put_cost_hours(self.store, {**key, **_hour_columns(block)})
        minutes = {
            "requested": ArrayColumn([block.requested_minutes for block in blocks], 60),
            "used": ArrayColumn([block.used_minutes for block in blocks], 60),
            "charged": ArrayColumn([block.charged_minutes for block in blocks], 60),
            "covered": ArrayColumn([block.covered_minutes for block in blocks], 60),
        }
        settles.put_usage_minutes(self.store, {**key, **minutes})


def _hour_columns(block: RowBlock) -> dict[str, Any]:
    return {
        "requested": block.requested,
        "used": block.used,
        "charged": block.charged,
        "unused": block.unused,
        "covered": block.covered,
        "alive": block.alive,
        "cost": DecimalColumn(block.picos, ~block.priced),
        "unused_cost": DecimalColumn(block.unused_picos, ~block.priced),
        "overcommit": block.overcommit,
        "flags": block.flags.astype(np.uint32),
        "reason": block.reason.tolist(),
    }
