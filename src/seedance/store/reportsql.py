"""The statements of a report, written out of the pieces under `sql/`; values are parameters.

A *shape* is what decides the parts of a settled set: dimensions, filters, what is hidden and where
idle is shared. Sort, page, window and step do not belong to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import blake2b
from typing import Literal

from seedance.facts.costquery import IDLE, SYSTEM, UNALLOCATED, UNATTRIBUTED
from seedance.facts.filters import Comparison
from seedance.facts.window import Window
from seedance.store.reportplan import Plan
from seedance.store.statements import names, statement

Grain = Literal["day", "hour"]


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


@dataclass(frozen=True, slots=True)
class Kept:
    """Sets whose parts are in memory, each with the number of its step, and the table of parts."""

    days: dict[int, int] = field(default_factory=dict)
    hours: dict[int, int] = field(default_factory=dict)
    table: str = ""


Query = tuple[str, dict[str, object]]
"""A statement and its parameters."""


class Pieces:
    """The pieces of the statements for one shape."""

    def __init__(self, ask: Ask) -> None:
        writer = _Writer()
        keys = [writer.key(name) for name in ask.by]
        why = [writer.why(name, key) for name, key in zip(ask.by, keys, strict=True)]
        tests = [writer.test(comparison) for comparison in ask.comparisons]
        if ask.idle == "hide":
            tests.append("kind != 'idle'")
        pool = "''"
        if ask.idle == "share":
            pool = "concat(cluster, '/', node)" if ask.idle_by_node else "cluster"
        self.params = writer.params
        self._named = {
            "COLUMNS": "".join(f", {text} AS {name}" for name, text in writer.columns.items()),
            "KEYS": f"CAST([{', '.join(keys)}], 'Array(String)')",
            "WHY": f"CAST([{', '.join(why)}], 'Array(String)')",
            "SHOWN": f"toUInt8({' AND '.join(tests) or '1'})",
            "POOL": f"CAST({pool}, 'String')",
        }

    def shape(self, grain: Grain) -> int:
        """A number for what decides the parts of a set of that grain."""
        content = repr((grain, sorted(self._named.items()), sorted(self.params.items())))
        return int.from_bytes(blake2b(content.encode(), digest_size=8).digest(), "little")

    def width(self) -> Query:
        """How many parts a set may have at most."""
        return filled(piece("report_sums_width"), **self._named), dict(self.params)

    def keep(
        self, grain: Grain, ids: Sequence[int], *, table: str, start: datetime, end: datetime
    ) -> Query:
        """Keeps the parts of whole sets in a table."""
        numbers = (
            f"transform(settle_id, {{{grain}_ids:Array(UInt64)}}, {{numbers:Array(UInt32)}}, 0)"
        )
        rows = filled(piece(f"report_{grain}_rows"), **{f"{grain.upper()}_BUCKET": numbers})
        parts = filled(piece("report_parts"), THINGS=piece("report_things_plain"))
        parts = filled(parts, ROWS=rows, **self._named)
        sql = filled(piece("report_keep"), PARTS=parts, SUMS=table)
        params: dict[str, object] = {
            **self.params,
            "shape": self.shape(grain),
            "keep_ids": list(ids),
            f"{grain}_ids": list(ids),
            "numbers": list(range(len(ids))),
            "start": start,
            "end": end,
        }
        return sql, params

    def costs(self, ask: Ask, plan: Plan, kept: Kept) -> Query:
        """The sums of a plan, `kept` taken from memory."""
        days = {ident: step for ident, step in plan.days.items() if ident not in kept.days}
        hours = {ident: step for ident, step in plan.hours.items() if ident not in kept.hours}
        rows = _rows(days, hours, plan, single=len(ask.steps) == 1)
        parts = []
        if rows:
            fresh = filled(piece("report_parts"), THINGS=piece("report_things"))
            parts.append(filled(fresh, ROWS=rows, **self._named))
        parts += [filled(piece("report_kept_days"), SUMS=kept.table)] * bool(kept.days)
        parts += [filled(piece("report_kept_hours"), SUMS=kept.table)] * bool(kept.hours)
        sort, down = ask.sort
        way = "DESC" if down else "ASC"
        sql = filled(
            piece("report_costs"),
            PARTS="\nUNION ALL\n".join(parts),
            SHARE=piece("report_share") if ask.idle == "share" else "toInt128(0)",
            SORT=piece(f"sort_{sort}"),
            ORDER=f"keys {way}" if sort == "name" else f"sort_value {way}, keys",
        )
        params: dict[str, object] = {
            **self.params,
            "start": plan.start,
            "end": plan.end,
            "day_ids": list(days),
            "day_buckets": list(days.values()),
            "hour_ids": list(hours),
            "hour_buckets": list(hours.values()),
            "cut_sets": [cut[0] for cut in plan.cuts],
            "cut_buckets": [cut[1] for cut in plan.cuts],
            "cut_firsts": [cut[2] for cut in plan.cuts],
            "cut_lasts": [cut[3] for cut in plan.cuts],
            "day_shape": self.shape("day"),
            "kept_days": list(kept.days),
            "kept_day_buckets": list(kept.days.values()),
            "hour_shape": self.shape("hour"),
            "kept_hours": list(kept.hours),
            "kept_hour_buckets": list(kept.hours.values()),
            "offset": ask.offset,
            "limit": ask.limit,
        }
        return sql, params


def piece(name: str) -> str:
    """A statement as a piece of another: without comment lines, which would swallow the rest."""
    lines = statement(name).splitlines()
    return "\n".join(line for line in lines if not line.startswith("--")).strip()


def _rows(days: dict[int, int], hours: dict[int, int], plan: Plan, *, single: bool) -> str:
    day = "transform(settle_id, {day_ids:Array(UInt64)}, {day_buckets:Array(UInt32)}, 0)"
    hour = "transform(settle_id, {hour_ids:Array(UInt64)}, {hour_buckets:Array(UInt32)}, 0)"
    wanted = []
    if days:
        wanted.append(filled(piece("report_day_rows"), DAY_BUCKET="0" if single else day))
    if hours:
        wanted.append(filled(piece("report_hour_rows"), HOUR_BUCKET="0" if single else hour))
    if plan.cuts:
        wanted.append(piece("report_minute_rows"))
    return "\nUNION ALL\n".join(wanted)


def filled(sql: str, **pieces: str) -> str:
    """A statement with its `/*PIECE*/`s put in."""
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
        self.columns[origin] = piece(f"reason_{name}")
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
        text = piece(f"place_{name}" if place else f"owner_{name}")
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
