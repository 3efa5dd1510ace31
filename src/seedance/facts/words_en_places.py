"""English of the Inventory and Status pages: levels, columns, objects, parts, hints."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from seedance.facts.words_phrase import Phrase

_INVENTORY = {
    "level:all": Phrase("All clusters", ""),
    "level:clusters": Phrase("Clusters", ""),
    "level:namespaces": Phrase("Namespaces", ""),
    "level:nodes": Phrase("Nodes", ""),
    "level:workloads": Phrase("Workloads", ""),
    "level:pods": Phrase("Pods", ""),
    "level:containers": Phrase("Containers", ""),
    "column:id": Phrase("Identity", "UID of the cluster's kube-system namespace."),
    "column:since": Phrase("Created", ""),
    "column:state": Phrase("State", ""),
    "column:type": Phrase("Type", ""),
    "column:zone": Phrase("Zone", ""),
    "column:capacity": Phrase("Capacity type", ""),
    "column:cpu": Phrase("Cores", ""),
    "column:memory": Phrase("Memory", ""),
    "column:gpu": Phrase("GPUs", ""),
    "column:ready": Phrase("Ready", ""),
    "column:kind": Phrase("Kind", ""),
    "column:replicas": Phrase("Ready / wanted", ""),
    "column:namespace": Phrase("Namespace", ""),
    "column:node": Phrase("Node", ""),
    "column:requests": Phrase("Requests", "What the scheduler sets aside."),
    "column:limits": Phrase("Limits", ""),
    "column:qos": Phrase("QoS", ""),
    "column:restarts": Phrase("Restarts", ""),
    "column:image": Phrase("Image", ""),
    "container:app": Phrase("container", ""),
    "container:init": Phrase("init container", ""),
    "container:sidecar": Phrase("sidecar", ""),
    "container:ephemeral": Phrase("ephemeral", ""),
    "ended:seen": Phrase("deleted", "Its deletion was watched."),
    "ended:estimated": Phrase("gone", "Its deletion was missed; the end is an estimate."),
    "version:now": Phrase("now", ""),
    "state:ready": Phrase("ready", ""),
    "state:not-ready": Phrase("not ready", ""),
    "state:yes": Phrase("yes", ""),
    "state:no": Phrase("no", ""),
    "object:uid": Phrase("UID", ""),
    "object:cluster": Phrase("Cluster", ""),
    "object:namespace": Phrase("Namespace", ""),
    "object:node": Phrase("Node", ""),
    "object:phase": Phrase("Phase", ""),
    "object:reason": Phrase("Reason", ""),
    "object:qos": Phrase("QoS", ""),
    "object:instance_type": Phrase("Instance type", ""),
    "object:zone": Phrase("Zone", ""),
    "object:pool": Phrase("Pool", ""),
    "object:created": Phrase("Created", ""),
    "object:scheduled": Phrase("Scheduled", ""),
    "object:started": Phrase("Started", ""),
    "object:finished": Phrase("Finished", ""),
    "object:deletion": Phrase("Deletion due", ""),
    "object:owner": Phrase("Owner", ""),
    "object:effective": Phrase("Effective request", ""),
    "object:capacity": Phrase("Capacity", ""),
    "object:allocatable": Phrase("Allocatable", ""),
    "object:cost": Phrase("Cost, 24 hours", "{cost}, {unused} of it unused"),
    "object:labels": Phrase("Labels", ""),
    "object:annotations": Phrase("Annotations", ""),
}

_STATUS = {
    "watch:all": Phrase("all kinds", ""),
    "watch:good": Phrase("in step", "The list is complete and changes arrive."),
    "watch:warn": Phrase("starting", "The first list has not come in yet."),
    "watch:bad": Phrase("broken", "Nothing newer arrives; what was known stands."),
    "watch:off": Phrase("not allowed", "No rights for this kind; the rest goes on."),
    "door:remote-write": Phrase("Remote write", "Prometheus or an agent sends samples."),
    "door:kubelet": Phrase("Kubelet", "Read from the node through the API server."),
    "health:well": Phrase("well", ""),
    "health:ill": Phrase("needs attention", ""),
    "recorder:series": Phrase("Series", ""),
    "recorder:bodies": Phrase("Requests", "since the start"),
    "recorder:samples": Phrase("Samples", "since the start"),
    "recorder:resent": Phrase("Sent again", "and known already"),
    "recorder:samples_per_second": Phrase("Samples a second", "mean of half a minute"),
    "recorder:queue_rows": Phrase("Waiting", "samples in the log, not yet in the store"),
    "recorder:queue_age_s": Phrase("Waiting for", "seconds"),
    "recorder:last_flush": Phrase("Last stored", ""),
    "recorder:stored": Phrase("Stored", "since the start"),
    "recorder:log_bytes": Phrase("Log on disk", ""),
    "recorder:log_damage": Phrase("Damage in the log", ""),
    "manifests:books": Phrase("Price books", ""),
    "manifests:rules": Phrase("Ownership rules", ""),
    "manifests:currency": Phrase("Currency", ""),
    "manifests:fingerprint": Phrase("Fingerprint", ""),
    "hint:cluster": Phrase(
        "Watch a cluster",
        "Nothing is known about what runs until a cluster is watched.",
        "seedance serve --kubeconfig ~/.kube/config",
    ),
    "hint:strangers": Phrase(
        "Samples name a cluster that is not watched",
        "Samples name {words}; watched is {names}. Until both are one name, the use that they "
        "report is nobody's. Watch the cluster under the samples' name, or set Prometheus' "
        "external label cluster to the watched one.",
        "seedance serve --cluster {word}=KUBECONFIG",
    ),
    "hint:nameless": Phrase(
        "Samples name no cluster",
        "Several clusters are watched ({names}), so the use that samples without a name report is "
        "nobody's. Set an external label in each Prometheus, or send with a token bound to it.",
        "external_labels:\n  cluster: {name}",
    ),
    "hint:unwatched": Phrase("no cluster", ""),
    "hint:usage": Phrase(
        "Send usage",
        "Point Prometheus at this server; until then kubelets are read where a cluster is watched.",
        "remote_write:\n  - url: http://127.0.0.1:9091/api/v1/write",
    ),
    "hint:prices": Phrase(
        "Say what nodes cost",
        "Costs come from the built-in list prices until a PriceBook says what you pay.",
        "seedance serve --manifests prices.yaml",
    ),
    "hint:owners": Phrase(
        "Say who owns what",
        "Teams, environments and domains come from labels, by the keys in OwnershipRules.",
        "seedance serve --manifests owners.yaml",
    ),
}

PLACES: Mapping[str, Phrase] = MappingProxyType({**_INVENTORY, **_STATUS})
"""Code to phrase."""
