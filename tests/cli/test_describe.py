"""`seedancectl describe`: sections, history, and what to ask next."""

import json

import pytest

from . import answers
from .answers import described, node, pod, row, thing
from .conftest import Run, Stub, golden


@pytest.fixture(autouse=True)
def _noon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seedance.cli.get.utc_now", lambda: answers.AT)
    monkeypatch.setattr("seedance.cli.describe.utc_now", lambda: answers.AT)


def test_a_pod_in_sections(asking: Run, stub: Stub) -> None:
    cost = json.loads(answers.costs(row({"container": "main"}, "2"), by=("container",)))
    versions = [
        pod("trainer-0", phase="Pending", node="") | {"until": "2026-11-30T10:05:00Z"},
        pod("trainer-0")
        | {"since": "2026-11-30T10:05:00Z", "until": "2026-11-30T11:00:00Z", "ended": "estimated"},
    ]
    stub.give(
        "/api/v1/pods/trainer-0",
        described(
            "pods",
            pod("trainer-0", annotations={"owner": "anna"}, scheduled="2026-11-30T10:00:05Z"),
            cost=cost,
            versions=versions,
            containers=pod("x")["facts"]["containers"],
        ),
    )
    ended = asking("describe", "pod", "trainer-0", "-n", "ml", "--zone", "Asia/Shanghai")
    assert ended.code == 0
    golden("describe_pod.txt", ended.out)


def test_a_node_with_its_pods(asking: Run, stub: Stub) -> None:
    stub.give(
        "/api/v1/nodes/worker-1",
        described("nodes", node("worker-1"), related=[pod("a"), pod("b", "shop")]),
    )
    golden("describe_node.txt", asking("describe", "no/worker-1").out)


def test_json_is_the_body(asking: Run, stub: Stub) -> None:
    body = described("workloads", thing("Deployment", "web", {}, namespace="shop"))
    stub.give("/api/v1/workloads/web", body)
    assert asking("describe", "wl", "web", "-n", "shop", "-o", "json").out == body + "\n"
    assert asking("describe", "wl", "web", "-o", "name").out == "workload/web\n"
    assert dict(stub.asked[0].params) == {"namespace": "shop"}


def test_what_it_suggests_next_can_be_run(asking: Run, stub: Stub) -> None:
    stub.give("/api/v1/pods/trainer-0", described("pods", pod("trainer-0")))
    stub.give("/api/v1/costs", answers.costs(row({"container": "main"}, "2"), by=("container",)))
    lines = asking("describe", "pod", "trainer-0").out.partition("Next:\n")[2].splitlines()
    assert lines
    for line in lines:
        assert asking(*line.split()[1:]).code == 0


def test_the_past_is_asked_for(asking: Run, stub: Stub) -> None:
    stub.give("/api/v1/nodes/worker-1", described("nodes", node("worker-1")))
    asking("describe", "node", "worker-1", "--at", "90m", "--cluster", "prod")
    assert dict(stub.asked[0].params) == {"at": "2026-11-30T10:30:00Z", "cluster": "prod"}


def test_a_name_that_several_have_is_told_by_the_server(asking: Run, stub: Stub) -> None:
    stub.refuse("/api/v1/pods/a", 400, "usage", "pod a is in ml and shop", "add -n NAMESPACE")
    ended = asking("describe", "pod", "a")
    assert ended.code == 2
    assert "add -n NAMESPACE" in ended.err
