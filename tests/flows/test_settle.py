"""Settling on a real store: what becomes current, and what late facts change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seedance.facts.inventory import (
    Cluster,
    ClusterId,
    Container,
    Node,
    ObjectVersion,
    Owner,
    Pod,
    Uid,
    Workload,
)
from seedance.facts.samples import Door, SampleColumns, Series, SeriesId
from seedance.facts.window import HOUR, Window
from seedance.flows.settle import Settler
from seedance.manifests.load import load_manifests
from seedance.store import objects, samples, settles
from seedance.store.store import Store

T0 = datetime(2026, 11, 20, 10, tzinfo=UTC)
GIB = float(2**30)
CPU, MEMORY = "container_cpu_usage_seconds_total", "container_memory_working_set_bytes"
BOOK = """
apiVersion: cost.seedance.io/v2
kind: PriceBook
metadata: {name: flat}
spec:
  currency: USD
  source: contract
  builtin: false
  entries:
  - name: all
    perResource: {cpuCoreHour: "1.00", memoryGiBHour: "0.10"}
    unusual: round figures for a test
"""
RULES = """
apiVersion: cost.seedance.io/v2
kind: OwnershipRules
metadata: {name: owners}
spec:
  team:
    from: [{label: owner}]
"""


class Stage:
    """Writes facts into a store as the doors would, and reads current rows back."""

    def __init__(self, store: Store, folder: Path) -> None:
        (folder / "book.yaml").write_text(BOOK)
        (folder / "rules.yaml").write_text(RULES)
        self.store = store
        self.settler = Settler(store=store, manifests=load_manifests([folder]))
        self._sid = 0
        samples.put_metric_ids(store, {CPU: 1, MEMORY: 2}, now=T0)

    def cluster(self, name: str = "prod") -> Cluster:
        made = Cluster(ClusterId(f"uid-{name}"), name, T0)
        objects.put_cluster(self.store, made, now=T0)
        self.object(
            made,
            "Node",
            "n1",
            Node(
                created=T0,
                capacity={"cpu": 4.0, "memory": 16 * GIB},
                allocatable={"cpu": 4.0, "memory": 16 * GIB},
            ),
        )
        return made

    def object(
        self,
        cluster: Cluster,
        kind: str,
        name: str,
        facts: Any,
        *,
        namespace: str = "",
        uid: str = "",
        since: datetime = T0,
        until: datetime | None = None,
        ended: Any = "",
    ) -> ObjectVersion:
        version = ObjectVersion(
            cluster.id,
            kind,
            Uid(uid or f"{cluster.name}-{kind}-{namespace}-{name}"),
            namespace,
            name,
            since,
            until,
            ended,
            facts.to_doc(),
        )
        objects.put_versions(self.store, [version], now=since)
        return version

    def pod(
        self,
        cluster: Cluster,
        name: str,
        *,
        cpu: float = 1.0,
        labels: Mapping[str, str] = {},
        owner: Owner | None = None,
        **more: Any,
    ) -> ObjectVersion:
        requests = {"cpu": cpu, "memory": GIB}
        facts = Pod(
            created=T0,
            labels=dict(labels),
            node="n1",
            phase="Running",
            scheduled=T0,
            effective=requests,
            owner=owner,
            containers=(Container("main", requests=requests, started=T0),),
        )
        return self.object(cluster, "Pod", name, facts, namespace="shop", **more)

    def use(
        self,
        pod: str,
        *,
        cores: float,
        minutes: Sequence[float],
        cluster: str = "prod",
        door: Door = "remote-write",
        more: tuple[tuple[str, str], ...] = (),
        memory: float = GIB,
    ) -> None:
        for metric, number in ((CPU, 1), (MEMORY, 2)):
            self._sid += 1
            labels = (("container", "main"), ("namespace", "shop"), ("pod", pod), *more)
            series = Series(SeriesId(self._sid), metric, labels, cluster, door)
            samples.put_series(self.store, [series], now=T0)
            ts = np.array([(T0 + timedelta(minutes=m)).timestamp() * 1000 for m in minutes])
            value = [m * 60 * cores if metric == CPU else memory for m in minutes]
            columns = SampleColumns(
                np.full(len(ts), self._sid), ts.astype(np.int64), np.array(value, float)
            )
            samples.put_samples(
                self.store, np.full(len(ts), number), columns, token=f"t{self._sid}"
            )

    def settle(self, now: datetime) -> None:
        for result in self.settler.settle_due(now):
            assert result.violations == ()

    def rows(self, **where: str) -> list[dict[str, Any]]:
        sql = """
        SELECT e.cluster AS cluster, e.kind AS kind, e.namespace AS namespace, e.pod AS pod,
               e.pod_uid AS pod_uid, e.workload_kind AS workload_kind, e.workload AS workload,
               e.team AS team, e.team_origin AS team_origin, c.*
        FROM cost_hours AS c INNER JOIN (SELECT * FROM entities FINAL) AS e ON c.entity = e.entity
        WHERE c.settle_id IN (
            SELECT max(settle_id) FROM settles WHERE seconds = 3600 GROUP BY cluster, start)
        ORDER BY hour, e.kind, e.pod, c.resource"""
        found = self.store.engine.rows(sql)
        return [row for row in found if all(row[key] == value for key, value in where.items())]

    def cost(self, **where: str) -> Decimal:
        return sum(
            (row["cost"] for row in self.rows(**where) if row["cost"] is not None), Decimal(0)
        )


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


def _figures(row: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key != "settle_id"}


def _hours(count: int) -> Window:
    return Window(T0, T0 + count * HOUR)


def _days(day: datetime, count: int) -> Window:
    return Window(day, day + timedelta(days=count))


def _only(stage: Stage, cluster: Cluster) -> settles.SettleRow:
    return settles.current_settles(stage.store, cluster=cluster.id, window=_hours(1))[0]
