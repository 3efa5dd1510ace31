"""`seedancectl top`: who uses how much of what they are charged for, largest cost first.

A view of the cost question over a short window: mean cores and GiB used and charged while
something ran in it, how much of the charge is used, and the cost per hour of the window.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any

import typer

from seedance.cli import cells, options
from seedance.cli.client import Params
from seedance.cli.cost import PATH, nothing_there
from seedance.cli.costtable import notes_of
from seedance.cli.options import Output
from seedance.cli.output import is_document, show_document, show_table
from seedance.cli.pages import collect
from seedance.cli.selectors import filters_of
from seedance.cli.session import Session, connected, zone_of
from seedance.cli.tables import Column, Table
from seedance.cli.terminal import say

Item = Mapping[str, Any]


class Subject(StrEnum):
    """What can be ranked."""

    WORKLOADS = "workloads"
    NODES = "nodes"
    PODS = "pods"
    NAMESPACES = "namespaces"
    TEAMS = "teams"


DIMENSIONS = {
    Subject.WORKLOADS: "namespace,workload",
    Subject.NODES: "node",
    Subject.PODS: "namespace,pod",
    Subject.NAMESPACES: "namespace",
    Subject.TEAMS: "team",
}


@connected
def top(
    session: Session,
    subject: Annotated[Subject, typer.Argument(help="What to rank.")],
    *,
    window: options.WindowWord = "1h",
    filters: options.Filter = None,
    namespace: options.Namespace = "",
    all_namespaces: options.AllNamespaces = False,
    selector: options.Selector = "",
    cluster: options.Cluster = "",
    zone: options.Zone = "",
    sort_by: options.SortCostsBy = "-cost",
    limit: options.Limit = 20,
    output: options.OutputFormat = Output.TABLE,
) -> None:
    """Rank workloads, nodes, pods, namespaces or teams by what they cost per hour.

    Examples:
      seedancectl top workloads -n ml
      seedancectl top nodes --window 24h --sort-by efficiency
      seedancectl top teams --limit 5

    Used and charged are means over the time that containers ran, at most the window; COST is the
    window's, per hour. USED% is used of charged, over the time for which usage is known.
    """
    zone_name = session.zone(zone)
    params: Params = {
        "window": window,
        "by": DIMENSIONS[subject],
        "filter": filters_of(
            filters or (),
            namespace=session.namespace(namespace, everywhere=all_namespaces),
            selector=selector,
            cluster=cluster,
        ),
        "zone": zone_name,
        "sort": sort_by,
    }
    answer = collect(session.client(), PATH, params, limit=limit)
    body = answer.json()
    if is_document(output):
        show_document(answer.body, output)
    if not body["items"]:
        raise nothing_there(body)
    if not is_document(output):
        show_table(top_table(body), output)
        for line in notes_of(body, zone_of(zone_name)):
            say(line)


def top_table(body: Item) -> Table:
    """Means while something ran and the cost per hour, a row for each item."""
    items: Sequence[Item] = body["items"]
    keys: Sequence[str] = body["by"]
    hours = _hours(body["window"])
    money = f"({body['currency']}/h)" if body["currency"] else "(/h)"
    columns = (
        *(Column(key.upper()) for key in keys),
        Column("CPU(cores)", right=True),
        Column("CPU-CHARGED", right=True),
        Column("CPU-USED%", right=True),
        Column("MEMORY(GiB)", right=True),
        Column("MEM-CHARGED", right=True),
        Column("MEM-USED%", right=True),
        Column(f"COST{money}", right=True),
    )
    figures = zip(
        *(part for name in ("cpu", "memory") for part in _usage(items, name, hours)),
        cells.figures([_per_hour(cells.number(item.get("cost")), hours) for item in items]),
        strict=True,
    )
    labels = [tuple(cells.text(item["keys"].get(key)) for key in keys) for item in items]
    rows = tuple((*label, *values) for label, values in zip(labels, figures, strict=True))
    names = tuple(f"{keys[-1]}/{label[-1]}" for label in labels)
    return Table(columns, rows, names)


def _hours(window: Item) -> Decimal:
    start, end = cells.instant(window["start"]), cells.instant(window["end"])
    if start is None or end is None:
        return Decimal(0)
    return Decimal(str((end - start).total_seconds())) / 3600


def _per_hour(value: Decimal | None, hours: Decimal) -> Decimal | None:
    return value / hours if value is not None and hours else None


def _usage(items: Sequence[Item], resource: str, hours: Decimal) -> list[list[str]]:
    """Used and charged on average, and the share of the charge that was used."""
    found = [(item.get("resources") or {}).get(resource) or {} for item in items]
    used = [cells.number(values.get("used")) for values in found]
    charged = [cells.number(values.get("charged")) for values in found]
    unused = [cells.number(values.get("unused")) for values in found]
    ran = [_ran(values, hours) for values in found]
    # The charge without a known use is neither used nor unused, so it is left out of the share.
    known = [
        None if part is None or rest is None else part + rest
        for part, rest in zip(used, unused, strict=True)
    ]
    return [
        cells.figures(list(map(_per_hour, used, ran)), places=2),
        cells.figures(list(map(_per_hour, charged, ran)), places=2),
        [cells.share(part, whole) for part, whole in zip(used, known, strict=True)],
    ]


def _ran(values: Item, hours: Decimal) -> Decimal:
    """Hours in which containers of the row ran: theirs together, at most the window.

    A pod of three minutes is divided by three minutes; replicas beside each other add up.
    """
    alive = cells.number(values.get("alive"))
    return min(alive, hours) if alive else hours
