"""What watching a large cluster costs: `make bench-watch` (ARGS="--nodes 1000 --pods 10000").

A real control plane with KWOK's nodes is filled with pods, then `seedance serve` is started on it:
how long until everything is listed, how much memory is the server's own at most, how much CPU the
steady watch takes, and how long after a change the API shows it. Needs the parts of `make rig`.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "rig"))

from realparts import objects
from realparts.api import Api
from realparts.control_plane import ControlPlane
from realparts.network import Network, own_network
from realparts.parts import missing
from realparts.processes import eventually
from realparts.product import Product

NAMESPACES = 100
CHANGES = 30
LIST_SECONDS, ANONYMOUS_MB, VISIBLE_SECONDS = 30.0, 400.0, 1.0


def main() -> int:
    """Run it; 0 when every goal is met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=1_000)
    parser.add_argument("--pods", type=int, default=10_000)
    wanted = parser.parse_args()
    absent = ", ".join(part.name for part in missing())
    if absent:
        print(f"{absent} not built: run `make rig`", file=sys.stderr)
        return 2
    print(platform.platform(), os.cpu_count(), "cores, Python", platform.python_version())
    with (
        tempfile.TemporaryDirectory() as name,
        own_network() as network,
        _cluster(Path(name), network) as plane,
    ):
        _fill(plane.api, nodes=wanted.nodes, pods=wanted.pods)
        return _measure(plane, Path(name), network, pods=wanted.pods)


@contextmanager
def _cluster(folder: Path, network: Network) -> Iterator[ControlPlane]:
    plane = ControlPlane("bench", folder / "plane", network)
    try:
        plane.start()
        yield plane
    finally:
        plane.stop()


def _fill(api: Api, *, nodes: int, pods: int) -> None:
    """Nodes, namespaces and pods bound to them; pods get the size that they have in the field."""
    started = time.monotonic()

    def node(number: int) -> None:
        api.create("/api/v1/nodes", objects.node(f"n{number}", cpu=32, memory_gib=128))

    def namespace(number: int) -> None:
        api.create("/api/v1/namespaces", {"metadata": {"name": f"ns-{number}"}})

    def pod(number: int) -> None:
        name = f"ns-{number % NAMESPACES}"
        body = objects.pod(name, f"app-{number}", _template(number))
        body["spec"]["nodeName"] = f"n{number % nodes}"
        body["spec"]["serviceAccountName"] = ""
        api.create(f"/api/v1/namespaces/{name}/pods", body)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(node, range(nodes)))
        list(pool.map(namespace, range(NAMESPACES)))
        eventually(lambda: _accounts(api) >= NAMESPACES, "accounts", seconds=120, every=1)
        list(pool.map(pod, range(pods)))
    eventually(lambda: _running(api) >= pods, "every pod runs", seconds=900, every=5)
    print(f"cluster: {nodes} nodes, {pods} pods run after {time.monotonic() - started:.0f} s")


def _template(number: int) -> dict[str, Any]:
    labels = {"app": f"app-{number % 300}", "team.example.com/name": f"team-{number % 20}"}
    labels |= {f"example.com/label-{index}": f"value-{index}" for index in range(8)}
    notes = {f"example.com/note-{index}": "x" * 80 for index in range(6)}
    containers = [objects.container(name, cpu="100m", memory="128Mi") for name in ("main", "log")]
    return objects.pod_template(
        *containers, labels=labels, annotations={**objects.usage("50m", "64Mi"), **notes}
    )


def _accounts(api: Api) -> int:
    items = api.get("/api/v1/serviceaccounts", fieldSelector="metadata.name=default")["items"]
    return len(items)


def _running(api: Api) -> int:
    answer = api.get("/api/v1/pods", fieldSelector="status.phase=Pending", limit="1")
    if answer["items"]:
        return 0
    found = api.get("/api/v1/pods", limit="1")
    return len(found["items"]) + int(found["metadata"].get("remainingItemCount", 0))


def _measure(plane: ControlPlane, folder: Path, network: Network, *, pods: int) -> int:
    product = Product(
        folder / "server",
        network,
        {"bench": plane.kubeconfig("server", "rig-admin")},
        settings={"SEEDANCE_KUBERNETES_SCRAPE": "false"},
    )
    try:
        product.start()
        started = time.monotonic()
        peak = [0.0]

        def listed() -> bool:
            peak[0] = max(peak[0], product.program.anonymous_bytes() / 1e6)
            return _synced(product, pods)

        eventually(listed, "everything is listed", seconds=300, every=0.1)
        seconds = time.monotonic() - started
        before, from_ = _cpu(product.program.pid), time.monotonic()
        delays = [_change(plane.api, product, number) for number in range(CHANGES)]
        eventually(listed, "still listed", seconds=30)
        steady = product.program.anonymous_bytes() / 1e6
        busy = (_cpu(product.program.pid) - before) / (time.monotonic() - from_)
    finally:
        product.stop()
    worst, middle = max(delays), statistics.median(delays)
    print(f"listed after          {seconds:8.2f} s    goal {LIST_SECONDS:.0f} s")
    print(f"anonymous memory      {peak[0]:8.0f} MB   goal {ANONYMOUS_MB:.0f} MB (highest seen)")
    print(f"  while watching      {steady:8.0f} MB")
    print(f"change visible after  {middle:8.2f} s    median; worst {worst:.2f} s, goal 1 s")
    print(f"CPU while watching    {busy:8.2f} cores")
    met = seconds <= LIST_SECONDS and peak[0] <= ANONYMOUS_MB and worst <= VISIBLE_SECONDS
    return 0 if met else 1


def _synced(product: Product, pods: int) -> bool:
    watches = product.get("/api/v1/status")["watches"]
    kinds = {kind["kind"]: kind for kind in watches[0]["kinds"]} if watches else {}
    return (
        bool(kinds)
        and all(k["synced"] for k in kinds.values())
        and (kinds["Pod"]["objects"] >= pods)
    )


def _change(api: Api, product: Product, number: int) -> float:
    """Label a pod; how long until the server's API shows the label."""
    namespace, name = f"ns-{number % NAMESPACES}", f"app-{number}"
    value = f"changed-{number}"
    api.patch(
        f"/api/v1/namespaces/{namespace}/pods/{name}", {"metadata": {"labels": {"mark": value}}}
    )
    return eventually(
        lambda: value in str(product.get(f"/api/v1/pods/{name}", namespace=namespace)),
        f"{name} shows its label",
        seconds=30,
        every=0.02,
    )


def _cpu(pid: int) -> float:
    """Seconds of CPU a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    sys.exit(main())
