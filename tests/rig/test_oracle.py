"""The oracle itself, on cases whose answer is plain; needs no real parts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from oracle import RAISED, Prices, Stay, charged_interval, quantity, request_of, unit_price
from realparts.api import Json
from realparts.recorder import Sight

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def _container(cpu: str, memory: str = "1Gi", **more: str) -> Json:
    return {"name": "x", "resources": {"requests": {"cpu": cpu, "memory": memory}}, **more}


def _stamp(seconds: int) -> str:
    return (NOON + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def _pod(phase: str = "Running", *, ends: int = 0, deletion: int = 0) -> Json:
    bound = {"type": "PodScheduled", "status": "True", "lastTransitionTime": _stamp(0)}
    state = {"terminated": {"finishedAt": _stamp(ends)}} if ends else {"running": {}}
    raw: Json = {
        "metadata": {"name": "p"},
        "status": {
            "phase": phase,
            "conditions": [bound],
            "containerStatuses": [{"state": state}],
        },
    }
    if deletion:
        raw["metadata"]["deletionTimestamp"] = _stamp(deletion)
    return raw


def _sights(raw: Json, event: str = "MODIFIED", at: float = 0) -> list[Sight]:
    return [Sight(NOON + timedelta(seconds=at), event, raw)]


def _seconds(sights: list[Sight]) -> float:
    interval = charged_interval(sights)
    assert interval is not None
    return (interval[1] - interval[0]).total_seconds()


@pytest.mark.parametrize(
    ("text", "value"), [("250m", 0.25), ("2", 2.0), ("64Mi", 64 * 2**20), ("1.5Gi", 1.5 * 2**30)]
)
def test_quantities(text: str, value: float) -> None:
    assert quantity(text) == pytest.approx(value)


def test_the_request_is_the_larger_of_the_running_and_the_starting_phase() -> None:
    heavy, sidecar = _container("2"), _container("100m", restartPolicy="Always")
    spec = {"containers": [_container("500m"), _container("250m")]}
    assert request_of(spec)[0] == pytest.approx(0.75)
    assert request_of({**spec, "initContainers": [heavy, sidecar]})[0] == pytest.approx(2.0)
    assert request_of({**spec, "initContainers": [sidecar, heavy]})[0] == pytest.approx(2.1)
    assert request_of({**spec, "initContainers": [sidecar]})[0] == pytest.approx(0.85)


def test_pod_level_requests_replace_the_sum_and_overhead_comes_on_top() -> None:
    spec = {
        "containers": [_container("500m")],
        "resources": {"requests": {"cpu": "750m"}},
        "overhead": {"cpu": "10m", "memory": "1Gi"},
    }
    assert request_of(spec) == pytest.approx((0.76, 2.0))


def test_a_pod_is_charged_until_the_first_of_its_ends() -> None:
    assert _seconds(_sights(_pod("Succeeded", ends=90), "DELETED", 300)) == 90
    assert _seconds(_sights(_pod(deletion=60), "DELETED", 58.5)) == 58.5
    assert _seconds(_sights(_pod(deletion=60), "DELETED", 61.0)) == 60


def test_a_pod_that_was_never_bound_is_not_charged() -> None:
    raw = _pod("Pending")
    raw["status"]["conditions"] = []
    assert charged_interval(_sights(raw)) is None


def test_a_price_that_is_raised_counts_from_then_on() -> None:
    prices = Prices({("east", "n"): "rig.medium"}, raised_at=NOON)
    stay = Stay(
        cluster="east",
        namespace="ns",
        name="p",
        uid="u",
        team="t",
        node="n",
        start=NOON - timedelta(hours=1),
        runs=NOON - timedelta(hours=1),
        end=NOON + timedelta(hours=2),
        request=(1.0, 1.0),
        use=(0.0, 0.0),
        scrapes=5,
    )
    assert prices.unit_hour(stay, 0, stay.start) == pytest.approx(0.027 + 2 * RAISED[0])


def test_a_whole_node_price_is_split_by_its_weights() -> None:
    assert 48 * unit_price("rig.large", 0) + 192 * unit_price("rig.large", 1) == pytest.approx(1.92)
