"""Kubernetes objects as JSON, as small as they can be."""

from __future__ import annotations

from typing import Any

from realparts.api import Json
from realparts.control_plane import METRICS_PATH_ANNOTATION, USAGE_PATH

USAGE_CPU, USAGE_MEMORY = "kwok.x-k8s.io/usage-cpu", "kwok.x-k8s.io/usage-memory"


def node(name: str, *, cpu: int, memory_gib: int, labels: dict[str, str] | None = None) -> Json:
    """A node of this capacity; the kubelet keeps 0.2 cores and 0.5 GiB for itself."""
    own = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", **(labels or {})}
    status = {
        "capacity": {"cpu": str(cpu), "memory": f"{memory_gib}Gi", "pods": "250"},
        "allocatable": {
            "cpu": f"{cpu * 1000 - 200}m",
            "memory": f"{memory_gib * 1024 - 512}Mi",
            "pods": "250",
        },
    }
    annotations = {METRICS_PATH_ANNOTATION: USAGE_PATH.format(node=name)}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": own, "annotations": annotations},
        "status": status,
    }


def container(name: str = "main", *, cpu: str = "", memory: str = "", **more: Any) -> Json:
    """A container that requests this much, nothing where the text is empty."""
    requests = {key: value for key, value in (("cpu", cpu), ("memory", memory)) if value}
    resources = {"requests": requests} if requests else {}
    return {"name": name, "image": "registry.example.com/app:1", "resources": resources, **more}


def pod_template(
    *containers: Json,
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    **spec: Any,
) -> Json:
    """A pod template; add `apiVersion`, `kind` and a name, and it is a pod."""
    return {
        "metadata": {"labels": labels or {}, "annotations": annotations or {}},
        "spec": {"containers": list(containers), "terminationGracePeriodSeconds": 2, **spec},
    }


def usage(cpu: str, memory: str) -> dict[str, str]:
    """The annotations by which KWOK knows what each container of a pod uses."""
    return {USAGE_CPU: cpu, USAGE_MEMORY: memory}


def pod(namespace: str, name: str, template: Json, *, owner: Json | None = None) -> Json:
    """A pod from a template, owned by `owner` where there is one."""
    metadata = {**template["metadata"], "name": name, "namespace": namespace}
    if owner:
        metadata["ownerReferences"] = [
            {
                "apiVersion": owner["apiVersion"],
                "kind": owner["kind"],
                "name": owner["metadata"]["name"],
                "uid": owner["metadata"]["uid"],
                "controller": True,
            }
        ]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}
