"""Kubernetes objects as text: the columns of each level of the tree and the facts of one object.

`facts` documents are those of `facts.inventory` as plain JSON; keys that are not there mean their
empty value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from seedance.facts import words
from seedance.facts.window import parse_instant
from seedance.flows.reporting.answers import Description, ObjectItem
from seedance.web.pages import figures
from seedance.web.pages.computed import Fact

Cells = tuple[str, ...]
Maker = Callable[[ObjectItem, str], str]

_BYTES = ("memory", "ephemeral-storage", "hugepages-")
_SHOWN_KEYS = 40


def amount(resource: str, value: float) -> str:
    """`500m` as 0.5 cores, bytes as GiB, counts as they are."""
    if resource.startswith(_BYTES):
        return figures.byte_size(value)
    return figures.count(value)


def amounts(quantities: Mapping[str, float] | None) -> str:
    """`cpu 2.0, memory 4.0 GiB`."""
    return ", ".join(f"{name} {amount(name, value)}" for name, value in (quantities or {}).items())


def _since(item: ObjectItem, zone: str) -> str:
    created = item.facts.get("created")
    return figures.instant(parse_instant(created) if created else item.since, zone)


def _fact(name: str) -> Maker:
    return lambda item, _: str(item.facts.get(name, ""))


def _capacity(resource: str) -> Maker:
    def make(item: ObjectItem, _: str) -> str:
        value = item.facts.get("capacity", {}).get(resource)
        return amount(resource, value) if value else ""

    return make


def _gpus(item: ObjectItem, _: str) -> str:
    capacity = item.facts.get("capacity", {})
    return ", ".join(figures.count(v) for k, v in capacity.items() if k.endswith("/gpu"))


def _kind(item: ObjectItem, _: str) -> str:
    return item.kind


def _replicas(item: ObjectItem, _: str) -> str:
    wanted = item.facts.get("replicas")
    return "" if wanted is None else f"{item.facts.get('ready_replicas', 0)} / {wanted}"


def _state(item: ObjectItem, _: str) -> str:
    if item.ended:
        return words.name(f"ended:{item.ended}")
    return str(item.facts.get("phase", "") or item.facts.get("reason", ""))


def _ready(item: ObjectItem, _: str) -> str:
    return words.name("state:ready" if item.facts.get("ready") else "state:not-ready")


def _requests(item: ObjectItem, _: str) -> str:
    return amounts(item.facts.get("effective"))


def _cluster_id(item: ObjectItem, _: str) -> str:
    return item.cluster


COLUMNS: Mapping[str, Mapping[str, Maker]] = {
    "clusters": {"id": _cluster_id, "since": _since},
    "namespaces": {"state": _state, "since": _since},
    "nodes": {
        "type": _fact("instance_type"),
        "zone": _fact("zone"),
        "capacity": _fact("capacity_type"),
        "cpu": _capacity("cpu"),
        "memory": _capacity("memory"),
        "gpu": _gpus,
        "ready": _ready,
        "since": _since,
    },
    "workloads": {"kind": _kind, "replicas": _replicas, "since": _since},
    "pods": {
        "state": _state,
        "node": _fact("node"),
        "requests": _requests,
        "qos": _fact("qos"),
        "since": _since,
    },
    "containers": {
        "type": _fact("type"),
        "requests": _requests,
        "limits": _requests,
        "state": _state,
        "restarts": _fact("restarts"),
        "image": _fact("image"),
    },
}
"""Level of the tree to its columns (`column:NAME` in the catalogue) and how each is filled."""


def containers_of(described: Description) -> Iterable[tuple[str, str, Cells]]:
    """Name, type and cells of each container of a pod."""
    for doc in described.containers or described.object.facts.get("containers", []):
        cells = (
            words.name(f"container:{doc.get('type', 'app')}"),
            amounts(doc.get("requests")),
            amounts(doc.get("limits")),
            str(doc.get("state", "") or doc.get("reason", "")),
            str(doc.get("restarts", 0)),
            str(doc.get("image", "")),
        )
        yield str(doc.get("name", "")), str(doc.get("type", "app")), cells


def facts_of(described: Description, zone: str) -> list[Fact]:
    """What is known about one object, as names and texts."""
    item, doc = described.object, described.object.facts
    found = [("uid", item.uid), ("cluster", item.cluster_name), ("namespace", item.namespace)]
    found += [(name, str(doc.get(name, ""))) for name in ("node", "phase", "reason", "qos")]
    found += [(name, str(doc.get(name, ""))) for name in ("instance_type", "zone", "pool")]
    instants = ("created", "scheduled", "started", "finished", "deletion")
    found += [(name, _instant(doc.get(name), zone)) for name in instants]
    owner = doc.get("owner") or {}
    found.append(("owner", f"{owner.get('kind', '')} {owner.get('name', '')}".strip()))
    found += [(name, amounts(doc.get(name))) for name in ("effective", "capacity", "allocatable")]
    found += [(name, _pairs(doc.get(name))) for name in ("labels", "annotations")]
    found.append(("cost", _cost(described)))
    return [Fact(words.name(f"object:{name}"), text) for name, text in found if text]


def _cost(described: Description) -> str:
    """`12.40 USD, 3.10 of it unused`: the 24 hours before the page's instant."""
    answer = described.cost
    if answer is None or answer.total.cost is None:
        return ""
    money = figures.Money.of(answer.currency, [answer.total.cost])
    text = f"{money.cell(answer.total.cost)} {answer.currency}"
    unused = money.cell(answer.total.unused_cost)
    return words.say("object:cost", cost=text, unused=unused) if unused else text


def versions_of(described: Description, zone: str) -> list[Fact]:
    """Every version of the object, newest first: from when to when, and how it ended."""
    found = []
    for item in reversed(described.versions):
        until = figures.instant(item.until, zone) if item.until else words.name("version:now")
        text = f"{figures.instant(item.since, zone)} – {until}"
        note = words.sentence(f"ended:{item.ended}") if item.ended else ""
        found.append(Fact(str(item.facts.get("phase", "") or item.kind), text, note))
    return found


def _instant(text: str | datetime | None, zone: str) -> str:
    if not text:
        return ""
    at = parse_instant(text) if isinstance(text, str) else text
    return figures.instant(at, zone)


def _pairs(labels: Mapping[str, Any] | None) -> str:
    items = list((labels or {}).items())[:_SHOWN_KEYS]
    return "  ".join(f"{key}={value}" for key, value in items)
