"""What runs: Kubernetes objects, normalised and versioned.

A version of an object is valid over [valid_from, valid_to); `doc` holds the kind's facts as
plain JSON (`Pod.to_doc()` and friends), the store keeps it as text. Quantities are plain
numbers in the resource's base unit: cores for `cpu`, bytes for `memory`, `ephemeral-storage`
and `hugepages-*`, counts for everything else. Label and annotation keys are raw.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from functools import cache
from typing import Any, Literal, NewType, Self

from seedance.facts.window import format_instant, parse_instant

ClusterId = NewType("ClusterId", str)
"""UID of the cluster's `kube-system` namespace; its name is a label on that (ground rule 2)."""

Uid = NewType("Uid", str)
"""UID of a Kubernetes object."""

Labels = dict[str, str]
Quantities = dict[str, float]

Ended = Literal["", "seen", "estimated"]
ContainerType = Literal["app", "init", "sidecar", "ephemeral"]


@dataclass(frozen=True, slots=True)
class ObjectVersion:
    """One version of one object.

    `ended` is "" while it lives or was replaced by a newer version,
    `seen` when its deletion was watched, `estimated` when the deletion was missed.
    `valid_to` is None for the newest version of a living object.
    """

    cluster: ClusterId
    kind: str
    uid: Uid
    namespace: str
    name: str
    valid_from: datetime
    valid_to: datetime | None
    ended: Ended
    doc: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster that was ever watched."""

    id: ClusterId
    name: str
    first_seen: datetime


@dataclass(frozen=True, slots=True)
class Owner:
    """The controlling owner reference of an object, whatever its kind."""

    kind: str
    name: str
    uid: Uid


class _Doc:
    """Turns a facts dataclass into plain JSON and back; instants as RFC 3339 text."""

    __slots__ = ()

    def to_doc(self) -> dict[str, Any]:
        """Plain JSON of all fields that are not at their empty value.

        Labels and annotations are shared with the facts, not copied.
        """
        return _fields(self)

    @classmethod
    def from_doc(cls, doc: Mapping[str, Any]) -> Self:
        """The facts back from `to_doc`; unknown keys (of a newer writer) are ignored."""
        return cls(**{key: _typed(key, doc[key]) for key in _known(cls, doc)})


def _known(cls: type, doc: Mapping[str, Any]) -> frozenset[str]:
    return _names(cls) & doc.keys()


@cache
def _names(cls: type) -> frozenset[str]:
    return frozenset(field.name for field in fields(cls))


_RAW = frozenset({"labels", "annotations"})  # a key with an empty value is a value
_EMPTY: tuple[Any, ...] = (None, "", {}, [], ())


def _fields(facts: Any) -> dict[str, Any]:
    """The fields that are not empty; `dataclasses.asdict` copies, and takes four times as long."""
    doc = {}
    for key in facts.__dataclass_fields__:
        value = getattr(facts, key)
        if value not in _EMPTY:
            doc[key] = value if key in _RAW else _plain(value)
    return doc


def _plain(value: Any) -> Any:
    if isinstance(value, str | int | float):
        return value
    if isinstance(value, datetime):
        return format_instant(value)
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items() if v not in _EMPTY}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return _fields(value)


_INSTANTS = frozenset({"created", "scheduled", "started", "finished", "deletion"})
_CONVERTED = _INSTANTS | {"owner", "containers", "claims", "access_modes"}


def _typed(key: str, value: Any) -> Any:
    if key not in _CONVERTED:
        return value
    if key in _INSTANTS:
        return parse_instant(value)
    if key == "owner":
        return Owner(**{"kind": "", "name": "", "uid": "", **value})
    if key == "containers":
        return tuple(Container.from_doc(item) for item in value)
    if key in {"claims", "access_modes"}:
        return tuple(value)
    return value


@dataclass(frozen=True, slots=True)
class Container(_Doc):
    """A container of a pod: its type, what it asks for and when it ran.

    `started` is the start of the current or last run, `finished` the end of the last run (None
    while it runs), `restarts` the kubelet's count.
    """

    name: str
    type: ContainerType = "app"
    image: str = ""
    requests: Quantities = field(default_factory=dict)
    limits: Quantities = field(default_factory=dict)
    started: datetime | None = None
    finished: datetime | None = None
    restarts: int = 0
    state: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Pod(_Doc):
    """A pod's facts.

    `scheduled` is when it was bound to `node`; `finished` when it reached a terminal phase;
    `deletion` the API's deletionTimestamp, which already includes the grace period;
    `effective` the scheduler's effective request (max of init and app+sidecars, plus overhead).
    """

    created: datetime
    labels: Labels = field(default_factory=dict)
    annotations: Labels = field(default_factory=dict)
    owner: Owner | None = None
    node: str = ""
    phase: str = ""
    reason: str = ""
    qos: str = ""
    priority: int = 0
    priority_class: str = ""
    scheduled: datetime | None = None
    started: datetime | None = None
    finished: datetime | None = None
    deletion: datetime | None = None
    overhead: Quantities = field(default_factory=dict)
    effective: Quantities = field(default_factory=dict)
    containers: tuple[Container, ...] = ()
    claims: tuple[str, ...] = ()
    mirror: bool = False


@dataclass(frozen=True, slots=True)
class Node(_Doc):
    """A node's facts; `capacity_type` is `on-demand`, `spot`, `reserved` or "" (not known)."""

    created: datetime
    labels: Labels = field(default_factory=dict)
    annotations: Labels = field(default_factory=dict)
    capacity: Quantities = field(default_factory=dict)
    allocatable: Quantities = field(default_factory=dict)
    instance_type: str = ""
    zone: str = ""
    region: str = ""
    capacity_type: str = ""
    pool: str = ""
    provider_id: str = ""
    kubelet_version: str = ""
    unschedulable: bool = False
    ready: bool = False
    deletion: datetime | None = None


@dataclass(frozen=True, slots=True)
class Workload(_Doc):
    """Anything that owns pods, directly or not: Deployment, ReplicaSet, Job, RayJob and so on.

    Also used for namespaces, which have no owner and no replicas.
    """

    created: datetime
    labels: Labels = field(default_factory=dict)
    annotations: Labels = field(default_factory=dict)
    owner: Owner | None = None
    replicas: int | None = None
    ready_replicas: int | None = None
    phase: str = ""
    suspended: bool = False
    deletion: datetime | None = None


@dataclass(frozen=True, slots=True)
class Claim(_Doc):
    """A PersistentVolumeClaim; `requested` and `capacity` (of the bound volume) are bytes."""

    created: datetime
    labels: Labels = field(default_factory=dict)
    annotations: Labels = field(default_factory=dict)
    owner: Owner | None = None
    phase: str = ""
    storage_class: str = ""
    volume: str = ""
    access_modes: tuple[str, ...] = ()
    requested: float = 0.0
    capacity: float = 0.0
    deletion: datetime | None = None
