"""The run: two clusters live for some minutes while the server and an API server go away.

0  two control planes, the server watching both, Prometheus on the first
1  2,000 pods of every kind are made; they run
2  scaled, rolled out, deleted, re-created under the same names
3  the server is stopped; pods are deleted and re-created unseen; it starts again
4  etcd and the API server of the first cluster are ended hard and start again
5  the server is killed and starts again; once more scaled, deleted, re-created
6  the window is closed, and settled
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from oracle import Oracle, floor_minute, manifests
from realparts.control_plane import ControlPlane
from realparts.network import Network
from realparts.processes import eventually
from realparts.product import Product
from realparts.prometheus import Prometheus
from realparts.recorder import Recorder
from world import EAST, WEST, World

SCRAPE_SECONDS = 5
KUBELET_SECONDS = 15


@dataclass(slots=True)
class Run:
    """What the tests look at: the server as it stands, the window, and the right answers."""

    product: Product
    oracle: Oracle
    window: str
    server_stopped: datetime
    scrape_seconds: int = SCRAPE_SECONDS


@contextmanager
def run_it(network: Network, folder: Path) -> Iterator[Run]:
    """Let everything happen; what was started is stopped when the caller is done."""
    with ExitStack() as stack:
        started = datetime.now(UTC)
        raised_at = floor_minute(started) + timedelta(minutes=4)
        planes = {name: _plane(stack, network, folder, name) for name in ("east", "west")}
        product = _product(stack, network, folder, planes, raised_at)
        recorders = {name: Recorder(plane.api) for name, plane in planes.items()}
        for recorder in recorders.values():
            recorder.start()
            stack.callback(recorder.stop)
        _prometheus(stack, network, folder, planes["east"], product)
        stopped = _live(planes, product)
        end = floor_minute(datetime.now(UTC))
        oracle = Oracle(floor_minute(started), end, raised_at)
        window = f"{oracle.start:%Y-%m-%dT%H:%M:00Z},{end:%Y-%m-%dT%H:%M:00Z}"
        _say("waiting until the window is settled")
        _wait_settled(product, window, end + timedelta(seconds=KUBELET_SECONDS + 5))
        missed = {name: recorder.settle() for name, recorder in recorders.items()}
        _say(f"the witness had missed {missed}")
        oracle.add_cluster("east", recorders["east"], scrape=SCRAPE_SECONDS)
        oracle.add_cluster("west", recorders["west"], scrape=KUBELET_SECONDS)
        yield Run(product, oracle, window, stopped)


def _live(planes: dict[str, ControlPlane], product: Product) -> datetime:
    """Parts 1 to 5; the instant at which the server was stopped."""
    eventually(lambda: product.status_of("/readyz") == 200, "both are watched", seconds=60)
    time.sleep(1.1)  # a node's creationTimestamp is cut to the second, and must lie after that
    east, west = World(planes["east"].api, EAST), World(planes["west"].api, WEST, shift=3)
    _say("making two clusters full of pods")
    west.populate()
    east.populate()
    eventually(lambda: east.running() >= 1_950, "2,000 pods run", seconds=180, every=2)
    _say(f"{east.running()} pods run in the first cluster, {west.running()} in the second")
    time.sleep(20)
    _say("scaling, deleting, re-creating")
    east.churn(1)
    west.churn(1)
    time.sleep(20)
    _say("the server is stopped, pods are deleted unseen")
    stopped = datetime.now(UTC)
    assert product.stop() == 0, product.program.tail()
    time.sleep(12)
    east.delete_unseen()
    time.sleep(8)
    product.start()
    time.sleep(20)
    _say("etcd and the API server of the first cluster are ended")
    planes["east"].stop_server()
    time.sleep(5)
    planes["east"].start_server()
    time.sleep(15)
    _say("the server is killed")
    product.kill()
    product.start()
    time.sleep(10)
    _say("scaling, deleting, re-creating")
    east.churn(2)
    west.churn(2)
    time.sleep(30)
    return stopped


def _plane(stack: ExitStack, network: Network, folder: Path, name: str) -> ControlPlane:
    plane = ControlPlane(name, folder / name, network)
    stack.callback(plane.stop)
    plane.start()
    return plane


def _product(
    stack: ExitStack,
    network: Network,
    folder: Path,
    planes: dict[str, ControlPlane],
    raised_at: datetime,
) -> Product:
    path = folder / "manifests.yaml"
    path.write_text(manifests(raised_at), encoding="utf-8")
    configs = {name: plane.kubeconfig("server", "rig-admin") for name, plane in planes.items()}
    settings = {"SEEDANCE_KUBERNETES_SCRAPE_EVERY": str(KUBELET_SECONDS)}
    product = Product(folder / "server", network, configs, manifests=[path], settings=settings)
    stack.callback(product.stop)
    product.start()
    return product


def _prometheus(
    stack: ExitStack, network: Network, folder: Path, plane: ControlPlane, product: Product
) -> None:
    agent = Prometheus(
        folder / "prometheus",
        network,
        plane.kubelets,
        f"{product.url}/api/v1/write",
        plane.name,
        scrape_seconds=SCRAPE_SECONDS,
    )
    stack.callback(agent.stop)
    agent.start()


def _wait_settled(product: Product, window: str, until: datetime) -> None:
    def settled() -> bool:
        return all(settled_at(product, window, name) >= until for name in product.clusters)

    eventually(settled, f"settled up to {until}", seconds=240, every=2)


def settled_at(product: Product, window: str, cluster: str) -> datetime:
    """When the newest figures of a cluster in the window were settled; long ago where none are."""
    answer = product.get("/api/v1/costs", window=window, by="", filter=f"cluster:{cluster}")
    return datetime.fromisoformat(answer.get("asOf") or "2000-01-01T00:00:00Z")


def _say(text: str) -> None:
    print(f"{datetime.now(UTC):%H:%M:%S} {text}", flush=True)
