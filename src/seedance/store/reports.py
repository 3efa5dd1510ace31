"""Reports: the one place where costs are added up, all of it in SQL (`sql/report_*.sql`).

Flow: the window is laid over the settled sets (`reportplan`), each grain becomes rows of one
shape, `report_costs` joins the entities once, groups, shares, sorts and cuts the page. Sums of
settled sets are kept for the next question of the same shape (`reportsums`). Python only writes
the statement (`reportsql`) and reads the sums.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from seedance.facts.errors import SeedanceError
from seedance.facts.window import Window
from seedance.store.engine import StoreError
from seedance.store.reportplan import Plan, make_plan, snap
from seedance.store.reportsql import Ask, Kept, Pieces
from seedance.store.reportsums import keep_sums
from seedance.store.statements import statement
from seedance.store.store import Store

__all__ = ["Ask", "Part", "Sums", "sum_costs"]


Part = dict[str, Any]
"""One row of `report_costs`: sums of one resource for a key and step, a step, or everything.

Keys: requested used charged idle unused covered alive known used_known unpriced (floats, resource-
hours), own_picos share_picos idle_picos unused_picos (int), priced (rows with a price), overcommit,
flags, prices (price ids), reasons, clusters, and bucket, keys, why, resource, shown, level, place.
"""


@dataclass(slots=True)
class Sums:
    """What `sum_costs` found.

    `items` are parts of the page's keys, ordered by rank, step and resource; `steps` are parts per
    step, `totals` per resource, `hidden` the same for what is not shown. `found` and `left_out`
    count keys.
    """

    window: Window
    steps: list[Window]
    plan: Plan
    items: list[Part] = field(default_factory=list)
    by_step: list[Part] = field(default_factory=list)
    totals: list[Part] = field(default_factory=list)
    hidden: list[Part] = field(default_factory=list)
    found: int = 0
    left_out: int = 0


def sum_costs(store: Store, ask: Ask, *, now: datetime) -> Sums:
    """Adds up; a window without settled sets gives no parts and an empty plan.

    Raises:
        SeedanceError: a cost row names an entity that is not there; the store needs a check.
    """
    keep = store.retention
    window, steps = snap(
        ask.window,
        ask.steps,
        minutes_from=now - timedelta(days=keep.minute_days),
        hours_from=now - timedelta(days=keep.hour_days),
    )
    plan = make_plan(store, steps, clusters=ask.clusters)
    sums = Sums(window, steps, plan)
    if plan.empty:
        return sums
    pieces = Pieces(ask)
    kept = keep_sums(store, pieces, plan)
    for row in _read(store, ask, plan, pieces, kept):
        _file(sums, row)
    if any(part["strangers"] for part in (*sums.totals, *sums.hidden)):
        raise SeedanceError(
            "cost rows name entities that the store does not have",
            hint="run: seedance store check",
        )
    return sums


def _read(store: Store, ask: Ask, plan: Plan, pieces: Pieces, kept: Kept) -> list[Part]:
    try:
        return store.engine.rows(*pieces.costs(ask, plan, kept))
    except StoreError:
        if not kept.table:
            raise
        # Another question made room meanwhile and the table of sums is gone: read the rows.
        return store.engine.rows(*pieces.costs(ask, plan, Kept()))


def prices_of(store: Store, ids: Sequence[int]) -> dict[int, Mapping[str, Any]]:
    """Where prices stand, by price id: currency, book, entry, source, estimate, reason."""
    if not ids:
        return {}
    rows = store.engine.rows(statement("report_prices"), {"ids": sorted(ids)})
    return {row["price_id"]: row for row in rows}


def extent(store: Store, clusters: Sequence[str]) -> Window | None:
    """From when to when anything is settled; None where nothing is."""
    row = store.engine.rows(statement("report_extent"), {"clusters": list(clusters)})[0]
    return Window(row["first"], row["last"]) if row["sets"] else None


def cluster_names(store: Store) -> dict[str, str]:
    """Cluster id to name; two ids of one name are told apart by a piece of the id."""
    rows = store.engine.rows(statement("report_clusters"))
    taken = [row["name"] for row in rows]
    return {
        row["cluster"]: row["name"]
        if taken.count(row["name"]) == 1 and row["name"]
        else f"{row['name']} ({row['cluster'][:8]})".strip()
        for row in rows
    }


def _file(sums: Sums, row: Part) -> None:
    sums.found = row["found"]
    match row["level"], bool(row["shown"]):
        case 0, True:
            sums.items.append(row)
        case 1, True:
            sums.by_step.append(row)
        case 2, True:
            sums.totals.append(row)
        case 2, False:
            sums.hidden.append(row)
        case 3, False:
            sums.left_out = row["left_out"]
