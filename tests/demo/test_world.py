"""The made-up company: the same each time, plausible, and with everything in it that goes wrong."""

from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from seedance.costs.ownership import Level, resolve_owner
from seedance.demo.company import COMPANY
from seedance.demo.kube import GPU, Stay, room
from seedance.demo.loads import DAY_MS, HOUR_MS
from seedance.demo.play import SHEETS
from seedance.demo.world import AHEAD, World, build
from seedance.facts.inventory import Node, Pod, Workload
from seedance.intake.inventory import RESOURCES, normalise
from seedance.manifests.load import load_manifests

NOW = datetime(2026, 11, 30, 20, 49, 33, tzinfo=UTC)
SUNDAY = datetime(2026, 11, 29, 6, 0, tzinfo=UTC)
MOMENTS = (NOW, SUNDAY, datetime(2027, 1, 1, 0, 0, 1, tzinfo=UTC))


@cache
def world(now: datetime = NOW, days: int = 14) -> World:
    return build(now, days=days)


def stays(of: World) -> list[Stay]:
    return [stay for scene in of.scenes for stay in scene.stays]


def ms(at: datetime) -> int:
    return int(at.timestamp() * 1000)


def test_the_same_now_gives_the_same_world() -> None:
    one, other = world(), build(NOW, days=14)
    assert [scene.events for scene in one.scenes] == [scene.events for scene in other.scenes]
    assert one.meters.names == other.meters.names
    which = one.meters.alive(ms(NOW) - HOUR_MS, ms(NOW))
    at = np.full((len(which), 1), ms(NOW))
    assert np.array_equal(one.meters.cores(which, at), other.meters.cores(which, at))


@pytest.mark.parametrize("now", MOMENTS, ids=str)
def test_history_is_whole_days_and_the_plan_reaches_beyond_now(now: datetime) -> None:
    found = world(now)
    assert found.begin == found.begin.replace(hour=0, minute=0, second=0)
    assert timedelta(days=14) <= now - found.begin < timedelta(days=15)
    for scene in found.scenes:
        seen = [event.observed for event in scene.events]
        assert seen == sorted(seen)
        assert seen[0] == found.begin == scene.cluster.first_seen
        assert now + AHEAD - timedelta(days=1) < seen[-1]


@pytest.mark.parametrize("now", MOMENTS, ids=str)
def test_every_pod_finds_room_and_no_node_is_promised_twice(now: datetime) -> None:
    for site, scene in zip(COMPANY, world(now).scenes, strict=True):
        assert [stay.name for stay in scene.stays if not stay.node] == []
        for machine in site.machines:
            here = [stay for stay in scene.stays if stay.node == machine.name]
            cores, memory = room(machine)
            limits = {"cpu": cores, "memory": memory, GPU: machine.gpus}
            for name, limit in limits.items():
                assert peak(here, name) <= limit + 1e-6


def peak(here: list[Stay], resource: str) -> float:
    """The most that pods request together at any time."""
    changes = [(stay.created, stay.requests(resource)) for stay in here]
    changes += [(stay.end, -stay.requests(resource)) for stay in here if stay.end]
    return max(np.cumsum([amount for _, amount in sorted(changes)]), default=0.0)


def test_a_name_is_worn_by_one_pod_at_a_time() -> None:
    by_name: dict[tuple[str, str, str], list[Stay]] = {}
    for stay in stays(world()):
        by_name.setdefault((stay.cluster, stay.namespace, stay.name), []).append(stay)
    again = [mine for mine in by_name.values() if len(mine) > 1]
    assert again, "a replica that is rolled out comes back under its name"
    for mine in again:
        mine.sort(key=lambda stay: stay.created)
        assert len({stay.uid for stay in mine}) == len(mine)
        for before, after in pairwise(mine):
            assert before.end is not None
            assert before.end <= after.created


@pytest.mark.parametrize("now", MOMENTS, ids=str)
def test_the_inventory_reads_every_document_and_its_instants_are_in_order(now: datetime) -> None:
    known = {resource.kind for resource in RESOURCES}
    for scene in world(now).scenes:
        assert {event.kind for event in scene.events} <= known
        for event in scene.events:
            facts = normalise(event.kind, event.document)
            assert facts.created <= event.observed or event.observed == scene.cluster.first_seen
            if isinstance(facts, Pod):
                assert facts.scheduled
                assert facts.created <= facts.scheduled
                assert facts.finished is None or facts.finished > facts.scheduled
            if isinstance(facts, Node):
                assert facts.instance_type
                assert facts.capacity_type
                assert facts.allocatable["cpu"] < facts.capacity["cpu"]


