import threading
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seedance.facts.errors import BusyError, RefusedError, UnreachableError, UsageError
from seedance.store.columntypes import parse_type
from seedance.store.engine import Engine, StoreError, translated
from seedance.store.native import ArrayColumn, DecimalColumn, decode_blocks, encode_block
from seedance.store.store import Store

NASTY = 'it\'s \\ a "test"\t\n\r\0 {x:String} ; -- é 漢 🙂 \\N %s'


@pytest.mark.parametrize(
    ("type_text", "value"),
    [
        ("String", NASTY),
        ("String", ""),
        ("Nullable(String)", None),
        ("Array(String)", [NASTY, "", "'", "\\"]),
        ("Array(String)", []),
        ("Array(UInt64)", [0, 2**64 - 1]),
        ("Int64", -(2**63)),
        ("Float64", 0.1),
        ("Bool", True),
        ("Decimal(38, 12)", Decimal("-123456789012345678901234.000000000001")),
        ("DateTime('UTC')", datetime(2026, 3, 29, 1, 30, tzinfo=UTC)),
        ("DateTime64(3, 'UTC')", datetime(2026, 3, 29, 1, 30, 0, 999000, tzinfo=UTC)),
        ("DateTime64(6, 'UTC')", datetime(1970, 1, 1, 0, 0, 0, 1, tzinfo=UTC)),
        ("Array(DateTime64(3, 'UTC'))", [datetime(2026, 1, 1, tzinfo=UTC)]),
        ("Date", date(2026, 2, 28)),
        ("Nullable(Decimal(38, 12))", None),
    ],
)
def test_a_parameter_comes_back_as_it_went(store: Store, type_text: str, value: object) -> None:
    sql = f"SELECT {{value:{type_text}}} AS value"
    assert store.engine.rows(sql, {"value": value})[0]["value"] == value


def test_a_parameter_cannot_become_sql(store: Store) -> None:
    attack = "'; DROP TABLE meta; --"
    found = store.engine.rows("SELECT key FROM meta WHERE key = {key:String}", {"key": attack})
    assert found == []
    assert "meta" in store.size()


def test_a_missing_parameter_is_named(store: Store) -> None:
    with pytest.raises(UsageError, match="'key' is missing"):
        store.engine.rows("SELECT {key:String}", {"other": 1})


def test_floats_that_json_cannot_say_come_back(store: Store) -> None:
    row = store.engine.rows("SELECT nan AS a, inf AS b, -inf AS c, 0.1 AS d")[0]
    assert np.isnan(row["a"])
    assert (row["b"], row["c"], row["d"]) == (np.inf, -np.inf, 0.1)


@pytest.fixture
def wide(store: Store) -> Engine:
    store.engine.command(
        "CREATE TABLE wide (n UInt64, i Int32, f Nullable(Float64), t DateTime64(3, 'UTC'), "
        "d DateTime('UTC'), day Date, s LowCardinality(String), raw String, "
        "m Map(LowCardinality(String), String), money Nullable(Decimal(38, 12)), "
        "a Array(Float32), words Array(String), b Bool DEFAULT 1) ENGINE = MergeTree ORDER BY n"
    )
    return store.engine


AT = datetime(2026, 3, 29, 1, 30, 0, 123000, tzinfo=UTC)
ROWS: dict[str, list[Any]] = {
    "n": [1, 2**64 - 1],
    "i": [-1, 2**31 - 1],
    "f": [0.5, None],
    "t": [AT, datetime(1970, 1, 1, tzinfo=UTC)],
    "d": [AT.replace(microsecond=0), datetime(2100, 1, 1, tzinfo=UTC)],
    "day": [date(2026, 3, 29), date(1970, 1, 1)],
    "s": [NASTY, ""],
    "raw": ["x" * 20_000, NASTY],
    "m": [{NASTY: NASTY, "b": ""}, {}],
    "money": [Decimal("-12345678901234567890.000000000001"), None],
    "a": [[1.5, 2.5], []],
    "words": [[NASTY, ""], []],
}


