"""Whose a row is: entities, as they stood at an instant.

Every row points to an entity: the pod, its workload up the owner chain, namespace, node, all
labels and annotations with the level they come from, and the three owners. An entity's number is a
hash of its content, so the same facts give the same number at every settle.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from seedance.costs.ledger import POD_EXCESS, Ledger, Place
from seedance.costs.lives import Life
from seedance.costs.ownership import (
    Level,
    resolve_annotations,
    resolve_labels,
    resolve_owner,
)
from seedance.facts.costs import Kind
from seedance.facts.inventory import Node, Owner, Workload
from seedance.manifests.ownership import OwnershipRules

Entity = dict[str, Any]
"""A row of the table `entities`, less `at`."""

_CHAIN = 8  # owner references may form a loop; no real chain is longer than Workflow → … → Pod
_LONGEST = 256
"""Longest annotation value that a row carries; longer ones stay with the object."""


@dataclass(frozen=True, slots=True)
class Kin:
    """What surrounds the pods of a cluster: namespaces by name, owners by UID."""

    cluster: str
    namespaces: Mapping[str, Sequence[Life[Workload]]]
    owners: Mapping[str, Life[Workload]]

    @classmethod
    def of(cls, cluster: str, lives: Mapping[str, Life[Workload]]) -> Kin:
        """Sort the lives of namespaces and workloads."""
        namespaces: dict[str, list[Life[Workload]]] = {}
        for life in lives.values():
            if life.kind == "Namespace":
                namespaces.setdefault(life.name, []).append(life)
        owners = {uid: life for uid, life in lives.items() if life.kind != "Namespace"}
        return cls(cluster, namespaces, owners)

    def namespace(self, name: str, at: int) -> Life[Workload] | None:
        """The namespace of that name at `at`: the last one that had begun."""
        mine = self.namespaces.get(name, ())
        begun = [life for life in mine if life.versions[0][0] < at]
        return max(begun or mine, key=lambda life: life.versions[0][0], default=None)

    def chain(self, owner: Owner | None, at: int) -> tuple[Owner | None, list[Life[Workload]]]:
        """The topmost owner, and the known owners on the way to it, nearest first."""
        top, known = owner, list[Life[Workload]]()
        for _ in range(_CHAIN):
            if top is None:
                return None, known
            life = self.owners.get(top.uid)
            if life is None:
                return top, known
            known.append(life)
            above = life.before(at).owner
            if above is None:
                return top, known
            top = above
        return top, known


def number_of(entity: Mapping[str, Any]) -> int:
    """The entity's number: 64 bits of a hash of its content."""
    text = json.dumps(entity, sort_keys=True, ensure_ascii=False)
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


def pod_entities(
    ledger: Ledger,
    place: Place,
    containers: Sequence[str],
    kin: Kin,
    rules: OwnershipRules | None,
    *,
    at: int,
) -> list[Entity]:
    """An entity for each container name of a placed pod, as all stood just before `at`."""
    pod = place.life.before(at)
    life = ledger.nodes[place.node]
    node = life.before(at) if life else None
    top, known = kin.chain(pod.owner, at)
    namespace = kin.namespace(place.life.namespace, at)
    levels = [Level("pod", pod.labels, pod.annotations, place.life.name)]
    for owner in known:
        facts = owner.before(at)
        levels.append(Level("workload", facts.labels, facts.annotations, owner.name))
    if namespace:
        facts = namespace.before(at)
        levels.append(Level("namespace", facts.labels, facts.annotations, namespace.name))
    else:
        levels.append(Level("namespace", {}, {}, place.life.namespace))
    if node:
        levels.append(Level("node", node.labels, node.annotations, life.name if life else ""))
    shared = {
        **_blank(kin.cluster),
        **_node_columns(ledger.node_names[place.node], life, node),
        **_label_columns(levels),
        **_owner_columns(rules, levels),
        "namespace": place.life.namespace,
        "workload_kind": top.kind if top else "Pod",
        "workload": top.name if top else place.life.name,
        "workload_uid": top.uid if top else place.life.uid,
        "pod": place.life.name,
        "pod_uid": place.life.uid,
    }
    return [_numbered({**shared, **_container_columns(name)}) for name in containers]


def _container_columns(name: str) -> Entity:
    kind = Kind.POD if name == POD_EXCESS else Kind.CONTAINER
    return {"container": name, "kind": str(kind)}


def node_entity(kin: Kin, name: str, life: Life[Node] | None, kind: Kind, *, at: int) -> Entity:
    """The entity of a node's own row of that kind."""
    node = life.before(at) if life else None
    levels = [Level("node", node.labels, node.annotations, name)] if node else []
    return _numbered(
        {
            **_blank(kin.cluster),
            **_node_columns(name, life, node),
            **_label_columns(levels),
            "kind": str(kind),
        }
    )


def stray_entity(cluster: str, namespace: str, reason: str) -> Entity:
    """The entity of use that no pod can be found for."""
    blank = _blank(cluster)
    origins = {f"{name}_origin": reason for name in ("domain", "environment", "team")}
    kind = str(Kind.UNATTRIBUTED)
    return _numbered({**blank, **origins, "namespace": namespace, "kind": kind})


def _numbered(entity: Entity) -> Entity:
    return {"entity": number_of(entity), **entity}


def _blank(cluster: str) -> Entity:
    texts = (
        "kind node node_uid instance_type zone capacity_type namespace workload_kind workload "
        "workload_uid pod pod_uid container domain domain_origin environment environment_origin "
        "team team_origin"
    )
    maps = "labels label_origins annotations annotation_origins"
    empty: Entity = dict.fromkeys(texts.split(), "")
    return {"cluster": cluster, **empty, **{name: {} for name in maps.split()}}


def _node_columns(name: str, life: Life[Node] | None, node: Node | None) -> Entity:
    if life is None or node is None:
        return {"node": name}
    return {
        "node": name,
        "node_uid": life.uid,
        "instance_type": node.instance_type,
        "zone": node.zone,
        "capacity_type": node.capacity_type,
    }


def _label_columns(levels: Sequence[Level]) -> Entity:
    labels, label_origins = resolve_labels(levels)
    annotations, origins = resolve_annotations(levels)
    short = {key: value for key, value in annotations.items() if len(value) <= _LONGEST}
    return {
        "labels": labels,
        "label_origins": label_origins,
        "annotations": short,
        "annotation_origins": {key: origins[key] for key in short},
    }


def _owner_columns(rules: OwnershipRules | None, levels: Sequence[Level]) -> Entity:
    owners = resolve_owner(rules, levels)
    return {
        column: text
        for name, (value, origin) in owners.items()
        for column, text in ((name, value), (f"{name}_origin", origin))
    }
