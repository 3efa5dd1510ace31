"""Nodes, workloads, namespaces and claims."""

from __future__ import annotations

from typing import Any

import pytest

from seedance.facts.errors import IntakeError
from seedance.facts.inventory import Claim, Node, Owner, Uid, Workload
from seedance.intake.inventory import RESOURCES, normalise

Json = dict[str, Any]


def document(spec: Json | None = None, status: Json | None = None, **metadata: Any) -> Json:
    return {
        "metadata": {
            "uid": "u-1",
            "name": "x",
            "creationTimestamp": "2026-11-30T10:00:00Z",
            **metadata,
        },
        "spec": spec or {},
        "status": status or {},
    }


def node(labels: dict[str, str] | None = None, **status: Any) -> Node:
    found = normalise("Node", document({"providerID": "aws:///i-1"}, status, labels=labels or {}))
    assert isinstance(found, Node)
    return found


def workload(
    kind: str, spec: Json | None = None, status: Json | None = None, **more: Any
) -> Workload:
    found = normalise(kind, document(spec, status, **more))
    assert isinstance(found, Workload)
    return found


def test_a_node_keeps_what_prices_need() -> None:
    found = node(
        {
            "node.kubernetes.io/instance-type": "p5.48xlarge",
            "topology.kubernetes.io/zone": "eu-west-1b",
            "topology.kubernetes.io/region": "eu-west-1",
            "karpenter.sh/nodepool": "gpu",
            "karpenter.sh/capacity-type": "reserved",
        },
        capacity={"cpu": "192", "memory": "2Ti", "nvidia.com/gpu": "8", "pods": "250"},
        allocatable={"cpu": "191450m", "memory": "2000Gi", "nvidia.com/gpu": "8", "pods": "250"},
        nodeInfo={"kubeletVersion": "v1.37.2"},
        conditions=[{"type": "Ready", "status": "True"}],
    )
    assert found.instance_type == "p5.48xlarge"
    assert (found.zone, found.region, found.pool) == ("eu-west-1b", "eu-west-1", "gpu")
    assert found.capacity_type == "reserved"
    assert found.capacity["nvidia.com/gpu"] == 8.0
    assert found.allocatable["cpu"] == 191.45
    assert (found.provider_id, found.kubelet_version, found.ready) == (
        "aws:///i-1",
        "v1.37.2",
        True,
    )


def test_old_labels_still_say_where_a_node_is() -> None:
    found = node(
        {
            "beta.kubernetes.io/instance-type": "m5.large",
            "failure-domain.beta.kubernetes.io/zone": "z1",
            "failure-domain.beta.kubernetes.io/region": "r1",
        }
    )
    assert (found.instance_type, found.zone, found.region) == ("m5.large", "z1", "r1")


@pytest.mark.parametrize(
    ("labels", "capacity_type"),
    [
        ({}, ""),
        ({"karpenter.sh/capacity-type": "spot"}, "spot"),
        ({"karpenter.sh/capacity-type": "on-demand"}, "on-demand"),
        ({"eks.amazonaws.com/capacityType": "SPOT"}, "spot"),
        ({"eks.amazonaws.com/capacityType": "ON_DEMAND"}, "on-demand"),
        ({"eks.amazonaws.com/capacityType": "CAPACITY_BLOCK"}, "reserved"),
        ({"cloud.google.com/gke-nodepool": "p", "cloud.google.com/gke-spot": "true"}, "spot"),
        (
            {"cloud.google.com/gke-nodepool": "p", "cloud.google.com/gke-preemptible": "true"},
            "spot",
        ),
        ({"cloud.google.com/gke-nodepool": "p"}, "on-demand"),
        (
            {"kubernetes.azure.com/scalesetpriority": "spot", "kubernetes.azure.com/cluster": "c"},
            "spot",
        ),
        ({"kubernetes.azure.com/cluster": "c"}, "on-demand"),
        ({"karpenter.sh/capacity-type": "something-new"}, ""),
    ],
)
def test_capacity_type_is_read_from_the_labels_of_each_provider(
    labels: dict[str, str], capacity_type: str
) -> None:
    assert node(labels).capacity_type == capacity_type


def test_a_heartbeat_changes_nothing() -> None:
    beats = [
        node(
            conditions=[
                {"type": "Ready", "status": "True", "lastHeartbeatTime": f"2026-11-30T10:0{i}:00Z"}
            ],
            images=[{"names": [str(i)]}],
        )
        for i in range(2)
    ]
    assert beats[0].to_doc() == beats[1].to_doc()
    handshakes = [
        normalise("Node", document(annotations={"hami.io/node-handshake": f"Requesting_{i}"}))
        for i in range(2)
    ]
    assert handshakes[0] == handshakes[1]


@pytest.mark.parametrize(
    ("kind", "spec", "status", "numbers"),
    [
        ("Deployment", {"replicas": 3}, {"readyReplicas": 2}, (3, 2)),
        ("ReplicaSet", {"replicas": 0}, {"replicas": 0}, (0, None)),
        ("StatefulSet", {"replicas": 1}, {"readyReplicas": 1}, (1, 1)),
        ("DaemonSet", {}, {"desiredNumberScheduled": 5, "numberReady": 4}, (5, 4)),
        ("Job", {"parallelism": 4}, {"ready": 3}, (4, 3)),
        ("CronJob", {"suspend": True}, {}, (None, None)),
    ],
)
def test_workloads_keep_their_size(
    kind: str, spec: Json, status: Json, numbers: tuple[int | None, int | None]
) -> None:
    found = workload(kind, spec, status)
    assert (found.replicas, found.ready_replicas) == numbers
    assert found.suspended == bool(spec.get("suspend"))


def test_a_job_says_how_it_ended_and_a_namespace_its_phase() -> None:
    ended = [{"type": "Failed", "status": "True"}]
    assert workload("Job", {}, {"conditions": ended}).phase == "Failed"
    assert workload("Namespace", {}, {"phase": "Terminating"}).phase == "Terminating"


def test_a_workload_names_its_owner() -> None:
    owner = {"kind": "CronJob", "name": "nightly", "uid": "u-c", "controller": True}
    found = workload("Job", ownerReferences=[owner])
    assert found.owner == Owner("CronJob", "nightly", Uid("u-c"))
    assert Workload.from_doc(found.to_doc()) == found


def test_a_claim_keeps_its_sizes() -> None:
    found = normalise(
        "PersistentVolumeClaim",
        document(
            {
                "storageClassName": "gp3",
                "volumeName": "pv-1",
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "10Gi"}},
            },
            {"phase": "Bound", "capacity": {"storage": "100Gi"}},
        ),
    )
    assert isinstance(found, Claim)
    assert (found.requested, found.capacity) == (10 * 2.0**30, 100 * 2.0**30)
    assert (found.storage_class, found.volume, found.phase) == ("gp3", "pv-1", "Bound")
    assert Claim.from_doc(found.to_doc()) == found


def test_every_watched_kind_has_a_reader() -> None:
    for resource in RESOURCES:
        assert normalise(resource.kind, document()).created.year == 2026


def test_an_unwatched_kind_is_refused() -> None:
    with pytest.raises(IntakeError, match="'Secret' is no kind"):
        normalise("Secret", document())