def test_python_values_come_back_as_they_were_inserted(wide: Engine) -> None:
    wide.insert("wide", ROWS)
    found = wide.rows("SELECT * FROM wide ORDER BY n")
    for name, values in {**ROWS, "b": [True, True]}.items():
        assert [row[name] for row in found] == values, name


def test_arrays_come_back_as_they_were_inserted(wide: Engine) -> None:
    columns = {
        "n": np.array([1, 2], np.uint64),
        "i": np.array([-5, 5], np.int32),
        "f": np.ma.MaskedArray([1.0, 2.0], mask=[False, True]),
        "t": np.array([123, 456]),
        "money": DecimalColumn(np.array([-7, 0]), np.array([False, True])),
        "a": ArrayColumn(np.arange(6, dtype=np.float32), 3, np.array([False, True])),
        "s": ["b", "b"],
    }
    wide.insert("wide", columns)
    found = wide.columns("SELECT * EXCEPT (m, words) FROM wide ORDER BY n")
    assert found["i"].tolist() == [-5, 5]
    assert found["f"].tolist() == [1.0, None]
    assert found["t"].tolist() == [123, 456]
    assert found["money"].tolist() == [-7, None]
    assert found["a"].tolist() == [[0, 1, 2], [0, 0, 0]]
    assert found["s"].tolist() == ["b", "b"]
    assert wide.columns("SELECT n FROM wide WHERE n > 5").get("n", np.array([])).tolist() == []


def test_many_blocks_are_joined(store: Store) -> None:
    sql = (
        "SELECT number AS n, toLowCardinality(toString(number % 1000)) AS s, "
        "if(number % 2, NULL, number) AS x FROM numbers(200000)"
    )
    found = store.engine.columns(sql, threads=1)
    assert found["n"].tolist() == list(range(200_000))
    assert found["s"][123_456] == "456"
    assert (found["x"][2], found["x"].mask[1]) == (2, True)
    found["n"][0] = 7  # the caller owns what it gets


def test_what_does_not_fit_is_told(wide: Engine) -> None:
    with pytest.raises(ValueError, match="columns differ in length"):
        wide.insert("wide", {"n": [1, 2], "i": [1]})
    with pytest.raises(StoreError, match="no column colour"):
        wide.insert("wide", {"n": [1], "colour": ["red"]})
    with pytest.raises(StoreError, match="no deduplication token"):
        wide.insert("wide", {"n": [1]}, token="it's")
    with pytest.raises(StoreError, match="no name of a table"):
        wide.insert("wide; DROP", {"n": [1]})
    with pytest.raises(StoreError, match="UNKNOWN_TABLE"):
        wide.rows("SELECT * FROM nowhere")
    with pytest.raises(OverflowError, match="wider than 64 bits"):
        wide.columns("SELECT toDecimal128('12345678901234567890', 12) AS x")
    wide.insert("wide", {"n": []})
    assert wide.rows("SELECT count() AS n FROM wide") == [{"n": 0}]


def test_a_fault_leaves_nothing_in_the_next_answer(store: Store) -> None:
    for _ in range(3):
        with pytest.raises(StoreError):
            store.engine.rows("SELECT throwIf(1)")
    assert store.engine.rows("SELECT 1 AS one") == [{"one": 1}]


def test_threads_share_one_engine(wide: Engine) -> None:
    faults: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for turn in range(5):
                wide.insert("wide", {"n": np.arange(1000) + number * 10_000 + turn * 1000})
                wide.columns("SELECT n FROM wide")
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    assert wide.rows("SELECT uniqExact(n) AS n FROM wide") == [{"n": 30_000}]


def test_closing_waits_for_a_running_statement(tmp_path: Path) -> None:
    engine = Engine.open(str(tmp_path / "e"))
    found: list[Any] = []
    running = threading.Event()

    def work() -> None:
        running.set()
        found.extend(engine.rows("SELECT sleep(0.5) AS slept"))

    thread = threading.Thread(target=work)
    thread.start()
    running.wait()
    threading.Event().wait(0.1)
    engine.close()
    engine.close()
    thread.join()
    assert found == [{"slept": 0}]
    with pytest.raises(RefusedError, match="the store is closed"):
        engine.rows("SELECT 1")


