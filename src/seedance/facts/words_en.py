"""English: every phrase that Seedance says about costs, on the pages and elsewhere.

Grouped by the first part of the code (see `words`). Sentences are short and in the reader's trade;
`{placeholders}` are filled by `words.say` or, on the pages, by figures that link to their rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from seedance.facts.words_en_intake import INTAKE
from seedance.facts.words_en_pages import PAGES
from seedance.facts.words_en_places import PLACES
from seedance.facts.words_phrase import Phrase

_ROWS = {
    "kind:container": Phrase("Container", "A real container of a pod."),
    "kind:pod": Phrase(
        "Pod overhead",
        "What the pod reserves beyond its containers: init containers and overhead.",
        "Lower the requests of the init containers if they exceed those of the pod's containers.",
    ),
    "kind:charged": Phrase("Charged", "What pods are charged for."),
    "kind:idle": Phrase(
        "Idle",
        "Node capacity that nobody requested or used.",
        "Fewer or smaller nodes, or let the autoscaler pack tighter.",
    ),
    "kind:system": Phrase(
        "System reserve",
        "What the kubelet keeps for itself: capacity less allocatable.",
        "Set the kubelet's reserved resources; a few large nodes reserve less than many small.",
    ),
    "kind:unattributed": Phrase(
        "Unattributed",
        "Cost that cannot be given to anyone, because data is missing.",
        "Open Status to see which source does not report.",
    ),
    "key:__idle__": Phrase(
        "Idle",
        "Node capacity that nobody requested or used.",
        "Fewer or smaller nodes, or let the autoscaler pack tighter.",
    ),
    "key:__system__": Phrase(
        "System reserve",
        "What the kubelet keeps for itself: capacity less allocatable.",
        "Set the kubelet's reserved resources; a few large nodes reserve less than many small.",
    ),
    "key:__unattributed__": Phrase(
        "Unattributed",
        "Cost that cannot be given to anyone, because data is missing.",
        "Open Status to see which source does not report.",
    ),
    "key:__unallocated__": Phrase(
        "No owner",
        "Charged to a pod, but nothing that was asked for names its owner.",
        "Label the pod, its workload or its namespace, or add a key to the OwnershipRules.",
    ),
    "key:unset": Phrase("Not set", "The label or annotation is not set."),
    "key:none": Phrase("No {what}", "Charged, but nothing names it."),
    "key:__hidden__": Phrase(
        "Hidden by the filter",
        "What the filter leaves out. Shown so that the parts add up to the total.",
        "Remove the filter to see these rows.",
    ),
    "key:__rest__": Phrase(
        "Everything else",
        "The rows that this page does not list one by one.",
        "Open Costs for the full list.",
    ),
}

_REASONS = {
    "reason:no-owner-key": Phrase(
        "no owner key",
        "None of the keys in the ownership rules is set on pod, workload, namespace or node.",
        "Set one of the keys, or add the key that is set to OwnershipRules.",
    ),
    "reason:no-rules": Phrase(
        "no rules",
        "No ownership rules were in force at that time.",
        "Write OwnershipRules and start the server with --manifests PATH.",
    ),
    "reason:no-key": Phrase(
        "key not set",
        "The label or annotation is not set on pod, workload, namespace or node.",
        "Check the key's spelling; keys are compared as written, dots and slashes included.",
    ),
    "reason:no-metrics": Phrase(
        "usage missing",
        "No usage arrived for a pod that could use more than it requests, so the rest of its node "
        "cannot be called idle.",
        "Open Status: see which source should report this node, and why it does not.",
    ),
    "reason:no-cluster": Phrase(
        "no cluster",
        "The samples name a cluster that is not watched under that name, or none of several.",
        "Open Status: it names both. Watch the cluster under the samples' name, set an external "
        "label in the sender, or send with a token bound to the cluster.",
    ),
    "reason:no-object": Phrase(
        "no object",
        "The samples name a pod that was not alive at that time, as far as the inventory knows.",
        "Check that the watched cluster is the one that sends, and that its clock is right.",
    ),
    "reason:no-price-book": Phrase(
        "no price book",
        "No price book was in force at that time.",
        "Write a PriceBook and start the server with --manifests PATH.",
    ),
    "reason:no-matching-entry": Phrase(
        "no price entry",
        "No entry of a price book matches this node.",
        "Add an entry for the node's instance type, capacity type and zone.",
    ),
    "reason:no-resource-price": Phrase(
        "no resource price",
        "The price entry that matches the node has no price for this resource.",
        "Add the resource to the entry, or a whole-node price with split weights.",
    ),
    "reason:no-capacity": Phrase(
        "no capacity",
        "The node reports no capacity, so the price of the whole node cannot be split.",
        "Wait until its kubelet reports, or price the node per resource in the PriceBook.",
    ),
    "reason:implausible-price": Phrase(
        "implausible price",
        "The price of the whole node is far above what its capacity could cost in an hour.",
        "Is it a price per month? Divide it by 730, or add `unusual` with a reason to the entry.",
    ),
}

_FLAGS = {
    "flag:no-metrics": Phrase(
        "no metrics",
        "Usage is not known, so the request is charged.",
        "Open Status to see which source should report this pod.",
    ),
    "flag:partial-metrics": Phrase(
        "partial metrics",
        "Usage is known for a part of the charged time only; the request is charged for the rest.",
        "Normal for a pod that has just started. Otherwise open Status and look for gaps.",
    ),
    "flag:overcommitted": Phrase(
        "overcommitted",
        "The node's pods asked for more than it has, so each was charged a little less.",
        "Compare the node's requests with its capacity; burst limits may be too generous.",
    ),
    "flag:end-estimated": Phrase(
        "end estimated",
        "The deletion was not seen; the pod is taken to end with its last sample.",
        "Nothing to do. It happens when the watch or the server was down.",
    ),
    "flag:reserved-not-running": Phrase(
        "reserved, not running",
        "The pod held its request while no container ran.",
        "Look at the pod's events: image pull, volume mount and crash loops are the usual causes.",
    ),
    "flag:node-gone": Phrase(
        "node gone",
        "The pod outlived its node for a part of the window; that part costs nothing.",
        "Nothing to do; delete the pod if it lingers.",
    ),
}

_MEASURES = {
    "measure:cost": Phrase("Cost", "Charged amount times price; for each node the rows add up."),
    "measure:requested": Phrase("requested", "What the scheduler set aside."),
    "measure:used": Phrase("used", "What was really used, from metrics."),
    "measure:charged": Phrase(
        "charged", "The larger of requested and used, minute by minute, never above the node."
    ),
    "measure:unused": Phrase(
        "Unused", "Charged but not used: the part that a smaller request would save."
    ),
    "measure:share": Phrase("Share", "Part of the total of this window."),
    "measure:efficiency": Phrase(
        "Used of requested", "Used as a part of requested, weighted by cost; may pass 100 %."
    ),
    "measure:covered": Phrase("covered", "Part of the charged time for which usage is known."),
    "measure:flags": Phrase("Notes", "What to know about a row before trusting it."),
    "measure:idle-share": Phrase("Idle share", "{numerator}, as a part of {denominator}."),
    "missing:any": Phrase("not known", ""),
    "missing:usage": Phrase("no usage", "Not known: no usage arrived in this window."),
    "missing:price": Phrase("no price", "No price applies, so there is no cost."),
    "note:unpriced": Phrase("partly unpriced", "A part of the charged amount has no price."),
    "missing:cost": Phrase("no cost", "Not known: no price applies."),
    "missing:data": Phrase("no data", "Not known: nothing was settled for this time."),
    "mark:provisional": Phrase(
        "provisional", "The current hour is settled every minute and may still change."
    ),
    "mark:estimate": Phrase(
        "list-price estimate", "Priced from a public price list, not from your bill."
    ),
    "mark:snapped": Phrase(
        "snapped", "Minutes this old are no longer kept, so the window was widened to full hours."
    ),
}

_DIMENSIONS = {
    "dimension:cluster": Phrase("Cluster", "The Kubernetes cluster."),
    "dimension:node": Phrase("Node", "The machine."),
    "dimension:instanceType": Phrase("Instance type", "The machine's type at the provider."),
    "dimension:zone": Phrase("Zone", "The availability zone."),
    "dimension:capacityType": Phrase("Capacity type", "On-demand, spot or reserved."),
    "dimension:namespace": Phrase("Namespace", "The Kubernetes namespace."),
    "dimension:workload": Phrase("Workload", "What owns the pods: Deployment, Job, RayJob …"),
    "dimension:workloadKind": Phrase("Workload kind", "Deployment, StatefulSet, Job …"),
    "dimension:pod": Phrase("Pod", "One pod, by name; re-created pods of a name are one row."),
    "dimension:container": Phrase("Container", "One container of a pod."),
    "dimension:kind": Phrase("Row kind", "Container, idle, system or unattributed."),
    "dimension:domain": Phrase("Business domain", "From the ownership rules."),
    "dimension:environment": Phrase("Environment", "From the ownership rules."),
    "dimension:team": Phrase("Team", "From the ownership rules."),
    "dimension:resource": Phrase("Resource", "CPU, memory, GPU and so on."),
    "dimension:label": Phrase("Label", "Any label, by its raw key: label:KEY."),
    "dimension:annotation": Phrase("Annotation", "Any annotation, by its raw key."),
}

ENGLISH: Mapping[str, Phrase] = MappingProxyType(
    {
        **_ROWS,
        **_REASONS,
        **_FLAGS,
        **_MEASURES,
        **_DIMENSIONS,
        **INTAKE,
        **PAGES,
        **PLACES,
    }
)
"""Code to phrase. Complete: every member of Reason, Flag and Kind is here (a test says so)."""
