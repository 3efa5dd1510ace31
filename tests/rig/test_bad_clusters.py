"""Clusters that do not answer, allow or know us are named, and the rest goes on."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from realparts import objects
from realparts.control_plane import ControlPlane, User
from realparts.forwarder import Forwarder
from realparts.network import Network
from realparts.processes import eventually
from realparts.product import Product

pytestmark = pytest.mark.rig

RBAC = "/apis/rbac.authorization.k8s.io/v1"
CORE = ["nodes", "namespaces", "pods", "persistentvolumeclaims"]
APPS = ["deployments", "replicasets", "statefulsets", "daemonsets"]
BATCH = ["jobs", "cronjobs"]

Serve = Callable[..., Product]


@pytest.fixture(scope="module")
def plane(network: Network, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    users = (User("limited", "limited-token"), User("blind", "blind-token"))
    cluster = ControlPlane("bad", tmp_path_factory.mktemp("bad") / "plane", network, users=users)
    try:
        cluster.start()
        cluster.api.create("/api/v1/nodes", objects.node("n0", cpu=8, memory_gib=32))
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture
def serve(network: Network, tmp_path: Path) -> Iterator[Serve]:
    """Starts servers and stops them when the test is over."""
    started: list[Product] = []

    def start(**clusters: Path) -> Product:
        product = Product(tmp_path / f"server-{len(started)}", network, clusters)
        started.append(product)
        product.start()
        return product

    yield start
    for product in started:
        product.stop()


def _allow(plane: ControlPlane, name: str, subject: dict[str, str], **groups: list[str]) -> None:
    """A role that may read these kinds, by API group, and its binding to the subject."""
    names = {"core": "", "apps": "apps", "batch": "batch"}
    rules: list[dict[str, Any]] = [
        {"apiGroups": [names[group]], "resources": kinds, "verbs": ["get", "list", "watch"]}
        for group, kinds in groups.items()
    ]
    rules.append({"apiGroups": [""], "resources": ["nodes/proxy"], "verbs": ["get"]})
    plane.api.create(f"{RBAC}/clusterroles", {"metadata": {"name": name}, "rules": rules})
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
    binding = {"metadata": {"name": name}, "roleRef": reference, "subjects": [subject]}
    plane.api.create(f"{RBAC}/clusterrolebindings", binding)


def _user(name: str) -> dict[str, str]:
    return {"kind": "User", "name": name, "apiGroup": "rbac.authorization.k8s.io"}


def _ready(product: Product) -> bool:
    return product.status_of("/readyz") == 200


def _reasons(product: Product) -> str:
    return "\n".join(product.get("/readyz")["reasons"])


def _says(product: Product, *words: str) -> Callable[[], bool]:
    return lambda: all(word in _reasons(product) for word in words)


def _nodes(product: Product) -> list[str]:
    return [item["name"] for item in product.get("/api/v1/nodes")["items"]]


def test_a_kind_that_may_not_be_read_is_named_and_the_rest_goes_on(
    plane: ControlPlane, serve: Serve
) -> None:
    _allow(plane, "limited", _user("limited"), core=CORE, apps=APPS, batch=["jobs"])
    product = serve(bad=plane.kubeconfig("limited", "limited-token"))
    eventually(lambda: _ready(product), "ready without cron jobs", seconds=30)
    watch = product.get("/api/v1/status")["watches"][0]
    assert watch["refused"] == ["CronJob"]
    error = next(kind["error"] for kind in watch["kinds"] if kind["kind"] == "CronJob")
    assert "cronjobs" in error.lower()
    assert _nodes(product) == ["n0"]


def test_without_pods_the_server_is_not_ready_and_says_that_it_is_pods(
    plane: ControlPlane, serve: Serve
) -> None:
    kinds = [kind for kind in CORE if kind != "pods"]
    _allow(plane, "blind", _user("blind"), core=kinds, apps=APPS, batch=BATCH)
    product = serve(bad=plane.kubeconfig("blind", "blind-token"))
    eventually(lambda: _nodes(product) == ["n0"], "nodes are listed", seconds=30)
    eventually(_says(product, "watch bad", "Pod"), "pods are named", seconds=30)
    assert not _ready(product)


def test_a_cluster_that_is_away_at_the_start_and_later_is_named_until_it_is_back(
    plane: ControlPlane, serve: Serve, network: Network
) -> None:
    port = network.port()
    wire = Forwarder((network.address, port), (network.address, int(plane.url.rsplit(":", 1)[1])))
    url = f"https://{network.address}:{port}"
    away = plane.write_kubeconfig("away", {"token": "rig-admin"}, url=url)
    product = serve(bad=away)
    eventually(_says(product, "watch bad", str(port)), "away at the start", seconds=30)
    wire.start()
    eventually(lambda: _ready(product), "there", seconds=60)
    assert _nodes(product) == ["n0"]
    wire.cut()
    eventually(_says(product, "watch bad", str(port)), "away later", seconds=90)
    assert _nodes(product) == ["n0"], "what was known stays"
    wire.start()
    eventually(lambda: _ready(product), "back", seconds=90)
    wire.cut()


def test_one_cluster_that_is_away_does_not_hold_up_the_other(
    plane: ControlPlane, serve: Serve, network: Network
) -> None:
    closed = f"https://{network.address}:{network.port()}"
    away = plane.write_kubeconfig("nobody", {"token": "rig-admin"}, url=closed)
    product = serve(gone=away, here=plane.kubeconfig("here", "rig-admin"))
    eventually(lambda: _nodes(product) == ["n0"], "the other cluster is read", seconds=30)
    eventually(_says(product, "watch gone"), "the one that is away is named", seconds=30)
    eventually(lambda: "watch here" not in _reasons(product), "the other is well", seconds=30)
    assert not _ready(product)


def test_a_token_that_is_no_longer_good_is_named_and_a_new_one_is_taken(
    plane: ControlPlane, serve: Serve, tmp_path: Path
) -> None:
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    for name in ("first", "second"):
        plane.api.create(accounts, {"metadata": {"name": name}})
        subject = {"kind": "ServiceAccount", "name": name, "namespace": "default"}
        _allow(plane, f"reader-{name}", subject, core=CORE, apps=APPS, batch=BATCH)
    token = tmp_path / "token"
    token.write_text(_token(plane, "first"), encoding="utf-8")
    product = serve(bad=plane.write_kubeconfig("plugin", {"exec": _plugin(tmp_path, token)}))
    eventually(lambda: _ready(product), "ready", seconds=30)
    plane.api.delete(f"{accounts}/first")
    plane.stop_server()  # ends the watches, which a token outlives
    plane.start_server()
    eventually(_says(product, "watch bad", "401"), "refused", seconds=90)
    assert _nodes(product) == ["n0"]
    token.write_text(_token(plane, "second"), encoding="utf-8")
    eventually(lambda: _ready(product), "ready with the new token", seconds=90)


def test_a_certificate_that_is_over_is_named(plane: ControlPlane, serve: Serve) -> None:
    user = plane.certificate("late", groups=("system:masters",), lifetime=timedelta(minutes=-1))
    product = serve(bad=plane.write_kubeconfig("late", user))
    eventually(_says(product, "watch bad", "401"), "refused", seconds=30)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "No such file"),
        ("clusters: [", "line"),
        ('{"apiVersion": "v1", "kind": "Config"}', "no kubeconfig"),
    ],
)
def test_a_kubeconfig_that_is_none_ends_the_start_with_2_and_its_name(
    network: Network, tmp_path: Path, content: str | None, words: str
) -> None:
    path = tmp_path / "broken.kubeconfig"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    product = Product(tmp_path / "server", network, {"bad": path})
    product.program.start()
    eventually(lambda: not product.program.running, "it ends", seconds=30)
    text = product.program.tail()
    assert product.stop() == 2, text
    assert "broken.kubeconfig" in text
    assert words.lower() in text.lower()
    assert "Traceback" not in text


def _token(plane: ControlPlane, account: str) -> str:
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    path = f"/api/v1/namespaces/default/serviceaccounts/{account}/token"
    return str(plane.api.create(path, request)["status"]["token"])


def _plugin(folder: Path, token: Path) -> dict[str, Any]:
    """A credential plugin that hands out what stands in the token's file."""
    version = "client.authentication.k8s.io/v1"
    shape = json.dumps({"apiVersion": version, "kind": "ExecCredential", "status": {"token": "%"}})
    script = folder / "plugin.sh"
    before, after = shape.split("%")
    script.write_text(f"#!/bin/sh\nprintf '%s' '{before}' \"$(cat {token})\" '{after}'\n")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return {"apiVersion": version, "command": str(script), "interactiveMode": "Never"}
