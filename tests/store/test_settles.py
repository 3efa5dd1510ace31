from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np

from seedance.facts.window import Window
from seedance.store import settles
from seedance.store.native import ArrayColumn, DecimalColumn
from seedance.store.settles import SettleRow
from seedance.store.statements import statement
from seedance.store.store import Store

DAY0 = datetime(2026, 3, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)


def settle(number: int, *, hour: int = 0, cluster: str = "a", **other: Any) -> SettleRow:
    start = DAY0 + hour * HOUR
    facts: dict[str, Any] = {
        "cluster": cluster, "start": start, "seconds": 3600, "settle_id": number,
        "provisional": False, "began": start + HOUR, "ended": start + HOUR, "rows": 2,
        "node_cost": Decimal("1.5"), "row_cost": Decimal("1.5"),
    }  # fmt: skip
    return SettleRow(**{**facts, **other})


def put_rows(
    store: Store, number: int, picos: Sequence[int | None], *, hour: int = 0, price: int = 7
) -> None:
    count = len(picos)
    start = int((DAY0 + hour * HOUR).timestamp())
    null = np.array([each is None for each in picos])
    money = DecimalColumn(np.array([each or 0 for each in picos], np.int64), null)
    figures = {
        name: np.full(count, 0.5)
        for name in ("requested", "used", "charged", "unused", "covered", "alive")
    }
    settles.put_cost_hours(
        store,
        {
            "settle_id": np.full(count, number, np.uint64),
            "hour": np.full(count, start),
            "entity": np.arange(count, dtype=np.uint64),
            "resource": ["cpu"] * count,
            "price_id": np.full(count, price, np.uint64),
            **figures,
            "cost": money,
            "unused_cost": money,
            "overcommit": np.ones(count, np.float32),
            "flags": np.full(count, 1 << (hour % 8), np.uint32),
            "reason": [""] * count,
        },
    )


def count(store: Store, table: str) -> int:
    found: int = store.engine.rows("SELECT count() AS n FROM {table:Identifier}", {"table": table})[
        0
    ]["n"]
    return found


def test_an_hour_is_dirty_until_a_settle_that_began_after_the_mark(store: Store) -> None:
    over = DAY0 + 24 * HOUR

    def dirty() -> list[datetime]:
        return settles.dirty_hours(store, cluster="a", before=over)

    settles.mark_dirty(store, "a", [DAY0 + MINUTE, DAY0 + HOUR], reason="samples", now=DAY0)
    assert dirty() == [DAY0, DAY0 + HOUR]
    assert settles.dirty_hours(store, cluster="b", before=over) == []
    assert settles.dirty_hours(store, cluster="a", before=DAY0 + HOUR) == [DAY0]
    settles.make_current(store, settle(1, began=DAY0 + 3 * HOUR))
    assert dirty() == [DAY0 + HOUR]
    settles.mark_dirty(store, "a", [DAY0], reason="late", now=DAY0 + 4 * HOUR)
    assert dirty() == [DAY0, DAY0 + HOUR]
    settles.make_current(store, settle(2, began=DAY0 + 5 * HOUR))
    assert dirty() == [DAY0 + HOUR]


def test_a_provisional_hour_waits_once_it_is_over(store: Store) -> None:
    settles.make_current(store, settle(1, provisional=True, began=DAY0 + 50 * MINUTE))
    assert settles.dirty_hours(store, cluster="a", before=DAY0 + 59 * MINUTE) == []
    assert settles.dirty_hours(store, cluster="a", before=DAY0 + HOUR) == [DAY0]


def test_the_largest_id_of_a_window_counts(store: Store) -> None:
    rows = [settle(3), settle(5, violations=1, violation_text="it's"), settle(4, hour=1)]
    for row in (*rows, settle(9, cluster="b")):
        settles.make_current(store, row)
    window = Window(DAY0, DAY0 + 24 * HOUR)
    assert settles.current_settles(store, cluster="a", window=window) == [rows[1], rows[2]]
    params = {"cluster": "", "start": window.start, "end": window.end}
    ids = store.engine.columns(statement(settles.CURRENT_HOURS), params)
    assert sorted(next(iter(ids.values())).tolist()) == [4, 5, 9]


def test_a_day_is_the_sum_of_its_current_hours_and_unpriced_stays_unpriced(store: Store) -> None:
    put_rows(store, 1, [111], hour=0)  # replaced below
    for number, hour in ((2, 0), (3, 1)):
        put_rows(store, number, [10**12, 5 * 10**11, None], hour=hour)
        settles.make_current(store, settle(number, hour=hour, provisional=hour == 1))
    put_rows(store, 4, [10**12], hour=24)  # the next day
    settles.make_current(store, settle(4, hour=24))
    row = settles.roll_day(store, cluster="a", day=DAY0, settle_id=99)
    assert row is not None
    assert (row.rows, row.row_cost, row.node_cost) == (3, Decimal(3), Decimal(3))
    assert (row.seconds, row.provisional, row.start) == (86400, True, DAY0)
    stored = store.engine.rows("SELECT * FROM cost_days ORDER BY entity")
    assert [each["cost"] for each in stored] == [Decimal(2), Decimal(1), None]
    assert stored[0]["flags"] == 3
    assert stored[0]["charged"] == 1.0
    settles.make_current(store, row)
    window = Window(DAY0, DAY0 + 24 * HOUR)
    current = settles.current_settles(store, cluster="a", window=window, seconds=86400)
    assert current == [row]


