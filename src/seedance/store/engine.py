"""The one door to ClickHouse: in this process (chDB) or a server over HTTP, with one behaviour.

Flow of a read: statement → its parameters in the types it names (`texts`) → transport → bytes →
rows of Python values (`rows`) or numpy columns (`columns`, `native`). Flow of an insert: the
table's column types are asked once, the columns become a Native block, the transport sends it.

chDB gives one engine per process and one data folder per engine; a connection takes one
statement at a time, so threads borrow connections from a pool. `close` waits for them.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self
from urllib.parse import unquote, urlsplit

import numpy.typing as npt

from seedance.facts.errors import BugError, BusyError, RefusedError, SeedanceError, UnreachableError
from seedance.store.columntypes import ColumnType, parse_type
from seedance.store.handover import file_of
from seedance.store.native import Piece, decode_blocks, encode_block
from seedance.store.texts import Plain, bind, escaped, read_rows

_CODE = re.compile(r"Code: (\d+)\.")
_FAULT = re.compile(r"\(([A-Z][A-Z0-9_]{3,})\)")
"""The name of a fault, at the end of ClickHouse's text."""

_NO_SPACE = re.compile(r"NOT_ENOUGH_SPACE|No space left on device|errno: 28\b|Errno 28\b")
_BUSY_CODES = {"241": "memory", "252": "parts", "243": "space", "202": "queries"}
"""ClickHouse's codes for faults that pass: memory limit, too many parts, no space, too many."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TOKEN = re.compile(r"[A-Za-z0-9._:-]*")

_SESSION: dict[str, int | str] = {
    "session_timezone": "UTC",
    "date_time_output_format": "simple",
    "output_format_json_quote_64bit_integers": 0,
    "output_format_json_quote_decimals": 1,
    "output_format_json_quote_denormals": 1,
    # A backfill or a replay may touch any number of hour partitions at once.
    "max_partitions_per_insert_block": 0,
    "deduplicate_blocks_in_dependent_materialized_views": 1,
    "insert_deduplicate": 1,
    # An insert that has returned is in the table; batching is done before.
    "async_insert": 0,
}
"""Settings that every statement of this program runs under, on both transports."""


class StoreError(BugError):
    """The engine refused a statement; `said` keeps ClickHouse's own text."""


class Transport(Protocol):
    """Takes one statement to an engine and brings bytes back."""

    def query(
        self, sql: str, fmt: str, params: Mapping[str, Plain], *, threads: int | None
    ) -> bytes:
        """The answer in the format named, "" for statements without one."""
        ...

    def insert(
        self, table: str, names: Sequence[str], pieces: Sequence[Piece], *, token: str
    ) -> None:
        """One Native block into a table."""
        ...

    def close(self) -> None: ...  # noqa: D102


class _Embedded:
    """chDB in this process; connections are pooled, one statement at a time on each."""

    def __init__(self, folder: Path, *, database: str, memory_bytes: int, threads: int) -> None:
        from chdb.state.sqlitelike import Connection  # noqa: PLC0415  # 0.2 s that HTTP can save

        self._connect = Connection
        self._database = database
        # `backups.allowed_path` is where BACKUP may write: the operator names the target folder.
        self._dsn = (
            f"{folder}?max_server_memory_usage={memory_bytes}&max_threads={threads}"
            "&backups.allowed_path=/"
        )
        self._session = {"max_threads": threads, **_SESSION}
        self._idle: list[Any] = []
        self._busy = 0
        self._closed = False
        self._state = threading.Condition()
        with _translating():
            # Stays open and unused: with its last connection the engine itself would end.
            self._root = Connection(self._dsn)
            self._root.query(f"CREATE DATABASE IF NOT EXISTS {database} ENGINE = Atomic")

    def _prepared(self, connection: Any) -> Any:
        connection.query(f"USE {self._database}")
        pairs = ", ".join(f"{name} = {value!r}" for name, value in self._session.items())
        connection.query(f"SET {pairs}")
        return connection

    @contextmanager
    def _borrowed(self) -> Iterator[Any]:
        with self._state:
            if self._closed:
                raise RefusedError("the store is closed", hint="open it again")
            self._busy += 1
            connection = self._idle.pop() if self._idle else None
        sound = False
        try:
            with _translating():
                if connection is None:
                    connection = self._prepared(self._connect(self._dsn))
                yield connection
            sound = True
        finally:
            # After a fault a connection keeps half an answer and puts it before the next one.
            if connection is not None and not sound:
                connection.close()
            with self._state:
                self._busy -= 1
                if sound:
                    self._idle.append(connection)
                self._state.notify_all()

    def query(
        self, sql: str, fmt: str, params: Mapping[str, Plain], *, threads: int | None
    ) -> bytes:
        if threads is not None:
            sql = f"{sql}\nSETTINGS max_threads = {threads:d}"
        texts = {name: escaped(value) for name, value in params.items()}
        with self._borrowed() as connection:
            answer = connection.query(sql, fmt, params=texts)
            return b"" if answer is None else answer.bytes()

    def insert(
        self, table: str, names: Sequence[str], pieces: Sequence[Piece], *, token: str
    ) -> None:
        settings = f" SETTINGS insert_deduplication_token = '{token}'" if token else ""
        columns = ", ".join(names)
        with file_of(pieces) as path, self._borrowed() as connection:
            connection.query(
                f"INSERT INTO {table} ({columns}) FROM INFILE '{path}'{settings} FORMAT Native"
            )

    def close(self) -> None:
        with self._state:
            self._closed = True
            self._state.wait_for(lambda: self._busy == 0)
            idle, self._idle = self._idle, []
        for connection in (*idle, self._root):
            connection.close()


