"""Kubelets are read where no remote write arrives, some at a time, and failures are named."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from fake_api import FakeApi
from seedance.facts.errors import BusyError
from seedance.facts.inventory import Cluster, ClusterId
from seedance.facts.rejections import Accepted
from seedance.flows.watching.inventory import Inventory
from seedance.flows.watching.ledger import Event
from seedance.flows.watching.scrape import Scraper, ScrapeSettings, proxy_path
from seedance.intake.access import Source
from seedance.intake.kubelet import decode
from seedance.intake.kubernetes import Connection
from seedance.store.store import Store

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
LINE = 'container_cpu_usage_seconds_total{{container="a",namespace="shop",pod="p-{0}"}} 1\n'


@dataclass
class Sink:
    """A recorder that keeps what it is given."""

    fresh: set[tuple[str, str]] = field(default_factory=set)
    bodies: list[bytes] = field(default_factory=list)
    asked: list[tuple[tuple[str, ...], datetime]] = field(default_factory=list)
    busy: bool = False

    def accept(self, body: bytes, *, door: str, cluster: str, now: datetime) -> Accepted:
        assert (door, cluster) == ("kubelet", "c-1")
        if self.busy:
            raise BusyError("the log is full")
        self.bodies.append(body)
        count = len(decode(body, now, ()).keys)
        return Accepted(samples=count, written=count)

    def fresh_pods(self, cluster_names: Collection[str], since: datetime) -> set[tuple[str, str]]:
        self.asked.append((tuple(cluster_names), since))
        return self.fresh

    def nodes(self) -> list[str]:
        return sorted(body.split(b"\0")[1].decode() for body in self.bodies)


@pytest.fixture
def inventory(store: Store) -> Inventory:
    cluster = Cluster(ClusterId("c-1"), name="prod", first_seen=NOW)
    found = Inventory(store, cluster, now=NOW)
    events = []
    for node in ("n0", "n1", "empty"):
        annotations = {"metrics.k8s.io/resource-metrics-path": f"/kwok/{node}/metrics"}
        document = FakeApi.document(node)
        if node == "n1":
            document["metadata"]["annotations"] = annotations
        events.append(Event("ADDED", "Node", document, NOW))
    for node in ("n0", "n1"):
        document = FakeApi.document(f"p-{node}", "shop", spec={"nodeName": node, "containers": []})
        events.append(Event("ADDED", "Pod", document, NOW))
    found.record(events, now=NOW)
    return found


@pytest.fixture
async def api() -> AsyncIterator[FakeApi]:
    async with FakeApi() as running:
        running.texts = {
            "/api/v1/nodes/n0/proxy/metrics/resource": LINE.format("n0").encode(),
            "/api/v1/nodes/n1/proxy/kwok/n1/metrics": LINE.format("n1").encode(),
        }
        yield running


@dataclass
class Clock:
    now: datetime = NOW

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def connection(api: FakeApi, tmp_path: Path) -> AsyncIterator[Connection]:
    opened = Connection(Source(api.kubeconfig(tmp_path)), timeout=2.0)
    yield opened
    await opened.close()


def scraper(connection: Connection, inventory: Inventory, sink: Sink, clock: Clock) -> Scraper:
    return Scraper(
        connection,
        name="prod",
        inventory=lambda: inventory,
        sink=sink,
        clock=clock,
        settings=ScrapeSettings(at_once=3),
    )


async def test_nodes_that_run_pods_are_read_at_the_path_that_they_name(
    connection: Connection, inventory: Inventory, clock: Clock
) -> None:
    sink = Sink()
    reading = scraper(connection, inventory, sink, clock)
    await reading.round(inventory)
    assert sink.nodes() == ["n0", "n1"]
    assert sink.bodies[0].startswith(b"c-1\0n0\x001796040000000\0")
    state = reading.state()
    assert [(n.node, n.samples, n.last_success, n.error) for n in state.nodes] == [
        ("n0", 1, NOW, ""),
        ("n1", 1, NOW, ""),
    ]
    assert (state.covered, state.reason, state.healthy) == (0, "", True)


async def test_a_node_with_fresh_samples_of_remote_write_is_left_alone(
    connection: Connection, inventory: Inventory, clock: Clock
) -> None:
    sink = Sink(fresh={("shop", "p-n1")})
    reading = scraper(connection, inventory, sink, clock)
    await reading.round(inventory)
    assert sink.nodes() == ["n0"]
    assert reading.state().covered == 1
    ((names, since),) = sink.asked
    assert names == ("c-1", "prod", "")
    assert since == NOW - timedelta(minutes=3)


async def test_a_kubelet_that_fails_is_named_and_asked_less_often(
    api: FakeApi, connection: Connection, inventory: Inventory, clock: Clock
) -> None:
    sink = Sink()
    reading = scraper(connection, inventory, sink, clock)
    api.missing = set(api.texts)
    for _ in range(8):
        await reading.round(inventory)
        clock.now += timedelta(seconds=30)
    tries = sum("proxy" in request.path for request in api.requests)
    assert tries == 2 * 4  # after 0, 30, 90 and 210 seconds
    assert "2 of 2 kubelets fail; n0: " in reading.state().reason
    assert "404 to get nodes/proxy of n0" in reading.state().reason
    assert reading.state().healthy
    api.missing = set()
    clock.now += timedelta(minutes=5)
    await reading.round(inventory)
    assert reading.state().reason == ""


async def test_a_text_that_is_none_and_a_recorder_that_is_busy_are_failures_of_the_node(
    api: FakeApi, connection: Connection, inventory: Inventory, clock: Clock
) -> None:
    sink = Sink()
    api.texts["/api/v1/nodes/n0/proxy/metrics/resource"] = b"<html>"
    reading = scraper(connection, inventory, sink, clock)
    await reading.round(inventory)
    errors = {node.node: node.error for node in reading.state().nodes}
    assert "line 1 of n0's metrics is none" in errors["n0"]
    assert errors["n1"] == ""
    sink.busy = True
    await reading.round(inventory)
    assert "the log is full" in {node.node: node.error for node in reading.state().nodes}["n1"]


async def test_only_some_kubelets_are_read_at_once(
    store: Store, api: FakeApi, connection: Connection, inventory: Inventory, clock: Clock
) -> None:
    events: list[Event] = []
    for number in range(20):
        node = f"m{number}"
        pod: dict[str, Any] = {"nodeName": node, "containers": []}
        api.texts[f"/api/v1/nodes/{node}/proxy/metrics/resource"] = b""
        events.append(Event("ADDED", "Node", FakeApi.document(node), NOW))
        events.append(Event("ADDED", "Pod", FakeApi.document(f"p-{node}", "a", spec=pod), NOW))
    inventory.record(events, now=NOW)
    sink = Sink()
    await scraper(connection, inventory, sink, clock).round(inventory)
    assert len(sink.bodies) == 22
    assert 2 <= api.most_at_once <= 3


@pytest.mark.parametrize(
    ("path", "used"),
    [
        ("", "/metrics/resource"),
        ("/metrics/nodes/n0/metrics/resource", "/metrics/nodes/n0/metrics/resource"),
        ("/exec/shop/web-0/app", "/metrics/resource"),
        ("/metrics/../exec/x", "/metrics/resource"),
        ("/metrics?x=1", "/metrics/resource"),
        ("https://elsewhere/metrics", "/metrics/resource"),
    ],
)
def test_only_a_plain_path_to_metrics_is_followed(path: str, used: str) -> None:
    assert proxy_path("n0", path) == f"/api/v1/nodes/n0/proxy{used}"
