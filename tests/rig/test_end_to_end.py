"""From two real clusters to true money: what the product says is what the run must have cost.

The run takes a few minutes and happens once (`scenario.py`); each test then looks at one side of
what came out of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from oracle import RESOURCES, Expected
from realparts.network import Network
from scenario import Run, run_it
from world import UNSEEN, is_hungry

pytestmark = [pytest.mark.rig, pytest.mark.slow, pytest.mark.timeout(900)]

EXACT = 1e-6
UNSETTLED = {"__idle__", "__system__", "__unattributed__"}


@pytest.fixture(scope="module")
def run(network: Network, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    with run_it(network, tmp_path_factory.mktemp("run")) as done:
        yield done


def _rows(run: Run, *by: str) -> dict[tuple[str, ...], dict[str, Any]]:
    """Rows of `seedancectl cost` over the run by their keys, without those of idle and system."""
    answer = run.product.cost("--by", ",".join(by), "--window", run.window)
    rows = {tuple(item["keys"][name] for name in by): item for item in answer["items"]}
    return {keys: item for keys, item in rows.items() if not UNSETTLED & set(keys)}


def _quantity(item: dict[str, Any], resource: str, name: str) -> float:
    return float(item["resources"].get(resource, {}).get(name) or 0.0)


def _requests_differ(expected: Expected, item: dict[str, Any]) -> str:
    """What differs in requests; "" where they are equal to 1e-6."""
    for index, resource in enumerate(RESOURCES):
        have, want = _quantity(item, resource, "requested"), expected.requested[index]
        if abs(have - want) > EXACT * max(want, 1e-9):
            return f"{resource} requested {have:.9f}, not {want:.9f} ({expected.pods} pods)"
    return ""


def _report(differences: list[str]) -> str:
    return f"{len(differences)} differ:\n" + "\n".join(differences[:20])


def test_requests_by_namespace_and_team_equal_the_oracle(run: Run) -> None:
    expected = run.oracle.expected("namespace", "team")
    rows = _rows(run, "namespace", "team")
    wanted = {keys for keys in expected if keys[0] != UNSEEN}
    assert wanted == {keys for keys in rows if keys[0] != UNSEEN}
    differences = [
        f"{keys}: {text}"
        for keys in sorted(wanted)
        if (text := _requests_differ(expected[keys], rows[keys]))
    ]
    assert not differences, _report(differences)


def test_requests_of_every_single_pod_equal_the_oracle(run: Run) -> None:
    expected = run.oracle.expected("cluster", "namespace", "name")
    rows = _rows(run, "cluster", "namespace", "pod")
    wanted = {keys for keys in expected if keys[1] != UNSEEN}
    assert wanted == {keys for keys in rows if keys[1] != UNSEEN}
    differences = [
        f"{keys}: {text}"
        for keys in sorted(wanted)
        if (text := _requests_differ(expected[keys], rows[keys]))
    ]
    assert not differences, _report(differences)


def test_every_pod_pays_what_its_requests_cost(run: Run) -> None:
    """But for the few that start in the last instant of a minute.

    KWOK computes a counter a moment after the scrape's timestamp, so there may seem to be more use
    than request in that instant; it is less than a second of it.
    """
    expected = run.oracle.expected("cluster", "namespace", "name")
    rows = _rows(run, "cluster", "namespace", "pod")
    differences = []
    for keys, want in sorted(expected.items()):
        if keys[1] == UNSEEN or is_hungry(keys[1]):
            continue
        have, cost = float(rows[keys]["cost"]), sum(want.cost)
        if abs(have - cost) > EXACT * cost + 1e-12:
            assert 0 < have - cost < want.second_of_use, f"{keys}: cost {have}, not {cost:.12f}"
            differences.append(f"{keys}: cost {have}, not {cost:.12f}")
    assert len(differences) <= len(expected) / 200, _report(differences)


def _use_differs(expected: Expected, item: dict[str, Any], *, scrapes: int) -> str:
    """What differs in use by more than so many scrapes of each pod."""
    for index, resource in enumerate(RESOURCES):
        have, want = _quantity(item, resource, "used"), expected.used[index]
        if abs(have - want) > scrapes * expected.used_doubt[index]:
            doubt = expected.used_doubt[index]
            return f"{resource} used {have:.6f}, not {want:.6f} ± {scrapes} × {doubt:.6f}"
    return ""


@pytest.mark.parametrize(
    ("by", "fields", "scrapes"),
    [("team", ("cluster", "namespace", "team"), 1), ("pod", ("cluster", "namespace", "name"), 2)],
)
def test_use_equals_the_oracle_within_one_scrape_a_pod_and_one_at_each_end_of_any(
    run: Run, by: str, fields: tuple[str, ...], scrapes: int
) -> None:
    rows = _rows(run, "cluster", "namespace", by)
    differences = [
        f"{keys}: {text}"
        for keys, want in sorted(run.oracle.expected(*fields).items())
        if (text := _use_differs(want, rows[keys], scrapes=scrapes))
    ]
    assert not differences, _report(differences)


def test_where_use_exceeds_requests_it_is_what_is_paid(run: Run) -> None:
    expected = run.oracle.expected("cluster", "namespace", "name")
    rows = _rows(run, "cluster", "namespace", "pod")
    hungry = {keys: want for keys, want in expected.items() if is_hungry(keys[1])}
    assert hungry
    differences = []
    for keys, want in sorted(hungry.items()):
        have, cost = float(rows[keys]["cost"]), sum(want.cost)
        if abs(have - cost) > 2 * sum(want.cost_doubt) + EXACT * cost:
            doubt = sum(want.cost_doubt)
            differences.append(f"{keys}: {have:.9f}, not {cost:.9f} ± 2 × {doubt:.9f}")
    assert not differences, _report(differences)


def test_the_rows_of_a_cluster_add_up_to_its_nodes(run: Run) -> None:
    rows = run.product.cost("--by", "cluster", "--window", run.window)["items"]
    costs = {item["keys"]["cluster"]: float(item["cost"]) for item in rows}
    for name, want in run.oracle.node_cost.items():
        assert costs[name] == pytest.approx(want, rel=EXACT), name


def test_what_nobody_uses_is_idle_and_hardly_anything_unattributed(run: Run) -> None:
    rows = run.product.cost("--by", "cluster,kind", "--window", run.window)["items"]
    costs = {(i["keys"]["cluster"], i["keys"]["kind"]): float(i["cost"]) for i in rows}
    for name, whole in run.oracle.node_cost.items():
        pods = sum(
            sum(want.cost) for (at,), want in run.oracle.expected("cluster").items() if at == name
        )
        assert costs.get((name, "unattributed"), 0.0) < 0.2 * whole
        rest = sum(costs.get((name, kind), 0.0) for kind in ("idle", "system", "unattributed"))
        assert rest == pytest.approx(whole - pods, rel=1e-3)


def test_pods_that_lived_through_everything_are_one_life_without_an_estimated_end(run: Run) -> None:
    rows = _rows(run, "cluster", "namespace", "pod")
    survivors = [
        (stay.cluster, stay.namespace, stay.name)
        for stay in run.oracle.stays
        if stay.end == run.oracle.end and stay.start < run.server_stopped
    ]
    assert len(survivors) > 1_000
    flagged = [keys for keys in survivors if "end-estimated" in rows[keys]["flags"]]
    assert not [keys for keys in flagged if keys[1] != UNSEEN]


def test_the_servers_log_holds_no_warning_of_python(run: Run) -> None:
    text = run.product.program.log.read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if "Warning" in line or "Traceback" in line]
    assert not lines, "\n".join(lines[:10])


def test_no_invariant_was_violated(run: Run) -> None:
    status = run.product.get("/api/v1/status")
    assert status["ready"], status["health"]


def test_equal_namespaces_of_two_clusters_stay_apart(run: Run) -> None:
    rows = _rows(run, "cluster", "namespace", "team")
    east = {keys[2] for keys in rows if keys[:2] == ("east", "ns-01")}
    west = {keys[2] for keys in rows if keys[:2] == ("west", "ns-01")}
    assert east == {"team-1"}
    assert west == {"team-4"}


def test_every_kind_of_workload_has_its_cost(run: Run) -> None:
    kinds = {keys[0] for keys in _rows(run, "workloadKind")}
    wanted = {"Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob", "Pod", "RayJob"}
    assert wanted <= kinds, kinds


def test_a_deletion_that_nobody_saw_is_marked_and_within_one_scrape(run: Run) -> None:
    expected = {
        keys: want
        for keys, want in run.oracle.expected("cluster", "namespace", "name").items()
        if keys[:2] == ("east", UNSEEN)
    }
    rows = _rows(run, "cluster", "namespace", "pod")
    for keys, want in sorted(expected.items()):
        deleted = int(keys[2].removeprefix("ghost-")) < 5
        assert ("end-estimated" in rows[keys]["flags"]) == deleted, keys
        request = 0.085
        tolerance = request * (run.scrape_seconds + 1) / 3600 if deleted else EXACT
        have = _quantity(rows[keys], "cpu", "requested")
        assert have == pytest.approx(want.requested[0], abs=tolerance), keys


def test_the_first_cluster_is_read_by_remote_write_and_the_second_from_its_kubelets(
    run: Run,
) -> None:
    states = {
        state["cluster_name"]: state for state in run.product.get("/api/v1/status")["scrapes"]
    }
    assert states["east"]["covered"] == 30
    assert states["east"]["nodes"] == []
    assert [node["error"] for node in states["west"]["nodes"]] == ["", "", ""]
    assert all(node["samples"] for node in states["west"]["nodes"])