class _Server:
    """A ClickHouse server over HTTP through clickhouse-connect, whose client threads may share."""

    def __init__(self, url: str, *, threads: int, memory_bytes: int) -> None:
        import clickhouse_connect  # noqa: PLC0415  # only where a server is used

        parts = urlsplit(url)
        database = parts.path.strip("/") or "seedance"
        checked(database)
        session = {"max_threads": threads, "max_memory_usage": memory_bytes, **_SESSION}
        options: dict[str, Any] = {
            "host": parts.hostname or "127.0.0.1",
            "port": parts.port or (8443 if parts.scheme == "https" else 8123),
            "interface": parts.scheme,
            "username": unquote(parts.username or "default"),
            "password": unquote(parts.password or ""),
            "autogenerate_session_id": False,
            "compress": False,
        }
        with _translating():
            with clickhouse_connect.get_client(**options) as first:
                first.command(f"CREATE DATABASE IF NOT EXISTS {database}")
            self._client = clickhouse_connect.get_client(
                **options, database=database, settings=session
            )

    def query(
        self, sql: str, fmt: str, params: Mapping[str, Plain], *, threads: int | None
    ) -> bytes:
        settings = {} if threads is None else {"max_threads": threads}
        with _translating():
            return self._client.raw_query(  # type: ignore[no-any-return]
                sql, parameters=dict(params), settings=settings, fmt=fmt or None
            )

    def insert(
        self, table: str, names: Sequence[str], pieces: Sequence[Piece], *, token: str
    ) -> None:
        settings = {"insert_deduplication_token": token} if token else {}
        with _translating():
            self._client.raw_insert(
                table, list(names), b"".join(pieces), settings=settings, fmt="Native"
            )

    def close(self) -> None:
        self._client.close()


@contextmanager
def _translating() -> Iterator[None]:
    try:
        yield
    except SeedanceError:
        raise
    except Exception as fault:  # noqa: BLE001  # the two clients raise unrelated classes
        raise translated(fault) from None


def translated(fault: Exception) -> SeedanceError:
    """An engine's exception as one of ours: busy where waiting helps, else a bug."""
    text = str(fault)
    if isinstance(fault, SeedanceError):
        return fault
    code = _CODE.search(text)
    if _NO_SPACE.search(text):
        return BusyError(f"no space left for the store: {text}", retry_after=30)
    if code and code[1] in _BUSY_CODES:
        return BusyError(f"the store is at its limit ({_BUSY_CODES[code[1]]}): {text}")
    if "already initialized with path" in text:
        return RefusedError(
            f"this process has another store open: {text}", hint="one store a process: close it"
        )
    if not code and ("onnection" in text or "timed out" in text):
        return UnreachableError(f"the ClickHouse server does not answer: {text}")
    named = _FAULT.findall(text)
    return StoreError(
        f"the store refused a statement{f': {named[-1]}' if named else ''}", said=text
    )


def checked(name: str) -> str:
    """A table or database name, refused unless it is a plain word.

    Raises:
        StoreError: since names cannot travel as parameters of an insert.
    """
    if not _NAME.fullmatch(name):
        raise StoreError(f"{name!r} is no name of a table, column or database")
    return name


