"""`seedancectl cost`: what it cost, by what, over which window.

The server sums; this module asks, lays the answer out (`costtable`) and says on stderr what a
reader of the table must know: the window with its zone, whether figures are provisional, what is
hidden.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import Any

from seedance.cli import options
from seedance.cli.client import Client, Params
from seedance.cli.costtable import cost_table, notes_of
from seedance.cli.options import Output
from seedance.cli.output import is_document, show_document, show_table, show_text
from seedance.cli.pages import collect, room
from seedance.cli.selectors import filters_of
from seedance.cli.session import Session, connected, zone_of
from seedance.cli.terminal import say
from seedance.facts.errors import NoDataError

PATH = "/api/v1/costs"


@connected
def cost(
    session: Session,
    *,
    by: options.By = "namespace",
    window: options.WindowWord = "7d",
    filters: options.Filter = None,
    namespace: options.Namespace = "",
    all_namespaces: options.AllNamespaces = False,
    selector: options.Selector = "",
    cluster: options.Cluster = "",
    step: options.StepLength = "none",
    zone: options.Zone = "",
    idle: options.IdleRows = options.Idle.ROWS,
    idle_by_node: options.IdleByNode = False,
    sort_by: options.SortCostsBy = "-cost",
    limit: options.Limit = 100,
    offset: options.Offset = 0,
    output: options.OutputFormat = Output.TABLE,
) -> None:
    """Show what it cost, by namespace, team, workload or any label.

    Examples:
      seedancectl cost --by namespace,team --window lastmonth
      seedancectl cost --by workload -n ml --window 24h --sort-by -unusedCost
      seedancectl cost --by label:app --step day -o csv > costs.csv

    The rows add up to TOTAL: idle, system and unattributed cost are rows of their own, and what
    the filter leaves out is the row (hidden) below. Unknown cost is -, and -o wide says why.
    """
    zone_name = session.zone(zone)
    params: Params = {
        "window": window,
        "by": by,
        "filter": filters_of(
            filters or (),
            namespace=session.namespace(namespace, everywhere=all_namespaces),
            selector=selector,
            cluster=cluster,
        ),
        "step": step,
        "zone": zone_name,
        "idle": idle.value,
        "idleByNode": "true" if idle_by_node else None,
        "sort": sort_by,
    }
    if output is Output.CSV:
        show_text(_csv(session.client(), params, limit=limit, offset=offset))
        return
    answer = collect(session.client(), PATH, params, limit=limit, offset=offset)
    body = answer.json()
    if is_document(output):
        show_document(answer.body, output)
    if not body["items"]:
        raise nothing_there(body)
    if not is_document(output):
        place = zone_of(zone_name)
        show_table(cost_table(body, place), output)
        for line in notes_of(body, place):
            say(line)


def nothing_there(body: Mapping[str, Any]) -> NoDataError:
    """The error of an answer without rows: the window is empty, or the filter leaves nothing."""
    asked = body["window"].get("words") or "asked for"
    if body["hidden"]["count"]:
        return NoDataError(
            f"the filter leaves nothing of the window {asked}",
            hint=f"{body['hidden']['count']} rows are there without --filter, -n and -l",
        )
    return NoDataError(f"no cost in the window {asked}", hint="see: seedancectl get clusters")


def _csv(client: Client, params: Params, *, limit: int, offset: int) -> str:
    """The server's own CSV, page after page under one header."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    done, most = 0, room(client, PATH, params, limit=limit)
    while not limit or done < limit:
        rows = min(limit - done, most) if limit else most
        asked = {**params, "format": "csv", "limit": rows, "offset": offset + done}
        text = client.get(PATH, asked, accept="text/csv").body.decode("utf-8")
        records = list(csv.reader(io.StringIO(text)))
        if not done and len(records) <= rows:
            return text
        writer.writerows(records[1 if done else 0 :])
        done += rows  # with a step these are keys, each of one record or more
        if len(records) <= rows:
            break
    return out.getvalue()
