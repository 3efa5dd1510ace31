from typing import Any

import httpx2
import pytest

from seed import NOW, RATES, cost_of
from seedance.web import opencost

WINDOW = "2026-11-28T00:00:00Z,2026-11-30T00:00:00Z"


def sets(client: httpx2.Client, **params: Any) -> list[dict[str, Any]]:
    answer = client.get("/allocation", params={"window": WINDOW, **params})
    assert answer.status_code == 200, answer.text
    body = answer.json()
    assert body["code"] == 200
    found: list[dict[str, Any]] = body["data"]
    return found


def total(one: dict[str, Any]) -> float:
    return sum(item["totalCost"] for item in one.values())


def test_shape_is_opencosts(client: httpx2.Client) -> None:
    (one,) = sets(client, aggregate="namespace", filter='namespace:"ml"', includeIdle="true")
    item = one["ml"]
    assert item["name"] == "ml"
    assert item["properties"] == {"namespace": "ml"}
    assert item["window"] == {"start": "2026-11-28T00:00:00Z", "end": "2026-11-30T00:00:00Z"}
    assert item["minutes"] == 48 * 60
    assert item["gpuHours"] == pytest.approx(48)
    assert item["gpuCount"] == pytest.approx(1)
    assert item["gpuCost"] == pytest.approx(float(RATES["nvidia.com/gpu"]) * 48)
    assert item["ramByteHours"] == pytest.approx(8 * 2**30 * 48)
    assert item["ramBytes"] == pytest.approx(8 * 2**30)
    assert item["cpuCoreRequestAverage"] == pytest.approx(4.0 + 0.5 + 1.0 + 2.0)
    parts = ("cpuCost", "ramCost", "gpuCost", "pvCost", "networkCost", "externalCost")
    assert item["totalCost"] == pytest.approx(sum(item[part] for part in parts))


def test_idle_is_left_out_shown_or_shared(client: httpx2.Client) -> None:
    idle = float(cost_of(6, 7, hours=48))
    everything = float(cost_of(*range(20), hours=48))
    (without,) = sets(client, aggregate="namespace")
    assert "__idle__" not in without
    assert total(without) == pytest.approx(everything - idle)
    (shown,) = sets(client, aggregate="namespace", includeIdle="true")
    assert shown["__idle__"]["totalCost"] == pytest.approx(idle)
    assert total(shown) == pytest.approx(everything)
    (shared,) = sets(client, aggregate="namespace", shareIdle="true")
    assert "__idle__" not in shared
    assert total(shared) == pytest.approx(everything)


def test_idle_by_node_stays_on_its_node(client: httpx2.Client) -> None:
    params = {"aggregate": "pod", "shareIdle": "true"}
    (by_node,) = sets(client, **params, idleByNode="true")
    gets = by_node["train-0"]["totalCost"] - float(cost_of(3, hours=48))
    assert gets == pytest.approx(float(cost_of(7, hours=48)))
    (by_cluster,) = sets(client, **params)
    assert total(by_cluster) == pytest.approx(total(by_node))
    assert by_cluster["train-0"]["totalCost"] != pytest.approx(by_node["train-0"]["totalCost"])


def test_a_filter_does_not_inflate_the_shares_of_the_rest(client: httpx2.Client) -> None:
    params = {"aggregate": "pod", "shareIdle": "true"}
    (whole,) = sets(client, **params)
    (part,) = sets(client, **params, filter='pod:"train-0"')
    assert part["train-0"]["totalCost"] == pytest.approx(whole["train-0"]["totalCost"])


def test_steps_are_sets_and_accumulate_joins_them(client: httpx2.Client) -> None:
    days = sets(client, aggregate="namespace", step="1d")
    assert [one["ml"]["start"] for one in days] == ["2026-11-28T00:00:00Z", "2026-11-29T00:00:00Z"]
    (whole,) = sets(client, aggregate="namespace", step="1d", accumulate="true")
    assert sum(one["ml"]["totalCost"] for one in days) == pytest.approx(whole["ml"]["totalCost"])


def test_names_of_several_aggregates_are_joined(client: httpx2.Client) -> None:
    (one,) = sets(client, aggregate="namespace,label:app")
    assert "shop/api" in one
    assert one["shop/api"]["properties"]["labels"] == {"app": "api"}
    (plain,) = sets(client, filter="cluster:prod")
    assert "prod/node-b/ml/train-0/main" in plain


def test_controllers_have_their_kind(client: httpx2.Client) -> None:
    (one,) = sets(client, aggregate="controller")
    assert {"deployment:api", "job:train", "statefulset:web"} <= set(one)
    (jobs,) = sets(client, aggregate="job")
    assert set(jobs) >= {"train", "batch", "__unallocated__"}
    (both,) = sets(client, aggregate="controllerKind,controller")
    assert both == one


@pytest.mark.parametrize(
    ("params", "names"),
    [
        ({"filter": 'namespace:"shop"+label[app]:"api"'}, {"api-1"}),
        ({"filter": 'controllerKind:"job"+cluster:"prod"'}, {"train-0", "batch-7"}),
        ({"filter": 'pod!:"api-1"+namespace:"shop"'}, {"scratch"}),
        ({"filter": 'pod<~:"tr"'}, {"train-0"}),
        ({"filterNamespaces": "shop", "filterLabels": "app:api"}, {"api-1"}),
        ({"filterPods": "tr*"}, {"train-0"}),
        ({"filterControllers": "deployment:api"}, {"api-1"}),
    ],
)
def test_filters_in_both_spellings(
    client: httpx2.Client, params: dict[str, str], names: set[str]
) -> None:
    (one,) = sets(client, aggregate="pod", **params)
    assert set(one) == names


def test_an_empty_match_is_empty_and_not_everything(client: httpx2.Client) -> None:
    assert sets(client, aggregate="label:app", filter='label[app]:"nobody"') == [{}]


def test_limit_and_offset_page_by_cost(client: httpx2.Client) -> None:
    (first,) = sets(client, aggregate="pod", limit=1)
    (second,) = sets(client, aggregate="pod", limit=1, offset=1)
    assert set(first) == {"train-0"}
    assert set(first).isdisjoint(second)


def test_unix_times_are_a_window(client: httpx2.Client) -> None:
    end = int(NOW.timestamp())
    answer = client.get(
        "/model/allocation", params={"window": f"{end - 3600},{end}", "aggregate": "cluster"}
    ).json()
    assert set(answer["data"][0]) == {"prod", "lab"}


def test_no_data_is_an_empty_set_with_a_warning(client: httpx2.Client) -> None:
    answer = client.get(
        "/allocation", params={"window": "2025-01-01T00:00:00Z,2025-01-02T00:00:00Z"}
    )
    assert answer.json()["data"] == [{}]
    assert "there is data from" in answer.json()["warning"]


def test_what_is_not_understood_is_refused(client: httpx2.Client) -> None:
    for params in (
        {},
        {"window": "x"},
        {"window": "7d", "aggregate": "service"},
        {"window": "7d", "shareIdle": "evenly"},
        {"window": "7d", "accumulate": "sometimes"},
    ):
        answer = client.get("/allocation", params=params)
        assert answer.status_code in {400, 422}
        assert answer.headers["content-type"] == "application/problem+json"


def test_two_allocations_of_one_joined_name_are_both_there() -> None:
    one_set: dict[str, dict[str, Any]] = {}
    for cost in (1.0, 2.0, 4.0):
        opencost.put(one_set, {"name": "a/b/c", "totalCost": cost})
    assert list(one_set) == ["a/b/c", "a/b/c (2)", "a/b/c (3)"]
    assert total(one_set) == 7.0
