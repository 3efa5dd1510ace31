"""The objects behind the rows of `seed.py`: nodes, namespaces, workloads and pods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any

from seedance.facts.inventory import ClusterId, ObjectVersion, Uid


def versions(
    rows: Iterable[dict[str, Any]], *, start: datetime, gone_from: str
) -> Iterator[ObjectVersion]:
    """Each object once, from `start` on; `gone-1` in `gone_from` ended after 30 hours."""
    seen: set[tuple[str, str, str]] = set()
    for row in rows:
        cluster = ClusterId(row["cluster"])
        for kind, uid, namespace, name, doc in _objects(row):
            if (cluster, kind, uid) not in seen:
                seen.add((cluster, kind, uid))
                yield ObjectVersion(cluster, kind, Uid(uid), namespace, name, start, None, "", doc)
    gone = {"created": "2026-11-28T00:00:00Z", "node": "node-a", "phase": "Failed"}
    end = start + timedelta(hours=30)
    yield ObjectVersion(
        ClusterId(gone_from), "Pod", Uid("u-gone"), "shop", "gone-1", start, end, "estimated", gone
    )


def _objects(row: dict[str, Any]) -> Iterator[tuple[str, str, str, str, dict[str, Any]]]:
    born = {"created": "2026-11-28T00:00:00Z"}
    if row["node"]:
        capacity = {"cpu": 4.0, "memory": 16.0 * 2**30}
        node = {**born, "capacity": capacity, "instance_type": row["instance_type"], "ready": True}
        node["zone"], node["capacity_type"] = row["zone"], row["capacity_type"]
        yield "Node", row["node_uid"], "", row["node"], node
    if not row["pod"]:
        return
    namespace = row["namespace"]
    yield "Namespace", f"ns-{row['cluster'][:4]}-{namespace}", "", namespace, dict(born)
    owner = {"kind": row["workload_kind"], "name": row["workload"], "uid": row["workload_uid"]}
    if row["workload_kind"] != "Pod":
        workload = {**born, "labels": row["labels"], "replicas": 1, "ready_replicas": 1}
        yield row["workload_kind"], row["workload_uid"], namespace, row["workload"], workload
    pod = {**born, "labels": row["labels"], "node": row["node"], "phase": "Running"}
    pod["scheduled"] = "2026-11-28T00:00:00Z"
    pod["containers"] = [{"name": "main", "requests": {"cpu": 1.0}, "started": born["created"]}]
    if row["workload_kind"] != "Pod":
        pod["owner"] = owner
    yield "Pod", row["pod_uid"], namespace, row["pod"], pod
