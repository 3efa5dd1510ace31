import json
import shutil
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seedance.facts.errors import RefusedError, UsageError
from seedance.facts.samples import SampleColumns, Series, SeriesId
from seedance.facts.window import Window
from seedance.store import admin, samples, settles
from seedance.store.engine import StoreError
from seedance.store.native import DecimalColumn
from seedance.store.settles import SettleRow
from seedance.store.statements import schema_steps
from seedance.store.store import FolderLock, Retention, Store

AGES = Retention(raw_days=15_000, minute_days=15_000, hour_days=15_000, day_days=15_000)
DAY0 = datetime(2026, 3, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.fixture
def store(blank_store: Path, tmp_path: Path) -> Iterator[Store]:
    """Embedded only: a server's disks are out of reach."""
    shutil.copytree(blank_store, tmp_path / "store", symlinks=True)
    with Store.open(tmp_path / "store", retention=AGES, memory_bytes=1 << 30) as opened:
        yield opened


def entity(number: int) -> dict[str, Any]:
    texts = (
        *("cluster", "kind", "node", "node_uid", "instance_type", "zone", "capacity_type"),
        *("namespace", "workload_kind", "workload", "workload_uid", "pod", "pod_uid", "container"),
        *("domain", "domain_origin", "environment", "environment_origin", "team", "team_origin"),
    )
    maps = ("labels", "label_origins", "annotations", "annotation_origins")
    return {"entity": number, **dict.fromkeys(texts, "x"), **{name: {} for name in maps}}


PRICE = {
    "price_id": 7, "currency": "USD", "book": "b", "entry": "e", "source": "s", "estimate": 0,
    "per_hour": {"cpu": Decimal(1)}, "reason": "",
}  # fmt: skip


def put_set(store: Store, number: int, *, hour: int = 0) -> SettleRow:
    """A whole set of two rows, as a settle writes it: entities, rows, then the settle row."""
    start = DAY0 + hour * HOUR
    entities = [entity(2 * hour), entity(2 * hour + 1)]
    settles.put_entities(store, entities, now=start)
    settles.put_prices(store, [PRICE], now=start)
    figures = ("requested", "used", "charged", "unused", "covered", "alive")
    settles.put_cost_hours(
        store,
        {
            "settle_id": np.full(2, number, np.uint64), "hour": [start, start],
            "entity": [each["entity"] for each in entities], "resource": ["cpu", "cpu"],
            "price_id": [7, 7], **dict.fromkeys(figures, np.ones(2)),
            "cost": DecimalColumn(np.array([1, 2])), "unused_cost": DecimalColumn(np.zeros(2, int)),
            "overcommit": np.ones(2), "flags": [0, 0], "reason": ["", ""],
        },
    )  # fmt: skip
    amount = Decimal("0.000000000003")
    row = SettleRow(
        cluster="c", start=start, seconds=3600, settle_id=number, provisional=False,
        began=start + HOUR, ended=start + HOUR, rows=2, node_cost=amount, row_cost=amount,
    )  # fmt: skip
    settles.make_current(store, row)
    return row


def put_samples(store: Store, number: int) -> None:
    """One new series, then its sample."""
    series = Series(SeriesId(number), "m", labels=(), cluster="", door="kubelet")
    samples.put_series(store, [series], now=DAY0)
    one = np.array([number])
    stamp = one * 1000 + int(DAY0.timestamp() * 1000)
    columns = SampleColumns(one, stamp, np.array([0.5]))
    samples.put_samples(store, np.ones(1, np.int64), columns, token=f"t{number}")


def words(store: Store, now: datetime = DAY0 + 9 * HOUR) -> str:
    return "\n".join(f"{each.where}: {each.what}" for each in admin.check(store, now=now))


def test_a_store_in_use_is_sound(store: Store) -> None:
    assert admin.check(store) == []
    samples.put_metric_ids(store, {"m": 1}, now=DAY0)
    put_samples(store, 1)
    put_set(store, settles.id_of(DAY0))
    row = settles.roll_day(store, cluster="c", day=DAY0, settle_id=settles.id_of(DAY0) + 1)
    assert row is not None
    settles.make_current(store, row)
    assert admin.check(store) == []


def test_check_finds_a_set_that_does_not_sum(store: Store) -> None:
    row = put_set(store, 10)
    settles.make_current(store, replace(row, settle_id=11))
    assert "set 11 of cluster c at 2026-03-01T00:00:00Z: 0 rows of 2" in words(store)
    put_set(store, 12)
    assert words(store) == ""
    store.engine.command("DELETE FROM cost_hours WHERE settle_id = 12 AND entity = 1")
    assert "1 rows of 2, they sum to 0.000000000001" in words(store)
    put_set(store, 13)
    settles.make_current(store, replace(row, settle_id=14, node_cost=Decimal(9), rows=0))
    assert "the nodes cost 9" in words(store)


def test_check_finds_what_points_to_nothing(store: Store) -> None:
    stamp = np.array([int(DAY0.timestamp() * 1000)])
    columns = SampleColumns(np.array([5]), stamp, np.array([0.0]))
    samples.put_samples(store, np.ones(1, np.int64), columns, token="a")
    put_set(store, 10)
    store.engine.command("TRUNCATE TABLE entities")
    store.engine.command("TRUNCATE TABLE prices")
    store.engine.command("DELETE FROM settles WHERE settle_id = 10")
    found = words(store)
    for expected in (
        "samples: 1 series have samples but no labels",
        "samples: 1 metrics have samples but no name",
        "entities: 2 entities have cost rows but no description",
        "prices: 1 prices have cost rows but no description",
        "1 sets were written and never became current",
    ):
        assert expected in found


def test_check_finds_a_damaged_part(store: Store) -> None:
    put_set(store, 10)
    [path] = store.engine.rows(
        "SELECT path FROM system.parts WHERE table = 'cost_hours' AND active "
        "AND database = currentDatabase()"
    )
    data = Path(path["path"]) / "data.bin"
    raw = bytearray(data.read_bytes())
    raw[len(raw) // 2] ^= 0xFF
    data.write_bytes(raw)
    assert "cost_hours: part " in words(store)
    assert "is damaged" in words(store)


@contextmanager
def writers(store: Store) -> Iterator[list[BaseException]]:
    """Samples, hours and sweeps go on, as in a server, until the block ends."""
    faults: list[BaseException] = []
    done = threading.Event()

    def keep(step: Any) -> None:
        number = 1000
        try:
            while not done.is_set():
                number += 1
                step(number)
        except BaseException as fault:
            faults.append(fault)

    def settle(number: int) -> None:
        put_set(store, settles.id_of(DAY0) + number, hour=number % 5)
        if number % 7 == 0:
            settles.sweep(store, now=DAY0 + 40 * HOUR)

    def sample(number: int) -> None:
        put_samples(store, number)

    threads = [threading.Thread(target=keep, args=(step,)) for step in (settle, sample)]
    for thread in threads:
        thread.start()
    try:
        yield faults
    finally:
        done.set()
        for thread in threads:
            thread.join()


def test_a_backup_taken_while_writes_go_on_restores_to_a_sound_store(tmp_path: Path) -> None:
    with Store.open(tmp_path / "live", retention=AGES) as store:
        samples.put_metric_ids(store, {"m": 1}, now=DAY0)
        (store.path / "tokens.json").write_text("{}")
        with writers(store) as faults:
            for number in range(3):
                threading.Event().wait(0.3)
                admin.backup(store, tmp_path / f"copy-{number}")
        assert faults == []
        live = len(samples.last_timestamps(store)[0])
    held = []
    for number in range(3):
        restored = tmp_path / f"restored-{number}"
        admin.restore(tmp_path / f"copy-{number}", restored)
        with Store.open(restored, retention=AGES) as store:
            # What the copy caught half written is no more than a settle in progress.
            assert admin.check(store, now=DAY0 + HOUR) == []
            window = Window(DAY0, DAY0 + 24 * HOUR)
            assert settles.current_settles(store, cluster="c", window=window)
            held.append(len(samples.last_timestamps(store)[0]))
            put_samples(store, 1)
            put_set(store, settles.id_of(DAY0 + HOUR))
            assert admin.check(store, now=DAY0 + HOUR) == []
        assert (restored / "tokens.json").read_text() == "{}"
    assert 0 < held[0] <= held[1] <= held[2] <= live


def test_a_backup_needs_an_empty_folder(store: Store, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_text("")
    with pytest.raises(RefusedError, match="is not empty"):
        admin.backup(store, tmp_path / "full")
    with pytest.raises(RefusedError, match="cannot write"):
        admin.backup(store, tmp_path / "full" / "x" / "y")


def test_a_backup_has_no_file_of_the_process_that_runs(store: Store, tmp_path: Path) -> None:
    for name in ("admin.token", "server.json", "tokens.lock", "tokens.json"):
        (store.path / name).write_text("{}")
    admin.backup(store, tmp_path / "copy")
    assert {entry.name for entry in (tmp_path / "copy" / "files").iterdir()} == {"tokens.json"}
    store.close()
    admin.restore(tmp_path / "copy", tmp_path / "new")
    assert not (tmp_path / "new" / "admin.token").exists()


def test_nobody_else_can_read_a_store_or_its_copy(store: Store, tmp_path: Path) -> None:
    admin.backup(store, tmp_path / "copy")
    store.close()
    admin.restore(tmp_path / "copy", tmp_path / "restored")
    FolderLock(tmp_path / "opened").release()
    for name in ("copy", "restored", "opened"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o700


def test_a_store_is_not_restored_over_another(store: Store, tmp_path: Path) -> None:
    admin.backup(store, tmp_path / "copy")
    with pytest.raises(RefusedError, match="is not empty"):
        admin.restore(tmp_path / "copy", store.path)


def test_half_a_backup_is_refused(store: Store, tmp_path: Path) -> None:
    admin.backup(store, tmp_path / "copy")
    manifest = tmp_path / "copy" / "backup.json"
    facts = json.loads(manifest.read_text())
    assert facts["schema"] == max(schema_steps())
    manifest.unlink()
    with pytest.raises(UsageError, match="is no whole backup"):
        admin.restore(tmp_path / "copy", tmp_path / "new")
    manifest.write_text(json.dumps({**facts, "schema": 999}))
    with pytest.raises(RefusedError, match="schema version 999"):
        admin.restore(tmp_path / "copy", tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_failed_backup_leaves_no_rest(store: Store, tmp_path: Path) -> None:
    store.engine.command("DROP TABLE prices SYNC")
    with pytest.raises(StoreError) as told:
        admin.backup(store, tmp_path / "copy")
    assert "prices" in told.value.said
    assert list((tmp_path / "copy").iterdir()) == []


def test_every_table_is_backed_up(store: Store) -> None:
    assert set(store.size()) == set(admin.TABLES)


def test_tables_of_a_server_are_its_own_to_back_up(facade: str, tmp_path: Path) -> None:
    with (
        Store.open(tmp_path / "s", server=f"{facade}/backed") as store,
        pytest.raises(RefusedError, match="cannot reach") as told,
    ):
        admin.backup(store, tmp_path / "copy")
    assert "BACKUP DATABASE" in told.value.hint
