"""Objects of the company as the Kubernetes API would write them: plain JSON documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from seedance.demo import dice
from seedance.demo.cast import Box, Machine, Site, Space, Words
from seedance.facts.window import format_instant

Doc = dict[str, Any]

GPU = "nvidia.com/gpu"
_GPU_PRODUCT = "NVIDIA-A100-SXM4-40GB"
_KEPT_CORES, _KEPT_SHARE = 0.11, 0.04
"""What the kubelet keeps back: cores, and a share of the memory."""

_BOUND = timedelta(seconds=1)
_START = timedelta(seconds=7)
_API = {
    "Deployment": "apps/v1",
    "ReplicaSet": "apps/v1",
    "StatefulSet": "apps/v1",
    "DaemonSet": "apps/v1",
    "Job": "batch/v1",
    "CronJob": "batch/v1",
    "Workflow": "argoproj.io/v1alpha1",
    "RayCluster": "ray.io/v1",
    "PyTorchJob": "kubeflow.org/v1",
}
_IMAGES = "registry.example.com"


@dataclass(frozen=True, slots=True)
class Ref:
    """An object that owns others."""

    kind: str
    name: str
    uid: str

    def doc(self) -> Doc:
        """The entry among the owner references of what it owns."""
        return {
            "apiVersion": _API[self.kind],
            "kind": self.kind,
            "name": self.name,
            "uid": self.uid,
            "controller": True,
        }


@dataclass(frozen=True, slots=True)
class Stay:
    """A pod: who owns it, what is in it, when it is there and, once placed, on which node.

    `stem` is its name without the generated end; `turn` tells the pods of one stem apart. `end` is
    None for what outlasts the plan; `finishes`: it ends by itself instead of being deleted.
    `pull` is how long its image takes beyond the usual, `home` the only node it may run on.
    """

    cluster: str
    namespace: str
    stem: str
    turn: str
    owner: Ref
    boxes: tuple[Box, ...]
    created: datetime
    end: datetime | None
    pool: str = ""
    labels: Words = field(default_factory=dict)
    annotations: Words = field(default_factory=dict)
    finishes: bool = False
    fixed: bool = False
    crowd: bool = False
    pull: timedelta = timedelta(0)
    home: str = ""
    node: str = ""
    disk: int = 0

    @property
    def name(self) -> str:
        """The pod's name; generated unless its owner names it."""
        if self.fixed:
            return self.stem
        return f"{self.stem}-{dice.letters(5, self.cluster, self.namespace, self.stem, self.turn)}"

    @property
    def uid(self) -> str:
        """The pod's UID: a pod that comes back under its name has another one."""
        at = format_instant(self.created)
        return dice.uid(self.cluster, "Pod", self.namespace, self.name, at)

    @property
    def scheduled(self) -> datetime:
        """When it was bound to its node."""
        return self.created + _BOUND

    @property
    def started(self) -> datetime:
        """When its containers started."""
        slow = timedelta(seconds=int(8 * dice.draw("start", self.stem, self.turn)))
        return self.created + _START + slow + self.pull

    def requests(self, resource: str) -> float:
        """Cores, GiB or GPUs that its containers request together."""
        return sum(amounts(box).get(resource, 0.0) for box in self.boxes)

    def again(self, at: datetime) -> Stay:
        """The pod that takes its place when its node is gone."""
        return replace(self, created=at, turn=f"{self.turn}+", node="", pull=timedelta(0))


def amounts(box: Box) -> dict[str, float]:
    """What a container requests, by resource; nothing is left out where nothing is asked."""
    asked = {"cpu": box.cpu, "memory": box.memory, GPU: float(box.gpus)}
    return {name: amount for name, amount in asked.items() if amount}


def image(box: Box) -> str:
    """The image of a container."""
    return f"{_IMAGES}/{box.name}:2026.{dice.number(box.name) % 12 + 1}"


def meta(
    name: str,
    uid: str,
    created: datetime,
    *,
    namespace: str = "",
    labels: Words | None = None,
    annotations: Words | None = None,
    owner: Ref | None = None,
) -> Doc:
    """The metadata of any object."""
    found: Doc = {
        "name": name,
        "uid": uid,
        "creationTimestamp": format_instant(created),
        "labels": dict(labels or {}),
        "annotations": dict(annotations or {}),
    }
    if namespace:
        found["namespace"] = namespace
    if owner:
        found["ownerReferences"] = [owner.doc()]
    return found


