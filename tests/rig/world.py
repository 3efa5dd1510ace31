"""What runs in the end-to-end test: two clusters, every kind of workload, and what happens to it.

Everything follows from the number of a namespace, so two runs do the same. `populate` makes it,
`churn` scales, deletes and re-creates; both only talk to the API. What it ought to cost is not
said here but in `oracle.py`, from what the API said.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

from realparts import objects
from realparts.api import Api, ApiError, Json
from realparts.processes import eventually

TEAM, OWNER = "team.example.com/name", "owner"
LINGERS, RUNS_FOR = "rig.seedance.io/lingers", "rig.seedance.io/runs-for"
STUCK, ENDS_AS = "rig.seedance.io/stuck", "rig.seedance.io/ends-as"
UNSEEN = "unseen"
"""Namespace of the pods that are deleted while the server is away."""

INSTANCE_TYPES = (("rig.small", 16, 64), ("rig.medium", 32, 64), ("rig.large", 48, 192))
DEPLOYMENTS, RAY = "/apis/apps/v1", "/apis/ray.io/v1"


@dataclass(frozen=True, slots=True)
class Size:
    """How much of everything: nodes of each instance type, namespaces, and a factor on replicas."""

    nodes_per_type: int
    namespaces: int
    replicas: float = 1.0

    def times(self, count: int) -> int:
        """`count` replicas at this size, at least one."""
        return max(1, round(count * self.replicas))


EAST = Size(nodes_per_type=10, namespaces=40)
WEST = Size(nodes_per_type=1, namespaces=4, replicas=0.4)


def namespace(index: int) -> str:
    """Name of a namespace; the same in every cluster."""
    return f"ns-{index:02}"


def is_hungry(name: str) -> bool:
    """Whether pods here use more than they request, so that use decides what they cost."""
    return name.startswith("ns-") and int(name[3:]) % 8 == 7


def is_quick(name: str) -> bool:
    """Whether pods here go at once when deleted, so that the moment of sight ends them."""
    return name == UNSEEN or int(name[3:]) % 10 == 9


class World:
    """One cluster's objects, made through its API."""

    def __init__(self, api: Api, size: Size, *, shift: int = 0) -> None:
        """`shift` moves the team names on, so that equal namespaces of two clusters differ."""
        self._api = api
        self._size = size
        self._shift = shift

    def populate(self) -> None:
        """Nodes, namespaces, then every workload."""
        self._foundations()
        self._all(partial(self._fill, index) for index in range(self._size.namespaces))
        self._all([self._unseen])

    def churn(self, turn: int) -> None:
        """Scale, roll out, delete and re-create under the same name; each turn does it again."""
        indices = range(self._size.namespaces)
        self._all(partial(self._scale, i, turn) for i in indices)
        self._all(partial(self._recreate_deployment, i) for i in indices if i % 7 == 2)
        self._all(partial(self._roll_out, i, turn) for i in indices if i % 9 == 4)
        self._all(partial(self._delete_pod, i, "db-0") for i in indices if i % 2 == 0)
        self._all(partial(self._recreate_solo, i) for i in indices)
        if turn == 1:
            self._api.delete(f"{RAY}/namespaces/{namespace(0)}/rayjobs/train")

    def delete_unseen(self) -> None:
        """Delete half of the pods of `unseen`; two come back under their old names."""
        for number in range(5):
            self._api.delete(f"/api/v1/namespaces/{UNSEEN}/pods/ghost-{number}")
        for number in range(2):
            self._wait_gone(f"/api/v1/namespaces/{UNSEEN}/pods/ghost-{number}")
            self._ghost(number)

    def running(self) -> int:
        """How many pods run."""
        items = self._api.get("/api/v1/pods", fieldSelector="status.phase=Running")["items"]
        return len(items)

    # what there is -------------------------------------------------------------------------

    def _foundations(self) -> None:
        self._api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", _ray_crd())
        self._api.create("/apis/node.k8s.io/v1/runtimeclasses", _sandbox())
        for number in range(self._size.nodes_per_type):
            for kind, cpu, memory in INSTANCE_TYPES:
                self._api.create("/api/v1/nodes", _node(f"{kind[4:]}-{number}", kind, cpu, memory))
        for index in range(self._size.namespaces):
            self._api.create("/api/v1/namespaces", self._namespace(index))
        self._api.create("/api/v1/namespaces", {"metadata": {"name": UNSEEN}})
        path = f"/api/v1/namespaces/{UNSEEN}/serviceaccounts"
        eventually(lambda: bool(self._api.get(path)["items"]), "service account", seconds=60)
        eventually(self._knows_ray, "custom kind", seconds=60)

    def _knows_ray(self) -> bool:
        try:
            self._api.get(f"{RAY}/rayjobs")
        except ApiError:
            return False
        return True

    def _namespace(self, index: int) -> Json:
        metadata: dict[str, Any] = {"name": namespace(index)}
        if index % 4 != 3:
            metadata["labels"] = {TEAM: f"team-{(index + self._shift) % 7}"}
        if index % 8 == 3:
            metadata["annotations"] = {OWNER: f"person-{index % 5}"}
        return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}

    def _fill(self, index: int) -> None:
        self._deployments(index)
        self._batch(index)
        self._singles(index)
        if index < 2:
            self._create(index, f"{DEPLOYMENTS}/%/daemonsets", self._daemonset(index))
        if index % 5 == 0:
            self._ray(index)

    def _deployments(self, index: int) -> None:
        web = self._template(index, cpu=60 + 10 * (index % 9), memory=96 + 16 * (index % 5))
        self._deploy(index, "web", 20 + index % 5, web, team=f"web-{index % 3}")
        self._deploy(index, "api", 10, self._api_template(index))
        self._deploy(index, "shaped", 3, self._shaped(index))
        if is_hungry(namespace(index)):
            hungry = self._template(index, cpu=50, memory=64, use=3.0)
            self._deploy(index, "hungry", 3, hungry)
            self._deploy(index, "effortless", 2, self._template(index, cpu=0, memory=0, use=1.0))
        template = self._template(index, cpu=110, memory=200)
        body = _controller("StatefulSet", "db", self._size.times(4), template)
        body["spec"] |= {"serviceName": "db", "podManagementPolicy": "Parallel"}
        self._create(index, f"{DEPLOYMENTS}/%/statefulsets", body)

    def _api_template(self, index: int) -> Json:
        return self._template(
            index,
            cpu=125,
            memory=128 + index,
            labels={TEAM: f"pod-team-{index % 2}"} if index % 6 == 0 else {},
        )

    def _batch(self, index: int) -> None:
        template = self._template(
            index, cpu=90, memory=80, annotations={RUNS_FOR: f"{40 + 3 * index}s"}
        )
        template["spec"]["restartPolicy"] = "Never"
        count = self._size.times(5)
        spec = {"parallelism": count, "completions": count, "template": template}
        body = {"metadata": {"name": "batch"}, "spec": spec}
        self._create(index, "/apis/batch/v1/%/jobs", body)
        if index % 7 == 1:
            short = self._template(index, cpu=70, memory=64, annotations={RUNS_FOR: "20s"})
            short["spec"]["restartPolicy"] = "Never"
            cron = {
                "schedule": "* * * * *",
                "successfulJobsHistoryLimit": 100,
                "jobTemplate": {"spec": {"template": short}},
            }
            self._create(
                index, "/apis/batch/v1/%/cronjobs", {"metadata": {"name": "tick"}, "spec": cron}
            )

    def _singles(self, index: int) -> None:
        for number in range(2):
            self._pod(index, f"solo-{number}", self._template(index, cpu=75, memory=72))
        failing = {RUNS_FOR: "30s", ENDS_AS: "Failed"}
        self._pod(index, "fails", self._template(index, cpu=45, memory=48, annotations=failing))
        if index % 6 == 2:
            stuck = self._template(index, cpu=130, memory=64, annotations={STUCK: "yes"}, use=0.0)
            self._pod(index, "stuck", stuck)

    def _ray(self, index: int) -> None:
        body = {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": "train"}}
        owner = self._api.create(f"{RAY}/namespaces/{namespace(index)}/rayjobs", body)
        for number in range(self._size.times(6)):
            template = self._template(index, cpu=180, memory=256)
            self._pod(index, f"train-worker-{number}", template, owner=owner)

    def _daemonset(self, index: int) -> Json:
        body = _controller(
            "DaemonSet", f"agent-{index}", 0, self._template(index, cpu=20, memory=32)
        )
        del body["spec"]["replicas"]
        return body

    def _shaped(self, index: int) -> Json:
        """Requests that are more than the sum of the containers, in four ways."""
        template = self._template(index, cpu=50, memory=64)
        spec = template["spec"]
        sidecar = objects.container("proxy", cpu="30m", memory="32Mi", restartPolicy="Always")
        sidecar["resources"]["limits"] = dict(sidecar["resources"]["requests"])
        heavy = objects.container("prepare", cpu="200m", memory="40Mi")
        kind = index % 4
        if kind == 0:
            spec["initContainers"] = [heavy, sidecar]
        elif kind == 1:
            spec["initContainers"] = [sidecar, heavy]
        elif kind == 2:
            spec["runtimeClassName"] = "sandbox"
        else:
            spec["resources"] = {"requests": {"cpu": "150m", "memory": "96Mi"}}
        return template

    def _template(
        self,
        index: int,
        *,
        cpu: int,
        memory: int,
        use: float = 0.4,
        annotations: dict[str, str] | None = None,
        labels: dict[str, str] | None = None,
    ) -> Json:
        """Request `cpu` millicores and `memory` MiB (0: none), use that much of it."""
        busy = (round((cpu or 25) * use), round((memory or 40) * use))
        notes = {**objects.usage(f"{busy[0]}m", f"{busy[1]}Mi"), **(annotations or {})}
        if not is_quick(namespace(index)):
            notes[LINGERS] = "yes"
        requests = {"cpu": f"{cpu}m", "memory": f"{memory}Mi"} if cpu else {}
        return objects.pod_template(
            objects.container(**requests), annotations=notes, labels=labels or {}
        )

    def _unseen(self) -> None:
        for number in range(10):
            self._ghost(number)

    def _ghost(self, number: int) -> None:
        template = objects.pod_template(
            objects.container(cpu="85m", memory="90Mi"), annotations=objects.usage("40m", "50Mi")
        )
        body = objects.pod(UNSEEN, f"ghost-{number}", template)
        self._retried(lambda: self._api.create(f"/api/v1/namespaces/{UNSEEN}/pods", body))

    # what happens to it --------------------------------------------------------------------

    def _scale(self, index: int, turn: int) -> None:
        step = (3, -4, 0)[index % 3] * (1 if turn % 2 else -1)
        if step:
            path = f"{DEPLOYMENTS}/namespaces/{namespace(index)}/deployments/web"
            now = self._api.get(path)["spec"]["replicas"]
            self._api.patch(path, {"spec": {"replicas": max(1, now + step)}})

    def _roll_out(self, index: int, turn: int) -> None:
        template = {"metadata": {"annotations": {"rig.seedance.io/turn": str(turn)}}}
        path = f"{DEPLOYMENTS}/namespaces/{namespace(index)}/deployments/web"
        self._api.patch(path, {"spec": {"template": template}})

    def _recreate_deployment(self, index: int) -> None:
        path = f"{DEPLOYMENTS}/namespaces/{namespace(index)}/deployments/api"
        self._api.delete(path, propagationPolicy="Foreground")
        self._wait_gone(path)
        self._deploy(index, "api", 10, self._api_template(index))

    def _recreate_solo(self, index: int) -> None:
        self._delete_pod(index, "solo-0")
        self._wait_gone(f"/api/v1/namespaces/{namespace(index)}/pods/solo-0")
        self._pod(index, "solo-0", self._template(index, cpu=85, memory=72))

    def _delete_pod(self, index: int, name: str) -> None:
        self._api.delete(f"/api/v1/namespaces/{namespace(index)}/pods/{name}")

    # how -----------------------------------------------------------------------------------

    def _deploy(
        self, index: int, name: str, replicas: int, template: Json, *, team: str = ""
    ) -> None:
        body = _controller("Deployment", name, self._size.times(replicas), template)
        if team and index % 5 == 0:
            body["metadata"]["labels"] = {TEAM: team}
        self._create(index, f"{DEPLOYMENTS}/%/deployments", body)

    def _create(self, index: int, path: str, body: Json) -> None:
        target = path.replace("%", f"namespaces/{namespace(index)}")
        self._retried(lambda: self._api.create(target, body))

    def _pod(self, index: int, name: str, template: Json, *, owner: Json | None = None) -> None:
        self._create(
            index, "/api/v1/%/pods", objects.pod(namespace(index), name, template, owner=owner)
        )

    def _retried(self, call: Callable[[], object]) -> None:
        """Again where the namespace's service account is not made yet."""
        for _ in range(100):
            try:
                call()
            except ApiError as error:
                if error.status != 403:
                    raise
                time.sleep(0.2)
            else:
                return
        raise AssertionError("the default service account did not appear")

    def _wait_gone(self, path: str) -> None:
        def gone() -> bool:
            try:
                self._api.get(path)
            except ApiError as error:
                return error.status == 404
            return False

        eventually(gone, f"{path} gone", seconds=60)

    def _all(self, calls: Iterable[Callable[[], None]]) -> None:
        with ThreadPoolExecutor(6) as pool:
            for done in [pool.submit(call) for call in calls]:
                done.result()


def _controller(kind: str, name: str, replicas: int, template: Json) -> Json:
    """A Deployment, StatefulSet or DaemonSet around a template."""
    labels = {"app": name, **template["metadata"]["labels"]}
    template = {**template, "metadata": {**template["metadata"], "labels": labels}}
    spec = {
        "replicas": replicas,
        "selector": {"matchLabels": {"app": name}},
        "template": template,
    }
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def _node(name: str, kind: str, cpu: int, memory: int) -> Json:
    labels = {
        "node.kubernetes.io/instance-type": kind,
        "topology.kubernetes.io/zone": f"zone-{sum(name.encode()) % 2}",
    }
    return objects.node(name, cpu=cpu, memory_gib=memory, labels=labels)


def _sandbox() -> Json:
    overhead = {"podFixed": {"cpu": "40m", "memory": "60Mi"}}
    return {"metadata": {"name": "sandbox"}, "handler": "sandbox", "overhead": overhead}


def _ray_crd() -> Json:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "rayjobs", "singular": "rayjob", "kind": "RayJob"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "rayjobs.ray.io"},
        "spec": {"group": "ray.io", "scope": "Namespaced", "names": names, "versions": [version]},
    }
