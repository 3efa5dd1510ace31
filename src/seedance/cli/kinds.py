"""The kinds that can be got and described: their names, short names, and their columns.

Words as in kubectl: `pods`, `pod` and `po` are the same, and `workload` stands for whatever owns
pods. A column is a header and a function from one API item to the text of its cell.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from seedance.cli import cells
from seedance.cli.tables import Column, Table
from seedance.cli.terminal import safe
from seedance.facts.errors import UsageError

Item = Mapping[str, Any]
Cell = Callable[[Item, datetime], str]

_PLAIN = ("cpu", "memory", "ephemeral-storage", "pods")


@dataclass(frozen=True, slots=True)
class Field:
    """A column of a kind and how its cell is read from an item, at an instant."""

    column: Column
    cell: Cell


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind: plural (its word in the API), singular, short name, and columns after NAME."""

    plural: str
    singular: str
    short: str
    namespaced: bool
    fields: tuple[Field, ...]

    @property
    def words(self) -> tuple[str, str, str]:
        """What people may write for it."""
        return self.plural, self.singular, self.short


def _facts(item: Item) -> Mapping[str, Any]:
    facts: Mapping[str, Any] = item.get("facts") or {}
    return facts


def _fact(name: str) -> Cell:
    return lambda item, _: cells.text(_facts(item).get(name))


def _amount(group: str, resource: str) -> Cell:
    def cell(item: Item, _: datetime) -> str:
        return cells.quantity(resource, (_facts(item).get(group) or {}).get(resource))

    return cell


def _others(group: str) -> Cell:
    def cell(item: Item, _: datetime) -> str:
        found = _facts(item).get(group) or {}
        rest = {name: value for name, value in found.items() if name not in _PLAIN}
        return cells.text(
            {name: cells.quantity(name, value) for name, value in sorted(rest.items()) if value}
        )

    return cell


def _age(item: Item, now: datetime) -> str:
    born = _facts(item).get("created") or _facts(item).get("first_seen") or item.get("since")
    return cells.age(born, until=now)


def _node_status(item: Item, _: datetime) -> str:
    facts = _facts(item)
    ready = "Ready" if facts.get("ready") else "NotReady"
    return f"{ready},SchedulingDisabled" if facts.get("unschedulable") else ready


def _pod_status(item: Item, _: datetime) -> str:
    facts = _facts(item)
    if facts.get("deletion") and not facts.get("finished"):
        return "Terminating"
    waiting = [
        str(container["reason"])
        for container in facts.get("containers") or ()
        if container.get("reason") and container.get("state") == "waiting"
    ]
    return cells.text(facts.get("reason") or (waiting[0] if waiting else facts.get("phase")))


def _restarts(item: Item, _: datetime) -> str:
    return str(sum(int(c.get("restarts") or 0) for c in _facts(item).get("containers") or ()))


def _owner(item: Item, _: datetime) -> str:
    owner = _facts(item).get("owner") or {}
    return cells.text(f"{owner['kind']}/{owner['name']}" if owner.get("name") else "")


def _ready(item: Item, _: datetime) -> str:
    facts = _facts(item)
    if facts.get("replicas") is None:
        return cells.UNKNOWN
    return f"{facts.get('ready_replicas') or 0}/{facts['replicas']}"


def _number(header: str, cell: Cell, *, wide: bool = False) -> Field:
    return Field(Column(header, right=True, wide=wide), cell)


def _word(header: str, cell: Cell, *, wide: bool = False) -> Field:
    return Field(Column(header, wide=wide), cell)


_AGE = _number("AGE", _age)
_LABELS = _word("LABELS", _fact("labels"), wide=True)

