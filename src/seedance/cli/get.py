"""`seedancectl get`: lists of objects as they stand or stood, once or for as long as one looks."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Annotated
from urllib.parse import quote

import typer

from seedance.cli import candidates, options
from seedance.cli.client import Answer, Client, Params
from seedance.cli.kinds import Kind, kind_and_name, kind_words, table_of
from seedance.cli.options import Output
from seedance.cli.output import is_document, show_document, show_table, show_text
from seedance.cli.pages import collect
from seedance.cli.session import Session, connected, parse_at
from seedance.cli.tables import Table, lay_out, widths_of
from seedance.cli.terminal import say
from seedance.facts.errors import UsageError
from seedance.facts.window import format_instant

WATCH_SECONDS = 2.0
"""Pause between two looks of `-w`; the server sees a change within a second."""

KindArgument = Annotated[
    str,
    typer.Argument(
        metavar="KIND",
        help="clusters (cl), nodes (no), namespaces (ns), workloads (wl) or pods (po); KIND/NAME "
        "works too.",
        autocompletion=kind_words,
    ),
]


@connected
def get(
    session: Session,
    kind: KindArgument,
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="Only the one of this name.", autocompletion=candidates.names
        ),
    ] = "",
    *,
    namespace: options.Namespace = "",
    all_namespaces: options.AllNamespaces = False,
    selector: options.Selector = "",
    cluster: options.Cluster = "",
    at: options.At = "",
    watch: options.Watch = False,
    sort_by: options.SortObjectsBy = "",
    limit: options.Limit = 0,
    output: options.OutputFormat = Output.TABLE,
) -> None:
    """List clusters, nodes, namespaces, workloads or pods, now or in the past.

    Examples:
      seedancectl get pods -n ml -l app=trainer
      seedancectl get nodes -o wide --at 2026-11-30T12:00:00Z
      seedancectl get workloads -A -w

    Without -n all namespaces are listed, unless the context names one.
    """
    what, wanted = kind_and_name(kind, name)
    place = session.namespace(namespace, everywhere=all_namespaces) if what.namespaced else ""
    _check_together(wanted, selector=selector, at=at, watch=watch, output=output)
    now = utc_now()
    moment = parse_at(at, now=now) if at else None
    params: Params = {
        "cluster": cluster,
        "namespace": place,
        "selector": selector,
        "at": format_instant(moment) if moment else None,
        "sort": sort_by,
    }
    client = session.client()

    def look() -> Answer:
        if wanted:
            return one(client, what, wanted, params)
        return collect(client, f"/api/v1/{what.plural}", params, limit=limit)

    def laid_out(answer: Answer) -> Table:
        body = answer.json()
        items = [body["object"]] if wanted else body["items"]
        then = moment or utc_now()
        return table_of(what, items, now=then, one_namespace=bool(place))

    if watch:
        _watch(lambda: laid_out(look()), output)
        return
    _show(look(), laid_out, output, nothing=_nothing(place))


def utc_now() -> datetime:
    """The client's clock: `--at 2h` and ages count from here."""
    return datetime.now(UTC)


def one(client: Client, kind: Kind, name: str, params: Params) -> Answer:
    """The description of one object."""
    asked = {key: params.get(key) for key in ("cluster", "namespace", "at")}
    return client.get(f"/api/v1/{kind.plural}/{quote(name, safe='')}", asked)


def _show(
    answer: Answer, laid_out: Callable[[Answer], Table], output: Output, *, nothing: str
) -> None:
    if is_document(output):
        show_document(answer.body, output)
        return
    table = laid_out(answer)
    if table.rows or output is Output.CSV:
        show_table(table, output)
    if not table.rows:
        say(nothing)


def _nothing(namespace: str) -> str:
    where = f" in {namespace} namespace" if namespace else ""
    return f"No resources found{where}."


def _check_together(name: str, *, selector: str, at: str, watch: bool, output: Output) -> None:
    if name and selector:
        raise UsageError("a name and -l do not go together", hint="leave one of them out")
    if watch and at:
        raise UsageError("-w and --at do not go together", hint="the past does not change")
    if watch and output not in {Output.TABLE, Output.WIDE, Output.NAME}:
        raise UsageError(
            f"-w and -o {output.value} do not go together", hint="watch with -o table, wide or name"
        )


def _watch(look: Callable[[], Table], output: Output) -> None:
    """Print the table, then each row that is new, changed or gone, until Ctrl-C."""
    table = look() if output is Output.WIDE else look().narrow()
    widths = widths_of(table)
    if output is Output.NAME:
        show_text("\n".join(table.names))
    else:
        show_text("\n".join(lay_out(table)))
    while True:
        sys.stdout.flush()
        time.sleep(WATCH_SECONDS)
        newer = look() if output is Output.WIDE else look().narrow()
        changed = list(changes(table, newer))
        if output is Output.NAME:
            show_text("\n".join(name for name, _ in changed))
        elif changed:
            rows = tuple(row for _, row in changed)
            show_text("\n".join(lay_out(Table(newer.columns, rows), widths=widths)[1:]))
        table = newer


def changes(before: Table, after: Table) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Name and row of what is new, differs in more than its age, or is gone (marked so)."""
    headers = [column.header for column in after.columns]
    if headers != [column.header for column in before.columns]:
        yield from zip(after.names, after.rows, strict=True)
        return
    status = headers.index("STATUS") if "STATUS" in headers else -1
    old, new = _keyed(before), _keyed(after)
    for key, row in new.items():
        if key not in old or _without_age(old[key], headers) != _without_age(row, headers):
            yield key[0], row
    for key, row in old.items():
        if key not in new:
            yield key[0], tuple("Deleted" if at == status else cell for at, cell in enumerate(row))


def _keyed(table: Table) -> dict[tuple[str, ...], tuple[str, ...]]:
    """Rows by what tells them apart: the name and the cells up to NAME."""
    lead = [column.header for column in table.columns].index("NAME") + 1
    return {(name, *row[:lead]): row for name, row in zip(table.names, table.rows, strict=True)}


def _without_age(row: tuple[str, ...], headers: list[str]) -> tuple[str, ...]:
    return tuple(cell for cell, header in zip(row, headers, strict=True) if header != "AGE")