def node(site: Site, machine: Machine, created: datetime) -> Doc:
    """A node of a managed node group."""
    labels = {
        "kubernetes.io/hostname": machine.name,
        "node.kubernetes.io/instance-type": machine.type,
        "topology.kubernetes.io/region": site.region,
        "topology.kubernetes.io/zone": machine.zone,
        "eks.amazonaws.com/nodegroup": machine.pool,
        "eks.amazonaws.com/capacityType": "SPOT" if machine.spot else "ON_DEMAND",
        **({"nvidia.com/gpu.product": _GPU_PRODUCT} if machine.gpus else {}),
    }
    allocatable = _quantities(*room(machine), machine.gpus)
    return {
        "metadata": meta(
            machine.name, dice.uid(site.name, "Node", machine.name), created, labels=labels
        ),
        "spec": {"providerID": f"aws:///{machine.zone}/i-{dice.number(machine.name):016x}0"},
        "status": {
            "capacity": _quantities(machine.cores, machine.memory, machine.gpus),
            "allocatable": allocatable,
            "conditions": [{"type": "Ready", "status": "True"}],
            "nodeInfo": {"kubeletVersion": "v1.35.2"},
        },
    }


def room(machine: Machine) -> tuple[float, float]:
    """Cores and GiB of a machine that pods may request."""
    return machine.cores - _KEPT_CORES, machine.memory * (1 - _KEPT_SHARE)


def _quantities(cores: float, memory: float, gpus: int) -> dict[str, str]:
    found = {"cpu": f"{round(cores * 1000)}m", "memory": f"{round(memory * 1024)}Mi"}
    return found | ({GPU: str(gpus)} if gpus else {})


def space(site: Site, namespace: Space, created: datetime) -> Doc:
    """A namespace."""
    labels = {"kubernetes.io/metadata.name": namespace.name, **namespace.labels}
    uid = dice.uid(site.name, "Namespace", namespace.name)
    annotations = namespace.annotations
    return {
        "metadata": meta(namespace.name, uid, created, labels=labels, annotations=annotations),
        "status": {"phase": "Active"},
    }


def workload(kind: str, metadata: Doc, *, replicas: int | None = None, done: bool = False) -> Doc:
    """Anything that owns pods; `replicas` None where the kind has none."""
    found: Doc = {"apiVersion": _API[kind], "kind": kind, "metadata": metadata}
    if replicas is not None and kind == "DaemonSet":
        found["status"] = {"desiredNumberScheduled": replicas, "numberReady": replicas}
    elif replicas is not None:
        found["spec"] = {"replicas": replicas}
        found["status"] = {"readyReplicas": replicas}
    if done:
        found["status"] = {"conditions": [{"type": "Complete", "status": "True"}]}
    return found


def claim(stay: Stay, created: datetime) -> Doc:
    """The volume claim of a replica."""
    name = f"data-{stay.name}"
    size = {"storage": f"{stay.disk}Gi"}
    uid = dice.uid(stay.cluster, "PersistentVolumeClaim", stay.namespace, name)
    return {
        "metadata": meta(name, uid, created, namespace=stay.namespace, labels=stay.labels),
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "gp3",
            "resources": {"requests": size},
        },
        "status": {"phase": "Bound", "capacity": size},
    }


def pod(stay: Stay, phase: str, *, deletion: datetime | None = None) -> Doc:
    """A pod in a phase: `Pending` on its node, `Running`, or `Succeeded` at its end."""
    metadata = meta(
        stay.name, stay.uid, stay.created, namespace=stay.namespace, labels=stay.labels,
        annotations=stay.annotations, owner=stay.owner,
    )  # fmt: skip
    if deletion:
        metadata["deletionTimestamp"] = format_instant(deletion)
    spec: Doc = {"containers": [_container(box) for box in stay.boxes]}
    status: Doc = {"phase": phase}
    if stay.node:
        spec["nodeName"] = stay.node
        bound = format_instant(stay.scheduled)
        status |= {
            "startTime": bound,
            "conditions": [{"type": "PodScheduled", "status": "True", "lastTransitionTime": bound}],
            "containerStatuses": [_status(stay, box, phase) for box in stay.boxes],
        }
    if stay.disk:
        claimed = {"persistentVolumeClaim": {"claimName": f"data-{stay.name}"}}
        spec["volumes"] = [{"name": "data", **claimed}]
    return {"metadata": metadata, "spec": spec, "status": status}


def _container(box: Box) -> Doc:
    texts = {name: _text(name, amount) for name, amount in amounts(box).items()}
    limits: Mapping[str, str] = texts if box.limited else {k: texts[k] for k in texts if k == GPU}
    return {
        "name": box.name,
        "image": image(box),
        "resources": {"requests": texts, "limits": dict(limits)},
    }


def _text(resource: str, amount: float) -> str:
    if resource == "cpu":
        return f"{round(amount * 1000)}m"
    return f"{round(amount * 1024)}Mi" if resource == "memory" else f"{amount:.0f}"


def _status(stay: Stay, box: Box, phase: str) -> Doc:
    began = format_instant(stay.started)
    state: Doc = {"running": {"startedAt": began}}
    if phase == "Pending":
        state = {"waiting": {"reason": "ContainerCreating"}}
    elif phase == "Succeeded" and stay.end:
        ended = format_instant(stay.end)
        state = {
            "terminated": {
                "startedAt": began, "finishedAt": ended, "reason": "Completed", "exitCode": 0
            }
        }  # fmt: skip
    return {"name": box.name, "restartCount": 0, "state": state}
