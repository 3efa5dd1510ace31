"""`seedancectl describe`: all that is known of one object, in sections, with what to ask next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import tzinfo
from typing import Annotated, Any

import typer

from seedance.cli import candidates, cells, options
from seedance.cli.costtable import cost_table
from seedance.cli.get import KindArgument, one, utc_now
from seedance.cli.grammar import as_typed
from seedance.cli.kinds import CLUSTERS, NODES, PODS, WORKLOADS, Kind, kind_and_name, table_of
from seedance.cli.options import Output
from seedance.cli.output import is_document, show_document, show_text
from seedance.cli.session import Session, connected, parse_at, zone_of
from seedance.cli.tables import Column, Table, lay_out
from seedance.cli.terminal import safe
from seedance.facts.errors import UsageError
from seedance.facts.filters import quote_value
from seedance.facts.window import format_instant

Item = Mapping[str, Any]

_LABEL_WIDTH = 18
_OWN_SECTIONS = frozenset({"containers", "labels", "annotations", "owner"})
_INSTANTS = frozenset({"created", "scheduled", "started", "finished", "deletion", "first_seen"})
_AMOUNTS = frozenset({"capacity", "allocatable", "effective", "overhead", "requests", "limits"})


@connected
def describe(
    session: Session,
    kind: KindArgument,
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="Name of the object.", autocompletion=candidates.names),
    ] = "",
    *,
    namespace: options.Namespace = "",
    cluster: options.Cluster = "",
    at: options.At = "",
    zone: options.Zone = "",
    output: options.OutputFormat = Output.TABLE,
) -> None:
    """Show all that is known of one object: facts, containers, cost, history.

    Examples:
      seedancectl describe node worker-3
      seedancectl describe pod trainer-0 -n ml --at 2026-11-30T12:00:00Z
      seedancectl describe workload/trainer -n ml -o yaml

    Deleted objects are still known. The cost is that of the 24 hours before the moment asked for.
    """
    what, wanted = kind_and_name(kind, name)
    if not wanted:
        raise UsageError(
            f"which {what.singular}?", hint=as_typed(f"see: seedancectl get {what.plural}")
        )
    place = session.namespace(namespace, everywhere=False) if what.namespaced else ""
    zone_name = session.zone(zone)
    moment = format_instant(parse_at(at, now=utc_now())) if at else None
    answer = one(
        session.client(), what, wanted, {"cluster": cluster, "namespace": place, "at": moment}
    )
    if is_document(output):
        show_document(answer.body, output)
        return
    if output is Output.NAME:
        show_text(f"{what.singular}/{safe(wanted)}")
        return
    lines = description(what, answer.json(), zone=zone_of(zone_name), zone_name=zone_name)
    show_text("\n".join(lines))


def description(kind: Kind, body: Item, *, zone: tzinfo, zone_name: str) -> Iterator[str]:
    """The lines of a description, section by section."""
    item = body["object"]
    facts: Item = item.get("facts") or {}
    yield from _head(item, body, zone, zone_name)
    yield from _plain_facts(facts, zone, zone_name)
    for section in ("labels", "annotations"):
        yield from _pairs(section.capitalize(), facts.get(section) or {})
    yield from _containers(body.get("containers") or facts.get("containers") or ())
    yield from _money(body, zone)
    yield from _history(body.get("versions") or (), zone)
    yield from _related(kind, body)
    yield from _next(kind, item)


def _head(item: Item, body: Item, zone: tzinfo, zone_name: str) -> Iterator[str]:
    yield _line("Name", item.get("name"))
    if item.get("namespace"):
        yield _line("Namespace", item["namespace"])
    yield _line("Kind", item.get("kind"))
    yield _line("Cluster", f"{item.get('clusterName')} ({item.get('cluster')})")
    yield _line("UID", item.get("uid"))
    since, until = (cells.when(item.get(each), zone) for each in ("since", "until"))
    span = f"since {since}" if until == cells.UNKNOWN else f"{since} to {until}"
    yield _line("Version", f"{span} {zone_name}")
    if item.get("ended"):
        how = "its deletion was seen" if item["ended"] == "seen" else "its end is estimated"
        yield _line("Ended", how)
    yield _line("As of", f"{cells.when(body.get('at'), zone)} {zone_name}")
    owner = (item.get("facts") or {}).get("owner") or {}
    if owner.get("name"):
        yield _line("Owner", f"{owner.get('kind')}/{owner['name']}")


def _plain_facts(facts: Item, zone: tzinfo, zone_name: str) -> Iterator[str]:
    """Facts that are one value or quantities, in the order of the document."""
    for key, value in facts.items():
        if key in _OWN_SECTIONS:
            continue
        title = key.replace("_", " ").capitalize()
        if key in _INSTANTS:
            yield _line(title, f"{cells.when(value, zone)} {zone_name}")
        elif key in _AMOUNTS and isinstance(value, Mapping):
            yield _line(title, _amounts(value))
        elif not isinstance(value, Mapping):
            yield _line(title, value)


def _amounts(values: Item) -> str:
    return ", ".join(
        f"{safe(name)} {cells.quantity(name, value)}" for name, value in values.items()
    )


def _pairs(title: str, values: Item) -> Iterator[str]:
    """Labels or annotations, one a line."""
    for at, (key, value) in enumerate(sorted(values.items())):
        yield _line("" if at else title, f"{key}={value}")


def _line(title: str, value: Any) -> str:
    head = f"{title}:" if title else ""
    return f"{head:<{_LABEL_WIDTH}}{cells.text(value)}".rstrip()


def _section(title: str, table: Table) -> Iterator[str]:
    yield f"{title}:"
    yield from (f"  {line}" for line in lay_out(table.narrow()))


def _containers(containers: Sequence[Item]) -> Iterator[str]:
    if not containers:
        return
    columns = (
        Column("NAME"),
        Column("TYPE"),
        Column("STATE"),
        Column("RESTARTS", right=True),
        Column("REQUESTS"),
        Column("LIMITS"),
        Column("IMAGE"),
    )
    rows = tuple(
        (
            cells.text(each.get("name")),
            cells.text(each.get("type")),
            cells.text(each.get("reason") or each.get("state")),
            cells.text(each.get("restarts") or 0),
            _amounts(each.get("requests") or {}) or cells.UNKNOWN,
            _amounts(each.get("limits") or {}) or cells.UNKNOWN,
            cells.text(each.get("image")),
        )
        for each in containers
    )
    yield from _section("Containers", Table(columns, rows))


def _money(body: Item, zone: tzinfo) -> Iterator[str]:
    cost = body.get("cost")
    if not cost or not cost.get("items"):
        return
    # What the rest of the cluster costs is hidden here, and nobody asked for it.
    alone = {**cost, "hidden": {"count": 0, "cost": None}}
    yield from _section("Cost of 24 hours", cost_table(alone, zone))


def _history(versions: Sequence[Item], zone: tzinfo) -> Iterator[str]:
    """Each version and what changed with it, newest last."""
    if not versions:
        return
    rows = []
    before: Item | None = None
    for version in sorted(versions, key=lambda each: str(each.get("since"))):
        facts: Item = version.get("facts") or {}
        changed = "first seen" if before is None else ", ".join(_differences(before, facts))
        end = version.get("ended") and f"deleted ({version['ended']})"
        rows.append(
            (
                cells.when(version.get("since"), zone, seconds=True),
                cells.when(version.get("until"), zone, seconds=True),
                cells.text(", ".join(filter(None, [changed, end or ""]))),
            )
        )
        before = facts
    columns = (Column("SINCE"), Column("UNTIL"), Column("CHANGED"))
    yield from _section("History", Table(columns, tuple(rows)))


def _differences(before: Item, after: Item) -> Iterator[str]:
    for key in sorted({*before, *after}):
        if before.get(key) != after.get(key):
            yield safe(key.replace("_", " "))


def _related(kind: Kind, body: Item) -> Iterator[str]:
    """Nodes of a cluster, pods of everything else."""
    related = body.get("related") or ()
    if related:
        other = NODES if kind is CLUSTERS else PODS
        now = cells.instant(body.get("at")) or utc_now()
        table = table_of(other, related, now=now, one_namespace=False)
        yield from _section(other.plural.capitalize(), table)


def _next(kind: Kind, item: Item) -> Iterator[str]:
    """What to ask next about this object."""
    name, by = quote_value(str(item.get("name"))), _finer(kind)
    scope = f" -n {item['namespace']}" if item.get("namespace") else ""
    yield "Next:"
    dimension = kind.singular
    yield safe(as_typed(f"  seedancectl cost --by {by} --filter {dimension}:{name}{scope}"))
    if kind in {NODES, WORKLOADS, PODS}:
        yield safe(as_typed(f"  seedancectl top pods --filter {dimension}:{name}{scope}"))


def _finer(kind: Kind) -> str:
    if kind is PODS:
        return "container"
    return "namespace" if kind is CLUSTERS else "workload"