class Engine:
    """ClickHouse behind one set of verbs, safe to share between threads."""

    def __init__(self, transport: Transport, *, where: str, database: str) -> None:
        self._transport = transport
        self._types: dict[str, dict[str, ColumnType]] = {}
        self._closing = threading.Lock()
        self._closed = False
        self.where = where
        self.database = database
        self.embedded = isinstance(transport, _Embedded)

    @classmethod
    def open(
        cls,
        where: str,
        *,
        database: str = "seedance",
        memory_bytes: int = 2 << 30,
        threads: int = 2,
    ) -> Engine:
        """The engine of a folder (chDB) or of `http[s]://[user:password@]host:port/database`.

        The database is created where it is missing.

        Raises:
            RefusedError: if this process has another folder open.
            UnreachableError: if the server does not answer.
            StoreError: whatever else the engine says.
        """
        if where.startswith(("http://", "https://")):
            remote = _Server(where, threads=threads, memory_bytes=memory_bytes)
            return cls(remote, where=where, database=urlsplit(where).path.strip("/") or database)
        if "?" in where:
            raise RefusedError(f"the store's folder {where!r} may not contain a question mark")
        local = _Embedded(
            Path(where), database=checked(database), memory_bytes=memory_bytes, threads=threads
        )
        return cls(local, where=where, database=database)

    def rows(self, sql: str, params: Mapping[str, object] | None = None) -> list[dict[str, Any]]:
        """The answer as dicts: Decimal, aware UTC datetime, date, dict, list, str, int, float."""
        bound = bind(sql, params or {})
        fmt = "JSONCompactEachRowWithNamesAndTypes"
        return read_rows(self._query(sql, fmt, bound))

    def columns(
        self, sql: str, params: Mapping[str, object] | None = None, *, threads: int | None = None
    ) -> dict[str, npt.NDArray[Any]]:
        """The answer as one array per column, all bits kept; see `native.decode_blocks`.

        An answer without rows is `{}` or has empty arrays. `threads` may be given only for
        statements without a SETTINGS clause of their own.
        """
        bound = bind(sql, params or {})
        return decode_blocks(self._query(sql, "Native", bound, threads=threads))

    def command(self, sql: str, params: Mapping[str, object] | None = None) -> None:
        """Runs a statement that answers nothing (or whose answer does not matter)."""
        self._query(sql, "", bind(sql, params or {}))

    def _query(
        self, sql: str, fmt: str, params: Mapping[str, Plain], *, threads: int | None = None
    ) -> bytes:
        try:
            return self._transport.query(sql, fmt, params, threads=threads)
        except StoreError as fault:
            fault.statement = sql
            raise

    def insert(self, table: str, columns: Mapping[str, Any], *, token: str = "") -> None:
        """Writes equal-long columns into a table of this database in one block.

        A column is a numpy array in the type's own unit (DateTime64(3): milliseconds), a
        sequence of Python values, a `native.DecimalColumn` or a `native.ArrayColumn`. Columns
        that the table has and the mapping lacks get their defaults. Two inserts with one token
        into a table with a deduplication window count once.

        Raises:
            BusyError: no space, memory or parts left; nothing of the block may be lost: retry.
            StoreError: any other refusal, `said` with ClickHouse's text.
        """
        if not _TOKEN.fullmatch(token):
            raise StoreError(f"{token!r} is no deduplication token (letters, digits, . _ : -)")
        if not columns or not len(next(iter(columns.values()))):
            return
        types = self._column_types(table)
        unknown = sorted(columns.keys() - types.keys())
        if unknown:
            raise StoreError(f"table {table} has no column {', '.join(unknown)}")
        pieces = encode_block(columns, types)
        self._transport.insert(table, list(columns), pieces, token=token)

    def _column_types(self, table: str) -> dict[str, ColumnType]:
        known = self._types.get(table)
        if known is None:
            described = self.rows(f"DESCRIBE TABLE {checked(table)}")
            known = {row["name"]: parse_type(row["type"]) for row in described}
            self._types[table] = known
        return known

    def forget_types(self) -> None:
        """After a change of schema: asks for column types anew."""
        self._types.clear()

    def close(self) -> None:
        """Waits for running statements and closes every connection; a second call does nothing."""
        with self._closing:
            if not self._closed:
                self._closed = True
                self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
