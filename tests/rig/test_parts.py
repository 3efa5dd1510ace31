"""The parts work by themselves: a pod runs, is scraped through both doors, and goes."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from realparts import objects
from realparts.api import ApiError
from realparts.control_plane import USAGE_PATH, ControlPlane
from realparts.network import Network
from realparts.processes import eventually
from realparts.prometheus import Prometheus

pytestmark = pytest.mark.rig


@pytest.fixture(scope="module")
def cluster(small_cluster: ControlPlane) -> ControlPlane:
    small_cluster.api.create("/api/v1/nodes", objects.node("n0", cpu=8, memory_gib=32))
    eventually(lambda: _has_account(small_cluster), "default service account", seconds=20)
    return small_cluster


def _has_account(plane: ControlPlane) -> bool:
    accounts = plane.api.get("/api/v1/namespaces/default/serviceaccounts")
    return bool(accounts["items"])


def _phase(plane: ControlPlane, name: str) -> str:
    try:
        status = plane.api.get(f"/api/v1/namespaces/default/pods/{name}")["status"]
    except ApiError:
        return "gone"
    return str(status["phase"])


def _create(plane: ControlPlane, name: str, **annotations: str) -> None:
    template = objects.pod_template(
        objects.container(cpu="250m", memory="64Mi"),
        annotations={**objects.usage("160m", "32Mi"), **annotations},
    )
    plane.api.create("/api/v1/namespaces/default/pods", objects.pod("default", name, template))


def test_a_pod_runs_and_its_usage_is_read_through_the_node_proxy(cluster: ControlPlane) -> None:
    _create(cluster, "steady")
    eventually(lambda: _phase(cluster, "steady") == "Running", "running", seconds=20)
    path = f"/api/v1/nodes/n0/proxy{USAGE_PATH.format(node='n0')}"
    wanted = 'container_memory_working_set_bytes{container="main",namespace="default",pod="steady"}'
    eventually(lambda: wanted in cluster.api.text("GET", path), "usage", seconds=20)
    cluster.api.delete("/api/v1/namespaces/default/pods/steady")
    eventually(lambda: _phase(cluster, "steady") == "gone", "deleted", seconds=5)


def test_pods_end_get_stuck_and_linger_as_their_annotations_say(cluster: ControlPlane) -> None:
    key = "rig.seedance.io"
    _create(cluster, "job", **{f"{key}/runs-for": "2s", f"{key}/ends-as": "Failed"})
    _create(cluster, "stuck", **{f"{key}/stuck": "yes"})
    _create(cluster, "lingers", **{f"{key}/lingers": "yes"})
    eventually(lambda: _phase(cluster, "job") == "Failed", "failed", seconds=20)
    assert _phase(cluster, "stuck") == "Pending"
    cluster.api.delete("/api/v1/namespaces/default/pods/lingers", gracePeriodSeconds=3)
    took = eventually(lambda: _phase(cluster, "lingers") == "gone", "deleted", seconds=10)
    assert took > 1.5


def test_prometheus_scrapes_the_nodes_and_writes(
    cluster: ControlPlane, network: Network, tmp_path: Path
) -> None:
    bodies: list[bytes] = []

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", network.port()), Receiver)
    Thread(target=server.serve_forever, daemon=True).start()
    agent = Prometheus(
        tmp_path / "prometheus",
        network,
        cluster.kubelets,
        f"http://127.0.0.1:{server.server_port}/api/v1/write",
        "small",
        scrape_seconds=1,
    )
    agent.start()
    try:
        eventually(lambda: len(bodies) > 3, "remote write", seconds=30)
    finally:
        agent.stop()
        server.shutdown()
        server.server_close()


def test_the_api_server_and_etcd_come_back_with_everything(cluster: ControlPlane) -> None:
    _create(cluster, "survivor")
    before = cluster.api.get("/api/v1/namespaces/default/pods/survivor")["metadata"]["uid"]
    cluster.stop_server()
    cluster.start_server()
    after = cluster.api.get("/api/v1/namespaces/default/pods/survivor")["metadata"]["uid"]
    assert after == before
