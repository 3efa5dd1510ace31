"""What can be said of the company's machines and programs, in the fewest words.

Cores and GiB throughout; hours are UTC, Monday is day 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Words = Mapping[str, str]
"""Labels or annotations."""

EVERY_DAY = frozenset(range(7))
WORKDAYS = frozenset(range(5))
NOT_SUNDAY = frozenset(range(6))


@dataclass(frozen=True, slots=True)
class Load:
    """What a container uses over time: a shape (see `loads`) between a low and a high."""

    shape: str
    cpu: tuple[float, float]
    memory: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Box:
    """A container: what it requests and what it uses.

    `limited`: its limits equal its requests. Without a `load` nothing is ever measured.
    """

    name: str
    cpu: float
    memory: float
    load: Load | None
    gpus: int = 0
    limited: bool = False


@dataclass(frozen=True, slots=True)
class Machine:
    """A node: `until` is the part of the history after which it is gone, `since` the same."""

    name: str
    pool: str
    type: str
    cores: int
    memory: float
    zone: str
    gpus: int = 0
    spot: bool = False
    since: float = 0.0
    until: float = 1.0


@dataclass(frozen=True, slots=True)
class Space:
    """A namespace and what is written on it."""

    name: str
    labels: Words = field(default_factory=dict)
    annotations: Words = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What every workload has; `labels` and `annotations` of the object, `pod_…` of its pods."""

    namespace: str
    name: str
    boxes: tuple[Box, ...]
    pool: str
    labels: Words = field(default_factory=dict)
    annotations: Words = field(default_factory=dict)
    pod_labels: Words = field(default_factory=dict)
    pod_annotations: Words = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Service(Program):
    """Runs all the time: a Deployment, a StatefulSet, or a training that never ends.

    `replicas` at the quietest and the busiest hour; `rolls` are (weekday, hour) of roll-outs.
    """

    kind: str = "Deployment"
    replicas: tuple[int, int] = (1, 1)
    rolls: tuple[tuple[int, float], ...] = ()
    disk: int = 0
    """GiB of each replica's volume claim; 0 for none."""
    crowd: bool = False
    """Goes to the fullest node instead of the emptiest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent(Program):
    """A DaemonSet: one pod on each node, whatever its pool."""


@dataclass(frozen=True, slots=True)
class Part:
    """Pods of a run: how many, what is in them, when they begin and how long they take."""

    role: str
    count: int
    boxes: tuple[Box, ...]
    after: float = 0.0
    minutes: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch(Program):
    """Runs and ends: a CronJob's jobs, a workflow, a training.

    `hours` at which a run begins on `days`; every `slow_pull`-th day the image takes 50 minutes.
    """

    kind: str
    hours: tuple[float, ...]
    parts: tuple[Part, ...]
    boxes: tuple[Box, ...] = ()
    days: frozenset[int] = EVERY_DAY
    slow_pull: int = 0


@dataclass(frozen=True, slots=True)
class Site:
    """A cluster: its machines, namespaces and programs."""

    name: str
    region: str
    machines: tuple[Machine, ...]
    spaces: tuple[Space, ...]
    programs: tuple[Service | Agent | Batch, ...]
