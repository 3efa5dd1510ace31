"""What the pages ask: four questions, whoever answers them.

The server's desk asks `flows.report` over the open store; tests answer from values they made.
Each question may take tens of milliseconds, so routes are plain functions that run in threads.
"""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from seedance.facts.costquery import CostQuery
from seedance.flows.answers import CostAnswer, Description, ObjectList, StatusAnswer


class Desk(Protocol):
    """Answers for one reader, whose rights are already applied."""

    def now(self) -> datetime:
        """The instant that "now" means on the page, aware, UTC."""

    def costs(self, query: CostQuery) -> CostAnswer:
        """What a window cost. Raises UsageError and NoDataError."""

    def objects(
        self,
        kind: str,
        *,
        at: datetime,
        cluster: str = "",
        namespace: str = "",
        limit: int = 100,
        offset: int = 0,
    ) -> ObjectList:
        """A page of the objects of `kind` (`pods`, `nodes` …) that were alive at `at`."""

    def describe(
        self, kind: str, name: str, *, at: datetime, cluster: str = "", namespace: str = ""
    ) -> Description:
        """Everything about one object. Raises NotFoundError."""

    def status(self) -> StatusAnswer:
        """How the server is."""
