"""`seedancectl get`: kubectl's lists, names, past and watch."""

import json
from datetime import timedelta

import pytest

from seedance.cli.get import changes
from seedance.cli.kinds import KINDS, PODS, Kind, kind_of, table_of
from seedance.cli.tables import Table

from . import answers
from .answers import node, objects, pod, thing
from .conftest import Asked, Run, Stub, golden

NOW = answers.AT


@pytest.fixture(autouse=True)
def _noon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ages count to noon."""
    monkeypatch.setattr("seedance.cli.get.utc_now", lambda: NOW)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.plural)
def test_a_kind_has_plural_singular_and_short_name(kind: Kind) -> None:
    for word in kind.words:
        assert kind_of(word) is kind
        assert kind_of(word.upper()) is kind


def test_pods_of_all_namespaces(asking: Run, stub: Stub) -> None:
    stub.give(
        "/api/v1/pods",
        objects(
            "pods",
            pod("trainer-0"),
            pod(
                "web-7d9f-x", "shop", phase="Pending", node="", effective={"cpu": 0.25}, owner=None
            ),
            pod("dying", deletion="2026-11-30T12:00:30Z"),
            pod(
                "crashing",
                containers=[{"name": "a", "state": "waiting", "reason": "CrashLoopBackOff"}],
            ),
        ),
    )
    ended = asking("get", "pods")
    assert ended.code == 0
    golden("get_pods.txt", ended.out)
    golden("get_pods_wide.txt", asking("get", "po", "-o", "wide").out)


def test_one_namespace_needs_no_column(asking: Run, stub: Stub) -> None:
    stub.give("/api/v1/pods", objects("pods", pod("trainer-0")))
    out = asking("get", "pods", "-n", "ml").out
    assert out.startswith("NAME ")
    assert ("namespace", "ml") in stub.asked[0].params


def test_nodes_namespaces_workloads_and_clusters(asking: Run, stub: Stub) -> None:
    stub.give("/api/v1/nodes", objects("nodes", node("worker-1"), node("gpu-1", ready=False)))
    golden("get_nodes.txt", asking("get", "no").out)
    stub.give(
        "/api/v1/workloads",
        objects(
            "workloads",
            thing(
                "Deployment",
                "web",
                {"created": "2026-11-29T12:00:00Z", "replicas": 3, "ready_replicas": 2},
                namespace="shop",
            ),
            thing("RayJob", "tune", {"created": "2026-11-30T11:59:00Z"}, namespace="ml"),
        ),
    )
    golden("get_workloads.txt", asking("get", "wl").out)
    stub.give(
        "/api/v1/namespaces",
        objects(
            "namespaces",
            thing("Namespace", "ml", {"created": "2025-11-20T12:00:00Z", "phase": "Active"}),
        ),
    )
    golden("get_namespaces.txt", asking("get", "ns").out)
    stub.give("/api/v1/clusters", objects("clusters", thing("Cluster", "prod", {})))
    golden("get_clusters.txt", asking("get", "cl", "-o", "wide").out)


def test_several_clusters_are_told_apart(asking: Run, stub: Stub) -> None:
    other = {**node("worker-1"), "cluster": "c-2", "cluster_name": "lab"}
    stub.give("/api/v1/nodes", objects("nodes", node("worker-1"), other))
    lines = asking("get", "nodes").out.splitlines()
    assert lines[0].startswith("CLUSTER")
    assert [line.split()[0] for line in lines[1:]] == ["prod", "lab"]


def test_an_empty_list_is_told_as_kubectl_tells_it(asking: Run, stub: Stub) -> None:
    stub.give("/api/v1/pods", objects("pods"))
    ended = asking("get", "pods", "-n", "ml")
    assert (ended.code, ended.out) == (0, "")
    assert ended.err == "No resources found in ml namespace.\n"
    assert asking("get", "pods", "-A").err == "No resources found.\n"


def test_an_empty_list_is_still_json_and_csv(asking: Run, stub: Stub) -> None:
    stub.give("/api/v1/pods", objects("pods"))
    assert json.loads(asking("get", "pods", "-o", "json").out)["items"] == []
    assert asking("get", "pods", "-o", "csv").out.startswith("NAMESPACE,NAME,")


def test_names_can_be_given_to_the_next_command(asking: Run, stub: Stub) -> None:
    stub.give("/api/v1/pods", objects("pods", pod("a"), pod("b")))
    assert asking("get", "pods", "-o", "name").out == "pod/a\npod/b\n"
    stub.give("/api/v1/workloads", objects("workloads", thing("Deployment", "web", {})))
    assert asking("get", "wl", "-o", "name").out == "deployment/web\n"


def test_the_past_the_selector_and_the_order_are_passed_on(asking: Run, stub: Stub) -> None:
    stub.give("/api/v1/pods", objects("pods", pod("a")))
    asking("get", "pods", "--at", "2h", "-l", "app=x,tier!=y,!old", "--sort-by", "-age")
    asking("get", "pods", "--at", "2026-11-30T12:30:00+02:00", "--cluster", "prod")
    assert dict(stub.asked[0].params) == {
        "selector": "app=x,tier!=y,!old",
        "at": "2026-11-30T10:00:00Z",
        "sort": "-age",
        "limit": "10000",
    }
    assert dict(stub.asked[1].params)["at"] == "2026-11-30T10:30:00Z"


def test_one_name_is_one_row(asking: Run, stub: Stub) -> None:
    stub.give("/api/v1/pods/trainer-0", answers.described("pods", pod("trainer-0")))
    for words in (["pod", "trainer-0"], ["pod/trainer-0"]):
        lines = asking("get", *words).out.splitlines()
        assert len(lines) == 2
        assert lines[1].split()[:3] == ["ml", "trainer-0", "Running"]


def test_an_unknown_name_is_code_3(asking: Run, stub: Stub) -> None:
    stub.refuse("/api/v1/pods/nobody", 404, "not-found", "no pod nobody was ever seen")
    assert asking("get", "pod", "nobody").code == 3


def test_a_name_cannot_lead_to_another_path(asking: Run, stub: Stub) -> None:
    asking("get", "pod", "../../admin?x=1")
    assert stub.asked[0].path == "/api/v1/pods/..%2F..%2Fadmin%3Fx%3D1"


def test_watching_prints_what_is_new_changed_or_gone(
    asking: Run, stub: Stub, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = iter(
        [
            [pod("a"), pod("b"), pod("gone")],
            [pod("a"), pod("b", phase="Succeeded"), pod("new")],
            [pod("a"), pod("b", phase="Succeeded"), pod("new")],
        ]
    )

    def look(_: Asked) -> object:
        found = next(looks, None)
        return json.loads(objects("pods", *(found or ())))

    stub.give_each("/api/v1/pods", look)
    pauses = iter([0, 0])

    def pause(_: float) -> None:
        if next(pauses, None) is None:
            raise KeyboardInterrupt

    monkeypatch.setattr("seedance.cli.get.time.sleep", pause)
    ended = asking("get", "pods", "-n", "ml", "-w")
    assert ended.code == 130
    golden("get_pods_watch.txt", ended.out)


def test_age_alone_is_no_change() -> None:
    def table(minutes: int) -> Table:
        later = NOW + timedelta(minutes=minutes)
        return table_of(PODS, [pod("a")], now=later, one_namespace=True)

    assert list(changes(table(0), table(30))) == []
