"""The JSON API: query string in, flow called, answer out. No arithmetic, no SQL.

Every list is paged (`limit`, `offset`), sorted (`sort`, `-` for downwards) and filterable; every
error is a problem document (`web.problems`).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from seedance.facts.costquery import MAX_LIMIT, CostQuery
from seedance.facts.errors import NotFoundError, RefusedError, UsageError
from seedance.facts.window import parse_instant
from seedance.facts.words import phrase
from seedance.flows.reporting.answers import CostAnswer, Description, ObjectList, StatusAnswer
from seedance.flows.reporting.lists import describe, objects
from seedance.flows.reporting.report import costs
from seedance.flows.reporting.status import status
from seedance.web.context import AppContext
from seedance.web.tokens import Caller

Kinds = Literal["clusters", "nodes", "namespaces", "workloads", "pods"]
Limit = Annotated[int, Query(ge=1, le=MAX_LIMIT, description="Rows of this page.")]
Offset = Annotated[int, Query(ge=0, le=10_000_000, description="Rows before this page.")]
At = Annotated[str, Query(description="An RFC 3339 instant in the past; now when empty.")]
ClusterName = Annotated[str, Query(description="Cluster id or name; all when empty.")]
Namespace = Annotated[str, Query(description="Namespace; all when empty.")]


class CostParams(BaseModel):
    """The parameters of `/api/v1/costs`."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid")

    window: str = Field("today", description="today, yesterday, week, 12h, 7d … or START,END.")
    by: str = Field("namespace", description="Dimensions, comma separated; empty for one row.")
    filter: list[str] = Field(
        default_factory=list, description="Comparison such as namespace:ml or label:app!=x."
    )
    step: str = Field("none", description="none, hour, day, week, month or a length such as 6h.")
    zone: str = Field("", description="IANA zone whose days are meant; the server's when empty.")
    sort: str = Field("-cost", description="cost, unusedCost, idle, efficiency or name.")
    limit: int = Field(100, ge=1, le=MAX_LIMIT, description="Rows of this page.")
    offset: int = Field(0, ge=0, le=10_000_000, description="Rows before this page.")
    idle: Literal["rows", "share", "hide"] = Field("rows", description="What becomes of idle.")
    idle_by_node: bool = Field(
        default=False, description="Share each node's idle among its own pods."
    )
    format: Literal["json", "csv"] = Field("json", description="csv as by Accept: text/csv.")

    def query(self, *, zone: str, only_cluster: str) -> CostQuery:
        """The question, in the flow's words."""
        return CostQuery(
            window=self.window,
            by=tuple(name for name in self.by.split(",") if name.strip()),
            filters=tuple(self.filter),
            step=self.step,
            zone=self.zone or zone,
            sort=self.sort,
            limit=self.limit,
            offset=self.offset,
            idle=self.idle,
            idle_by_node=self.idle_by_node,
            only_cluster=only_cluster,
        )


class Version(BaseModel):
    """Which server this is."""

    version: str
    api: str = "v1"


class Explanation(BaseModel):
    """What a word of the answers means and what to do about it."""

    topic: str
    name: str
    sentence: str
    step: str = Field(description="What the reader can do; empty where there is nothing to do.")


class BackupOrder(BaseModel):
    """Where a backup goes, on the server's own disk."""

    target: str = Field(description="A folder that does not exist yet.")


class BackupDone(BaseModel):
    """Where the backup lies."""

    target: str


def router(context: AppContext) -> APIRouter:
    """All JSON doors of version 1."""
    routes = APIRouter(prefix="/api/v1")
    _cost_routes(routes, context)
    _server_routes(routes, context)
    _object_routes(routes, context)  # last: its paths match most
    return routes


def caller_of(request: Request) -> Caller:
    """Who asks; the guard has put it there."""
    caller: Caller = request.state.caller
    return caller


def cost_csv(answer: CostAnswer) -> str:
    """The rows of an answer as CSV: keys, step, money, then four quantities per resource."""
    out = io.StringIO()
    resources = sorted({name for item in answer.items for name in item.resources})
    head = [*answer.by, "start", "end", "currency", "cost", "unusedCost", "idle", "efficiency"]
    parts = ("requested", "used", "charged", "cost")
    head += [f"{name}.{part}" for name in resources for part in parts]
    rows = csv.writer(out, lineterminator="\r\n")
    rows.writerow([*head, "flags", "reasons"])
    for item in answer.model_dump(mode="json", by_alias=True)["items"]:
        row = [_cell(item["keys"].get(name)) for name in answer.by]
        row += [_cell(item[name]) for name in ("start", "end")] + [answer.currency]
        row += [_cell(item[name]) for name in ("cost", "unusedCost", "idle", "efficiency")]
        for name in resources:
            row += [_cell(item["resources"].get(name, {}).get(part)) for part in parts]
        reasons = " ".join(f"{key}={value}" for key, value in item["reasons"].items())
        rows.writerow([*row, " ".join(item["flags"]), _cell(reasons)])
    return out.getvalue()


