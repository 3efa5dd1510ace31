from decimal import Decimal
from typing import Any

import httpx2
import pytest

from seed import LAB, PROD, cost_of


def items(client: httpx2.Client, kind: str, **params: str) -> list[dict[str, Any]]:
    answer = client.get(f"/api/v1/{kind}", params=params)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["items"]
    return found


def test_pods_are_listed_with_their_facts(client: httpx2.Client) -> None:
    names = [item["name"] for item in items(client, "pods")]
    assert names == sorted(names)
    (api,) = items(client, "pods", selector="app=api,team")
    assert (api["clusterName"], api["namespace"], api["facts"]["node"]) == (
        "prod", "shop", "node-a",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("app=api", {"api-1"}),
        ("app in (api, web)", {"api-1", "web-1"}),
        ("app,app!=api,app notin (web)", {"train-0", "batch-7"}),
        ("!app", {"scratch", "old-1"}),
    ],
)
def test_selectors_are_kubectls(client: httpx2.Client, selector: str, names: set[str]) -> None:
    assert {item["name"] for item in items(client, "pods", selector=selector)} == names


def test_a_broken_selector_is_a_400(client: httpx2.Client) -> None:
    assert client.get("/api/v1/pods", params={"selector": "app=(x"}).status_code == 400


def test_the_past_shows_what_was_deleted_since(client: httpx2.Client) -> None:
    then = items(client, "pods", at="2026-11-29T00:00:00Z", namespace="shop")
    assert "gone-1" in {item["name"] for item in then}
    assert "gone-1" not in {item["name"] for item in items(client, "pods", namespace="shop")}


def test_namespaces_of_equal_names_stay_apart(client: httpx2.Client) -> None:
    found = items(client, "namespaces", namespace="ml")
    assert {item["cluster"] for item in found} == {PROD, LAB}
    (lab,) = items(client, "namespaces", namespace="ml", cluster="lab")
    assert lab["cluster"] == LAB


def test_workloads_leave_out_bare_pods(client: httpx2.Client) -> None:
    kinds = {(item["kind"], item["name"]) for item in items(client, "workloads", cluster="prod")}
    assert kinds == {("Deployment", "api"), ("Job", "train"), ("Job", "batch")}


def test_lists_are_paged_and_sorted(client: httpx2.Client) -> None:
    down = items(client, "pods", sort="-name", limit="3")
    assert [item["name"] for item in down] == ["web-1", "train-0", "scratch"]
    beyond = client.get("/api/v1/pods", params={"offset": 100}).json()
    assert (beyond["items"], beyond["page"]["total"]) == ([], 6)


def test_a_pod_is_described_with_its_cost(client: httpx2.Client) -> None:
    pod = client.get("/api/v1/pods/train-0", params={"namespace": "ml"}).json()
    assert pod["object"]["kind"] == "Pod"
    assert pod["containers"]
    assert Decimal(pod["cost"]["total"]["cost"]) == cost_of(3, hours=24)


def test_a_workload_is_described_with_its_pods(client: httpx2.Client) -> None:
    found = client.get("/api/v1/workloads/train", params={"namespace": "ml"}).json()
    assert [item["name"] for item in found["related"]] == ["train-0"]
    assert Decimal(found["cost"]["total"]["cost"]) == cost_of(3, hours=24)


def test_a_node_is_described_with_its_pods_and_whole_cost(client: httpx2.Client) -> None:
    node = client.get("/api/v1/nodes/node-b").json()
    assert [item["name"] for item in node["related"]] == ["train-0"]
    assert Decimal(node["cost"]["total"]["cost"]) == cost_of(3, 7, 9, hours=24)


def test_a_deleted_pod_is_still_known(client: httpx2.Client) -> None:
    gone = client.get("/api/v1/pods/gone-1").json()
    assert gone["object"]["ended"] == "estimated"


def test_an_unknown_name_is_a_404_and_an_ambiguous_one_a_400(client: httpx2.Client) -> None:
    assert client.get("/api/v1/pods/nobody").status_code == 404
    assert client.get("/api/v1/clusters/nowhere").status_code == 404
    ambiguous = client.get("/api/v1/nodes/node-a")
    assert ambiguous.status_code == 400
    assert "--cluster" in ambiguous.json()["hint"]


def test_clusters_are_listed_and_described(client: httpx2.Client) -> None:
    assert [item["name"] for item in items(client, "clusters")] == ["lab", "prod"]
    lab = client.get("/api/v1/clusters/lab").json()
    assert Decimal(lab["cost"]["total"]["cost"]) == cost_of(11, 12, 13, 14, hours=24)


def test_status_shows_settles_and_sizes(client: httpx2.Client) -> None:
    status = client.get("/api/v1/status").json()
    assert {row["clusterName"]: row["provisional"] for row in status["settles"]} == {
        "prod": True, "lab": True,
    }  # fmt: skip
    assert {row["name"] for row in status["store"]} >= {"cost_hours", "cost_days"}
    assert status["ready"] is True
