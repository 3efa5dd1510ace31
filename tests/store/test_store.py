import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from seedance.facts.errors import RefusedError
from seedance.facts.inventory import ClusterId, ObjectVersion, Uid
from seedance.facts.samples import SampleColumns
from seedance.store import objects, samples
from seedance.store.statements import names, schema_steps, split_script, statement
from seedance.store.store import Retention, Store, migrate, schema_version

HOLD = """
import sys
from pathlib import Path
from seedance.store.store import Store
store = Store.open(Path(sys.argv[1]))
store.engine.insert("metrics", {"metric_id": [7], "metric": ["kept"]})
print("open", flush=True)
sys.stdin.read()
"""


@contextmanager
def owner(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that has the store open."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        while process.stdout.readline().strip() != "open":
            assert process.poll() is None
        try:
            yield process
        finally:
            process.kill()


def test_a_new_store_has_every_table_and_the_newest_schema(store: Store) -> None:
    assert {"samples", "objects", "cost_hours", "meta"} <= set(store.size())
    assert schema_version(store.engine) == max(schema_steps())


def test_size_counts_bytes_and_rows(store: Store) -> None:
    samples.put_metric_ids(store, {"a": 1, "b": 2}, now=datetime(2026, 1, 1, tzinfo=UTC))
    size = store.size()["metrics"]
    assert size.rows == 2
    assert size.bytes > 0
    assert store.size()["samples"].rows == 0


def test_a_second_owner_is_refused_and_told_the_pid(tmp_path: Path) -> None:
    with owner(tmp_path / "s") as process, pytest.raises(RefusedError) as told:
        Store.open(tmp_path / "s")
    assert f"in use by process {process.pid}" in str(told.value)


def test_the_owner_itself_is_told_its_own_pid(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s"), pytest.raises(RefusedError, match=str(os.getpid())):
        Store.open(tmp_path / "s")


def test_a_killed_owner_leaves_a_store_that_opens(tmp_path: Path) -> None:
    with owner(tmp_path / "s") as process:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert (tmp_path / "s" / "store.lock").read_text() == f"{process.pid}\n"
    with Store.open(tmp_path / "s") as store:
        assert samples.metric_ids(store) == {"kept": 7}


def test_closing_twice_is_closing_once(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "s")
    store.close()
    store.close()
    with Store.open(tmp_path / "s"):
        pass


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RefusedError, match=r"cannot write to the store's folder .*file/s"):
        Store.open(tmp_path / "file" / "s")


def test_a_read_only_folder_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    folder.mkdir(mode=0o500)
    # Root may write anywhere but into a file system that takes no files.
    with pytest.raises(RefusedError, match="cannot write to the store's folder"):
        Store.open(folder if os.geteuid() else Path("/proc/self/s"))


def test_an_old_schema_is_led_forward_and_keeps_its_rows(store: Store) -> None:
    engine = store.engine
    samples.put_metric_ids(store, {"a": 1}, now=datetime(2026, 1, 1, tzinfo=UTC))
    newest = max(schema_steps())
    steps = {
        **schema_steps(),
        newest + 1: ("ALTER TABLE metrics ADD COLUMN IF NOT EXISTS unit String DEFAULT 'one'",),
        newest + 2: ("CREATE TABLE IF NOT EXISTS later (x UInt8) ENGINE = MergeTree ORDER BY x",),
    }
    assert migrate(engine, steps) == newest + 2
    assert engine.rows("SELECT metric, unit FROM metrics") == [{"metric": "a", "unit": "one"}]
    engine.insert("metrics", {"metric_id": [2], "metric": ["b"], "unit": ["s"]})
    assert schema_version(engine) == newest + 2
    assert migrate(engine, steps) == newest + 2


def test_a_step_that_was_cut_short_runs_again(store: Store) -> None:
    steps = {**schema_steps(), max(schema_steps()) + 1: schema_steps()[1]}
    assert migrate(store.engine, steps) == max(steps)


def test_a_newer_schema_is_refused_in_words(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as store:
        store.engine.insert("meta", {"key": ["schema"], "value": ["999"]})
    with pytest.raises(RefusedError, match="schema version 999, this program knows"):
        Store.open(tmp_path / "s")
    with pytest.raises(RefusedError, match="schema version 999"):
        Store.open(tmp_path / "s")


def test_rows_leave_with_their_retention_and_what_holds_stays(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    stamps = [int((now - timedelta(days=days)).timestamp() * 1000) for days in (10, 1)]
    columns = SampleColumns(np.array([1, 2]), np.array(stamps), np.zeros(2))
    versions = [
        ObjectVersion(
            ClusterId("c"), "Pod", Uid(name), "n", name,
            valid_from=now - timedelta(days=90), valid_to=valid_to, ended="", doc={},
        )
        for name, valid_to in (("old", now - timedelta(days=50)), ("alive", None))
    ]  # fmt: skip
    with Store.open(tmp_path / "s", retention=Retention(hour_days=60)) as store:
        samples.put_samples(store, np.ones(2, np.int64), columns, token="a")
        objects.put_versions(store, versions, now=now)
    with Store.open(tmp_path / "s", retention=Retention(raw_days=5, hour_days=40)) as store:
        for table in ("samples", "objects"):
            store.engine.command(f"OPTIMIZE TABLE {table} FINAL")
        assert samples.last_timestamps(store)[0].tolist() == [2]
        left = objects.objects_at(store, kind="Pod", at=now - timedelta(days=60))[0]
        assert [each.name for each in left] == ["alive"]


def test_statements_are_found_by_name() -> None:
    assert statement("read_samples").startswith("SELECT sid, ts, value")
    assert "roll_day" in names()
    with pytest.raises(KeyError):
        statement("nothing")


def test_a_script_is_split_at_the_ends_of_lines() -> None:
    script = "-- note; not one\nSELECT ';a'\nFROM x;\n\nSELECT 2;  \n-- end\n"
    assert split_script(script) == ("SELECT ';a'\nFROM x", "SELECT 2")
