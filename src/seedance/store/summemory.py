"""What is known of the sums in memory (`reportsums`): one of these belongs to each opened store."""

from __future__ import annotations

import threading
from collections.abc import Collection
from dataclasses import dataclass, field


@dataclass(slots=True)
class SumMemory:
    """Which settled sets are summed, by shape of the question, and in which table.

    `parts` is how many parts there are at most; `lock` is held while parts are kept, so that each
    set is summed once for a shape.
    """

    table: str = ""
    parts: int = 0
    shapes: dict[int, set[int]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def known(self, shape: int) -> frozenset[int]:
        """Settle ids that are summed for a shape."""
        return frozenset(self.shapes.get(shape, ()))

    def begin(self, taken: Collection[str]) -> None:
        """Forgets everything and takes a table name that is not taken."""
        number = 1
        while f"report_sums_{number}" in taken:
            number += 1
        self.table, self.parts = f"report_sums_{number}", 0
        self.shapes.clear()
