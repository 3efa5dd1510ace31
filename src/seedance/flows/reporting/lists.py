"""Lists and descriptions of clusters, nodes, namespaces, workloads and pods, now or in the past."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from seedance.facts.costquery import CostQuery
from seedance.facts.errors import NoDataError, NotFoundError, UsageError
from seedance.facts.filters import quote_value
from seedance.facts.inventory import ObjectVersion
from seedance.facts.window import floor_minute, format_instant
from seedance.flows.reporting.answers import CostAnswer, Description, ObjectItem, ObjectList, Page
from seedance.flows.reporting.report import costs, only_of
from seedance.store.lists import (
    NOT_WORKLOADS,
    SORTS,
    LabelTest,
    Which,
    list_history,
    list_objects,
)
from seedance.store.objects import clusters as known_clusters
from seedance.store.reports import cluster_names
from seedance.store.store import Store

KINDS = ("clusters", "nodes", "namespaces", "workloads", "pods")
"""What can be listed and described."""

RELATED = 100
"""The most pods that a description names."""

_KINDS: Mapping[str, Which] = {
    "nodes": Which(kinds=("Node",)),
    "namespaces": Which(kinds=("Namespace",)),
    "workloads": Which(never=NOT_WORKLOADS, top=True),
    "pods": Which(kinds=("Pod",)),
}
_BY = {
    "clusters": ("cluster", "namespace"),
    "nodes": ("node", "namespace"),
    "namespaces": ("namespace", "workload"),
    "workloads": ("workload", "pod"),
    "pods": ("pod", "container"),
}
"""Kind to the dimension that is the object, and the one that its cost is shown by."""

_TERM = re.compile(
    r"\s*(?:(?P<absent>!)\s*(?P<no>[\w./-]+)"
    r"|(?P<key>[\w./-]+)\s*(?:(?P<op>==|=|!=)\s*(?P<value>[\w.-]*)"
    r"|\s(?P<set>in|notin)\s*\((?P<values>[^)]*)\))?)\s*(?:,|$)"
)


def objects(
    store: Store,
    kind: str,
    *,
    at: datetime,
    cluster: str = "",
    namespace: str = "",
    name: str = "",
    selector: str = "",
    limit: int = 100,
    offset: int = 0,
    sort: str = "name",
    only_cluster: str = "",
) -> ObjectList:
    """A page of the objects of `kind` (one of `KINDS`) that existed at `at`.

    `cluster` is an id or a name; `selector` is kubectl's (`app=x,tier!=db,team,!old`).

    Raises:
        UsageError: an unknown kind, sort or selector.
        NotFoundError: no such cluster.
    """
    names = cluster_names(store)
    which = _which(kind, names, cluster=cluster, only=only_cluster)
    if sort.removeprefix("-") not in SORTS:
        raise UsageError(f"sort {sort!r} is not known", hint=f"sort by {', '.join(SORTS)}")
    if kind == "clusters":
        items = _cluster_items(store, names, which.clusters, name=name, down=sort.startswith("-"))
        page, found = items[offset : offset + limit], len(items)
    else:
        which = _narrowed(which, namespace=namespace, name=name, selector=selector)
        rows, found = list_objects(store, which, at=at, limit=limit, offset=offset, sort=sort)
        page = [_item(row, names) for row in rows]
    return ObjectList(
        kind=kind, at=at, items=page, page=Page(limit=limit, offset=offset, total=found)
    )


def describe(
    store: Store,
    kind: str,
    name: str,
    *,
    at: datetime,
    cluster: str = "",
    namespace: str = "",
    only_cluster: str = "",
) -> Description:
    """Everything known about one object at `at`.

    Raises:
        UsageError: an unknown kind, or a name that several clusters or namespaces have.
        NotFoundError: nothing of that name was ever seen.
    """
    names = cluster_names(store)
    if kind == "clusters":
        return _cluster(store, names, name, at=at, only=only_cluster)
    which = _which(kind, names, cluster=cluster, only=only_cluster)
    which = _narrowed(which, namespace=namespace, name=name)
    versions = list_history(store, which, at=at)
    if not versions:
        raise NotFoundError(
            f"no {kind.removesuffix('s')} {name!r} was seen up to {format_instant(at)}",
            hint=f"see what there is: seedancectl get {kind}",
        )
    places = {(row.cluster, row.namespace, row.kind) for row in versions}
    if len(places) > 1:
        listed = ", ".join(sorted(f"{names.get(c, c)}/{n}/{k}" for c, n, k in places))
        raise UsageError(
            f"{name!r} is the name of several {kind}: {listed}", hint="say --cluster and -n"
        )
    newest = versions[0]
    related = _related(store, kind, newest, at=at)
    return Description(
        kind=kind,
        at=at,
        object=_item(newest, names),
        versions=[_item(row, names) for row in versions],
        containers=newest.doc.get("containers", []),
        cost=_cost(store, kind, newest, at=at, only=only_cluster),
        related=[_item(row, names) for row in related],
    )


def parse_selector(text: str) -> tuple[LabelTest, ...]:
    """Kubectl's label selector: `app=x,tier!=db,team,!old,env in (a,b),zone notin (c)`.

    Raises:
        UsageError: where it cannot be read.
    """
    tests: list[LabelTest] = []
    at = 0
    while at < len(text.rstrip()):
        match = _TERM.match(text, at)
        if match is None or match.end() == at:
            raise UsageError(
                f"selector {text!r} cannot be read from character {at + 1} on",
                hint="write app=x,tier!=db,team,!old or env in (a,b)",
            )
        tests.append(_test(match))
        at = match.end()
    return tuple(tests)


def _test(match: re.Match[str]) -> LabelTest:
    if match["absent"]:
        return LabelTest(match["no"], "absent")
    key = match["key"]
    if match["op"]:
        return LabelTest(key, "notin" if match["op"] == "!=" else "in", (match["value"],))
    if match["set"]:
        values = tuple(value.strip() for value in match["values"].split(","))
        return LabelTest(key, "in" if match["set"] == "in" else "notin", values)
    return LabelTest(key, "exists")


def _which(kind: str, names: Mapping[str, str], *, cluster: str, only: str) -> Which:
    if kind not in KINDS:
        raise UsageError(f"kind {kind!r} is not known", hint=f"one of {', '.join(KINDS)}")
    ids = only_of(only, names)
    if cluster:
        wanted = tuple(ident for ident, name in names.items() if cluster in (ident, name))
        ids = tuple(ident for ident in wanted if not ids or ident in ids)
        if not ids:
            raise NotFoundError(f"no cluster {cluster!r}", hint="see: seedancectl get clusters")
    base = _KINDS.get(kind, Which())
    return Which(kinds=base.kinds, never=base.never, top=base.top, clusters=ids)


def _narrowed(which: Which, *, namespace: str, name: str = "", selector: str = "") -> Which:
    spaced = which.kinds not in (("Node",), ("Namespace",))
    return Which(
        kinds=which.kinds,
        never=which.never,
        top=which.top,
        clusters=which.clusters,
        namespace=namespace if spaced else "",
        name=name or ("" if spaced or which.kinds == ("Node",) else namespace),
        labels=parse_selector(selector),
    )


def _item(row: ObjectVersion, names: Mapping[str, str]) -> ObjectItem:
    return ObjectItem(
        cluster=row.cluster,
        cluster_name=names.get(row.cluster, row.cluster),
        kind=row.kind,
        uid=row.uid,
        namespace=row.namespace,
        name=row.name,
        since=row.valid_from,
        until=row.valid_to,
        ended=row.ended,
        facts=row.doc,
    )


def _cluster_items(
    store: Store,
    names: Mapping[str, str],
    ids: Sequence[str],
    *,
    name: str = "",
    down: bool = False,
) -> list[ObjectItem]:
    items = [
        ObjectItem(
            cluster=cluster.id,
            cluster_name=names.get(cluster.id, cluster.name),
            kind="Cluster",
            uid=cluster.id,
            namespace="",
            name=names.get(cluster.id, cluster.name),
            since=cluster.first_seen,
            until=None,
            facts={"first_seen": format_instant(cluster.first_seen)},
        )
        for cluster in known_clusters(store)
        if (not ids or cluster.id in ids) and name in {"", cluster.id, cluster.name}
    ]
    return sorted(items, key=lambda item: item.name, reverse=down)


def _cluster(
    store: Store, names: Mapping[str, str], name: str, *, at: datetime, only: str
) -> Description:
    items = _cluster_items(store, names, only_of(only, names), name=name)
    if not items:
        raise NotFoundError(f"no cluster {name!r}", hint="see: seedancectl get clusters")
    nodes, _ = list_objects(
        store,
        Which(kinds=("Node",), clusters=(items[0].cluster,)),
        at=at,
        limit=RELATED,
        offset=0,
        sort="name",
    )
    query = CostQuery(
        window=_last_day(at), by=("namespace",), filters=(f"cluster:{items[0].cluster}",)
    )
    return Description(
        kind="clusters",
        at=at,
        object=items[0],
        versions=items,
        cost=_answer(store, query, at=at),
        related=[_item(row, names) for row in nodes],
    )


def _related(store: Store, kind: str, row: ObjectVersion, *, at: datetime) -> list[ObjectVersion]:
    if kind == "pods":
        return []
    which = Which(
        kinds=("Pod",),
        clusters=(row.cluster,),
        namespace={"namespaces": row.name, "workloads": row.namespace}.get(kind, ""),
        place=row.name if kind == "nodes" else "",
        whose=row.uid if kind == "workloads" else "",
    )
    return list_objects(store, which, at=at, limit=RELATED, offset=0, sort="name")[0]


def _cost(
    store: Store, kind: str, row: ObjectVersion, *, at: datetime, only: str
) -> CostAnswer | None:
    itself, by = _BY[kind]
    filters = [f"cluster:{row.cluster}", f"{itself}:{quote_value(row.name)}"]
    if kind in {"workloads", "pods"}:
        filters.append(f"namespace:{quote_value(row.namespace)}")
    if kind == "workloads":
        filters.append(f"workloadKind:{row.kind}")
    query = CostQuery(
        window=_last_day(at), by=(by,), filters=tuple(filters), only_cluster=only, limit=20
    )
    return _answer(store, query, at=at)


def _answer(store: Store, query: CostQuery, *, at: datetime) -> CostAnswer | None:
    try:
        return costs(store, query, now=at)
    except NoDataError:
        return None


def _last_day(at: datetime) -> str:
    end = floor_minute(at)
    return f"{format_instant(end - timedelta(days=1))},{format_instant(end)}"