def test_the_memory_of_the_engine_is_bounded(tmp_path: Path) -> None:
    with Engine.open(str(tmp_path / "e"), memory_bytes=300 << 20, threads=1) as engine:
        settings = engine.rows(
            "SELECT toUInt64(value) AS bytes FROM system.server_settings "
            "WHERE name = 'max_server_memory_usage'"
        )
        assert settings == [{"bytes": 300 << 20}]
        with pytest.raises(BusyError, match="at its limit"):
            engine.rows("SELECT length(groupArray(number)) AS n FROM numbers(100000000)")
        assert engine.rows("SELECT 1 AS one") == [{"one": 1}]


def test_a_second_store_in_one_process_is_refused(tmp_path: Path) -> None:
    with (
        Engine.open(str(tmp_path / "one")),
        pytest.raises(RefusedError, match="another store open"),
    ):
        Engine.open(str(tmp_path / "two"))


def test_a_server_that_does_not_answer_is_unreachable() -> None:
    with pytest.raises(UnreachableError, match="does not answer"):
        Engine.open("http://127.0.0.1:9/nothing")


@pytest.mark.parametrize(
    "text",
    [
        "Code: 243. DB::Exception: Cannot reserve 1.00 MiB, not enough space. (NOT_ENOUGH_SPACE)",
        "Code: 75. DB::ErrnoException: Cannot write to file: , errno: 28 (CANNOT_WRITE_TO_FILE)",
        "Streaming insert finish failed: Code: 252. DB::Exception: Too many parts (3001). ",
    ],
)
def test_faults_that_pass_are_busy(text: str) -> None:
    fault = translated(RuntimeError(text))
    assert isinstance(fault, BusyError)
    assert text in str(fault)
    assert fault.retry_after > 0


def test_other_faults_keep_the_engines_words_for_the_log() -> None:
    text = "Code: 36. DB::Exception: In scope SELECT (A_B): bad. (BAD_ARGUMENTS) (version 25.1)"
    fault = translated(RuntimeError(text))
    assert isinstance(fault, StoreError)
    assert str(fault) == f"the store refused a statement: BAD_ARGUMENTS (bug {fault.id})"
    assert fault.account() == {"id": fault.id, "why": str(fault), "said": text}
    bare = translated(RuntimeError("Code: 36. DB::Exception: x"))
    assert str(bare).startswith("the store refused a statement (bug ")


def test_a_refused_statement_is_for_the_log_and_not_for_readers(store: Store) -> None:
    sql = "SELECT secret FROM nowhere"
    with pytest.raises(StoreError) as told:
        store.engine.rows(sql)
    assert "secret" not in f"{told.value} {told.value.hint}"
    assert told.value.statement == sql
    assert "nowhere" in told.value.said


@given(
    st.lists(
        st.tuples(
            st.text(max_size=300),
            st.integers(0, 2**64 - 1),
            st.floats(width=64),
            st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)),
        ),
        min_size=1,
    )
)
def test_a_block_reads_back(rows: list[tuple[str, int, float, int | None]]) -> None:
    types = {"s": "String", "n": "UInt64", "f": "Float64", "x": "Nullable(Int64)"}
    texts, numbers, floats, maybe = zip(*rows, strict=True)
    columns = {"s": texts, "n": numbers, "f": np.array(floats), "x": maybe}
    block = encode_block(columns, {name: parse_type(text) for name, text in types.items()})
    found = decode_blocks(b"".join(block) * 2)
    assert found["s"].tolist() == [*texts, *texts]
    assert found["n"].tolist() == [*numbers, *numbers]
    assert found["f"].tobytes() == np.array([*floats, *floats]).tobytes()
    assert found["x"].tolist() == [*maybe, *maybe]
