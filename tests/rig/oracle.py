"""What the run must have cost: an arithmetic of its own, from what the API servers said.

It shares nothing with the product. Input are the witness's sights (`realparts.recorder`) and the
prices below; output is, for every (cluster, namespace, team), what was requested, what was used
and what it costs, each with the amount by which a right answer may differ.

- A pod is charged from the instant its PodScheduled condition turned true to the end of its last
  container in a terminal phase, else to its deletionTimestamp, else to the moment at which the
  witness saw it go, whichever is first.
- Its request is the larger of the sum over containers and sidecars and the peak of the start, or
  what is set for the pod as a whole, plus overhead.
- Use is constant, as its annotation says, in each container but init containers and sidecars, from
  the moment at which they start. A right answer may lack one scrape of it, and one more for each
  time a container started again, as its counter did. A single pod may lack one at both its ends,
  since KWOK shows a container that has not started as using nothing; of many that is the sum.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from realparts.api import Json
from realparts.objects import USAGE_CPU, USAGE_MEMORY
from realparts.recorder import Recorder, Sight
from world import OWNER, TEAM

RESOURCES = ("cpu", "memory")
UNALLOCATED = "__unallocated__"
_SUFFIXES = {"m": 0.001, "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "": 1.0}

PER_UNIT = {"rig.small": (0.031, 0.0042), "rig.medium": (0.027, 0.0036)}
"""Core-hour and GiB-hour of the types that are sold by resource."""
RAISED = (0.054, 0.0072)
"""The same for rig.medium after the price was raised in the middle of the run."""
NODE_HOUR, NODE_WEIGHTS = 1.92, (7.0, 1.0)
"""rig.large is sold whole; weight of a core and of a GiB."""


def manifests(raised_at: datetime) -> str:
    """Price book and ownership rules of the run, as a person writes them."""
    at = raised_at.strftime("%Y-%m-%dT%H:%M:00Z")
    small, medium = PER_UNIT["rig.small"], PER_UNIT["rig.medium"]
    return f"""\
apiVersion: cost.seedance.io/v2
kind: PriceBook
metadata: {{name: rig}}
spec:
  currency: USD
  source: made up for a test
  entries:
  - name: small
    node: {{instanceType: rig.small}}
    perResource: {{cpuCoreHour: "{small[0]}", memoryGiBHour: "{small[1]}"}}
  - name: medium-before
    node: {{instanceType: rig.medium}}
    validTo: {at}
    perResource: {{cpuCoreHour: "{medium[0]}", memoryGiBHour: "{medium[1]}"}}
  - name: medium-after
    node: {{instanceType: rig.medium}}
    validFrom: {at}
    perResource: {{cpuCoreHour: "{RAISED[0]}", memoryGiBHour: "{RAISED[1]}"}}
  - name: large
    node: {{instanceType: rig.large}}
    nodeHour: "{NODE_HOUR}"
    splitWeights: {{cpu: {NODE_WEIGHTS[0]:g}, memory: {NODE_WEIGHTS[1]:g}, gpu: 0}}
---
apiVersion: cost.seedance.io/v2
kind: OwnershipRules
metadata: {{name: rig}}
spec:
  team:
    from:
    - label: {TEAM}
    - annotation: {OWNER}
"""


@dataclass(frozen=True, slots=True)
class Stay:
    """One pod's charged time in the window: where, whose, how much, and how exactly."""

    cluster: str
    namespace: str
    name: str
    uid: str
    team: str
    node: str
    start: datetime
    runs: datetime
    end: datetime
    request: tuple[float, float]
    use: tuple[float, float]
    scrapes: float
    """Seconds of use that a right answer may lack, or add."""

    @property
    def hours(self) -> float:
        """Length of the stay."""
        return _overlap(self.start, self.end)

    def used(self, index: int) -> float:
        """Unit-hours of use."""
        return self.use[index] * _overlap(self.runs, self.end)

    def doubt(self, index: int) -> float:
        """Unit-hours of use that a right answer may lack, or add."""
        return self.use[index] * min(self.hours, self.scrapes / 3600)


@dataclass(slots=True)
class Expected:
    """Sums of stays by resource, in unit-hours and money, with their tolerances."""

    requested: list[float] = field(default_factory=lambda: [0.0, 0.0])
    used: list[float] = field(default_factory=lambda: [0.0, 0.0])
    used_doubt: list[float] = field(default_factory=lambda: [0.0, 0.0])
    cost: list[float] = field(default_factory=lambda: [0.0, 0.0])
    cost_doubt: list[float] = field(default_factory=lambda: [0.0, 0.0])
    second_of_use: float = 0.0
    """What a second of use of all of it costs at most."""
    pods: int = 0

    def add(self, stay: Stay, prices: Prices) -> None:
        """Add one stay."""
        self.pods += 1
        for index in range(2):
            request, use = stay.request[index], stay.use[index]
            self.requested[index] += request * stay.hours
            self.used[index] += stay.used(index)
            self.used_doubt[index] += stay.doubt(index)
            self.second_of_use += use * prices.highest(stay, index) / 3600
            self.cost[index] += request * prices.unit_hour(stay, index, stay.start)
            if use > request:
                beyond = (use - request) * prices.unit_hour(stay, index, stay.runs)
                self.cost[index] += beyond
                self.cost_doubt[index] += stay.doubt(index) * prices.highest(stay, index)


