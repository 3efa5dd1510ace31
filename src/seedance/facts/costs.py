"""Words of the cost rows: kinds, reasons and flags. The arithmetic is in `docs/explain`."""

from __future__ import annotations

from enum import IntFlag, StrEnum


class Kind(StrEnum):
    """What a cost row stands for."""

    CONTAINER = "container"
    """A real container of a pod."""
    POD = "pod"
    """The excess of the pod's effective request over its containers, shown as container `(pod)`."""
    IDLE = "idle"
    """What nobody is charged for on a node."""
    SYSTEM = "system"
    """What the kubelet reserves: capacity less allocatable."""
    UNATTRIBUTED = "unattributed"
    """What cannot be given to anyone for lack of data."""


class Flag(IntFlag):
    """What a reader must know about a row; several may hold."""

    NO_METRICS = 1
    """Usage is not known at all: the request is charged."""
    PARTIAL_METRICS = 2
    """Usage is known for a part of the charged time only."""
    OVERCOMMITTED = 4
    """Charges were scaled down in at least one minute, since they exceeded the node's capacity."""
    END_ESTIMATED = 8
    """The pod's deletion was not seen; it ends at its last sample or last sight."""
    RESERVED_NOT_RUNNING = 16
    """The pod held its request while no container ran."""
    NODE_GONE = 32
    """The pod outlived its node for a part of the window; that part costs nothing."""


class Reason(StrEnum):
    """Why a value is not there. Each has one sentence and one next step in the catalogue."""

    NO_OWNER_KEY = "no-owner-key"
    """None of the keys that the ownership rules name is set on pod, workload, namespace or node."""
    NO_RULES = "no-rules"
    """No ownership rules were in force."""
    NO_KEY = "no-key"
    """The label or annotation asked for is not set anywhere up the chain."""
    NO_METRICS = "no-metrics"
    """No usage arrived for a pod that could use more than it requests."""
    NO_CLUSTER = "no-cluster"
    """The sample names no cluster and there are several."""
    NO_OBJECT = "no-object"
    """The sample names a pod that the inventory has not seen alive at that time."""
    NO_PRICE_BOOK = "no-price-book"
    """No price book was in force."""
    NO_MATCHING_ENTRY = "no-matching-entry"
    """No entry of a price book matches the node."""
    NO_RESOURCE_PRICE = "no-resource-price"
    """The entry that matches has no price for this resource."""
    NO_CAPACITY = "no-capacity"
    """The node reports no capacity, so the price of the whole node cannot be split."""
    IMPLAUSIBLE_PRICE = "implausible-price"
    """The price of the whole node is far above what its capacity could cost."""
