"""Objects and clusters, kept as versions: what ran, and when which facts held.

A version is one row, keyed (cluster, kind, uid, valid_from). Ending a version means writing the
row again with its `valid_to`; the newer writing wins. Nothing is ever deleted before retention.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy.typing as npt

from seedance.facts.errors import UsageError
from seedance.facts.inventory import Cluster, ClusterId, ObjectVersion
from seedance.facts.window import Window
from seedance.store.statements import statement
from seedance.store.store import Store

FOREVER = datetime(2100, 1, 1, tzinfo=UTC)
"""`valid_to` of the version that still holds, as stored."""

SORTS = frozenset({"name", "namespace", "age", "cluster"})
"""What `objects_at` sorts by; a leading `-` turns the order round."""


def put_versions(store: Store, versions: Sequence[ObjectVersion], *, now: datetime) -> None:
    """Writes versions; one whose key is there already replaces it."""
    store.engine.insert(
        "objects",
        {
            "cluster": [version.cluster for version in versions],
            "kind": [version.kind for version in versions],
            "uid": [version.uid for version in versions],
            "namespace": [version.namespace for version in versions],
            "name": [version.name for version in versions],
            "valid_from": [version.valid_from for version in versions],
            "valid_to": [version.valid_to or FOREVER for version in versions],
            "ended": [version.ended for version in versions],
            "doc": [_json(version.doc) for version in versions],
            "at": [now] * len(versions),
        },
    )


def open_versions(store: Store, cluster: str) -> list[ObjectVersion]:
    """The versions that still hold in a cluster, ordered (kind, uid)."""
    return _versions(store, "open_versions", {"cluster": cluster})


def versions_in(
    store: Store, *, cluster: str, window: Window, kinds: Sequence[str] = ()
) -> list[ObjectVersion]:
    """Every version of a cluster that overlaps the window, ordered (kind, uid, valid_from)."""
    params = {
        "cluster": cluster,
        "kinds": list(kinds),
        "start": window.start,
        "end": window.end,
    }
    return _versions(store, "versions_in", params)


def lives_in(
    store: Store, *, cluster: str, window: Window, kinds: Sequence[str] = ()
) -> list[ObjectVersion]:
    """All versions, earlier and later ones too, of every object that overlaps the window.

    What was seen after the window may tell what happened in it: when a pod really finished.
    """
    params = {
        "cluster": cluster,
        "kinds": list(kinds),
        "start": window.start,
        "end": window.end,
    }
    return _versions(store, "lives_in", params)


def estimated_since(
    store: Store, *, cluster: str, kinds: Sequence[str], since: datetime
) -> list[tuple[ObjectVersion, datetime | None]]:
    """Versions whose end was estimated and written after `since`.

    Each with the creation of the next object of that name, None where there is none.
    """
    params = {"cluster": cluster, "kinds": list(kinds), "since": since}
    columns = store.engine.columns(statement("estimated_since"), params)
    if not columns:
        return []
    heirs = [_instant(ms) if ms else None for ms in columns["heir"].tolist()]
    return list(zip(_from_columns(columns), heirs, strict=True))


def objects_at(
    store: Store,
    *,
    kind: str,
    at: datetime,
    cluster: str = "",
    namespace: str = "",
    name: str = "",
    labels: Mapping[str, str] | None = None,
    limit: int = 100,
    offset: int = 0,
    sort: str = "name",
) -> tuple[list[ObjectVersion], int]:
    """One page of the objects of a kind as they stood at an instant, and how many there are.

    "" means any; `labels` must all be equal on the object itself; `sort` is a word of `SORTS`,
    with a leading `-` downwards.

    Raises:
        UsageError: if `sort` is none of them.
    """
    key = sort.removeprefix("-")
    if key not in SORTS:
        raise UsageError(f"cannot sort by {key!r}", hint=f"one of {', '.join(sorted(SORTS))}")
    wanted = dict(labels or {})
    params: dict[str, object] = {
        "kind": kind, "at": at, "cluster": cluster, "namespace": namespace, "name": name,
        "label_keys": list(wanted), "label_values": list(wanted.values()),
        "sort": key, "down": sort.startswith("-"), "limit": limit, "offset": offset,
    }  # fmt: skip
    page = store.engine.columns(statement("objects_at"), params)
    if page and len(page["found"]):
        return _from_columns(page), int(page["found"][0])
    if not offset:
        return [], 0
    # A page behind the last one is empty, yet the total is still asked for.
    return [], store.engine.rows(statement("count_objects_at"), params)[0]["found"]


def history_of(
    store: Store, *, cluster: str, kind: str, namespace: str, name: str
) -> list[ObjectVersion]:
    """Every version of every object that bore the name, ordered by valid_from."""
    params = {"cluster": cluster, "kind": kind, "namespace": namespace, "name": name}
    return _versions(store, "history_of", params)


def put_cluster(store: Store, cluster: Cluster, *, now: datetime) -> None:
    """Writes a cluster's name and first sight; the newest writing counts."""
    store.engine.insert(
        "clusters",
        {
            "cluster": [cluster.id],
            "name": [cluster.name],
            "first_seen": [cluster.first_seen],
            "at": [now],
        },
    )


def clusters(store: Store) -> list[Cluster]:
    """Every cluster that was ever watched, by name."""
    rows = store.engine.rows(statement("clusters"))
    return [
        Cluster(ClusterId(row["cluster"]), name=row["name"], first_seen=row["first_seen"])
        for row in rows
    ]


def last_sight(store: Store, cluster: str) -> datetime | None:
    """When a cluster was last written, which its watcher does while it sees it; None: never."""
    rows = store.engine.rows(statement("clusters"))
    return next((row["at"] for row in rows if row["cluster"] == cluster), None)


def _versions(store: Store, name: str, params: Mapping[str, object]) -> list[ObjectVersion]:
    return _from_columns(store.engine.columns(statement(name), params))


def _from_columns(columns: Mapping[str, npt.NDArray[Any]]) -> list[ObjectVersion]:
    """Versions from columns: half the price of rows where there are tens of thousands."""
    if not columns:
        return []
    cells = (columns[name].tolist() for name in _COLUMNS)
    return [
        ObjectVersion(
            cluster=cluster,
            kind=kind,
            uid=uid,
            namespace=namespace,
            name=name,
            valid_from=_instant(valid_from),
            valid_to=None if valid_to == _FOREVER_MS else _instant(valid_to),
            ended=ended,
            doc=json.loads(doc),
        )
        for cluster, kind, uid, namespace, name, valid_from, valid_to, ended, doc in zip(
            *cells, strict=True
        )
    ]


_COLUMNS = (
    *("cluster", "kind", "uid", "namespace", "name"),
    *("valid_from", "valid_to", "ended", "doc"),
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FOREVER_MS = int(FOREVER.timestamp() * 1000)


def _instant(ms: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=ms)


def _json(doc: Mapping[str, Any]) -> str:
    return json.dumps(doc, separators=(",", ":"), ensure_ascii=False)
