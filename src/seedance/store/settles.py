"""Settled sets: cost rows are written under a new id and become current by one row.

Flow: `put_entities`, `put_prices`, `put_cost_hours`, `put_usage_minutes` write a set that nobody
sees; `make_current` shows it and hides the one before; `sweep` removes what was hidden ten
minutes ago, so that a reader in the middle of an answer still finds its set. A day is rolled up
from its current hours by `roll_day`. `mark_dirty` and `dirty_hours` say what to settle anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from seedance.facts.window import DAY, Window, floor_day, floor_hour
from seedance.store.statements import statement
from seedance.store.store import Store

CURRENT_HOURS = "current_hours"
"""Statement that answers the ids of the hour sets that count; parameters cluster, start, end."""

CURRENT_DAYS = "current_days"
"""The same for day sets."""

REWRITE = timedelta(days=30)
"""An entity or price in use is written anew after this long, so that retention spares it."""

LINGER = timedelta(minutes=10)
"""How long a replaced set stays for readers that began before."""

ABANDONED = timedelta(hours=6)
"""After this long a set that never became current is taken for its writer's remains."""


RECENT = timedelta(days=3)
"""How far back every round but the first looks for abandoned sets."""


@dataclass(frozen=True, slots=True)
class SettleRow:
    """What makes a set current: which stretch of which cluster, and what it sums to.

    `seconds` is 3600 or 86400; `began` counts against the dirty marks; `rows`, `row_cost` and
    `node_cost` (Σ of what the nodes cost) are checked against each other and the stored rows.
    """

    cluster: str
    start: datetime
    seconds: int
    settle_id: int
    provisional: bool
    began: datetime
    ended: datetime
    rows: int
    node_cost: Decimal
    row_cost: Decimal
    violations: int = 0
    violation_text: str = ""


def mark_dirty(
    store: Store, cluster: str, hours: Iterable[datetime], *, reason: str, now: datetime
) -> None:
    """Says that a fact about these hours of a cluster is in the store since `now`.

    Called after the fact is stored and with a clock read after that: a settle that began earlier
    may have missed it, one that begins later has not.
    """
    starts = sorted({floor_hour(hour) for hour in hours})
    store.engine.insert(
        "dirty",
        {
            "cluster": [cluster] * len(starts),
            "hour": starts,
            "reason": [reason] * len(starts),
            "at": [now] * len(starts),
        },
    )


def dirty_hours(store: Store, *, cluster: str, before: datetime) -> list[datetime]:
    """Hours that start before `before` and wait to be settled, in order.

    An hour waits if it was marked after its current settle began or was never settled, or if its
    settle is provisional although the hour is over at `before`.
    """
    params = {"cluster": cluster, "before": before}
    return [row["hour"] for row in store.engine.rows(statement("dirty_hours"), params)]


def current_settles(
    store: Store, *, cluster: str, window: Window, seconds: int = 3600
) -> list[SettleRow]:
    """The settles that count and start in the window, by (cluster, start); "" is every cluster."""
    params = {
        "cluster": cluster, "start": window.start, "end": window.end, "seconds": seconds
    }  # fmt: skip
    return [_settle(row) for row in store.engine.rows(statement("current_settles"), params)]


def _settle(row: Mapping[str, Any]) -> SettleRow:
    return SettleRow(**{**row, "provisional": bool(row["provisional"])})


def put_entities(store: Store, entities: Sequence[Mapping[str, Any]], *, now: datetime) -> None:
    """Writes who and what cost rows are about; a mapping has every column of the table but `at`.

    What this process wrote in the last 30 days is skipped.
    """
    _put_known(store, "entities", "entity", entities, now=now)


def put_prices(store: Store, prices: Sequence[Mapping[str, Any]], *, now: datetime) -> None:
    """Writes where prices stood; as `put_entities`. `per_hour` maps resources to Decimals."""
    _put_known(store, "prices", "price_id", prices, now=now)


def _put_known(
    store: Store, table: str, key: str, items: Sequence[Mapping[str, Any]], *, now: datetime
) -> None:
    today = floor_day(now).toordinal()
    with store.writing:
        known = store.written.setdefault(table, {})
        fresh = {
            item[key]: item
            for item in items
            if today - known.get(item[key], -REWRITE.days) >= REWRITE.days
        }
        if not fresh:
            return
        names = [name for name in next(iter(fresh.values())) if name != "at"]
        columns: dict[str, Any] = {name: [item[name] for item in fresh.values()] for name in names}
        columns["at"] = [now] * len(fresh)
        store.engine.insert(table, columns)
        known.update(dict.fromkeys(fresh, today))


