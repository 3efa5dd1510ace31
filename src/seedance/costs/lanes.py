"""Series to lanes: which container a series measured, when, and from which source.

A series is joined to a container by cluster, namespace, pod and container name and by its time
inside the pod's life; so a series that went on under a re-created name becomes two lanes. The
source of a lane is what is left of its labels without those that name the container.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from seedance.costs.ledger import POD_EXCESS, Ledger
from seedance.costs.lives import FAR, millis
from seedance.costs.minutes import Lanes
from seedance.facts.samples import IntArray

IDENTITY_LABELS = frozenset(
    {"namespace", "pod", "container", "pod_name", "container_name", "id", "name", "image", "uid"}
    | {"cpu", "cluster", "node"}
)
"""Labels that say what was measured, not who measured it."""

_CUT_MS = 1000
"""The API cuts instants to the second: what was measured in the second in which a pod was created
may still be its namesake's."""

Sources = Callable[[Sequence[int]], Mapping[int, str]]
"""Source of each series number, see `source_of`."""


@dataclass(frozen=True, slots=True)
class SeriesColumns:
    """Series of one metric, sorted by sid: arrays of equal length, texts as objects."""

    sid: IntArray
    cluster: npt.NDArray[np.object_]
    namespace: npt.NDArray[np.object_]
    pod: npt.NDArray[np.object_]
    container: npt.NDArray[np.object_]


@dataclass(frozen=True, slots=True)
class LaneTable:
    """Lanes sorted by (sid, start), with member, place and source rank of each."""

    lanes: Lanes
    member: IntArray
    place: IntArray
    rank: IntArray


def source_of(door: str, labels: Mapping[str, str]) -> str:
    """What tells two sources of one container apart; remote write sorts before the kubelet."""
    rest = sorted(f"{k}={v}" for k, v in labels.items() if k not in IDENTITY_LABELS)
    return f"{'0' if door == 'remote-write' else '1'}{door}|{','.join(rest)}"


def containers_by_name(ledger: Ledger) -> dict[tuple[str, str, str], list[int]]:
    """Member numbers by (namespace, pod, container), in the order of the pods' lives."""
    found: dict[tuple[str, str, str], list[int]] = {}
    for number, member in enumerate(ledger.members):
        if member.container != POD_EXCESS:
            life = ledger.places[member.place].life
            found.setdefault((life.namespace, life.name, member.container), []).append(number)
    for numbers in found.values():
        if len(numbers) > 1:
            numbers.sort(key=lambda n: ledger.places[ledger.members[n].place].span.start)
    return found


def lane_table(
    series: SeriesColumns,
    ledger: Ledger,
    by_name: Mapping[tuple[str, str, str], Sequence[int]],
    *,
    clusters: Collection[str],
    sources: Sources,
) -> LaneTable:
    """The lanes of one metric's series in a ledger.

    Args:
        series: of one metric.
        ledger: who was there.
        by_name: from `containers_by_name`.
        clusters: what the series' cluster may read to mean this cluster.
        sources: asked for the series of containers that several series measured.
    """
    created = [millis(place.life.newest.created) for place in ledger.places]
    sid, member = list[int](), list[int]()
    columns = zip(
        series.sid.tolist(), series.cluster, series.namespace, series.pod, series.container,
        strict=True,
    )  # fmt: skip
    for number, cluster, namespace, pod, container in columns:
        if cluster in clusters:
            for at in by_name.get((namespace, pod, container), ()):
                sid.append(number)
                member.append(at)
    numbers, members = np.array(sid, np.int64), np.array(member, np.int64)
    place_of = np.array([one.place for one in ledger.members], np.int64)
    began = np.array([one.began for one in ledger.members], np.int64)
    place = place_of[members] if len(members) else members
    born = np.array(created, np.int64)
    ends = np.array([one.span.end for one in ledger.places], np.int64)
    if not len(members):
        return LaneTable(Lanes(numbers, numbers, numbers, numbers), members, place, members)
    namesake = np.concatenate(([False], numbers[1:] == numbers[:-1]))
    lanes = Lanes(
        sid=numbers,
        start=born[place] + _CUT_MS * namesake,
        end=ends[place],
        began=np.where(began[members] >= FAR, -1, began[members]),
    )
    return LaneTable(lanes, members, place, _ranks(numbers, members, place, sources))


def _ranks(sid: IntArray, member: IntArray, place: IntArray, sources: Sources) -> IntArray:
    """Rank of each lane's source among the sources of its pod; 0 where there is only one."""
    rank = np.zeros(len(sid), np.int64)
    several = np.bincount(member, minlength=1)[member] > 1
    pods = np.unique(place[several])
    crowded = np.flatnonzero(np.isin(place, pods))
    if not len(crowded):
        return rank
    names = sources(np.unique(sid[crowded]).tolist())
    of_pod: dict[int, list[str]] = {}
    for at in crowded.tolist():
        of_pod.setdefault(int(place[at]), []).append(names.get(int(sid[at]), ""))
    order = {
        pod: {name: n for n, name in enumerate(sorted(set(found)))} for pod, found in of_pod.items()
    }
    for at in crowded.tolist():
        rank[at] = order[int(place[at])][names.get(int(sid[at]), "")]
    return rank
