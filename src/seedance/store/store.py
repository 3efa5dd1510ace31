"""The opened store: one folder, one owner, one schema version.

`Store.open` takes the folder's lock (its file names the owner's pid), opens the engine, leads the
schema forward and sets the retention; `close` undoes it in reverse. Everything else in this room
is functions that take a `Store`.
"""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import structlog

from seedance.facts.errors import RefusedError
from seedance.store.engine import Engine
from seedance.store.statements import names, schema_steps, statement
from seedance.store.summemory import SumMemory

log = structlog.get_logger()

LONGEST_DAYS = 15_000
"""The longest retention: beyond it ClickHouse's 32-bit seconds of a TTL would overflow."""


@dataclass(frozen=True, slots=True)
class Retention:
    """How many days rows stay, by grain; see docs/reference/retention.md."""

    raw_days: int = 15
    minute_days: int = 35
    hour_days: int = 400
    day_days: int = 1200

    def __post_init__(self) -> None:
        for name, days in asdict(self).items():
            if not 1 <= days <= LONGEST_DAYS:
                raise RefusedError(
                    f"retention {name} is {days}: give 1 to {LONGEST_DAYS} days",
                )


@dataclass(frozen=True, slots=True)
class TableSize:
    """What a table holds on disk."""

    bytes: int
    rows: int


class FolderLock:
    """The right to a folder, held by an advisory lock that dies with its process.

    The file names the owner's pid for whoever comes second; a file left by a dead process is
    no obstacle.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / "store.lock"
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as fault:
            raise RefusedError(
                f"cannot write to the store's folder {folder}: {fault.strerror}",
                hint="give --data a folder that this user may write to",
            ) from None
        self._take(folder)

    def _take(self, folder: Path) -> None:
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            owner = os.pread(self._fd, 32, 0).decode().strip() or "unknown"
            os.close(self._fd)
            raise RefusedError(
                f"the store {folder} is in use by process {owner}",
                hint="stop that process, or ask it through its API",
            ) from None
        try:
            os.ftruncate(self._fd, 0)
            os.pwrite(self._fd, f"{os.getpid()}\n".encode(), 0)
        except OSError as fault:
            os.close(self._fd)
            raise RefusedError(
                f"cannot write to the store's folder {folder}: {fault.strerror}",
            ) from None

    def release(self) -> None:
        """Gives the folder back; a second call does nothing."""
        if self._fd >= 0:
            os.ftruncate(self._fd, 0)
            os.close(self._fd)
            self._fd = -1


class Store:
    """The opened store; safe to share between threads, a context manager that closes."""

    def __init__(
        self, engine: Engine, *, path: Path, retention: Retention, lock: FolderLock
    ) -> None:
        self.engine = engine
        self.path = path
        self.retention = retention
        self._lock = lock
        self._closing = threading.Lock()
        self.sums = SumMemory()
        """Sums of settled sets that reports keep in memory."""
        self.written: dict[str, dict[int, int]] = {}
        """Ids of entities and prices that this process wrote, by table, with the day of it."""
        self.writing = threading.Lock()
        """Held while `written` is compared and extended."""
        self.sweeping = threading.Lock()
        """Held while replaced sets are removed or a backup is taken: never both at once."""
        self.swept = False
        """Whether this process has swept the whole store once."""

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        server: str = "",
        database: str = "seedance",
        retention: Retention | None = None,
        memory_bytes: int = 2 << 30,
        threads: int = 2,
    ) -> Store:
        """The store in `path`, made where it is missing, led forward where it is old.

        `server` is `http[s]://…/database` of a ClickHouse server that keeps the tables instead of
        the embedded engine; the folder then holds the lock and the write-ahead log only.

        Raises:
            RefusedError: the folder is locked (the pid is named) or not writable, or its schema
                is newer than this program.
            UnreachableError: the server does not answer.
        """
        wanted = retention or Retention()
        lock = FolderLock(path)
        try:
            where = server or str(path / "chdb")
            engine = Engine.open(
                where, database=database, memory_bytes=memory_bytes, threads=threads
            )
        except BaseException:
            lock.release()
            raise
        try:
            migrate(engine, schema_steps())
            retain(engine, wanted)
        except BaseException:
            engine.close()
            lock.release()
            raise
        return cls(engine, path=path, retention=wanted, lock=lock)

    def close(self) -> None:
        """Waits for running statements, closes the engine, gives the folder back."""
        with self._closing:
            self.engine.close()
            self._lock.release()

    def size(self) -> dict[str, TableSize]:
        """Bytes and rows on disk of every table."""
        rows = self.engine.rows(statement("table_sizes"))
        return {row["name"]: TableSize(bytes=row["bytes"], rows=row["rows"]) for row in rows}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _meta(engine: Engine) -> dict[str, str]:
    if not engine.rows(statement("meta_table"))[0]["found"]:
        return {}
    return {row["key"]: row["value"] for row in engine.rows(statement("read_meta"))}


def schema_version(engine: Engine) -> int:
    """The version that the store's tables have; 0 for an empty one."""
    return int(_meta(engine).get("schema", "0"))


def migrate(engine: Engine, steps: Mapping[int, Sequence[str]]) -> int:
    """Leads the schema forward, version by version, and returns the one reached.

    A step that a crash cut short runs again from its first statement, so its statements must
    bear that (`IF NOT EXISTS`).

    Raises:
        RefusedError: if the store is newer than `steps` know.
    """
    found, known = schema_version(engine), max(steps)
    if found > known:
        raise RefusedError(
            f"the store {engine.where} has schema version {found}, this program knows {known}",
            hint="use the program that wrote it, or a newer one; there is no way back",
        )
    for version in range(found + 1, known + 1):
        for sql in steps[version]:
            engine.command(sql)
        engine.insert("meta", {"key": ["schema"], "value": [str(version)]})
        log.info("store schema reached", version=version, store=engine.where)
    if found < known:
        engine.forget_types()
    return known


def retain(engine: Engine, retention: Retention) -> None:
    """Sets the tables' retention where it differs from what the store was last told."""
    wanted = asdict(retention)
    text = ",".join(f"{name}={days}" for name, days in wanted.items())
    if _meta(engine).get("retention") == text:
        return
    for name in names():
        if name.startswith("retain_"):
            engine.command(statement(name), wanted)
    engine.insert("meta", {"key": ["retention"], "value": [text]})