def put_cost_hours(store: Store, columns: Mapping[str, Any]) -> None:
    """Writes rows of one hour set: a column for each of the table `cost_hours`.

    Numpy arrays in the table's own units (`hour` seconds since the epoch), `native.DecimalColumn`
    for cost and unused_cost, lists of words for resource and reason.
    """
    store.engine.insert("cost_hours", columns)


def put_usage_minutes(store: Store, columns: Mapping[str, Any]) -> None:
    """Writes the minutes of one hour set; arrays as `native.ArrayColumn` of width 60."""
    store.engine.insert("usage_minutes", columns)


def minutes_of_use(
    store: Store, *, cluster: str, window: Window, resources: Sequence[str]
) -> dict[str, Any]:
    """Use as the current sets of whole hours know it, a row a container, resource and hour.

    Columns pod_uid, container, resource (str), hour (seconds), used (n × 60, mean priced units)
    and covered (n × 60, seconds); `{}` where there are none.
    """
    found = store.engine.columns(
        statement("minutes_of_use"),
        {
            "cluster": cluster,
            "start": window.start,
            "end": window.end,
            "resources": list(resources),
        },
    )
    if not found or not len(found["hour"]):
        return {}
    return found


def make_current(store: Store, row: SettleRow) -> None:
    """Shows the set `row.settle_id`: the one row that readers go by."""
    store.engine.command(statement("put_settle"), asdict(row))


def roll_day(store: Store, *, cluster: str, day: datetime, settle_id: int) -> SettleRow | None:
    """Writes the day set of a UTC day from its current hours; None if no hour is settled.

    The row that is returned is not current yet: hand it to `make_current`. It is provisional
    while an hour of it is; `began` is the instant that the id names.
    """
    start = floor_day(day)
    params = {
        "cluster": cluster, "start": start, "end": start + DAY, "settle_id": settle_id
    }  # fmt: skip
    hours = store.engine.rows(statement("day_of_hours"), params)[0]
    if not hours["hours"]:
        return None
    store.engine.command(statement("roll_day"), params)
    written = store.engine.rows(statement("set_of_days"), params)[0]
    began = _instant_of(settle_id)
    return SettleRow(
        cluster=cluster,
        start=start,
        seconds=86400,
        settle_id=settle_id,
        provisional=bool(hours["provisional"]),
        began=began,
        ended=began,
        rows=written["rows"],
        node_cost=hours["node_cost"],
        row_cost=written["cost"] or Decimal(0),
        violations=hours["violations"],
    )


def _instant_of(settle_id: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=settle_id)


def id_of(at: datetime) -> int:
    """The settle id of an instant: microseconds since the epoch."""
    return int((at - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(microseconds=1))


def sweep(store: Store, *, now: datetime) -> int:
    """Removes sets replaced more than ten minutes ago and abandoned ones; returns how many."""
    with store.sweeping:
        # The first round of a process looks at everything, the next ones at the last days.
        since = 0 if not store.swept else id_of(now - RECENT)
        before = id_of(now - ABANDONED)
        old = store.engine.rows(statement("superseded"), {"before": now - LINGER})
        lost = store.engine.rows(statement("orphan_sets"), {"since": since, "before": before})
        for (name, partition), ids in _deletions(old, lost).items():
            params = {"partition": partition, "ids": sorted(ids)}
            store.engine.command(statement(name), params)
        store.swept = True
    return len({(row["seconds"], row["settle_id"]) for row in (*old, *lost)})


def _deletions(
    old: Sequence[Mapping[str, Any]], lost: Sequence[Mapping[str, Any]]
) -> dict[tuple[str, str], set[int]]:
    """Ids to delete by statement and partition; settle rows last, once their sets are gone."""
    found: dict[tuple[str, str], set[int]] = {}
    for row in (*old, *lost):
        if row["seconds"] < DAY_SECONDS:
            day = f"{row['start']:%Y-%m-%d}"
            keys = [("delete_cost_hours", day), ("delete_usage_minutes", day)]
        else:
            keys = [("delete_cost_days", f"{row['start']:%Y%m}")]
        for key in keys:
            found.setdefault(key, set()).add(row["settle_id"])
    for row in old:
        key = ("delete_settles", f"{row['start']:%Y%m}")
        found.setdefault(key, set()).add(row["settle_id"])
    return found


DAY_SECONDS = int(DAY.total_seconds())


def next_settle_id(now: datetime, *, last: int = 0) -> int:
    """A settle id for a settle that begins now: its microseconds, above `last`."""
    return max(id_of(now), last + 1)