def test_the_company_is_as_large_as_it_says() -> None:
    machines = [machine for site in COMPANY for machine in site.machines]
    there = [machine for machine in machines if machine.until == 1]
    assert len(there) == 8
    assert len({machine.type for machine in machines}) == 5
    assert max(machine.gpus for machine in machines) == 8
    assert any(machine.spot for machine in machines)
    assert len({space.name for site in COMPANY for space in site.spaces}) == 13


def test_kinds_of_work_and_of_trouble_all_occur() -> None:
    found = stays(world())
    assert {stay.owner.kind for stay in found} == {
        "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "Workflow", "RayCluster", "PyTorchJob",
    }  # fmt: skip
    waits = [stay for stay in found if stay.pull]
    assert waits
    assert all(stay.started - stay.scheduled > timedelta(minutes=49) for stay in waits)
    unmeasured = {
        stay.namespace for stay in found if not any(box.load is not None for box in stay.boxes)
    }
    assert unmeasured == {"legacy-reports"}
    assert any(stay.turn.endswith("+") for stay in found), "a spot node was taken away"


def test_eight_teams_say_what_is_theirs_at_every_level() -> None:
    rules = load_manifests([SHEETS]).rules[0]
    found: dict[str, set[str]] = {}
    for site, scene in zip(COMPANY, world().scenes, strict=True):
        spaces = {space.name: space for space in site.spaces}
        owners = {
            event.document["metadata"]["uid"]: normalise(event.kind, event.document)
            for event in scene.events
            if event.kind in {"Deployment", "StatefulSet", "DaemonSet"}
        }
        parents = {
            event.document["metadata"]["uid"]: event.document["metadata"]["ownerReferences"][0]
            for event in scene.events
            if event.kind == "ReplicaSet"
        }
        for stay in scene.stays:
            uid = parents.get(stay.owner.uid, {"uid": stay.owner.uid})["uid"]
            levels = [Level("pod", stay.labels, stay.annotations)]
            above = owners.get(uid)
            if isinstance(above, Workload):
                levels.append(Level("workload", above.labels, above.annotations))
            space = spaces[stay.namespace]
            levels.append(Level("namespace", space.labels, space.annotations))
            team, origin = resolve_owner(rules, levels)["team"]
            found.setdefault(team, set()).add(origin.partition(" ")[0])
    assert set(found) == {
        "", "platform", "storefront", "payments", "search", "recommendations", "data-platform",
        "vision", "language",
    }  # fmt: skip
    assert set().union(*found.values()) >= {
        "pod:label", "workload:label", "namespace:label",
        "pod:annotation", "workload:annotation", "namespace:annotation",
    }  # fmt: skip


def test_use_is_plausible() -> None:
    meters = world().meters
    at = np.arange(ms(NOW) - 7 * DAY_MS, ms(NOW), 600_000)
    which = meters.alive(int(at[0]), int(at[-1]))
    matrix = np.broadcast_to(at, (len(which), len(at)))
    there = (matrix > meters.start[which, None]) & (matrix < meters.end[which, None])
    cores, memory = meters.cores(which, matrix), meters.bytes(which, matrix)
    low, high = meters.cpu[which, :1], meters.cpu[which, 1:]
    assert ((cores >= low) & (cores <= high)).all()
    assert (memory > 0).all()
    assert (memory <= meters.memory[which, 1:] * 2**30).all()
    total = np.where(there, cores, 0).sum(axis=0)
    assert 10 < total.min() < total.mean() < total.max() < 200, "cores in use of 300"
    for machine in (machine for site in COMPANY for machine in site.machines):
        here = np.array([meters.names[number].node == machine.name for number in which])
        used = np.where(there, cores, 0)[here].sum(axis=0)
        assert used.max() < machine.cores, "nobody uses more than there is"


def test_the_hoarder_computes_by_day_and_sleeps_at_night() -> None:
    meters = world().meters
    mine = [n for n, name in enumerate(meters.names) if name.pod == "retriever-sweep-worker-0"]
    monday = ms(NOW.replace(hour=0, minute=0, second=0, microsecond=0))
    hours = np.array([[monday + HOUR_MS * hour for hour in (3, 11, 14, 22)]])
    night, morning, noon, late = meters.cores(np.array(mine), hours)[0]
    assert night < 0.05 > late
    assert morning > 4 < noon


@pytest.mark.parametrize("days", [1, 2])
def test_a_short_history_has_pods_of_every_cluster(days: int) -> None:
    found = world(SUNDAY, days)
    assert all(len(scene.stays) > 10 for scene in found.scenes)
    assert len(found.meters.alive(ms(found.begin), ms(SUNDAY))) > 50
