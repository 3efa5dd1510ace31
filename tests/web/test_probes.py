from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families

from seed import cost_of
from seedance.flows.reporting.status import Parts
from seedance.web.metrics import METRICS
from serving import Served

SICK_WATCH = {
    "cluster_name": "prod",
    "healthy": False,
    "reason": "Pod: forbidden",
    "kinds": [
        {
            "kind": "Pod",
            "synced": False,
            "objects": 7,
            "last_seen": datetime(2026, 11, 30, 12, tzinfo=UTC),
        }
    ],
}
RECORDER = {"healthy": False, "reason": "disk full", "samples": 5, "rejected": {"too-old": 2}}


@pytest.fixture
def sick(served: Served) -> Iterator[None]:
    """A server whose watch and recorder are not well."""
    before = served.context.parts
    scrape = {"cluster_name": "prod", "covered": 1, "nodes": [{"error": ""}, {"error": "x"}]}
    served.context.parts = Parts(
        recorder=lambda: RECORDER,
        watches=[lambda: SICK_WATCH],
        scrapes=[lambda: scrape],
        settle=lambda: {"healthy": True, "reason": "", "settled": 3, "failures": 1, "seconds": 2},
    )
    yield
    served.context.parts = before


def samples(client: httpx2.Client) -> dict[str, dict[tuple[str, ...], float]]:
    found: dict[str, dict[tuple[str, ...], float]] = {}
    for family in text_string_to_metric_families(client.get("/metrics").text):
        for sample in family.samples:
            found.setdefault(sample.name, {})[tuple(sample.labels.values())] = sample.value
    return found


def test_a_server_that_is_well_is_ready(client: httpx2.Client) -> None:
    assert client.get("/healthz").text == "ok\n"
    answer = client.get("/readyz")
    assert answer.status_code == 200
    assert answer.json()["reasons"] == []


@pytest.mark.usefixtures("sick")
def test_what_is_not_well_is_listed(client: httpx2.Client) -> None:
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["reasons"] == ["recorder: disk full", "watch prod: Pod: forbidden"]
    assert client.get("/healthz").status_code == 200


@pytest.mark.usefixtures("sick")
def test_metrics_say_the_same(client: httpx2.Client) -> None:
    found = samples(client)
    assert found["seedance_ready"] == {(): 0}
    assert found["seedance_samples_rejected_total"] == {("too-old",): 2}
    assert found["seedance_watch_synced"] == {("prod", "Pod"): 0}
    assert found["seedance_kubelets"][("prod", "failing")] == 1
    assert found["seedance_settled_hours_total"] == {(): 3}


def test_costs_and_invariants_are_exported(client: httpx2.Client) -> None:
    found = samples(client)
    today = found["seedance_cost_today"]
    assert today[("prod", "USD", "shop")] == pytest.approx(float(cost_of(1, 2, 5, hours=12.5)))
    assert today[("prod", "USD", "__idle__")] == pytest.approx(float(cost_of(6, 7, hours=12.5)))
    assert set(found["seedance_invariant_violations"].values()) == {0}
    assert set(found["seedance_settle_lag_seconds"]) == {("prod",), ("lab",)}


def test_every_family_is_in_the_list(client: httpx2.Client) -> None:
    listed: dict[str, Any] = {entry.name.removesuffix("_total"): entry for entry in METRICS}
    families = list(text_string_to_metric_families(client.get("/metrics").text))
    assert {family.name for family in families} == set(listed)
    for family in families:
        assert family.documentation == listed[family.name].about
