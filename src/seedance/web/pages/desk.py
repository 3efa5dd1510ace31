"""What the pages ask: four questions, whoever answers them.

The server's desk asks `flows.reporting` over the open store; tests answer from values they made.
Each question may take tens of milliseconds, so routes are plain functions that run in threads.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Protocol

from fastapi import Request

from seedance.facts.costquery import CostQuery
from seedance.flows.reporting import lists, report, status
from seedance.flows.reporting.answers import CostAnswer, Description, ObjectList, StatusAnswer
from seedance.web.context import AppContext
from seedance.web.tokens import Caller


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


class ServerDesk:
    """The desk of one request: `flows` over the open store, bounded to what the caller may see."""

    def __init__(self, context: AppContext, only_cluster: str) -> None:
        self.context = context
        self.only_cluster = only_cluster
        self._now = context.now()

    @classmethod
    def of(cls, context: AppContext, request: Request) -> ServerDesk:
        """The desk of whoever asks."""
        caller: Caller = request.state.caller
        return cls(context, caller.cluster)

    def now(self) -> datetime:
        """The instant at which the request arrived: one for all of its questions."""
        return self._now

    def costs(self, query: CostQuery) -> CostAnswer:
        """See `Desk.costs`."""
        query = replace(query, only_cluster=self.only_cluster)
        return report.costs(self.context.store, query, now=self._now)

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
        """See `Desk.objects`."""
        return lists.objects(
            self.context.store,
            kind,
            at=at,
            cluster=cluster,
            namespace=namespace,
            limit=limit,
            offset=offset,
            only_cluster=self.only_cluster,
        )

    def describe(
        self, kind: str, name: str, *, at: datetime, cluster: str = "", namespace: str = ""
    ) -> Description:
        """See `Desk.describe`."""
        return lists.describe(
            self.context.store,
            kind,
            name,
            at=at,
            cluster=cluster,
            namespace=namespace,
            only_cluster=self.only_cluster,
        )

    def status(self) -> StatusAnswer:
        """See `Desk.status`."""
        context = self.context
        return status.status(
            context.store,
            context.parts,
            now=self._now,
            version=context.version,
            only_cluster=self.only_cluster,
        )
