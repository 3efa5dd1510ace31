"""What taking pods into the inventory costs: documents → facts → versions → store, in process.

    benchmarks/inventory.py --pods 10000

Prints rates (wall time suffers from whatever else the machine does, CPU time does not) and how much
anonymous memory the process held above what it held before.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from seedance.facts.inventory import Cluster, ClusterId
from seedance.flows.watching.inventory import Inventory
from seedance.flows.watching.ledger import Event
from seedance.intake.inventory import normalise
from seedance.store.store import Store

NOW = datetime.now(UTC)
PAGE = 500


def pod(number: int, nodes: int) -> dict[str, Any]:
    """A pod as an API server gives it: two containers, a sidecar, conditions, managed fields."""
    resources = {"requests": {"cpu": "250m", "memory": "512Mi"}, "limits": {"memory": "1Gi"}}
    names = ("app", "agent")
    environment = [{"name": f"SETTING_{n}", "value": "x" * 40} for n in range(20)]
    containers = [
        {
            "name": name,
            "image": f"registry.example.com/team/{name}:1.2.3",
            "resources": resources,
            "env": environment,
            "volumeMounts": [{"name": "token", "mountPath": "/var/run/secrets", "readOnly": True}],
        }
        for name in names
    ]
    statuses = [
        {
            "name": name,
            "ready": True,
            "restartCount": 0,
            "image": f"registry.example.com/team/{name}:1.2.3",
            "imageID": "sha256:" + "0" * 64,
            "containerID": "containerd://" + "1" * 64,
            "state": {"running": {"startedAt": "2026-11-30T10:00:07Z"}},
            "resources": resources,
            "allocatedResources": resources["requests"],
        }
        for name in names
    ]
    conditions = [
        {"type": kind, "status": "True", "lastTransitionTime": "2026-11-30T10:00:03Z"}
        for kind in ("PodScheduled", "Initialized", "ContainersReady", "Ready")
    ]
    return {
        "metadata": _metadata(number),
        "spec": {
            "nodeName": f"n{number % nodes}",
            "priority": 0,
            "initContainers": [{**containers[0], "name": "mesh", "restartPolicy": "Always"}],
            "containers": containers,
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": f"d-{number}"}}],
        },
        "status": {
            "phase": "Running",
            "qosClass": "Burstable",
            "startTime": "2026-11-30T10:00:04Z",
            "conditions": conditions,
            "containerStatuses": statuses,
        },
    }


def _metadata(number: int) -> dict[str, Any]:
    return {
        "name": f"web-{number}",
        "namespace": f"team-{number % 40}",
        "uid": str(uuid.UUID(int=number)),
        "creationTimestamp": "2026-11-30T10:00:00Z",
        "resourceVersion": str(number),
        "labels": {
            "app": f"web-{number % 200}",
            "team": f"team-{number % 40}",
            "pod-template-hash": f"{number % 200:x}",
        },
        "annotations": {"prometheus.io/scrape": "true", "checksum/config": "a" * 64},
        "ownerReferences": [
            {
                "kind": "ReplicaSet",
                "name": f"web-{number % 200}",
                "uid": "r",
                "controller": True,
            }
        ],
        "managedFields": [{"manager": "kubelet", "fieldsV1": {"f:status": {"x": "y" * 1500}}}],
    }


def anonymous() -> float:
    """Anonymous memory of this process in MB."""
    for line in Path("/proc/self/status").read_text("utf-8").splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) / 1024
    return 0.0


class Peak:
    """The largest anonymous memory while it runs."""

    def __init__(self) -> None:
        self.most = anonymous()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        while not self._over.wait(0.05):
            self.most = max(self.most, anonymous())

    def stop(self) -> float:
        """Stop looking."""
        self._over.set()
        self._thread.join()
        return self.most


@contextlib.contextmanager
def timed(what: str, count: int) -> Iterator[None]:
    """Print the rate of what happens inside, by the CPU time of our thread and of the process."""
    wall, ours, cpu = time.perf_counter(), time.thread_time(), time.process_time()
    yield
    wall, ours, cpu = (
        time.perf_counter() - wall,
        time.thread_time() - ours,
        time.process_time() - cpu,
    )
    rate = count / ours
    print(f"{what:32} {rate:8,.0f} /s of CPU {ours:6.2f} s, process {cpu:6.2f}, wall {wall:6.2f}")


def take(pods: int) -> None:
    """Documents through the flow into a fresh store, page by page."""
    text = [json.dumps(pod(number, 1000)).encode() for number in range(pods)]
    size = sum(map(len, text)) / pods
    print(f"{pods} pods, {size:,.0f} bytes of JSON each")
    with timed("parse", pods):
        for line in text:
            json.loads(line)
    documents = [json.loads(line) for line in text[:2000]]
    with timed("parsed → facts", len(documents)):
        for document in documents:
            normalise("Pod", document)
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder)) as store:
        cluster = Cluster(ClusterId("bench"), name="bench", first_seen=NOW)
        inventory = Inventory(store, cluster, now=NOW)
        before, peak = anonymous(), Peak()
        for what in ("JSON → facts → versions → store", "the same again, unchanged"):
            with timed(what, pods):
                for start in range(0, pods, PAGE):
                    page = [json.loads(line) for line in text[start : start + PAGE]]
                    events = [Event("ADDED", "Pod", document, NOW) for document in page]
                    inventory.record(events, now=NOW)
        print(f"{'anonymous memory above start':32} {peak.stop() - before:10,.0f} MB at most")
        with timed("open again from the store", pods):
            Inventory(store, cluster, now=NOW)


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pods", type=int, default=10_000)
    given = parser.parse_args()
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    print(
        f"{platform.machine()}, {os.cpu_count()} cores, load {load}, {datetime.now(UTC):%Y-%m-%d}"
    )
    take(given.pods)


if __name__ == "__main__":
    main()
