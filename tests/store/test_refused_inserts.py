"""An insert that the engine refuses is never taken for one that went well."""

from __future__ import annotations

import numpy as np
import pytest

from seedance.facts.errors import BusyError
from seedance.facts.samples import SampleColumns
from seedance.store.samples import put_samples
from seedance.store.store import Store

T = 1_796_000_000_000


def put(store: Store, number: int) -> None:
    sid = np.arange(1, 101)
    columns = SampleColumns(sid, np.full(100, T + number), np.full(100, float(number)))
    put_samples(store, np.ones(100, np.int64), columns, token=f"token-{number}")


def test_a_block_that_the_table_refuses_is_told_and_can_be_sent_again(store: Store) -> None:
    store.engine.command("SYSTEM STOP MERGES samples")
    store.engine.command(
        "ALTER TABLE samples MODIFY SETTING parts_to_throw_insert = 1, parts_to_delay_insert = 1"
    )
    put(store, 1)
    with pytest.raises(BusyError, match="parts"):
        put(store, 2)
    store.engine.command("ALTER TABLE samples RESET SETTING parts_to_throw_insert")
    put(store, 2)
    put(store, 2)
    rows = store.engine.rows(
        "SELECT value, count() AS n FROM samples GROUP BY value ORDER BY value"
    )
    assert [(row["value"], row["n"]) for row in rows] == [(1.0, 100), (2.0, 100)]
