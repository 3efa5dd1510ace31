"""A test language for settling: facts written into a store as doors would, rows read back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

from seedance.facts.inventory import (
    Cluster,
    ClusterId,
    Container,
    Node,
    ObjectVersion,
    Owner,
    Pod,
    Uid,
)
from seedance.facts.samples import Door, SampleColumns, Series, SeriesId
from seedance.flows.settling.settle import Settler
from seedance.manifests.load import load_manifests
from seedance.store import objects, samples
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
