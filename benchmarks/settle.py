"""Settle one day of a large cluster: `make bench-settle [ARGS="--pods 50000 --nodes 1000"]`.

Generates inventory and one-minute samples of cpu and memory straight into a store, then settles
the day in this process and prints time, CPU and anonymous memory. Goal on 2 cores: 50,000 pods on
1,000 nodes (144 M samples) in ≤ 20 s and ≤ 1 GiB anonymous memory.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

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
    Workload,
)
from seedance.facts.samples import SampleColumns, Series, SeriesId
from seedance.flows.settling.gather import METRICS
from seedance.flows.settling.settle import Settler
from seedance.manifests.load import load_manifests
from seedance.store import objects, samples
from seedance.store.store import Retention, Store

DAY = datetime(2026, 11, 1, tzinfo=UTC)
GIB = 2**30
CLUSTER = Cluster(ClusterId("c1"), "big", DAY)
NAMESPACES = 200
KEEP = Retention(raw_days=15_000, minute_days=15_000, hour_days=15_000, day_days=15_000)


def inventory(store: Store, pods: int, nodes: int) -> None:
    """Write nodes, namespaces, deployments and pods, one version each."""
    made = [_version("Node", f"node-{n}", "", _node(n).to_doc()) for n in range(nodes)]
    made += [
        _version(
            "Namespace",
            f"ns-{n}",
            "",
            Workload(created=DAY, labels={"owner": f"o{n % 9}"}).to_doc(),
        )
        for n in range(NAMESPACES)
    ]
    made += [
        _version(
            "Deployment",
            f"app-{n}",
            f"ns-{n % NAMESPACES}",
            Workload(created=DAY, labels={"team": f"team-{n % 40}"}).to_doc(),
        )
        for n in range(pods // 10)
    ]
    made += [
        _version("Pod", f"pod-{n}", f"ns-{n // 10 % NAMESPACES}", _pod(n, nodes).to_doc())
        for n in range(pods)
    ]
    objects.put_cluster(store, CLUSTER, now=DAY)
    for at in range(0, len(made), 20_000):
        objects.put_versions(store, made[at : at + 20_000], now=DAY)


def _version(kind: str, name: str, namespace: str, doc: dict[str, object]) -> ObjectVersion:
    return ObjectVersion(
        CLUSTER.id, kind, Uid(f"{kind}-{name}"), namespace, name, DAY, None, "", doc
    )


def _node(number: int) -> Node:
    capacity = {"cpu": 32.0, "memory": 128.0 * GIB}
    return Node(
        created=DAY, labels={"pool": f"p{number % 3}"}, capacity=capacity,
        allocatable={"cpu": 31.5, "memory": 124.0 * GIB}, instance_type="m5.8xlarge",
        zone=f"z{number % 3}", capacity_type="on-demand",
    )  # fmt: skip


def _pod(number: int, nodes: int) -> Pod:
    requests = {"cpu": 0.5, "memory": float(2 * GIB)}
    app = f"app-{number // 10}"
    return Pod(
        created=DAY, labels={"app": app, "version": f"v{number % 3}"},
        owner=Owner("Deployment", app, Uid(f"Deployment-{app}")), node=f"node-{number % nodes}",
        phase="Running", qos="Burstable", scheduled=DAY, effective=requests,
        containers=(Container("main", requests=requests, started=DAY, state="running"),),
    )  # fmt: skip


def metrics(store: Store, pods: int, hours: int) -> int:
    """Write the series and one sample a minute of each; returns the number of samples."""
    ids = {name: n + 1 for n, (name, _) in enumerate(METRICS.values())}
    samples.put_metric_ids(store, ids, now=DAY)
    for place, name in enumerate(ids):
        series = [
            Series(
                SeriesId(place * pods + n + 1),
                name,
                (
                    ("container", "main"),
                    ("namespace", f"ns-{n // 10 % NAMESPACES}"),
                    ("pod", f"pod-{n}"),
                ),
                "big",
                "remote-write",
            )
            for n in range(pods)
        ]
        samples.put_series(store, series, now=DAY)
    random = np.random.default_rng(7)
    rate = random.uniform(0.05, 0.9, pods)
    total = 0
    start = int(DAY.timestamp() * 1000)
    for hour in range(hours):
        ts = start + hour * 3_600_000 + np.arange(60) * 60_000
        for place, (name, counter) in enumerate(METRICS.values()):
            sid = np.repeat(np.arange(pods) + place * pods + 1, 60)
            minute = np.tile(hour * 60 + np.arange(60), pods)
            value = (
                np.repeat(rate, 60) * minute * 60.0
                if counter
                else np.repeat(rate * 2 * GIB, 60) + random.integers(0, 1 << 20, pods * 60)
            )
            columns = SampleColumns(sid, np.tile(ts, pods), value)
            metric = np.full(len(sid), ids[name])
            samples.put_samples(store, metric, columns, token=f"{hour}-{name}")
            total += len(sid)
    return total


def anonymous_memory() -> int:
    """Anonymous resident bytes of this process."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) * 1024
    return 0


def watched_peak(stop: threading.Event, peak: list[int]) -> None:
    """Keep the highest anonymous memory seen, every 50 ms, until stopped."""
    while not stop.wait(0.05):
        peak[0] = max(peak[0], anonymous_memory())


def main() -> None:
    """Generate, settle, print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--pods", type=int, default=50_000)
    parser.add_argument("--nodes", type=int, default=1_000)
    parser.add_argument("--hours", type=int, default=24)
    parser.add_argument("--profile", action="store_true")
    args = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        Store.open(Path(folder) / "store", retention=KEEP) as store,
    ):
        began = time.perf_counter()
        inventory(store, args.pods, args.nodes)
        total = metrics(store, args.pods, args.hours)
        print(f"generated {total / 1e6:.1f} M samples in {time.perf_counter() - began:.1f} s")
        settler = Settler(store=store, manifests=load_manifests([]))
        hours = [DAY + timedelta(hours=n) for n in range(args.hours)]
        stop, peak = threading.Event(), [0]
        threading.Thread(target=watched_peak, args=(stop, peak), daemon=True).start()
        before, cpu, began = anonymous_memory(), _cpu(), time.perf_counter()
        results = settler.settle(CLUSTER, hours, DAY + timedelta(days=2))
        wall, cpu = time.perf_counter() - began, _cpu() - cpu
        stop.set()
        print(
            f"settled {len(results)} h of {args.pods} pods on {args.nodes} nodes: "
            f"{wall:.1f} s wall, {cpu:.1f} s CPU, {sum(r.rows for r in results) / 1e6:.2f} M rows, "
            f"anonymous {before / 2**20:.0f} → peak {peak[0] / 2**20:.0f} MiB, "
            f"violations {sum(len(r.violations) for r in results)}, cores {os.cpu_count()}"
        )
        print(f"cost {sum(r.cost for r in results):.2f}")


def _cpu() -> float:
    use = resource.getrusage(resource.RUSAGE_SELF)
    return use.ru_utime + use.ru_stime


if __name__ == "__main__":
    main()
