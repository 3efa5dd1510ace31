"""How fast cost questions are answered at size: `make bench-report`.

Day rows of 50,000 pods on 1,000 nodes over 30 days are generated straight into a store (about
3.1 million rows, cpu and memory; a tenth of the pods is replaced each day), then the questions
people ask are timed: the first time, then 20 times more. Prints first, p50 and p95 beside the
machine's facts.

    python benchmarks/report.py [--pods 50000] [--nodes 1000] [--days 30] [--keep DIR]
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from seedance.facts.costquery import CostQuery
from seedance.flows.reporting.report import costs
from seedance.store.native import DecimalColumn
from seedance.store.store import Store

NOW = datetime(2026, 12, 1, tzinfo=UTC)
CLUSTER = "5a8f1c1e-0000-4000-8000-000000000001"
NAMESPACES = 40
MONTH = "2026-11-01,2026-12-01"
QUESTIONS = {
    "by namespace": CostQuery(window=MONTH, by=("namespace",)),
    "by label:app": CostQuery(window=MONTH, by=("label:app",)),
    "by team": CostQuery(window=MONTH, by=("team",)),
    "by namespace,team": CostQuery(window=MONTH, by=("namespace", "team")),
    "by namespace, step day": CostQuery(window=MONTH, by=("namespace",), step="day", limit=1_000),
    "by namespace, idle shared": CostQuery(window=MONTH, by=("namespace",), idle="share"),
    "by workload": CostQuery(window=MONTH, by=("namespace", "workload")),
    "by pod": CostQuery(window=MONTH, by=("namespace", "pod")),
    "by container of one namespace": CostQuery(
        window=MONTH, by=("pod", "container"), filters=("namespace:ns-7",)
    ),
}


def fill(store: Store, *, pods: int, nodes: int, days: int) -> int:
    """Generates entities, settles and day rows; returns the number of day rows."""
    random = np.random.default_rng(7)
    replaced = pods // 10
    total = pods + replaced * (days - 1)
    _put_entities(store, total, nodes)
    rows = 0
    for day in range(days):
        first = replaced * day
        rows += _put_day(store, random, day=day, days=days, first=first, pods=pods, nodes=nodes)
    return rows


def _put_entities(store: Store, total: int, nodes: int) -> None:
    for start in range(0, total, 50_000):
        numbers = range(start, min(start + 50_000, total))
        store.engine.insert("entities", _pod_entities(numbers, nodes))
    for kind in ("idle", "system"):
        base = 10_000_000 if kind == "idle" else 20_000_000
        count = nodes
        store.engine.insert(
            "entities",
            {
                "entity": np.arange(base, base + count, dtype=np.uint64),
                "cluster": [CLUSTER] * count,
                "kind": [kind] * count,
                "node": [f"node-{n}" for n in range(count)],
                "instance_type": ["m5.8xlarge"] * count,
                "at": np.full(count, int(NOW.timestamp() * 1000)),
            },
        )
    store.engine.insert("clusters", {"cluster": [CLUSTER], "name": ["bench"]})


def _pod_entities(numbers: range, nodes: int) -> dict[str, object]:
    apps = [n % 2_000 for n in numbers]
    return {
        "entity": np.array(numbers, dtype=np.uint64),
        "cluster": [CLUSTER] * len(numbers),
        "kind": ["container"] * len(numbers),
        "node": [f"node-{n % nodes}" for n in numbers],
        "instance_type": ["m5.8xlarge"] * len(numbers),
        "namespace": [f"ns-{app % NAMESPACES}" for app in apps],
        "workload_kind": ["Deployment"] * len(numbers),
        "workload": [f"app-{app}" for app in apps],
        "pod": [f"app-{app}-{n:x}" for app, n in zip(apps, numbers, strict=True)],
        "pod_uid": [f"{n:032x}" for n in numbers],
        "container": ["main"] * len(numbers),
        "labels": [
            {
                "app": f"app-{app}",
                "pod-template-hash": f"{app * 7919 % 99991:x}",
                "app.kubernetes.io/version": f"1.{app % 30}",
                "team": f"team-{app % 25}",
            }
            for app in apps
        ],
        "team": [f"team-{app % 25}" if app % 9 else "" for app in apps],
        "team_origin": ["pod:label team" if app % 9 else "no-owner-key" for app in apps],
        "at": np.full(len(numbers), int(NOW.timestamp() * 1000)),
    }


def _put_day(
    store: Store,
    random: np.random.Generator,
    *,
    day: int,
    days: int,
    first: int,
    pods: int,
    nodes: int,
) -> int:
    start = NOW - timedelta(days=days - day)
    settle_id = int(start.timestamp() * 1_000_000) + 86_400_000_000
    entity = np.concatenate(
        [
            np.arange(first, first + pods, dtype=np.uint64),
            np.arange(10_000_000, 10_000_000 + nodes, dtype=np.uint64),
            np.arange(20_000_000, 20_000_000 + nodes, dtype=np.uint64),
        ]
    )
    count = len(entity)
    for resource in ("cpu", "memory"):
        requested = random.uniform(0.1, 48, count)
        used = random.uniform(0.0, 48, count)
        charged = np.maximum(requested, used)
        cost = (charged * 3e10).astype(np.int64)
        store.engine.insert(
            "cost_days",
            {
                "settle_id": np.full(count, settle_id, dtype=np.uint64),
                "day": np.full(count, start.date().toordinal() - 719_163, dtype=np.uint16),
                "entity": entity,
                "resource": [resource] * count,
                "price_id": np.full(count, 1, dtype=np.uint64),
                "requested": requested,
                "used": used,
                "charged": charged,
                "unused": charged - used,
                "covered": np.full(count, 24.0),
                "alive": np.full(count, 24.0),
                "cost": DecimalColumn(cost),
                "unused_cost": DecimalColumn(((charged - used) * 3e10).astype(np.int64)),
            },
        )
    store.engine.insert(
        "settles",
        {
            "cluster": [CLUSTER],
            "start": np.array([int(start.timestamp())], dtype=np.uint32),
            "seconds": np.array([86_400], dtype=np.uint32),
            "settle_id": np.array([settle_id], dtype=np.uint64),
            "ended": np.array([settle_id], dtype=np.int64),
            "rows": np.array([2 * count], dtype=np.uint64),
        },
    )
    return 2 * count


def ask(store: Store, query: CostQuery, *, times: int) -> tuple[float, list[float]]:
    """Milliseconds of the first answer of its shape, and of each of `times` more."""
    first = _timed(store, query)
    return first, [_timed(store, query) for _ in range(times)]


def _timed(store: Store, query: CostQuery) -> float:
    began = time.perf_counter()
    costs(store, query, now=NOW)
    return (time.perf_counter() - began) * 1000


def main() -> None:
    """Fills, asks, prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pods", type=int, default=50_000)
    parser.add_argument("--nodes", type=int, default=1_000)
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--keep", type=Path, help="fill or reuse the store in this folder")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or Path(scratch)
        filled = (folder / "chdb").exists()
        with Store.open(folder) as store:
            if not filled:
                began = time.perf_counter()
                rows = fill(store, pods=options.pods, nodes=options.nodes, days=options.days)
                print(f"{rows:,} day rows generated in {time.perf_counter() - began:.0f} s")
            print(
                f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
            )
            print(f"{'question':34} {'first':>8} {'p50':>8} {'p95':>8}")
            for name, query in QUESTIONS.items():
                first, taken = ask(store, query, times=options.times)
                p95 = sorted(taken)[max(0, round(0.95 * len(taken)) - 1)]
                middle = statistics.median(taken)
                print(f"{name:34} {first:5.0f} ms {middle:5.0f} ms {p95:5.0f} ms")


if __name__ == "__main__":
    main()
