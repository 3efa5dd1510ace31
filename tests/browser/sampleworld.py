"""A believable month of two clusters, as plain rows: who, where, how much an hour.

Nothing is random between runs: amounts come from a small counter-based mixer, so that a picture
taken twice is the same picture.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field

PRICES = {"cpu": 0.0316, "memory": 0.0042, "nvidia.com/gpu": 2.48}
UNITS = {"cpu": "core-hour", "memory": "GiB-hour", "nvidia.com/gpu": "nvidia.com/gpu-hour"}

TEAMS = {
    "vision": ("vision-train", "vision-serving"),
    "search": ("search", "search-index"),
    "payments": ("payments", "ledger"),
    "platform": ("monitoring", "ingress", "ci"),
    "mobile": ("mobile-api",),
    "data": ("etl", "warehouse"),
    "": ("default", "sandbox"),
}
MACHINES = (("m6i.4xlarge", "on-demand"), ("m6i.2xlarge", "spot"), ("p4d.24xlarge", "on-demand"))


@dataclass(frozen=True)
class Entity:
    """One container, or what no pod is behind; amounts are per hour of its own day's mean."""

    keys: dict[str, str]
    requested: dict[str, float]
    used: dict[str, float | None]
    night: float = 1.0
    flags: tuple[str, ...] = ()
    reasons: dict[str, str] = field(default_factory=dict)
    unpriced: frozenset[str] = frozenset()


def mix(*parts: object) -> float:
    """A number from 0 to 1 that depends on `parts` alone."""
    digest = hashlib.blake2b("/".join(map(str, parts)).encode(), digest_size=6).digest()
    return int.from_bytes(digest, "big") / 2**48


def entities(*, workloads: int = 3, clusters: tuple[str, ...] = ("prod", "dev")) -> list[Entity]:
    """Every container of the world, then idle, system and unattributed rows."""
    found = [
        entity
        for cluster in clusters
        for team, namespaces in TEAMS.items()
        for namespace in namespaces
        for entity in _namespace(cluster, team, namespace, workloads)
    ]
    return [*found, *_aside(clusters)]


def _namespace(cluster: str, team: str, namespace: str, count: int) -> Iterator[Entity]:
    for number in range(count):
        kind = ("Deployment", "StatefulSet", "Job")[number % 3]
        name = f"{namespace}-{('api', 'worker', 'batch', 'cache', 'cron')[number % 5]}"
        name += f"-{number}" if number > 4 else ""
        gpu = namespace == "vision-train" and number < 2
        for pod in range(2 + int(mix(cluster, name, "pods") * 3)):
            place = (cluster, team, namespace)
            yield _container(place, kind, name, pod=pod, gpu=gpu)


def _container(place: tuple[str, str, str], kind: str, name: str, *, pod: int, gpu: bool) -> Entity:
    cluster, team, namespace = place
    machine = MACHINES[2] if gpu else MACHINES[int(mix(name, pod) * 2)]
    scale = (0.4 if cluster == "dev" else 1.0) * (0.5 + 3 * mix(namespace, "size"))
    cpu, memory = scale * (0.5 + 4 * mix(name, "cpu")), scale * (2 + 14 * mix(name, "memory"))
    share = 0.15 + 0.7 * mix(name, "use")
    quiet = mix(cluster, name, pod, "quiet") > 0.985
    requested = {"cpu": cpu, "memory": memory}
    used: dict[str, float | None] = {"cpu": cpu * share, "memory": memory * (share + 0.1)}
    if gpu:
        requested["nvidia.com/gpu"] = 1.0
        used["nvidia.com/gpu"] = 0.2 if pod else 0.8
    if quiet:
        used = dict.fromkeys(requested)
    keys = {
        "cluster": cluster,
        "node": f"{cluster}-{machine[0].partition('.')[0]}-{int(mix(name, pod) * 6)}",
        "instanceType": machine[0],
        "capacityType": machine[1],
        "zone": "eu-central-1a",
        "namespace": namespace,
        "workload": name,
        "workloadKind": kind,
        "pod": f"{name}-{hashlib.blake2b(f'{name}{pod}'.encode(), digest_size=4).hexdigest()}",
        "container": "trainer" if gpu else "app",
        "kind": "container",
        "team": team or "__unallocated__",
        "environment": "production" if cluster == "prod" else "development",
        "domain": "commerce" if team in {"payments", "mobile"} else "core",
        "label:app": name,
    }
    return Entity(
        keys,
        requested,
        used,
        night=0.35 if kind == "Deployment" else 1.0,
        flags=("no-metrics",)
        if quiet
        else ("partial-metrics",)
        if mix(name, pod, "part") > 0.95
        else (),
        reasons={} if team else {"team": "no-owner-key"},
    )


def _aside(clusters: tuple[str, ...]) -> Iterator[Entity]:
    for cluster in clusters:
        for machine, capacity in MACHINES:
            for kind, amount in (("idle", 9.0), ("system", 0.8), ("unattributed", 0.3)):
                gpu = machine.startswith("p4d")
                if kind == "unattributed" and (gpu or cluster == "dev"):
                    continue
                size = amount * (0.4 if cluster == "dev" else 1) * (0.5 + mix(machine, kind))
                amounts = {"cpu": size, "memory": size * 3}
                if gpu and kind == "idle":
                    amounts["nvidia.com/gpu"] = 0.8
                special = f"__{kind}__"
                keys = dict.fromkeys(
                    ("namespace", "workload", "workloadKind", "pod", "container", "team",
                     "environment", "domain", "label:app"),
                    special,
                )  # fmt: skip
                keys |= {
                    "cluster": cluster,
                    "node": f"{cluster}-{machine.partition('.')[0]}-0",
                    "instanceType": machine,
                    "capacityType": capacity,
                    "zone": "eu-central-1a",
                    "kind": kind,
                }
                reasons = {"kind": "no-metrics"} if kind == "unattributed" else {}
                yield Entity(keys, amounts, dict.fromkeys(amounts), night=1.4, reasons=reasons)
