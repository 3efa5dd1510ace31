"""Answers of the API as the server would write them: built through the server's own models."""

from decimal import Decimal
from typing import Any

from seedance.facts.window import parse_instant
from seedance.flows.reporting.answers import CostAnswer, Description, ObjectItem, ObjectList

AT = parse_instant("2026-11-30T12:00:00Z")


def resource(unit: str, charged: float, used: float | None, cost: str | None) -> dict[str, Any]:
    return {
        "unit": unit,
        "requested": charged,
        "used": used,
        "charged": charged,
        "unused": charged - (used or 0.0),
        "covered": 24.0,
        "alive": 24.0,
        "cost": cost,
        "unused_cost": None,
    }


def row(
    keys: dict[str, str],
    cost: str | None,
    *,
    cpu: tuple[float, float | None, str | None] | None = (48.0, 12.0, "1.5"),
    memory: tuple[float, float | None, str | None] | None = (96.0, 24.0, "0.5"),
    gpu: tuple[float, float | None, str | None] | None = None,
    **more: Any,
) -> dict[str, Any]:
    found = {"cpu": cpu, "memory": memory, "nvidia.com/gpu": gpu}
    units = {"cpu": "core-hour", "memory": "GiB-hour"}
    resources = {
        name: resource(units.get(name, f"{name}-hour"), *values)
        for name, values in found.items()
        if values
    }
    return {"keys": keys, "cost": cost, "resources": resources, **more}


def costs(*items: dict[str, Any], by: tuple[str, ...] = ("namespace",), **more: Any) -> str:
    """The body of `/api/v1/costs`."""
    known = [Decimal(item["cost"]) for item in items if item["cost"] is not None]
    document: dict[str, Any] = {
        "window": {
            "start": "2026-11-29T12:00:00Z",
            "end": "2026-11-30T12:00:00Z",
            "words": "24h",
            "zone": "UTC",
        },
        "currency": "USD",
        "by": list(by),
        "step": "none",
        "idle_mode": "rows",
        "provisional": False,
        "as_of": "2026-11-30T12:00:00Z",
        "items": list(items),
        "hidden": {"count": 0, "cost": None},
        "total": {
            "cost": sum(known, Decimal(0)) if known else None,
            "unused_cost": None,
            "resources": {},
        },
        "page": {"limit": 100, "offset": 0, "total": len(items)},
        "links": {"self": "/api/v1/costs", "csv": "", "cli": "", "page": ""},
    }
    return CostAnswer.model_validate(document | more).model_dump_json(by_alias=True)


def thing(kind: str, name: str, facts: dict[str, Any], **more: Any) -> dict[str, Any]:
    """An object of a list."""
    return {
        "cluster": "c-1",
        "cluster_name": "prod",
        "kind": kind,
        "uid": f"uid-{name}",
        "namespace": "",
        "name": name,
        "since": "2026-11-30T10:00:00Z",
        "until": None,
        "facts": facts,
        **more,
    }


def pod(name: str, namespace: str = "ml", **facts: Any) -> dict[str, Any]:
    known = {
        "created": "2026-11-30T10:00:00Z",
        "phase": "Running",
        "node": "worker-1",
        "labels": {"app": "trainer", "tier": "gpu"},
        "owner": {"kind": "Job", "name": "trainer", "uid": "u"},
        "qos": "Burstable",
        "effective": {"cpu": 1.5, "memory": 4 * 2**30, "nvidia.com/gpu": 1},
        "containers": [
            {
                "name": "main",
                "type": "app",
                "image": "registry.example.org/trainer:1",
                "requests": {"cpu": 1.5, "memory": 4 * 2**30, "nvidia.com/gpu": 1},
                "limits": {"memory": 8 * 2**30},
                "restarts": 2,
                "state": "running",
            }
        ],
    }
    return thing("Pod", name, known | facts, namespace=namespace)


def node(name: str, **facts: Any) -> dict[str, Any]:
    known = {
        "created": "2026-11-20T10:00:00Z",
        "ready": True,
        "instance_type": "m5.4xlarge",
        "capacity_type": "spot",
        "zone": "eu-1a",
        "capacity": {"cpu": 16, "memory": 64 * 2**30, "pods": 110},
        "allocatable": {"cpu": 15.89, "memory": 60.5 * 2**30, "pods": 110},
        "kubelet_version": "v1.37.0",
    }
    return thing("Node", name, known | facts)


def objects(kind: str, *items: dict[str, Any], total: int | None = None) -> str:
    """The body of `/api/v1/{kind}`."""
    page = {"limit": 100, "offset": 0, "total": len(items) if total is None else total}
    listed = [ObjectItem.model_validate(item) for item in items]
    return ObjectList.model_validate(
        {"kind": kind, "at": AT, "items": listed, "page": page}
    ).model_dump_json(by_alias=True)


def described(kind: str, item: dict[str, Any], **more: Any) -> str:
    """The body of `/api/v1/{kind}/{name}`."""
    document = {"kind": kind, "at": AT, "object": item, "versions": [], "cost": None}
    return Description.model_validate(document | more).model_dump_json(by_alias=True)