class Prices:
    """The price of a unit of a node's resource, at any time of the run."""

    def __init__(self, types: Mapping[tuple[str, str], str], *, raised_at: datetime) -> None:
        self._types = types
        self._raised_at = raised_at

    def unit_hour(self, stay: Stay, index: int, since: datetime) -> float:
        """What one unit (core, GiB) costs from `since` to the end of the stay."""
        kind = self._types[stay.cluster, stay.node]
        before = _overlap(since, min(stay.end, self._raised_at))
        after = _overlap(max(since, self._raised_at), stay.end)
        return before * unit_price(kind, index) + after * unit_price(kind, index, raised=True)

    def highest(self, stay: Stay, index: int) -> float:
        """The highest price of a unit-hour on the stay's node."""
        kind = self._types[stay.cluster, stay.node]
        return max(unit_price(kind, index), unit_price(kind, index, raised=True))

    def node_cost(self, kind: str, start: datetime, end: datetime) -> float:
        """What a node of this type costs from `start` to `end`."""
        before = _overlap(start, min(end, self._raised_at))
        after = _overlap(max(start, self._raised_at), end)
        size = CAPACITY[kind]
        return sum(
            size[index]
            * (before * unit_price(kind, index) + after * unit_price(kind, index, raised=True))
            for index in range(2)
        )


CAPACITY = {"rig.small": (16, 64), "rig.medium": (32, 64), "rig.large": (48, 192)}


def unit_price(kind: str, index: int, *, raised: bool = False) -> float:
    """Price of a core-hour (0) or GiB-hour (1) on a node of this type."""
    if kind == "rig.medium" and raised:
        return RAISED[index]
    if kind in PER_UNIT:
        return PER_UNIT[kind][index]
    cpu, memory = CAPACITY[kind]
    whole = cpu * NODE_WEIGHTS[0] + memory * NODE_WEIGHTS[1]
    return NODE_HOUR * NODE_WEIGHTS[index] / whole


def _overlap(start: datetime, end: datetime) -> float:
    return max(0.0, (end - start).total_seconds()) / 3600


@dataclass(slots=True)
class Oracle:
    """The arithmetic over one window for several clusters."""

    start: datetime
    end: datetime
    raised_at: datetime
    stays: list[Stay] = field(default_factory=list)
    node_cost: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    _types: dict[tuple[str, str], str] = field(default_factory=dict)

    @property
    def prices(self) -> Prices:
        """Prices of every node that was seen."""
        return Prices(self._types, raised_at=self.raised_at)

    def add_cluster(self, name: str, recorder: Recorder, *, scrape: float) -> None:
        """Take in everything that the witness saw of one cluster.

        Raises:
            AssertionError: if the witness itself missed the end of an object.
        """
        for sights in recorder.of("Node").values():
            raw = sights[-1].raw
            kind = raw["metadata"]["labels"]["node.kubernetes.io/instance-type"]
            self._types[name, raw["metadata"]["name"]] = kind
            begun = max(self.start, _instant(raw["metadata"]["creationTimestamp"]))
            gone = sights[-1].at if sights[-1].event == "DELETED" else self.end
            self.node_cost[name] += self.prices.node_cost(kind, begun, min(gone, self.end))
        owners = Owners(recorder)
        for sights in recorder.of("Pod").values():
            assert sights[-1].event != "UNSEEN", sights[-1].raw["metadata"]["name"]
            stay = self._stay(name, sights, owners, scrape)
            if stay and stay.start < stay.end:
                self.stays.append(stay)

    def expected(self, *keys: str) -> dict[tuple[str, ...], Expected]:
        """Sums by these fields of a stay, such as `cluster, namespace, team`."""
        sums: dict[tuple[str, ...], Expected] = defaultdict(Expected)
        for stay in self.stays:
            sums[tuple(getattr(stay, key) for key in keys)].add(stay, self.prices)
        return dict(sums)

    def _stay(
        self, cluster: str, sights: list[Sight], owners: Owners, scrape: float
    ) -> Stay | None:
        interval = charged_interval(sights)
        if interval is None:
            return None
        raw, starts = sights[-1].raw, started(sights)
        runs = starts[0] if starts else interval[1]
        return Stay(
            cluster=cluster,
            namespace=raw["metadata"]["namespace"],
            name=raw["metadata"]["name"],
            uid=raw["metadata"]["uid"],
            team=owners.team(raw),
            node=raw["spec"]["nodeName"],
            start=max(interval[0], self.start),
            runs=max(runs, self.start),
            end=min(interval[1], self.end),
            request=request_of(raw["spec"]),
            use=use_of(raw),
            scrapes=(scrape + 1) * max(len(starts), 1),
        )


