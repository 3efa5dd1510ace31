"""Pods: kube JSON to `facts.inventory.Pod`.

The flow: containers of every type with what they ask for and when they ran; the effective request
over them; the instants that the charged interval needs, each from the field that says it best;
quality of service, priority, owner and the volume claims.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from seedance.facts.inventory import Container, ContainerType, Pod, Quantities
from seedance.intake.meta import (
    Json,
    annotations_of,
    created_at,
    instant,
    labels_of,
    metadata_of,
    owner_of,
)
from seedance.intake.quantities import parse_quantities
from seedance.intake.requests import container_requests, effective_request

TERMINAL_PHASES = frozenset({"Succeeded", "Failed"})
_MIRROR = "kubernetes.io/config.mirror"
_STATUSES = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")


def normalise_pod(document: Json) -> Pod:
    """A pod's facts.

    Raises:
        IntakeError: if the document has no identity or a value that the API would refuse.
    """
    metadata = metadata_of(document)
    spec, status = document.get("spec") or {}, document.get("status") or {}
    containers = tuple(_containers(spec, status))
    resources = spec.get("resources") or {}
    overhead = parse_quantities(spec.get("overhead"))
    pod_level = (
        container_requests(resources, status, infeasible=_infeasible(status)) if resources else {}
    )
    owner = owner_of(metadata)
    annotations = annotations_of(metadata)
    return Pod(
        created=created_at(metadata),
        labels=labels_of(metadata),
        annotations=annotations,
        owner=owner,
        node=spec.get("nodeName") or "",
        phase=status.get("phase") or "",
        reason=status.get("reason") or "",
        qos=status.get("qosClass") or _quality(containers, pod_level, resources),
        priority=spec.get("priority") or 0,
        priority_class=spec.get("priorityClassName") or "",
        scheduled=_scheduled(status),
        started=instant(status.get("startTime")),
        finished=_finished(status),
        deletion=instant(metadata.get("deletionTimestamp")),
        overhead=overhead,
        effective=effective_request(containers, pod_level=pod_level, overhead=overhead),
        containers=containers,
        claims=tuple(_claims(metadata["name"], spec)),
        mirror=_MIRROR in annotations or (owner is not None and owner.kind == "Node"),
    )


def _containers(spec: Json, status: Json) -> Iterator[Container]:
    """Init containers and sidecars in their order, then the others."""
    statuses = {
        entry.get("name"): entry for field in _STATUSES for entry in status.get(field) or []
    }
    infeasible = _infeasible(status)
    declared = (
        ("init", spec.get("initContainers")),
        ("app", spec.get("containers")),
        ("ephemeral", spec.get("ephemeralContainers")),
    )
    for kind, entries in declared:
        for entry in entries or []:
            yield _container(
                _type_of(kind, entry),
                entry,
                statuses.get(entry.get("name")) or {},
                infeasible=infeasible,
            )


def _type_of(declared: str, entry: Json) -> ContainerType:
    if declared == "init":
        return "sidecar" if entry.get("restartPolicy") == "Always" else "init"
    return "app" if declared == "app" else "ephemeral"


def _container(kind: ContainerType, entry: Json, status: Json, *, infeasible: bool) -> Container:
    resources = entry.get("resources") or {}
    resizable = status if kind in {"app", "sidecar"} else {}
    state, detail = _state(status.get("state"))
    run = detail if state != "waiting" else _state(status.get("lastState"))[1]
    return Container(
        name=entry.get("name") or "",
        type=kind,
        image=entry.get("image") or "",
        requests=container_requests(resources, resizable, infeasible=infeasible),
        limits=parse_quantities(resources.get("limits")),
        started=instant(run.get("startedAt")),
        finished=instant(run.get("finishedAt")),
        restarts=status.get("restartCount") or 0,
        state=state,
        reason=detail.get("reason") or "",
    )


def _state(state: Json | None) -> tuple[str, Json]:
    """The name of a container state and its detail; ("", {}) where there is none."""
    for name in ("running", "terminated", "waiting"):
        if state and state.get(name) is not None:
            return name, state[name]
    return "", {}


def _infeasible(status: Json) -> bool:
    """Whether a resize was asked for that this node can never grant."""
    pending = _condition(status, "PodResizePending")
    return pending.get("reason") == "Infeasible" or status.get("resize") == "Infeasible"


def _condition(status: Json, kind: str) -> Json:
    """The condition of that type if it is true, else {}."""
    for condition in status.get("conditions") or []:
        if condition.get("type") == kind and condition.get("status") == "True":
            found: Json = condition
            return found
    return {}


def _scheduled(status: Json) -> datetime | None:
    bound = instant(_condition(status, "PodScheduled").get("lastTransitionTime"))
    return bound or instant(status.get("startTime"))


def _finished(status: Json) -> datetime | None:
    """When the last container ended, for a pod in a terminal phase."""
    if status.get("phase") not in TERMINAL_PHASES:
        return None
    ends = (
        instant(_state(entry.get("state"))[1].get("finishedAt"))
        for field in _STATUSES
        for entry in status.get(field) or []
    )
    return max((end for end in ends if end is not None), default=None)


def _quality(containers: Iterable[Container], pod_level: Quantities, resources: Json) -> str:
    """The class of service, computed as the API server does it."""
    limits = parse_quantities(resources.get("limits"))
    asks = [(pod_level, limits)] if pod_level or limits else []
    asks = asks or [(c.requests, c.limits) for c in containers if c.type != "ephemeral"]
    names = ("cpu", "memory")
    if not any(ask.get(name) for pair in asks for ask in pair for name in names):
        return "BestEffort"
    fixed = all(
        held.get(name) and held[name] == requests.get(name)
        for requests, held in asks
        for name in names
    )
    return "Guaranteed" if fixed else "Burstable"


def _claims(pod: str, spec: Json) -> Iterator[str]:
    """Names of the claims that the pod mounts; a generic ephemeral volume's is POD-VOLUME."""
    for volume in spec.get("volumes") or []:
        claim: dict[str, Any] | None = volume.get("persistentVolumeClaim")
        if claim:
            yield claim.get("claimName") or ""
        elif volume.get("ephemeral"):
            yield f"{pod}-{volume.get('name')}"