def _cell(value: Any) -> str:
    """Text for a spreadsheet; what it would run as a formula gets a quote in front."""
    text = "" if value is None else str(value)
    return "'" + text if text[:1] in tuple("=+-@\t\r") and not _is_number(text) else text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _cost_routes(routes: APIRouter, context: AppContext) -> None:
    @routes.get(
        "/costs",
        tags=["costs"],
        response_model=CostAnswer,
        responses={200: {"content": {"text/csv": {}}}},
        summary="What a window cost",
    )
    def get_costs(request: Request, params: Annotated[CostParams, Query()]) -> Any:
        caller = caller_of(request)
        query = params.query(zone=context.zone, only_cluster=caller.cluster)
        answer = costs(context.store, query, now=context.now())
        if params.format == "csv" or "text/csv" in request.headers.get("accept", ""):
            name = "seedance-costs.csv"
            headers = {"content-disposition": f'attachment; filename="{name}"'}
            return Response(cost_csv(answer), media_type="text/csv", headers=headers)
        return Response(answer.model_dump_json(by_alias=True), media_type="application/json")


def _server_routes(routes: APIRouter, context: AppContext) -> None:
    @routes.get("/version", tags=["server"], summary="Which server this is")
    def get_version() -> Version:
        return Version(version=context.version)

    @routes.get(
        "/status", tags=["server"], response_model=StatusAnswer, summary="How the server is"
    )
    def get_status(request: Request) -> Any:
        found = status(
            context.store,
            context.parts,
            now=context.now(),
            version=context.version,
            only_cluster=caller_of(request).cluster,
        )
        return Response(found.model_dump_json(by_alias=True), media_type="application/json")

    @routes.get("/explain/{topic}", tags=["server"], summary="What a word means")
    def get_explanation(topic: str) -> Explanation:
        found = next((text for text in _topics(topic) if phrase(text).sentence), None)
        if found is None:
            raise NotFoundError(f"nothing is known of the word {topic!r}")
        said = phrase(found)
        return Explanation(topic=found, name=said.name, sentence=said.sentence, step=said.step)

    @routes.post("/admin/backup", tags=["server"], summary="Back the store up while it runs")
    def post_backup(order: BackupOrder) -> BackupDone:
        if context.backup is None:
            raise RefusedError("this server offers no backup")
        return BackupDone(target=context.backup(order.target))


def _object_routes(routes: APIRouter, context: AppContext) -> None:
    @routes.get(
        "/{kind}", tags=["objects"], response_model=ObjectList, summary="Objects as they stood"
    )
    def get_objects(
        request: Request,
        kind: Kinds,
        *,
        cluster: ClusterName = "",
        namespace: Namespace = "",
        selector: Annotated[str, Query(description="app=x,tier!=db,team,!old")] = "",
        at: At = "",
        limit: Limit = 100,
        offset: Offset = 0,
        sort: Annotated[str, Query(description="name, namespace or since.")] = "name",
    ) -> Any:
        found = objects(
            context.store,
            kind,
            at=_instant(at, context.now()),
            cluster=cluster,
            namespace=namespace,
            selector=selector,
            limit=limit,
            offset=offset,
            sort=sort,
            only_cluster=caller_of(request).cluster,
        )
        return Response(found.model_dump_json(by_alias=True), media_type="application/json")

    @routes.get(
        "/{kind}/{name}",
        tags=["objects"],
        response_model=Description,
        summary="Everything about one object",
    )
    def get_object(
        request: Request,
        kind: Kinds,
        name: str,
        *,
        cluster: ClusterName = "",
        namespace: Namespace = "",
        at: At = "",
    ) -> Any:
        found = describe(
            context.store,
            kind,
            name,
            at=_instant(at, context.now()),
            cluster=cluster,
            namespace=namespace,
            only_cluster=caller_of(request).cluster,
        )
        return Response(found.model_dump_json(by_alias=True), media_type="application/json")


def _topics(topic: str) -> Iterator[str]:
    yield topic
    groups = ("reason", "flag", "kind", "key", "measure", "dimension")
    yield from (f"{group}:{topic}" for group in groups)


def _instant(text: str, now: datetime) -> datetime:
    if not text:
        return now
    try:
        at = parse_instant(text)
    except ValueError:
        raise UsageError(f"at={text!r} is no instant", hint="write 2026-11-30T12:00:00Z") from None
    if at > now:
        raise UsageError(f"at={text!r} lies in the future")
    return at