CLUSTERS = Kind(
    "clusters",
    "cluster",
    "cl",
    namespaced=False,
    fields=(_AGE, _word("UID", lambda item, _: cells.text(item.get("cluster")), wide=True)),
)
NODES = Kind(
    "nodes",
    "node",
    "no",
    namespaced=False,
    fields=(
        _word("STATUS", _node_status),
        _word("INSTANCE-TYPE", _fact("instance_type")),
        _word("CAPACITY-TYPE", _fact("capacity_type")),
        _word("ZONE", _fact("zone")),
        _number("CPU", _amount("capacity", "cpu")),
        _number("MEMORY", _amount("capacity", "memory")),
        _word("OTHER", _others("capacity")),
        _AGE,
        _number("CPU-ALLOC", _amount("allocatable", "cpu"), wide=True),
        _number("MEM-ALLOC", _amount("allocatable", "memory"), wide=True),
        _word("POOL", _fact("pool"), wide=True),
        _word("REGION", _fact("region"), wide=True),
        _word("VERSION", _fact("kubelet_version"), wide=True),
        _LABELS,
    ),
)
NAMESPACES = Kind(
    "namespaces",
    "namespace",
    "ns",
    namespaced=False,
    fields=(_word("STATUS", _fact("phase")), _AGE, _LABELS),
)
WORKLOADS = Kind(
    "workloads",
    "workload",
    "wl",
    namespaced=True,
    fields=(
        _word("KIND", lambda item, _: cells.text(item.get("kind"))),
        _number("READY", _ready),
        _AGE,
        _word("OWNER", _owner, wide=True),
        _LABELS,
    ),
)
PODS = Kind(
    "pods",
    "pod",
    "po",
    namespaced=True,
    fields=(
        _word("STATUS", _pod_status),
        _number("RESTARTS", _restarts),
        _number("CPU", _amount("effective", "cpu")),
        _number("MEMORY", _amount("effective", "memory")),
        _word("OTHER", _others("effective")),
        _word("NODE", _fact("node")),
        _AGE,
        _word("OWNER", _owner, wide=True),
        _word("QOS", _fact("qos"), wide=True),
        _word("PRIORITY-CLASS", _fact("priority_class"), wide=True),
        _LABELS,
    ),
)
KINDS = (CLUSTERS, NODES, NAMESPACES, WORKLOADS, PODS)


def kind_of(word: str) -> Kind:
    """The kind that a word means, in any case.

    Raises:
        UsageError: if it means none; lists those that there are.
    """
    wanted = word.lower()
    for kind in KINDS:
        if wanted in kind.words:
            return kind
    known = ", ".join(f"{kind.plural} ({kind.short})" for kind in KINDS)
    raise UsageError(f"there is no kind {word!r}", hint=f"known kinds: {known}")


def kind_and_name(kind: str, name: str) -> tuple[Kind, str]:
    """Kind and name from `pods web-1` or `pods/web-1`.

    Raises:
        UsageError: if the kind is not known or two names are given.
    """
    word, slash, rest = kind.partition("/")
    if slash and name:
        raise UsageError(f"{kind} and {name} are two names", hint=f"write: {word} {rest}")
    if slash and not rest:
        raise UsageError(f"{kind!r} names nothing after the slash", hint=f"write: {word}/NAME")
    return kind_of(word), rest or name


def kind_words() -> list[str]:
    """Plural names, for completion."""
    return [kind.plural for kind in KINDS]


def table_of(kind: Kind, items: Sequence[Item], *, now: datetime, one_namespace: bool) -> Table:
    """The table of a list.

    A CLUSTER column comes first where there are several clusters, NAMESPACE where not one was
    asked for.
    """
    lead: list[Field] = []
    if kind is not CLUSTERS and len({item.get("cluster") for item in items}) > 1:
        lead.append(_word("CLUSTER", lambda item, _: cells.text(item.get("clusterName"))))
    if kind.namespaced and not one_namespace:
        lead.append(_word("NAMESPACE", lambda item, _: cells.text(item.get("namespace"))))
    lead.append(_word("NAME", lambda item, _: cells.text(item.get("name"))))
    fields = (*lead, *kind.fields)
    return Table(
        columns=tuple(each.column for each in fields),
        rows=tuple(tuple(each.cell(item, now) for each in fields) for item in items),
        names=tuple(name_of(kind, item) for item in items),
    )


def name_of(kind: Kind, item: Item) -> str:
    """`pod/web-1`; a workload goes by its own kind, as in kubectl: `deployment/web`."""
    word = str(item.get("kind") or "").lower() if kind is WORKLOADS else kind.singular
    return safe(f"{word or kind.singular}/{item.get('name')}")
