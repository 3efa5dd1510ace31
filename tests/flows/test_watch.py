"""Watching a cluster: a real HTTP server that fails in every way, and a real store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from fake_api import NAMESPACES, NODES, PODS, FakeApi
from seedance.facts.errors import BusyError
from seedance.facts.inventory import ObjectVersion
from seedance.flows.watching import inventory as flow
from seedance.flows.watching import watch as watch_flow
from seedance.flows.watching.watch import Watcher
from seedance.intake.access import Source
from seedance.intake.inventory import RESOURCES
from seedance.intake.kubernetes import Connection
from seedance.intake.listwatch import Pace
from seedance.store.objects import clusters, history_of, last_sight, open_versions
from seedance.store.store import Store

DEPLOYMENTS = "/apis/apps/v1/deployments"
FAST = Pace(
    page=50,
    watch_seconds=30,
    read_timeout=1.0,
    pause=0.02,
    longest_pause=0.1,
    steady=0.05,
)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch_flow, "_TICK", 0.2)
    monkeypatch.setattr(watch_flow, "_CRASH_PAUSE", 0.2)
    monkeypatch.setattr(watch_flow, "_STORE_PAUSE", 0.05)
    monkeypatch.setattr(watch_flow, "_GATHER", 0.02)
    monkeypatch.setattr(flow, "_REMEMBERED_EVERY", timedelta(seconds=0.1))


@pytest.fixture
async def api() -> AsyncIterator[FakeApi]:
    async with FakeApi() as running:
        await running.put(NODES, running.document("n0"))
        yield running


def clock() -> datetime:
    return datetime.now(UTC)


@asynccontextmanager
async def watching(
    store: Store, api: FakeApi, folder: Path, *, name: str = "prod"
) -> AsyncIterator[Watcher]:
    connection = Connection(Source(api.kubeconfig(folder)), timeout=2.0)
    watcher = Watcher(store, name=name, connection=connection, clock=clock, pace=FAST)
    task = asyncio.create_task(watcher.run())
    try:
        yield watcher
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await connection.close()


async def until(condition: Callable[[], bool], tries: int = 600) -> None:
    for _ in range(tries):
        if condition():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it did not come about")


def pod(api: FakeApi, name: str, **metadata: Any) -> dict[str, Any]:
    created = clock().replace(microsecond=0).isoformat()
    return api.document(
        name,
        "shop",
        metadata={"creationTimestamp": created, **metadata},
        spec={"nodeName": "n0", "containers": [{"name": "app"}]},
        status={"phase": "Running"},
    )


def history(store: Store, api: FakeApi, name: str) -> Sequence[ObjectVersion]:
    return history_of(store, cluster=api.cluster, kind="Pod", namespace="shop", name=name)


def alive(store: Store, api: FakeApi) -> set[str]:
    return {v.name for v in open_versions(store, api.cluster) if v.kind == "Pod"}


async def test_everything_is_listed_and_changes_are_visible_within_a_second(
    store: Store, api: FakeApi, tmp_path: Path
) -> None:
    documents = [await api.put(PODS, pod(api, f"p{i}")) for i in range(120)]
    async with watching(store, api, tmp_path) as watcher:
        await until(lambda: watcher.state().healthy)
        assert len(alive(store, api)) == 120
        (cluster,) = clusters(store)
        assert (cluster.id, cluster.name) == (api.cluster, "prod")
        began = asyncio.get_running_loop().time()
        await api.put(PODS, pod(api, "new"))
        await api.delete(PODS, documents[0])
        await until(lambda: "new" in alive(store, api) and "p0" not in alive(store, api))
        assert asyncio.get_running_loop().time() - began < 1.0
    (ended,) = history(store, api, "p0")
    assert ended.ended == "seen"
    state = watcher.state()
    assert next(kind.objects for kind in state.kinds if kind.kind == "Pod") == 120
    assert state.cluster == api.cluster


async def test_a_heartbeat_writes_nothing(store: Store, api: FakeApi, tmp_path: Path) -> None:
    async with watching(store, api, tmp_path) as watcher:
        await until(lambda: watcher.state().healthy)
        written = watcher.state().versions_written
        (node,) = api.objects[NODES].values()
        for beat in range(5):
            condition = {"type": "Odd", "status": "True", "lastHeartbeatTime": str(beat)}
            await api.put(NODES, {**node, "status": {"conditions": [condition]}})
        await api.put(PODS, pod(api, "marker"))
        await until(lambda: "marker" in alive(store, api))
        assert watcher.state().versions_written == written + 1


async def test_pods_that_live_through_a_restart_are_unchanged_and_missed_deletions_are_marked(
    store: Store, api: FakeApi, tmp_path: Path
) -> None:
    stays, goes = [await api.put(PODS, pod(api, name)) for name in ("stays", "goes")]
    async with watching(store, api, tmp_path) as watcher:
        await until(lambda: watcher.state().healthy)
        sight = last_sight(store, api.cluster)
        await until(lambda: last_sight(store, api.cluster) != sight)
    before = history(store, api, "stays")
    await api.delete(PODS, goes)
    await asyncio.sleep(0.3)
    restarted = clock()
    async with watching(store, api, tmp_path) as watcher:
        await until(lambda: watcher.state().healthy)
        await until(lambda: alive(store, api) == {"stays"})
    assert history(store, api, "stays") == before
    (ended,) = history(store, api, "goes")
    assert ended.ended == "estimated"
    assert ended.valid_to is not None
    assert ended.valid_to < restarted
    assert stays["metadata"]["uid"] == before[0].uid


async def test_a_forgotten_history_is_listed_and_compared(
    store: Store, api: FakeApi, tmp_path: Path
) -> None:
    goes = await api.put(PODS, pod(api, "goes"))
    async with watching(store, api, tmp_path) as watcher:
        await until(lambda: watcher.state().healthy)
        api.silent = True
        await api.delete(PODS, goes)
        await api.put(PODS, pod(api, "comes"))
        api.forget()
        api.silent = False
        await until(lambda: alive(store, api) == {"comes"})
    assert history(store, api, "goes")[0].ended == "estimated"


async def test_a_recreated_name_is_another_object(
    store: Store, api: FakeApi, tmp_path: Path
) -> None:
    first = await api.put(PODS, pod(api, "web-0"))
    async with watching(store, api, tmp_path) as watcher:
        await until(lambda: watcher.state().healthy)
        await api.delete(PODS, first)
        await api.put(PODS, pod(api, "web-0"))
        await until(lambda: len(history(store, api, "web-0")) == 2)
    one, two = sorted(history(store, api, "web-0"), key=lambda version: version.valid_to is None)
    assert one.uid != two.uid
    assert (one.ended, two.ended) == ("seen", "")


async def test_a_refused_kind_is_named_and_the_rest_goes_on(
    store: Store, api: FakeApi, tmp_path: Path
) -> None:
    api.forbidden = {DEPLOYMENTS}
    await api.put(PODS, pod(api, "p"))
    async with watching(store, api, tmp_path) as watcher:
        await until(lambda: watcher.state().healthy)
        await until(lambda: watcher.state().refused == ("Deployment",))
        kind = next(kind for kind in watcher.state().kinds if kind.kind == "Deployment")
        assert "403 to list deployments" in kind.error
        assert alive(store, api) == {"p"}
        api.forbidden = set()
        await api.put(DEPLOYMENTS, api.document("web", "shop"))
        await until(lambda: watcher.state().refused == ())
        await until(lambda: "Deployment" in {v.kind for v in open_versions(store, api.cluster)})


async def test_refused_pods_are_no_health(store: Store, api: FakeApi, tmp_path: Path) -> None:
    api.forbidden = {PODS}
    async with watching(store, api, tmp_path) as watcher:
        await until(lambda: watcher.state().refused == ("Pod",))
        await until(lambda: watcher.state().reason.startswith("Pod: "))
        assert not watcher.state().healthy


async def test_a_cluster_that_is_away_at_the_start_is_taken_up_when_it_comes(
    store: Store, tmp_path: Path
) -> None:
    api = FakeApi()
    await api.start()
    await api.stop()
    async with watching(store, api, tmp_path) as watcher:
        await until(lambda: "does not answer" in watcher.state().reason)
        assert not watcher.state().healthy
        await api.start()
        await until(lambda: watcher.state().healthy)
    await api.stop()


async def test_a_broken_watch_shows_and_recovers(
    store: Store, api: FakeApi, tmp_path: Path
) -> None:
    await api.put(PODS, pod(api, "p"))
    async with watching(store, api, tmp_path) as watcher:
        await until(lambda: watcher.state().healthy)
        await api.stop()
        await until(lambda: not watcher.state().healthy)
        assert "does not answer" in watcher.state().reason
        await api.start()
        await until(lambda: watcher.state().healthy)
    assert len(history(store, api, "p")) == 1


async def test_an_expired_token_is_renewed_from_the_file(
    store: Store, api: FakeApi, tmp_path: Path
) -> None:
    token = tmp_path / "token"
    token.write_text("good")
    source = Source(api.kubeconfig(tmp_path, user={"tokenFile": str(token)}))
    connection = Connection(source)
    watcher = Watcher(store, name="prod", connection=connection, clock=clock, pace=FAST)
    task = asyncio.create_task(watcher.run())
    await until(lambda: watcher.state().healthy)
    token.write_text("renewed")
    api.tokens = {"renewed"}
    await api.drop()
    await api.put(PODS, pod(api, "p"))
    await until(lambda: "p" in alive(store, api))
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await connection.close()


async def test_a_store_that_cannot_write_loses_nothing(
    store: Store, api: FakeApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with watching(store, api, tmp_path) as watcher:
        await until(lambda: watcher.state().healthy)
        honest = flow.put_versions
        monkeypatch.setattr(flow, "put_versions", _full)
        first = await api.put(PODS, pod(api, "p"))
        await until(lambda: "no space left" in watcher.state().reason)
        await api.delete(PODS, first)
        monkeypatch.setattr(flow, "put_versions", honest)
        await until(lambda: watcher.state().healthy)
        await until(lambda: [v.ended for v in history(store, api, "p")] == ["seen"])


def _full(*_: Any, **__: Any) -> None:
    raise BusyError("no space left")


async def test_a_fault_of_ours_begins_the_watch_anew(
    store: Store, api: FakeApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with watching(store, api, tmp_path) as watcher:
        await until(lambda: watcher.state().healthy)
        honest = flow.Inventory.take
        monkeypatch.setattr(flow.Inventory, "take", _fault)
        await api.put(PODS, pod(api, "p"))
        await until(lambda: "begins anew" in watcher.state().reason)
        monkeypatch.setattr(flow.Inventory, "take", honest)
        await until(lambda: watcher.state().healthy)
        assert alive(store, api) == {"p"}


def _fault(*_: Any) -> None:
    raise ZeroDivisionError


async def test_another_cluster_at_the_same_address_is_another_inventory(
    store: Store, api: FakeApi, tmp_path: Path
) -> None:
    await api.put(PODS, pod(api, "old"))
    async with watching(store, api, tmp_path) as watcher:
        await until(lambda: watcher.state().healthy)
        was = api.cluster
        api.cluster = api.new_cluster()
        await api.put(NODES, api.document("n0"))
        await api.put(PODS, pod(api, "new"))
        await until(lambda: watcher.state().cluster == api.cluster and watcher.state().healthy)
        await until(lambda: alive(store, api) == {"new"})
    assert open_versions(store, was) == []
    assert {cluster.id for cluster in clusters(store)} == {was, api.cluster}


async def test_two_clusters_with_equal_names_inside_stay_apart(
    store: Store, api: FakeApi, tmp_path: Path
) -> None:
    async with FakeApi() as other:
        await api.put(PODS, pod(api, "web-0"))
        await other.put(PODS, pod(other, "web-0"))
        async with (
            watching(store, api, tmp_path, name="a") as one,
            watching(store, other, tmp_path, name="b") as two,
        ):
            await until(lambda: one.state().healthy and two.state().healthy)
    (mine,), (theirs,) = history(store, api, "web-0"), history(store, other, "web-0")
    assert mine.uid != theirs.uid
    assert mine.cluster != theirs.cluster


async def test_a_busy_cluster_is_followed(store: Store, api: FakeApi, tmp_path: Path) -> None:
    documents = [pod(api, f"p{i}") for i in range(200)]
    async with watching(store, api, tmp_path) as watcher:
        await until(lambda: watcher.state().healthy)
        for document in documents:
            await api.put(PODS, document)
        for turn in range(3):
            for document in documents:
                document["metadata"]["labels"] = {"turn": str(turn)}
                await api.put(PODS, document)
        for document in documents[:100]:
            await api.delete(PODS, document)
        await until(lambda: alive(store, api) == {f"p{i}" for i in range(100, 200)})
    versions = sorted(history(store, api, "p5"), key=lambda version: version.valid_from)
    assert [v.doc.get("labels") for v in versions][-1] == {"turn": "2"}
    assert versions[-1].ended == "seen"
    for before, after in pairwise(versions):
        assert before.valid_to == after.valid_from


def test_every_kind_has_a_watch(store: Store) -> None:
    watcher = Watcher(store, name="x", connection=Connection(Source()), clock=clock)
    state = watcher.state()
    assert [kind.kind for kind in state.kinds] == [resource.kind for resource in RESOURCES]
    assert not state.healthy
    assert NAMESPACES in {resource.path for resource in RESOURCES}