def charged_interval(sights: list[Sight]) -> tuple[datetime, datetime] | None:
    """When a pod is charged, from all that was seen of it; None where it was never bound."""
    raw = sights[-1].raw
    bound = [
        _instant(condition["lastTransitionTime"])
        for condition in raw["status"].get("conditions", ())
        if condition["type"] == "PodScheduled" and condition["status"] == "True"
    ]
    if not bound:
        return None
    ends = [datetime.max.replace(tzinfo=UTC)]
    if raw["status"]["phase"] in ("Succeeded", "Failed"):
        states = raw["status"].get("containerStatuses", ())
        ends.append(max(_instant(s["state"]["terminated"]["finishedAt"]) for s in states))
    if "deletionTimestamp" in raw["metadata"]:
        ends.append(_instant(raw["metadata"]["deletionTimestamp"]))
    if sights[-1].event == "DELETED":
        ends.append(sights[-1].at)
    return bound[0], min(ends)


def started(sights: list[Sight]) -> list[datetime]:
    """When the pod's containers started, and started again."""
    stamps = {sight.raw["status"].get("startTime") for sight in sights}
    return sorted(_instant(stamp) for stamp in stamps if stamp)


def request_of(spec: Json) -> tuple[float, float]:
    """The scheduler's request of a pod: cores and GiB."""
    values = [_request(spec, resource) for resource in RESOURCES]
    return values[0], values[1] / 2**30


def _request(spec: Json, resource: str) -> float:
    running = sum(_asked(one, resource) for one in spec["containers"])
    sidecars = peak = 0.0
    for one in spec.get("initContainers", ()):
        asked = _asked(one, resource)
        if one.get("restartPolicy") == "Always":
            sidecars += asked
            peak = max(peak, sidecars)
        else:
            peak = max(peak, sidecars + asked)
    whole = max(running + sidecars, peak)
    pod_level = spec.get("resources", {}).get("requests", {})
    if resource in pod_level:
        whole = quantity(pod_level[resource])
    return whole + quantity(spec.get("overhead", {}).get(resource, "0"))


def _asked(container: Json, resource: str) -> float:
    return quantity(container.get("resources", {}).get("requests", {}).get(resource, "0"))


def use_of(raw: Json) -> tuple[float, float]:
    """What a pod uses by its annotations, over its ordinary containers: cores and GiB."""
    notes: Mapping[str, str] = raw["metadata"].get("annotations", {})
    containers = len(raw["spec"]["containers"])
    cpu, memory = quantity(notes[USAGE_CPU]), quantity(notes[USAGE_MEMORY])
    return cpu * containers, memory * containers / 2**30


def quantity(text: str) -> float:
    """A Kubernetes quantity in base units, of the suffixes that occur here."""
    digits = text.rstrip("mKMGi")
    return float(digits) * _SUFFIXES[text[len(digits) :]]


class Owners:
    """Whose a pod is: the label anywhere up its chain, then the annotation."""

    def __init__(self, recorder: Recorder) -> None:
        self._objects: dict[str, Json] = {}
        for sights in recorder.sights.values():
            self._objects[sights[-1].raw["metadata"]["uid"]] = sights[-1].raw
        self._namespaces = {
            sights[-1].raw["metadata"]["name"]: sights[-1].raw
            for sights in recorder.of("Namespace").values()
        }

    def team(self, pod: Json) -> str:
        """The team of a pod, or the word for none."""
        chain = [metadata for metadata in self._chain(pod) if metadata]
        for part, key in (("labels", TEAM), ("annotations", OWNER)):
            for metadata in chain:
                if key in metadata.get(part, {}):
                    return str(metadata[part][key])
        return UNALLOCATED

    def _chain(self, pod: Json) -> Iterable[dict[str, Any]]:
        yield pod["metadata"]
        owner = pod
        while owner and owner["metadata"].get("ownerReferences"):
            uid = owner["metadata"]["ownerReferences"][0]["uid"]
            owner = self._objects.get(uid, {})
            if owner:
                yield owner["metadata"]
        yield self._namespaces[pod["metadata"]["namespace"]]["metadata"]


def _instant(text: str) -> datetime:
    return datetime.fromisoformat(text)


def floor_minute(at: datetime) -> datetime:
    """The whole minute at or before an instant."""
    return at - timedelta(seconds=at.second, microseconds=at.microsecond)
