"""What a pod holds: its effective request, by the scheduler's rule.

The flow: a container's request (or, where only a limit is set, its limit), raised to what the
kubelet still holds for it while an in-place resize is under way; the containers and sidecars of a
pod in sum; the largest phase of its start (an init container and the sidecars started before it);
pod-level requests where they are set; the overhead of its runtime class on top.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from seedance.facts.inventory import Container, Quantities
from seedance.intake.quantities import parse_quantities


def container_requests(
    resources: Mapping[str, Any], status: Mapping[str, Any], *, infeasible: bool
) -> Quantities:
    """What one container requests, by resource in base units.

    `resources` is the container's spec, `status` its container status ({} where there is none).
    While a resize is under way the scheduler counts the largest of what is asked for, what is
    allocated and what is in force; one that can never happen (`infeasible`) is not counted.

    Raises:
        IntakeError: if a value is no quantity.
    """
    limits = parse_quantities(resources.get("limits"))
    asked = limits | parse_quantities(resources.get("requests"))
    held = largest(
        (
            parse_quantities((status.get("resources") or {}).get("requests")),
            parse_quantities(status.get("allocatedResources")),
        )
    )
    if infeasible and held:
        return held
    return largest((asked, held))


def effective_request(
    containers: Iterable[Container], *, pod_level: Quantities, overhead: Quantities
) -> Quantities:
    """The request that the scheduler reserves on the node, by resource in base units.

    `containers` in the order in which they are declared, init containers and sidecars first;
    `pod_level` are the requests of `spec.resources` (they replace the sum for the resources that
    they name), ephemeral containers hold nothing.
    """
    running: Quantities = {}
    sidecars: Quantities = {}
    starting: Quantities = {}
    for container in containers:
        if container.type == "init":
            starting = largest((starting, total((sidecars, container.requests))))
        elif container.type == "sidecar":
            sidecars = total((sidecars, container.requests))
            starting = largest((starting, sidecars))
            running = total((running, container.requests))
        elif container.type == "app":
            running = total((running, container.requests))
    named = {name: value for name, value in pod_level.items() if _at_pod_level(name)}
    return total((largest((running, starting)) | named, overhead))


def _at_pod_level(resource: str) -> bool:
    return resource in {"cpu", "memory"} or resource.startswith("hugepages-")


def largest(many: Iterable[Quantities]) -> Quantities:
    """The largest value of each resource."""
    found: Quantities = {}
    for quantities in many:
        for name, value in quantities.items():
            found[name] = max(value, found.get(name, value))
    return found


def total(many: Iterable[Quantities]) -> Quantities:
    """The sum of each resource."""
    found: Quantities = {}
    for quantities in many:
        for name, value in quantities.items():
            found[name] = found.get(name, 0.0) + value
    return found
