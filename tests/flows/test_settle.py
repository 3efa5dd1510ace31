"""Settling on a real store: what becomes current, and what late facts change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seedance.facts.costquery import CostQuery
from seedance.facts.inventory import (
    Cluster,
    Container,
    Owner,
    Pod,
    Workload,
)
from seedance.facts.window import HOUR, Window, format_instant
from seedance.flows.reporting.answers import ResourceOf
from seedance.flows.reporting.report import costs
from seedance.manifests.load import load_manifests
from seedance.store import objects, settles
from seedance.store.store import Store
from settle_stage import BOOK, GIB, RULES, T0, Stage


@pytest.fixture
def stage(store: Store, tmp_path: Path) -> Stage:
    folder = tmp_path / "manifests"
    folder.mkdir()
    return Stage(store, folder)


def test_an_hour_of_facts_becomes_rows_that_sum_to_the_node(stage: Stage) -> None:
    prod = stage.cluster()
    stage.pod(prod, "web", cpu=1)
    stage.use("web", cores=2.0, minutes=range(61))
    stage.settle(T0 + timedelta(hours=2))
    first = [row for row in stage.rows() if row["hour"] == T0]
    assert sum(row["cost"] for row in first) == Decimal("5.6")
    web = next(row for row in first if row["pod"] == "web" and row["resource"] == "cpu")
    assert web["cost"] == Decimal(2)
    assert web["used"] == pytest.approx(2.0)
    settled = settles.current_settles(stage.store, cluster=prod.id, window=_hours(1))[0]
    assert settled.row_cost == settled.node_cost == Decimal("5.6")
    assert not settled.provisional


def test_in_any_window_no_more_is_covered_than_was_alive(stage: Stage) -> None:
    prod = stage.cluster()
    stage.pod(prod, "brief", until=T0 + timedelta(minutes=10, seconds=20), ended="seen")
    stage.use("brief", cores=0.3, minutes=[2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5, 10.25])
    stage.settle(T0 + timedelta(hours=2))

    def cpu(first: int, last: int) -> ResourceOf:
        start, end = (format_instant(T0 + timedelta(minutes=m)) for m in (first, last))
        query = CostQuery(window=f"{start},{end}", filters=("pod:brief", "container:main"))
        (item,) = costs(stage.store, query, now=T0 + timedelta(hours=2)).items
        return item.resources["cpu"]

    edges = [0, 2, 3, 5, 10, 30]
    parts = [cpu(first, last) for first, last in pairwise(edges)]
    assert all(part.covered <= part.alive for part in parts)
    assert parts[2].covered == parts[2].alive == pytest.approx(2 / 60)
    whole = cpu(0, 60)
    assert sum(part.alive for part in parts) == pytest.approx(whole.alive)
    assert whole.alive == pytest.approx((10 + 1 / 3) / 60)


def test_settling_twice_changes_nothing(stage: Stage) -> None:
    prod = stage.cluster()
    stage.pod(prod, "web")
    stage.use("web", cores=0.5, minutes=range(61))
    now = T0 + timedelta(hours=3)
    stage.settle(now)
    before = [_figures(row) for row in stage.rows()]
    hours = [T0, T0 + HOUR, T0 + 2 * HOUR, T0 + 3 * HOUR]
    stage.settler.settle(prod, hours, now)
    assert [_figures(row) for row in stage.rows()] == before


def test_the_running_hour_is_provisional_and_final_a_little_after_its_end(stage: Stage) -> None:
    prod = stage.cluster()
    stage.pod(prod, "web")
    stage.use("web", cores=0.5, minutes=range(61))
    stage.settle(T0 + timedelta(minutes=30))
    assert stage.cost(pod="web") == Decimal("0.55")
    assert _only(stage, prod).provisional
    stage.settle(T0 + timedelta(minutes=62))
    assert _only(stage, prod).provisional
    stage.settle(T0 + timedelta(minutes=66))
    assert not _only(stage, prod).provisional
    assert T0 not in stage.settler.due(prod, T0 + timedelta(minutes=70))


def test_a_late_fact_settles_its_hour_again_and_nothing_vanished_stays(stage: Stage) -> None:
    prod = stage.cluster()
    version = stage.pod(prod, "web")
    stage.use("web", cores=0.5, minutes=range(61))
    stage.settle(T0 + timedelta(hours=2))
    assert stage.cost(pod="web") > 0
    gone = replace(version, valid_to=T0 + timedelta(minutes=15), ended="seen")
    now = T0 + timedelta(hours=2, minutes=1)
    objects.put_versions(stage.store, [gone], now=now)
    settles.mark_dirty(stage.store, prod.id, [T0, T0 + HOUR], reason="inventory", now=now)
    stage.settle(now + timedelta(minutes=1))
    assert stage.cost(pod="web") == Decimal("0.275")
    assert {row["hour"] for row in stage.rows(pod="web")} == {T0}


def test_equal_namespaces_of_two_clusters_stay_apart(stage: Stage) -> None:
    prod, lab = stage.cluster("prod"), stage.cluster("lab")
    for cluster, team in ((prod, "n"), (lab, "m")):
        stage.object(cluster, "Namespace", "shop", Workload(created=T0, labels={"owner": team}))
        stage.pod(cluster, "web")
    stage.use("web", cores=2, minutes=range(61), cluster="prod")
    stage.use("web", cores=3, minutes=range(61), cluster="uid-lab")
    stage.use("web", cores=9, minutes=range(61), cluster="")
    stage.settle(T0 + timedelta(hours=1, minutes=30))
    used = {
        row["cluster"]: (row["team"], round(row["used"], 6))
        for row in stage.rows(pod="web")
        if row["resource"] == "cpu" and row["hour"] == T0
    }
    assert used == {"uid-prod": ("n", 2.0), "uid-lab": ("m", 3.0)}


def test_owner_precedence_is_pod_workload_namespace_node(stage: Stage) -> None:
    prod = stage.cluster()
    stage.object(prod, "Namespace", "shop", Workload(created=T0, labels={"owner": "n"}))
    deployment = stage.object(
        prod, "Deployment", "api", Workload(created=T0, labels={"owner": "d"}), namespace="shop"
    )
    replica_set = stage.object(
        prod,
        "ReplicaSet",
        "api-5",
        Workload(created=T0, owner=Owner("Deployment", "api", deployment.uid)),
        namespace="shop",
    )
    stage.pod(prod, "api-5-x", owner=Owner("ReplicaSet", "api-5", replica_set.uid))
    stage.pod(prod, "own", labels={"owner": "p"})
    stage.pod(prod, "bare")
    stage.settle(T0 + timedelta(hours=1))
    teams = {row["pod"]: (row["team"], row["team_origin"]) for row in stage.rows() if row["pod"]}
    assert teams == {
        "api-5-x": ("d", "workload:label owner"),
        "own": ("p", "pod:label owner"),
        "bare": ("n", "namespace:label owner"),
    }
    workload = next(row for row in stage.rows(pod="api-5-x"))
    assert (workload["workload_kind"], workload["workload"]) == ("Deployment", "api")


def test_without_any_key_the_row_says_why(stage: Stage) -> None:
    prod = stage.cluster()
    stage.pod(prod, "bare")
    stage.settle(T0 + timedelta(hours=1))
    assert {row["team_origin"] for row in stage.rows(pod="bare")} == {"no-owner-key"}


def test_one_source_feeds_a_pod_in_a_minute(stage: Stage) -> None:
    prod = stage.cluster()
    stage.pod(prod, "web")
    stage.use("web", cores=0.5, minutes=range(61), more=(("job", "cadvisor"),))
    stage.use("web", cores=0.5, minutes=range(61), more=(("job", "cadvisor"), ("replica", "b")))
    stage.use("web", cores=0.5, minutes=range(0, 61, 2), door="kubelet", cluster=prod.id)
    stage.settle(T0 + timedelta(hours=1))
    row = next(r for r in stage.rows(pod="web") if r["resource"] == "cpu")
    assert row["used"] == pytest.approx(0.5)
    assert row["covered"] == pytest.approx(1.0)


def test_the_kubelet_fills_minutes_that_remote_write_does_not_know(stage: Stage) -> None:
    prod = stage.cluster()
    stage.pod(prod, "web")
    stage.use("web", cores=0.5, minutes=range(31), more=(("job", "cadvisor"),))
    stage.use("web", cores=0.25, minutes=range(20, 61), door="kubelet", cluster=prod.id)
    stage.settle(T0 + timedelta(hours=1))
    row = next(r for r in stage.rows(pod="web") if r["resource"] == "cpu")
    assert row["used"] == pytest.approx(0.375)


def test_a_re_created_pod_is_another_one_and_its_counter_is_not_differenced(stage: Stage) -> None:
    prod = stage.cluster()
    half = T0 + timedelta(minutes=30)
    stage.pod(prod, "t-0", uid="first", until=half, ended="seen")
    requests = {"cpu": 1.0, "memory": GIB}
    again = Pod(
        created=half,
        node="n1",
        phase="Running",
        scheduled=half,
        effective=requests,
        containers=(Container("main", requests=requests, started=half),),
    )
    stage.object(prod, "Pod", "t-0", again, namespace="shop", uid="second", since=half)
    stage.use("t-0", cores=2.0, minutes=range(61))
    stage.settle(T0 + timedelta(hours=1))
    rows = {r["pod_uid"]: r for r in stage.rows(pod="t-0") if r["resource"] == "cpu"}
    assert rows["first"]["alive"] == pytest.approx(0.5)
    assert rows["second"]["alive"] == pytest.approx(0.5)
    assert rows["first"]["used"] == pytest.approx(2.0 * 29.99 / 60, abs=0.04)


def test_a_day_is_rolled_up_to_the_same_money(stage: Stage) -> None:
    prod = stage.cluster()
    stage.pod(prod, "web")
    now = T0 + timedelta(days=2)
    while len(stage.settler.due(prod, now)) > 2:  # the last hour stays provisional for a while
        stage.settle(now)
    day = T0.replace(hour=0)
    (rolled,) = settles.current_settles(
        stage.store, cluster=prod.id, window=_days(day, 1), seconds=86400
    )
    assert rolled.row_cost == Decimal("5.6") * 14
    assert not rolled.provisional


def test_a_container_that_nobody_measured_is_charged_its_request_and_flagged(stage: Stage) -> None:
    prod = stage.cluster()
    stage.pod(prod, "web")
    stage.settle(T0 + timedelta(hours=1))
    row = next(r for r in stage.rows(pod="web") if r["resource"] == "cpu")
    assert (row["cost"], row["flags"] & 1, row["covered"]) == (Decimal(1), 1, 0.0)
    assert stage.cost(kind="idle") == 0
    assert stage.cost(kind="unattributed") == Decimal("4.5")


def test_samples_of_pods_nobody_has_seen_are_shown_without_money(stage: Stage) -> None:
    prod = stage.cluster()
    stage.pod(prod, "web")
    stage.use("ghost", cores=0.5, minutes=range(61))
    stage.use("echo", cores=0.5, minutes=range(4))
    stage.settle(T0 + timedelta(hours=1))
    stray = [row for row in stage.rows(kind="unattributed") if row["namespace"] == "shop"]
    assert {(r["resource"], round(r["used"], 6), r["cost"], r["reason"]) for r in stray} == {
        ("cpu", 0.5, None, "no-object"),
        ("memory", 1.0, None, "no-object"),
    }


def test_samples_that_name_no_cluster_are_shown_as_such_where_there_are_several(
    stage: Stage,
) -> None:
    for name in ("prod", "lab"):
        stage.pod(stage.cluster(name), "web")
    stage.use("web", cores=0.5, minutes=range(61), cluster="")
    stage.settle(T0 + timedelta(hours=1))
    found = {
        (r["resource"], r["cost"], r["reason"]) for r in stage.rows(cluster="__unattributed__")
    }
    assert found == {("cpu", None, "no-cluster"), ("memory", None, "no-cluster")}


def test_an_hour_whose_samples_expired_is_priced_anew_with_the_use_it_had(
    store: Store, tmp_path: Path
) -> None:
    stage = Stage(store, tmp_path)
    prod = stage.cluster()
    stage.pod(prod, "web")
    stage.use("web", cores=2.0, minutes=range(61))
    stage.settle(T0 + timedelta(hours=1, minutes=10))
    (tmp_path / "book.yaml").write_text(BOOK.replace('"1.00"', '"3.00"'))
    stage.settler.manifests = load_manifests([tmp_path])
    store.engine.command("TRUNCATE TABLE samples")
    store.retention = replace(store.retention, raw_days=15)
    stage.settler.settle(prod, [T0], T0 + timedelta(days=20))
    row = next(r for r in stage.rows(pod="web") if r["resource"] == "cpu" and r["hour"] == T0)
    assert row["cost"] == Decimal(6)
    assert row["used"] == pytest.approx(2.0)
    assert row["covered"] == pytest.approx(1.0)


def _figures(row: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key != "settle_id"}


def _hours(count: int) -> Window:
    return Window(T0, T0 + count * HOUR)


def _days(day: datetime, count: int) -> Window:
    return Window(day, day + timedelta(days=count))


def _only(stage: Stage, cluster: Cluster) -> settles.SettleRow:
    return settles.current_settles(stage.store, cluster=cluster.id, window=_hours(1))[0]


def test_a_range_of_hours_gives_what_each_hour_gives_alone(stage: Stage) -> None:
    prod = stage.cluster()
    random = np.random.default_rng(11)
    for number in range(12):
        name = f"p{number}"
        stage.pod(prod, name)
        steps = random.choice([0.5, 1.0, 2.0, 4.0, 6.0], 300)
        stage.use(name, cores=0.5 + number / 8, minutes=np.cumsum(steps).tolist())
    now = T0 + timedelta(hours=9)
    hours = [T0 + n * HOUR for n in range(7)]
    stage.settler.settle(prod, hours, now)
    together = [_figures(row) for row in stage.rows()]
    for hour in hours:
        stage.settler.settle(prod, [hour], now)
    alone = [_figures(row) for row in stage.rows()]
    assert len(together) > 7 * 12 * 2
    for one, other in zip(together, alone, strict=True):
        assert one.pop("used") == pytest.approx(other.pop("used"), rel=1e-6)
        assert one.pop("covered") == pytest.approx(other.pop("covered"), abs=1e-6)
        assert one.pop("unused") == pytest.approx(other.pop("unused"), rel=1e-5, abs=1e-6)
        assert one.pop("charged") == pytest.approx(other.pop("charged"), rel=1e-6, abs=1e-9)
        for key in ("cost", "unused_cost"):
            assert float(one.pop(key)) == pytest.approx(float(other.pop(key)), rel=1e-5, abs=1e-7)
        assert one == other


def test_rules_own_the_hours_from_their_beginning_and_none_before(
    store: Store, tmp_path: Path
) -> None:
    stage = Stage(store, tmp_path)
    begins = RULES.replace("spec:\n", "spec:\n  validFrom: 2026-11-20T12:00:00Z\n")
    (tmp_path / "rules.yaml").write_text(begins)
    stage.settler.manifests = load_manifests([tmp_path])
    prod = stage.cluster()
    stage.pod(prod, "web", labels={"owner": "p"})
    stage.settler.settle(prod, [T0 + n * HOUR for n in range(4)], T0 + timedelta(hours=5))
    teams = {row["hour"].hour: (row["team"], row["team_origin"]) for row in stage.rows(pod="web")}
    owned = ("p", "pod:label owner")
    assert teams == {10: ("", "no-rules"), 11: ("", "no-rules"), 12: owned, 13: owned}
