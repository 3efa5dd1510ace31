"""Kubernetes objects of the sample world, as lists and descriptions hold them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from browser.sampleworld import Entity
from seedance.flows.reporting import answers as a


def objects(world: Sequence[Entity], kind: str) -> list[a.ObjectItem]:
    made: dict[tuple[str, ...], a.ObjectItem] = {}
    for one in world:
        for item in _of(one, kind):
            made.setdefault((item.cluster, item.namespace, item.name), item)
    return sorted(made.values(), key=lambda item: (item.cluster_name, item.namespace, item.name))


def _of(one: Entity, kind: str) -> Iterator[a.ObjectItem]:
    keys = one.keys
    real = keys["kind"] == "container"
    base = {"created": "2026-11-03T08:00:00Z", "labels": {"app": keys["label:app"]}, "keys": keys}
    if kind == "clusters":
        yield _object(one, "Cluster", keys["cluster"], "", {"created": "2026-11-03T00:00:00Z"})
    elif kind == "nodes":
        capacity = {"cpu": 16.0, "memory": 64.0 * 2**30}
        if keys["instanceType"].startswith("p4d"):
            capacity = {"cpu": 96.0, "memory": 1152.0 * 2**30, "nvidia.com/gpu": 8.0}
        facts = {
            **base,
            "instance_type": keys["instanceType"],
            "zone": keys["zone"],
            "capacity_type": keys["capacityType"],
            "capacity": capacity,
            "ready": True,
        }
        yield _object(one, "Node", keys["node"], "", facts)
    elif kind == "namespaces" and real:
        yield _object(one, "Namespace", keys["namespace"], "", {**base, "phase": "Active"})
    elif kind == "workloads" and real:
        facts = {**base, "replicas": 3, "ready_replicas": 3}
        yield _object(one, keys["workloadKind"], keys["workload"], keys["namespace"], facts)
    elif kind == "pods" and real:
        requests = {
            name: value * (2**30 if name == "memory" else 1)
            for name, value in one.requested.items()
        }
        container = {
            "name": keys["container"],
            "type": "app",
            "image": "registry.example/app:1.4.2",
            "requests": requests,
            "limits": requests,
            "state": "running",
            "restarts": 1,
        }
        facts = {
            **base,
            "node": keys["node"],
            "phase": "Running",
            "qos": "Burstable",
            "effective": requests,
            "scheduled": "2026-11-03T08:00:05Z",
            "started": "2026-11-03T08:00:09Z",
            "containers": [container],
            "owner": {"kind": keys["workloadKind"], "name": keys["workload"]},
        }
        yield _object(one, "Pod", keys["pod"], keys["namespace"], facts)


def _object(
    one: Entity, kind: str, name: str, namespace: str, facts: dict[str, Any]
) -> a.ObjectItem:
    cluster = one.keys["cluster"]
    return a.ObjectItem(
        cluster=f"4f1c2d9e-{cluster}",
        cluster_name=cluster,
        kind=kind,
        uid=f"uid-{cluster}-{name}",
        namespace=namespace,
        name=name,
        since=datetime(2026, 11, 3, 8, tzinfo=UTC),
        until=None,
        facts=facts,
    )
