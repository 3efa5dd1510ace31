"""`/allocation`: OpenCost's question, answered from our cost rows in OpenCost's shape.

    window aggregate step accumulate filter …  →  CostQuery  →  reporting.report  →  allocation sets

What differs, since our arithmetic does: quantities are what is charged, minute by minute, and never
exceed a node; `__system__` (what the kubelet keeps back) and `__unattributed__` (no data) are rows
of their own instead of idle; resources that OpenCost has no field for are in `externalCost`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field

from seedance.facts.costquery import IDLE, MAX_LIMIT, CostQuery
from seedance.facts.errors import NoDataError, UsageError
from seedance.facts.filters import parse_filters, quote_value, spell_filter
from seedance.facts.window import format_instant
from seedance.flows.reporting.answers import CostAnswer, CostItem, ResourceOf
from seedance.flows.reporting.report import MAX_ROWS, costs
from seedance.web.context import AppContext

EVERYTHING = ("cluster", "node", "namespace", "pod", "container")
"""What OpenCost groups by when it is not told."""

_GIB = 2**30
_AGGREGATES = {
    "controller": ("workloadKind", "workload"),
    "controllerkind": ("workloadKind",),
    "department": ("domain",),
    "owner": ("label:owner",),
    "product": ("label:app",),
}
_KINDS = {
    kind.lower(): kind
    for kind in ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "CronJob", "Pod")
}
_OLD_FILTERS = {
    "filterClusters": "cluster",
    "filterNodes": "node",
    "filterNamespaces": "namespace",
    "filterControllerKinds": "workloadKind",
    "filterControllers": "workload",
    "filterPods": "pod",
    "filterContainers": "container",
    "filterDepartments": "domain",
    "filterEnvironments": "environment",
    "filterOwners": "label:owner",
    "filterProducts": "label:app",
    "filterTeams": "team",
    "filterLabels": "label",
    "filterAnnotations": "annotation",
}
_STEPS = {"hour": "hour", "day": "day", "week": "week", "month": "month"}
_SHARED = ("true", "weighted")
_SHARES = ("false", *_SHARED)
_SECONDS = re.compile(r"^\d{9,11},\d{9,11}$")


class AllocationAnswer(BaseModel):
    """OpenCost's envelope: one set of allocations for each step, name to allocation."""

    code: int = Field(200, description="The HTTP status once more.")
    data: list[dict[str, dict[str, Any]]] = Field(
        description="One set per step: name to allocation, with OpenCost's field names."
    )
    warning: str = Field("", description="What a reader must know; empty where there is nothing.")


@dataclass(frozen=True, slots=True)
class Asked:
    """OpenCost's parameters as they came."""

    window: str
    aggregate: str = ""
    step: str = ""
    accumulate: str = "false"
    include_idle: bool = False
    share_idle: str = "false"
    idle_by_node: bool = False
    offset: int = 0
    limit: int = 0
    filters: tuple[str, ...] = ()


def router(context: AppContext) -> APIRouter:
    """The compatible door, under the paths that OpenCost's and Kubecost's clients use."""
    routes = APIRouter(tags=["opencost"])

    def get_allocation(  # noqa: PLR0917 - OpenCost's parameters
        request: Request,
        window: Annotated[str, Query(description="today, 7d, START,END, seconds,seconds …")],
        aggregate: Annotated[str, Query(description="namespace, label:app, controller …")] = "",
        step: Annotated[str, Query(description="1h, 1d …; the window when empty.")] = "",
        accumulate: Annotated[str, Query(description="true, false, hour, day, week.")] = "false",
        includeIdle: bool = False,  # noqa: N803, FBT001, FBT002
        shareIdle: str = "false",  # noqa: N803
        idleByNode: bool = False,  # noqa: N803, FBT001, FBT002
        offset: Annotated[int, Query(ge=0)] = 0,
        limit: Annotated[int, Query(ge=0, le=MAX_LIMIT, description="0 for all.")] = 0,
        filter: Annotated[str, Query(description='namespace:"a","b"+label[app]:"x"')] = "",  # noqa: A002
    ) -> AllocationAnswer:
        """OpenCost's `/allocation`: window, aggregate, step, accumulate, idle, filter, paging."""
        asked = Asked(
            window=_window(window),
            aggregate=aggregate,
            step=step,
            accumulate=accumulate.lower(),
            include_idle=includeIdle,
            share_idle=shareIdle.lower(),
            idle_by_node=idleByNode,
            offset=offset,
            limit=limit,
            filters=_filters(filter, request.query_params),
        )
        query = replace(
            query_of(asked), zone=context.zone, only_cluster=request.state.caller.cluster
        )
        return answer_of(context, query, asked)

    for path in ("/allocation", "/allocation/compute", "/model/allocation"):
        routes.add_api_route(
            path, get_allocation, methods=["GET"], include_in_schema=path == "/allocation",
            summary="OpenCost's allocation",
        )  # fmt: skip
    return routes