def test_a_day_without_settled_hours_is_not_rolled(store: Store) -> None:
    assert settles.roll_day(store, cluster="a", day=DAY0, settle_id=1) is None
    assert count(store, "cost_days") == 0


def test_sweep_leaves_current_and_freshly_replaced_sets(store: Store) -> None:
    now = DAY0 + 2 * HOUR
    base = settles.next_settle_id(DAY0)
    for number, ended in ((base, now - HOUR), (base + 1, now - 11 * MINUTE), (base + 2, now)):
        put_rows(store, number, [1])
        settles.make_current(store, settle(number, ended=ended))
    # The set at `base` was replaced 11 minutes ago had there been no third; the newest counts.
    assert settles.sweep(store, now=now) == 0
    assert settles.sweep(store, now=now + 11 * MINUTE) == 2
    assert count(store, "cost_hours") == count(store, "settles") == 1
    assert settles.sweep(store, now=now + 11 * MINUTE) == 0


def test_sweep_removes_what_a_dead_settle_left(store: Store) -> None:
    number = settles.next_settle_id(DAY0)
    put_rows(store, number, [1, 2])
    assert settles.sweep(store, now=DAY0 + HOUR) == 0
    assert settles.sweep(store, now=DAY0 + 7 * HOUR) == 1
    assert count(store, "cost_hours") == 0


def test_minutes_travel_as_arrays(store: Store) -> None:
    values = np.arange(120, dtype=np.float32)
    settles.put_usage_minutes(
        store,
        {
            "settle_id": np.array([1, 1], np.uint64),
            "hour": np.full(2, int(DAY0.timestamp())),
            "entity": np.array([1, 2], np.uint64),
            "resource": ["cpu", "memory"],
            "requested": ArrayColumn(values, 60),
            "used": ArrayColumn(values, 60),
            "charged": ArrayColumn(values, 60, np.array([True, False])),
            "covered": ArrayColumn(np.full(120, 60, np.uint8), 60),
            "price_id": np.ones(2, np.uint64),
        },
    )
    found = store.engine.columns("SELECT * FROM usage_minutes ORDER BY entity")
    assert found["used"].tolist() == values.reshape(2, 60).tolist()
    assert found["charged"][1].tolist() == values[60:].tolist()
    lengths = store.engine.rows("SELECT length(charged) AS n FROM usage_minutes ORDER BY n")
    assert [row["n"] for row in lengths] == [0, 60]


def entity(number: int) -> dict[str, Any]:
    texts = [
        *("cluster", "kind", "node", "node_uid", "instance_type", "zone", "capacity_type"),
        *("namespace", "workload_kind", "workload", "workload_uid", "pod", "pod_uid", "container"),
        *("domain", "domain_origin", "environment", "environment_origin", "team", "team_origin"),
    ]
    maps = ("labels", "label_origins", "annotations", "annotation_origins")
    return {
        "entity": number,
        **{name: f"{name} {number}" for name in texts},
        **{name: {"k\u00e9y": name, "b'\\": ""} for name in maps},
    }


def test_entities_are_written_once_and_anew_after_a_month(store: Store) -> None:
    settles.put_entities(store, [entity(1), entity(2), entity(1)], now=DAY0)
    settles.put_entities(store, [entity(1)], now=DAY0 + HOUR)
    assert count(store, "entities") == 2
    settles.put_entities(store, [entity(1)], now=DAY0 + timedelta(days=30))
    assert count(store, "entities") == 3
    row = store.engine.rows("SELECT * EXCEPT at FROM entities FINAL WHERE entity = 1")[0]
    assert row == entity(1)


def test_prices_keep_twelve_places(store: Store) -> None:
    price = {
        "price_id": 2**64 - 1, "currency": "USD", "book": "b", "entry": "e", "source": "s",
        "estimate": 1, "per_hour": {"cpu": Decimal("0.000000000001")}, "reason": "",
    }  # fmt: skip
    settles.put_prices(store, [price], now=DAY0)
    assert store.engine.rows("SELECT * EXCEPT at FROM prices") == [price]


def test_a_settle_id_is_its_instant_and_above_the_last() -> None:
    assert settles.next_settle_id(DAY0) == int(DAY0.timestamp()) * 10**6
    assert settles.next_settle_id(DAY0, last=2**60) == 2**60 + 1
    assert replace(settle(1), settle_id=2).settle_id == 2
