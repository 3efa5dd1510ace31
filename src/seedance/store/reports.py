"""Reports: the one place where costs are added up, all of it in SQL (`sql/report_*.sql`).

Flow: the window is laid over the settled sets (`reportplan`), each grain becomes rows of one
shape, `report_costs` joins the entities once, groups, shares, sorts and cuts the page. Python
only writes the statement and reads the sums.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal

from seedance.facts.costquery import IDLE, SYSTEM, UNALLOCATED, UNATTRIBUTED
from seedance.facts.errors import SeedanceError
from seedance.facts.filters import Comparison
from seedance.facts.window import Window
from seedance.store.reportplan import Plan, make_plan, snap
from seedance.store.statements import names, statement
from seedance.store.store import Store

MAX_ROWS = 200_000
"""The most (step, key, resource) rows of one page that are read into memory."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A checked question.

    Attributes:
        window: what is asked for, on whole minutes.
        steps: adjacent stretches of the window, in order; one for no step.
        by: dimensions in the house's spelling.
        comparisons: all must hold; cluster names are already ids.
        idle: what becomes of idle rows.
        idle_by_node: idle is shared within its node rather than within its cluster.
        clusters: ids outside which nothing is read; () for all.
        sort: field, and whether downwards.
    """

    window: Window
    steps: tuple[Window, ...]
    by: tuple[str, ...]
    comparisons: tuple[Comparison, ...] = ()
    idle: Literal["rows", "share", "hide"] = "rows"
    idle_by_node: bool = False
    clusters: tuple[str, ...] = ()
    sort: tuple[str, bool] = ("cost", True)
    limit: int = 100
    offset: int = 0


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
    plan = make_plan(store, steps, clusters=ask.clusters, now=now)
    sums = Sums(window, steps, plan)
    if plan.empty:
        return sums
    sql, params = _compose(ask, plan, single=len(steps) == 1)
    for row in store.engine.rows(sql, params):
        _file(sums, row)
    if any(part["strangers"] for part in (*sums.totals, *sums.hidden)):
        raise SeedanceError(
            "cost rows name entities that the store does not have",
            hint="run: seedance store check",
        )
    return sums


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
    sums.found, sums.left_out = row["found"], row["left_out"]
    if row["level"] == 0:
        sums.items.append(row)
    elif not row["shown"]:
        if row["level"] > 1:
            sums.hidden.append(row)
    elif row["level"] == 1:
        sums.by_step.append(row)
    else:
        sums.totals.append(row)


def _compose(ask: Ask, plan: Plan, *, single: bool) -> tuple[str, dict[str, object]]:
    writer = _Writer()
    keys = [writer.key(name) for name in ask.by]
    why = [writer.why(name, key) for name, key in zip(ask.by, keys, strict=True)]
    tests = [writer.test(comparison) for comparison in ask.comparisons]
    if ask.idle == "hide":
        tests.append("kind != 'idle'")
    pool = "''"
    if ask.idle == "share":
        pool = "concat(cluster, '/', node)" if ask.idle_by_node else "cluster"
    sort, down = ask.sort
    way = "DESC" if down else "ASC"
    order = f"keys {way}" if sort == "name" else f"sort_value {way}, keys"
    sql = _filled(
        statement("report_costs"),
        ROWS=_rows(plan, single=single),
        COLUMNS="".join(f", {text} AS {name}" for name, text in writer.columns.items()),
        KEYS=f"CAST([{', '.join(keys)}], 'Array(String)')",
        WHY=f"CAST([{', '.join(why)}], 'Array(String)')",
        SHOWN=f"toUInt8({' AND '.join(tests) or '1'})",
        POOL=pool,
        SHARE=_piece("report_share") if ask.idle == "share" else "toInt128(0)",
        SORT=_piece(f"sort_{sort}"),
        ORDER=order,
    )
    params: dict[str, object] = {
        **writer.params,
        "start": plan.start,
        "end": plan.end,
        "day_ids": list(plan.days),
        "day_buckets": list(plan.days.values()),
        "hour_ids": list(plan.hours),
        "hour_buckets": list(plan.hours.values()),
        "cut_sets": [cut[0] for cut in plan.cuts],
        "cut_buckets": [cut[1] for cut in plan.cuts],
        "cut_firsts": [cut[2] for cut in plan.cuts],
        "cut_lasts": [cut[3] for cut in plan.cuts],
        "offset": ask.offset,
        "limit": ask.limit,
    }
    return sql, params


def _rows(plan: Plan, *, single: bool) -> str:
    day = "transform(settle_id, {day_ids:Array(UInt64)}, {day_buckets:Array(UInt32)}, 0)"
    hour = "transform(settle_id, {hour_ids:Array(UInt64)}, {hour_buckets:Array(UInt32)}, 0)"
    wanted = []
    if plan.days:
        wanted.append(_filled(_piece("report_day_rows"), DAY_BUCKET="0" if single else day))
    if plan.hours:
        wanted.append(_filled(_piece("report_hour_rows"), HOUR_BUCKET="0" if single else hour))
    if plan.cuts:
        wanted.append(_piece("report_minute_rows"))
    return "\nUNION ALL\n".join(wanted)


def _piece(name: str) -> str:
    """A statement as a piece of another: without comment lines, which would swallow the rest."""
    lines = statement(name).splitlines()
    return "\n".join(line for line in lines if not line.startswith("--")).strip()


def _filled(sql: str, **pieces: str) -> str:
    for name, text in pieces.items():
        sql = sql.replace(f"/*{name}*/", text)
    return sql


class _Writer:
    """Writes expressions for dimensions and comparisons; values travel as parameters."""

    def __init__(self) -> None:
        self.columns: dict[str, str] = {}
        self.params: dict[str, object] = {}
        self._known: dict[str, str] = {}

    def key(self, dimension: str) -> str:
        """Expression of the key that a row has in a dimension, special keys included."""
        if dimension == "resource":
            return "toString(resource)"
        if dimension not in self._known:
            self._known[dimension] = self._column(dimension)
        return self._known[dimension]

    def why(self, dimension: str, key: str) -> str:
        """Expression of the reason why a key is not there, or ''."""
        name = dimension.partition(":")[0]
        unattributed = f"{key} = '{UNATTRIBUTED}', toString(reason)"
        if f"reason_{name}" not in names():
            return f"if({unattributed}, '')"
        origin = f"y{len(self.columns)}"
        self.columns[origin] = _piece(f"reason_{name}")
        return f"multiIf({key} = '{UNALLOCATED}', {origin}, {unattributed}, '')"

    def test(self, comparison: Comparison) -> str:
        """Condition that a comparison holds."""
        key = self.key(comparison.dimension)
        name = f"v{len(self.params)}"
        self.params[name] = list(comparison.values)
        values = f"{{{name}:Array(String)}}"
        text = {
            "equals": f"has({values}, {key})",
            "contains": f"arrayExists(v -> position({key}, v) > 0, {values})",
            "starts": f"arrayExists(v -> startsWith({key}, v), {values})",
            "ends": f"arrayExists(v -> endsWith({key}, v), {values})",
        }[comparison.operator]
        return f"NOT {text}" if comparison.negated else text

    def _column(self, dimension: str) -> str:
        name, _, key = dimension.partition(":")
        place = f"place_{name}" in names()
        text = _piece(f"place_{name}" if place else f"owner_{name}")
        if key:
            parameter = f"k{len(self.params)}"
            self.params[parameter] = key
            text = text.replace("/*KEY*/", f"{{{parameter}:String}}")
        special = (
            f"multiIf(kind = 'idle', '{IDLE}', kind = 'system', '{SYSTEM}', "
            f"kind = 'unattributed', '{UNATTRIBUTED}', '{UNALLOCATED}')"
        )
        own = "" if place else "kind IN ('idle', 'system') OR "
        column = f"d{len(self.columns)}"
        self.columns[column] = f"if({own}({text}) = '', {special}, {text})"
        return column