def query_of(asked: Asked) -> CostQuery:
    """The question in our words.

    Raises:
        UsageError: an aggregate, a way of sharing or an accumulation that we do not have.
    """
    for name, word, known in (
        ("shareIdle", asked.share_idle, _SHARES),
        ("accumulate", asked.accumulate, ("true", "false", *_STEPS)),
    ):
        if word not in known:
            raise UsageError(f"{name}={word} is not known", hint=f"one of {', '.join(known)}")
    idle = "rows" if asked.include_idle else "hide"
    if asked.share_idle in _SHARED:
        idle = "share"
    step = _STEPS.get(asked.accumulate) or asked.step or "none"
    return CostQuery(
        window=asked.window,
        by=_dimensions(asked.aggregate),
        filters=asked.filters,
        step="none" if asked.accumulate == "true" else step,
        limit=asked.limit or MAX_LIMIT,
        offset=asked.offset,
        idle=idle,  # type: ignore[arg-type]
        idle_by_node=asked.idle_by_node,
    )


def answer_of(context: AppContext, query: CostQuery, asked: Asked) -> AllocationAnswer:
    """Asks and dresses; a window without data is an empty set, as OpenCost has it."""
    try:
        found = _ask(context, query, asked)
    except NoDataError as error:
        return AllocationAnswer(data=[{}], warning=str(error))
    joined = "controller" in asked.aggregate.split(",")
    starts = [step.start for step in found.steps] or [found.window.start]
    sets: dict[datetime, dict[str, dict[str, Any]]] = {start: {} for start in starts}
    for item in found.items:
        if query.idle == "share" and item.cost == 0 and IDLE in item.keys.values():
            continue  # what was shared is gone: OpenCost shows no empty idle row
        put(sets[item.start or found.window.start], allocation(item, found, joined=joined))
    cut = found.page.total - found.page.offset - len({tuple(i.keys.values()) for i in found.items})
    notes = list(found.notes)
    if cut > 0 and not asked.limit:
        notes.append(f"{cut} more names are not shown; ask for them with offset and limit.")
    return AllocationAnswer(data=[sets[start] for start in starts], warning=" ".join(notes))


def put(one_set: dict[str, dict[str, Any]], one: dict[str, Any]) -> None:
    """Adds an allocation under its name; values with slashes may join to the same name twice.

    The second one then is `name (2)`: no money is lost, and `properties` tells the two apart.
    """
    name, again = one["name"], 2
    while one["name"] in one_set:
        one["name"] = f"{name} ({again})"
        again += 1
    one_set[one["name"]] = one


def allocation(item: CostItem, answer: CostAnswer, *, joined: bool) -> dict[str, Any]:
    """One allocation with OpenCost's field names; money and quantities are floats there."""
    start, end = item.start or answer.window.start, item.end or answer.window.end
    hours = (end - start).total_seconds() / 3600
    cpu, ram = item.resources.get("cpu"), item.resources.get("memory")
    gpus = [part for name, part in item.resources.items() if is_gpu(name)]
    known = {"cpu", "memory"}
    others = [
        part for name, part in item.resources.items() if name not in known and not is_gpu(name)
    ]
    gpu_hours = sum(part.charged + part.idle for part in gpus)
    return {
        "name": name_of(item.keys, joined=joined),
        "properties": _properties(item.keys),
        "window": {"start": format_instant(start), "end": format_instant(end)},
        "start": format_instant(start),
        "end": format_instant(end),
        "minutes": hours * 60,
        **_resource("cpuCore", "cpuCores", cpu, hours, unit=1),
        "cpuCost": _money([cpu]),
        "cpuCostAdjustment": 0.0,
        "cpuEfficiency": _efficiency(cpu),
        **_resource("ramByte", "ramBytes", ram, hours, unit=_GIB),
        "ramCost": _money([ram]),
        "ramCostAdjustment": 0.0,
        "ramEfficiency": _efficiency(ram),
        "gpuCount": gpu_hours / hours,
        "gpuHours": gpu_hours,
        "gpuCost": _money(gpus),
        "gpuCostAdjustment": 0.0,
        **dict.fromkeys(_ABSENT, 0.0),
        "pvs": None,
        "externalCost": _money(others),
        "totalCost": float(item.cost or Decimal(0)),
        "totalEfficiency": item.efficiency or 0.0,
        "rawAllocationOnly": None,
    }


_ABSENT = (
    "networkTransferBytes", "networkReceiveBytes", "networkCost", "networkCostAdjustment",
    "loadBalancerCost", "loadBalancerCostAdjustment", "pvBytes", "pvByteHours", "pvCost",
    "pvCostAdjustment", "sharedCost",
)  # fmt: skip
"""Fields of OpenCost for what is not measured here yet."""


