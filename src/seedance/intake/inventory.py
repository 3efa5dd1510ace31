"""Kubernetes objects: kube JSON to facts, the same for a list, a watch, a file and the demo.

The flow: `normalise(kind, document)` picks the reader of the kind and returns facts in base units.
Only what matters to history is kept, so that a heartbeat makes no new version.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from seedance.facts.errors import IntakeError
from seedance.facts.inventory import Claim, Node, Pod, Workload
from seedance.intake.meta import (
    Json,
    annotations_of,
    created_at,
    instant,
    labels_of,
    metadata_of,
    owner_of,
)
from seedance.intake.nodes import normalise_node
from seedance.intake.pods import normalise_pod
from seedance.intake.quantities import parse_quantities

Facts = Pod | Node | Workload | Claim


@dataclass(frozen=True, slots=True)
class Resource:
    """A kind that is watched and where the API server lists it.

    `group` and `plural` are what a role grants rights on.
    """

    kind: str
    group: str
    plural: str
    path: str


def _core(kind: str, plural: str) -> Resource:
    return Resource(kind, "", plural, f"/api/v1/{plural}")


def _grouped(kind: str, group: str, plural: str) -> Resource:
    return Resource(kind, group, plural, f"/apis/{group}/v1/{plural}")


RESOURCES: tuple[Resource, ...] = (
    _core("Node", "nodes"),
    _core("Namespace", "namespaces"),
    _core("Pod", "pods"),
    _grouped("Deployment", "apps", "deployments"),
    _grouped("ReplicaSet", "apps", "replicasets"),
    _grouped("StatefulSet", "apps", "statefulsets"),
    _grouped("DaemonSet", "apps", "daemonsets"),
    _grouped("Job", "batch", "jobs"),
    _grouped("CronJob", "batch", "cronjobs"),
    _core("PersistentVolumeClaim", "persistentvolumeclaims"),
)
"""Every kind that is watched. Any other owner is known by the references to it."""


def normalise(kind: str, document: Json) -> Facts:
    """The facts of one object.

    Raises:
        IntakeError: if the kind is not watched, or the document has no identity or holds a value
            that the API server would refuse; the message names the object.
    """
    reader = _READERS.get(kind)
    if reader is None:
        raise IntakeError(f"{kind!r} is no kind that the inventory reads")
    try:
        return reader(document)
    except IntakeError as error:
        raise IntakeError(f"{kind} {name_of(document)}: {error}") from None
    except (TypeError, AttributeError, KeyError, ValueError) as error:
        raise IntakeError(f"{kind} {name_of(document)} has an odd shape: {error}") from error


def name_of(document: Json) -> str:
    """`namespace/name` of an object, for messages."""
    metadata = document.get("metadata")
    if not isinstance(metadata, Mapping):
        return "without metadata"
    return "/".join(str(metadata[key]) for key in ("namespace", "name") if metadata.get(key))


def _workload(document: Json) -> Workload:
    metadata = metadata_of(document)
    spec, status = document.get("spec") or {}, document.get("status") or {}
    return Workload(
        created=created_at(metadata),
        labels=labels_of(metadata),
        annotations=annotations_of(metadata),
        owner=owner_of(metadata),
        replicas=_first_number(
            spec.get("replicas"), status.get("desiredNumberScheduled"), spec.get("parallelism")
        ),
        ready_replicas=_first_number(
            status.get("readyReplicas"), status.get("numberReady"), status.get("ready")
        ),
        phase=_phase(status),
        suspended=bool(spec.get("suspend")),
        deletion=instant(metadata.get("deletionTimestamp")),
    )


def _first_number(*values: int | None) -> int | None:
    return next((value for value in values if value is not None), None)


def _phase(status: Json) -> str:
    """A namespace's phase, or how a job ended; "" for everything else."""
    for condition in status.get("conditions") or []:
        if condition.get("type") in {"Complete", "Failed"} and condition.get("status") == "True":
            return str(condition["type"])
    return status.get("phase") or ""


def _claim(document: Json) -> Claim:
    metadata = metadata_of(document)
    spec, status = document.get("spec") or {}, document.get("status") or {}
    requests = (spec.get("resources") or {}).get("requests")
    return Claim(
        created=created_at(metadata),
        labels=labels_of(metadata),
        annotations=annotations_of(metadata),
        owner=owner_of(metadata),
        phase=status.get("phase") or "",
        storage_class=spec.get("storageClassName") or "",
        volume=spec.get("volumeName") or "",
        access_modes=tuple(spec.get("accessModes") or ()),
        requested=parse_quantities(requests).get("storage", 0.0),
        capacity=parse_quantities(status.get("capacity")).get("storage", 0.0),
        deletion=instant(metadata.get("deletionTimestamp")),
    )


_READERS: Mapping[str, Callable[[Json], Facts]] = {
    "Pod": normalise_pod,
    "Node": normalise_node,
    "PersistentVolumeClaim": _claim,
    **{
        resource.kind: _workload
        for resource in RESOURCES
        if resource.kind not in {"Pod", "Node", "PersistentVolumeClaim"}
    },
}
