"""Nodes: kube JSON to `facts.inventory.Node`.

Where a node runs and on what terms stands in labels, and every provider has its own: the tables
here name them, the first that is set wins.
"""

from __future__ import annotations

from collections.abc import Iterable

from seedance.facts.inventory import Labels, Node
from seedance.intake.meta import (
    Json,
    annotations_of,
    created_at,
    instant,
    labels_of,
    metadata_of,
)
from seedance.intake.quantities import parse_quantities

_INSTANCE_TYPE = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
_ZONE = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")
_REGION = ("topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region")
_POOL = (
    "karpenter.sh/nodepool",
    "karpenter.sh/provisioner-name",
    "eks.amazonaws.com/nodegroup",
    "alpha.eksctl.io/nodegroup-name",
    "cloud.google.com/gke-nodepool",
    "kubernetes.azure.com/agentpool",
    "agentpool",
    "alibabacloud.com/nodepool-id",
    "doks.digitalocean.com/node-pool",
    "k8s.scaleway.com/pool-name",
    "kops.k8s.io/instancegroup",
)
_CAPACITY_TYPE = {
    "karpenter.sh/capacity-type": {
        "spot": "spot",
        "on-demand": "on-demand",
        "reserved": "reserved",
    },
    "eks.amazonaws.com/capacityType": {
        "SPOT": "spot",
        "ON_DEMAND": "on-demand",
        "CAPACITY_BLOCK": "reserved",
    },
    "cloud.google.com/gke-spot": {"true": "spot"},
    "cloud.google.com/gke-preemptible": {"true": "spot"},
    "cloud.google.com/gke-provisioning": {
        "spot": "spot",
        "preemptible": "spot",
        "standard": "on-demand",
        "reservation": "reserved",
    },
    "kubernetes.azure.com/scalesetpriority": {"spot": "spot", "regular": "on-demand"},
    "node.kubernetes.io/lifecycle": {"spot": "spot", "normal": "on-demand"},
    "lifecycle": {"Ec2Spot": "spot", "OnDemand": "on-demand"},
    # These two say nothing of terms, but on their clouds a spot node always has a label above.
    "cloud.google.com/gke-nodepool": {"": "on-demand"},
    "kubernetes.azure.com/cluster": {"": "on-demand"},
}


def normalise_node(document: Json) -> Node:
    """A node's facts, without its heartbeats, images and addresses.

    Raises:
        IntakeError: if the document has no identity or a value that the API would refuse.
    """
    metadata = metadata_of(document)
    spec, status = document.get("spec") or {}, document.get("status") or {}
    labels = labels_of(metadata)
    capacity = parse_quantities(status.get("capacity"))
    return Node(
        created=created_at(metadata),
        labels=labels,
        annotations=annotations_of(metadata),
        capacity=capacity,
        allocatable=parse_quantities(status.get("allocatable")) or dict(capacity),
        instance_type=_first(labels, _INSTANCE_TYPE),
        zone=_first(labels, _ZONE),
        region=_first(labels, _REGION),
        capacity_type=_capacity_type(labels),
        pool=_first(labels, _POOL),
        provider_id=spec.get("providerID") or "",
        kubelet_version=(status.get("nodeInfo") or {}).get("kubeletVersion") or "",
        unschedulable=bool(spec.get("unschedulable")),
        ready=_ready(status),
        deletion=instant(metadata.get("deletionTimestamp")),
    )


def _first(labels: Labels, keys: Iterable[str]) -> str:
    return next((labels[key] for key in keys if labels.get(key)), "")


def _capacity_type(labels: Labels) -> str:
    """`on-demand`, `spot`, `reserved`, or "" where no label says."""
    for key, words in _CAPACITY_TYPE.items():
        if key in labels:
            found = words.get(labels[key]) or words.get("")
            if found:
                return found
    return ""


def _ready(status: Json) -> bool:
    return any(
        condition.get("type") == "Ready" and condition.get("status") == "True"
        for condition in status.get("conditions") or []
    )