def is_gpu(resource: str) -> bool:
    """Whether a resource is what OpenCost calls a GPU, such as `nvidia.com/gpu`."""
    return resource.rpartition("/")[2].startswith("gpu")


def name_of(keys: Mapping[str, str], *, joined: bool) -> str:
    """OpenCost's name: the keys joined by slashes; a controller is `deployment:api`."""
    names = []
    for dimension, value in keys.items():
        if joined and dimension == "workloadKind":
            continue
        kind = keys.get("workloadKind", "")
        special = value.startswith("__")
        if joined and dimension == "workload" and not special:
            names.append(f"{kind.lower()}:{value}")
        else:
            names.append(value)
    return "/".join(names)


def _properties(keys: Mapping[str, str]) -> dict[str, Any]:
    words = {"workload": "controller", "workloadKind": "controllerKind"}
    found: dict[str, Any] = {}
    for dimension, value in keys.items():
        group, _, key = dimension.partition(":")
        if value.startswith("__"):
            continue
        if key:
            found.setdefault(f"{group}s", {})[key] = value
        elif dimension == "workloadKind":
            found["controllerKind"] = value.lower()
        else:
            found[words.get(dimension, dimension)] = value
    return found


def _resource(
    stem: str, plain: str, part: ResourceOf | None, hours: float, *, unit: int
) -> dict[str, float]:
    held = (part.charged + part.idle) * unit if part else 0.0
    return {
        plain: held / hours,
        f"{stem}RequestAverage": part.requested * unit / hours if part else 0.0,
        f"{stem}UsageAverage": (part.used or 0.0) * unit / hours if part else 0.0,
        f"{stem}Hours": held,
    }


def _efficiency(part: ResourceOf | None) -> float:
    """Used ÷ requested; 1 where something is used and nothing requested, as OpenCost has it."""
    if part is None or not part.used:
        return 0.0
    return part.used / part.requested if part.requested > 0 else 1.0


def _money(parts: Sequence[ResourceOf | None]) -> float:
    return float(sum((part.cost or Decimal(0) for part in parts if part), Decimal(0)))


def _ask(context: AppContext, query: CostQuery, asked: Asked) -> CostAnswer:
    now = context.now()
    if asked.limit:
        return costs(context.store, query, now=now)
    first = costs(context.store, replace(query, limit=1), now=now)
    room = min(MAX_LIMIT, max(1, MAX_ROWS // max(1, len(first.steps))))
    return costs(context.store, replace(query, limit=room), now=now)


def _window(text: str) -> str:
    """OpenCost also takes two Unix times."""
    if not _SECONDS.match(text.strip()):
        return text
    pair = [datetime.fromtimestamp(int(part), UTC) for part in text.split(",")]
    return ",".join(format_instant(at) for at in pair)


def _dimensions(aggregate: str) -> tuple[str, ...]:
    names = [name.strip() for name in aggregate.split(",") if name.strip()]
    if not names:
        return EVERYTHING
    found: list[str] = []
    for name in names:
        if name.lower() in {"service", "services", "node_type"}:
            raise UsageError(f"aggregate {name!r} is not known here", hint="use controller or pod")
        found += _AGGREGATES.get(name.lower(), (name,))
    return tuple(dict.fromkeys(found))


def _filters(text: str, params: Mapping[str, str]) -> tuple[str, ...]:
    comparisons = list(parse_filters((text,)))
    for old, dimension in _OLD_FILTERS.items():
        if params.get(old):
            comparisons += parse_filters(_old_filter(dimension, params[old]))
    if params.get("filterServices"):
        raise UsageError("filterServices is not known here", hint="filter by controller or pod")
    spelled = []
    for item in comparisons:
        values = item.values
        if item.dimension == "workloadKind":
            values = tuple(_KINDS.get(value.lower(), value) for value in values)
        spelled.append(spell_filter(replace(item, values=values)))
    return tuple(spelled)


def _old_filter(dimension: str, text: str) -> tuple[str, ...]:
    """`filterNamespaces=a,b*` and `filterLabels=app:x,tier:y`, which must all hold per key."""
    values = [value.strip() for value in text.split(",") if value.strip()]
    if dimension in {"label", "annotation"}:
        pairs = [value.partition(":") for value in values]
        return tuple(f"{dimension}[{key}]:{quote_value(value)}" for key, _, value in pairs)
    if dimension == "workload":
        values = [value.rpartition(":")[2] for value in values]
    starts = [value.removesuffix("*") for value in values if value.endswith("*")]
    whole = [value for value in values if not value.endswith("*")]
    if starts and whole:
        raise UsageError(f"{text!r} mixes whole names and beginnings", hint="ask for each alone")
    sign = "<~:" if starts else ":"
    return (f"{dimension}{sign}{','.join(quote_value(value) for value in starts or whole)}",)
