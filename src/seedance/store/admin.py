"""Care of a store: is it sound, a copy while it works, and a store made from a copy.

A backup is a folder: one ClickHouse backup a table, `files/` with the small files beside the
tables, and `backup.json`, which is written last and makes it whole. Tables are copied in the
order opposite to that in which they are written (settles before cost rows before entities,
samples before series), so that whatever a copied row points to is in the copy too, though writes
go on meanwhile. Only the sweep of replaced sets waits.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from seedance.facts.errors import RefusedError, UsageError
from seedance.facts.window import format_instant
from seedance.store.engine import Engine, StoreError, checked
from seedance.store.settles import ABANDONED, id_of
from seedance.store.statements import schema_steps, statement
from seedance.store.store import FolderLock, Store, schema_version

FORMAT = 1
"""Version of the backup folder's own layout."""

TABLES = (
    *("settles", "cost_days", "cost_hours", "usage_minutes", "entities", "prices", "dirty"),
    *("samples", "series", "metrics", "objects", "clusters", "meta"),
)
"""Every table, pointing rows before those they point to."""

_MANIFEST = "backup.json"
_LOCK = "store.lock"
_OF_THE_PROCESS = frozenset({_LOCK, "tokens.lock", "server.json", "admin.token"})
"""Files of the process that runs; `admin.token` is a secret as well."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is not as it should be: where, what, and what to do."""

    where: str
    what: str
    hint: str = ""


def check(store: Store, *, now: datetime | None = None) -> list[Problem]:
    """Everything that is wrong with a store; empty if it is sound.

    Looks at the schema's version, reads every part of every table against its checksums, adds up
    every current set against its settle row, and looks for rows that point to nothing.
    """
    at = now or datetime.now(UTC)
    problems = [*_version(store.engine), *_parts(store.engine)]
    if not problems:
        problems = [*_sets(store, at), *_abandoned(store, at), *_dangling(store.engine)]
    return problems


def _version(engine: Engine) -> Iterator[Problem]:
    found, known = schema_version(engine), max(schema_steps())
    if found != known:
        yield Problem("meta", f"schema version is {found}, this program writes {known}")


def _parts(engine: Engine) -> Iterator[Problem]:
    for table in TABLES:
        try:
            parts = engine.rows(statement("check_table"), {"table": table})
        except StoreError as fault:
            yield Problem(table, f"cannot be read: {fault.said or fault}", hint=_RESTORE)
            continue
        for part in parts:
            if not part["is_passed"]:
                what = f"part {part['part_path']} is damaged: {part['message']}"
                yield Problem(table, what, hint=_RESTORE)


_RESTORE = "restore the last backup, or move the part away and settle its hours anew"


def _sets(store: Store, now: datetime) -> Iterator[Problem]:
    for table, name, days in (
        ("cost_hours", "check_hour_sets", store.retention.hour_days),
        ("cost_days", "check_day_sets", store.retention.day_days),
    ):
        since = now - timedelta(days=max(days - 2, 1))
        for row in store.engine.rows(statement(name), {"since": since}):
            yield Problem(table, _set_words(row), hint="settle it anew (mark the hour dirty)")


def _set_words(row: Mapping[str, Any]) -> str:
    return (
        f"set {row['settle_id']} of cluster {row['cluster']} at {format_instant(row['start'])}: "
        f"{row['found_rows']} rows of {row['told_rows']}, they sum to {row['found_cost']:f}, "
        f"settled as {row['row_cost']:f}, the nodes cost {row['node_cost']:f}"
    )


def _abandoned(store: Store, now: datetime) -> Iterator[Problem]:
    params = {"since": 0, "before": id_of(now - ABANDONED)}
    lost = store.engine.rows(statement("orphan_sets"), params)
    if lost:
        yield Problem(
            "cost_hours, cost_days, usage_minutes",
            f"{len(lost)} sets were written and never became current",
            hint="the server's sweep removes them",
        )


def _dangling(engine: Engine) -> Iterator[Problem]:
    for name, table, what in (
        ("check_samples_without_series", "samples", "series have samples but no labels"),
        ("check_samples_without_metric", "samples", "metrics have samples but no name"),
        ("check_costs_without_entity", "entities", "entities have cost rows but no description"),
        ("check_costs_without_price", "prices", "prices have cost rows but no description"),
        ("check_objects_twice_open", "objects", "objects have two versions that still hold"),
    ):
        found = engine.rows(statement(name))[0]["found"]
        if found:
            yield Problem(table, f"{found} {what}", hint=_RESTORE)


def backup(store: Store, target: Path, *, now: datetime | None = None) -> None:
    """Copies the store into the folder `target` while it works on.

    What was acknowledged but not yet in the tables (the write-ahead log's last second) is not in
    the copy: flush the recorder before.

    Raises:
        RefusedError: `target` holds something or cannot be written, or the tables are on a
            server (its own BACKUP is the right tool there).
        BusyError: no space left for the copy; what was copied is removed.
    """
    if not store.engine.embedded:
        raise RefusedError(
            f"the tables are on {store.engine.where}, whose disks this program cannot reach",
            hint="use that server's BACKUP DATABASE",
        )
    _empty_folder(target)
    try:
        with store.sweeping:
            for table in TABLES:
                sql = f"BACKUP TABLE {checked(table)} TO File({{target:String}})"
                store.engine.command(sql, {"target": str(target.resolve() / table)})
        _copy_files(store.path, target / "files")
        facts = {
            "format": FORMAT,
            "schema": schema_version(store.engine),
            "database": store.engine.database,
            "retention": asdict(store.retention),
            "taken": format_instant(now or datetime.now(UTC)),
            "tables": list(TABLES),
        }
        (target / _MANIFEST).write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
    except BaseException:
        _cleared(target)
        raise


def _empty_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        held = any(folder.iterdir())
    except OSError as fault:
        raise RefusedError(f"cannot write to {folder}: {fault.strerror}") from None
    if held:
        raise RefusedError(f"the folder {folder} is not empty", hint="name a new one")


def _cleared(folder: Path) -> None:
    for entry in folder.iterdir():
        if entry.is_dir():
            shutil.rmtree(entry, ignore_errors=True)
        else:
            entry.unlink(missing_ok=True)


def _copy_files(source: Path, target: Path) -> None:
    """The small files beside the tables (hashed tokens), with their modes."""
    target.mkdir(mode=0o700, exist_ok=True)
    for entry in source.iterdir():
        if entry.is_file() and entry.name not in _OF_THE_PROCESS:
            shutil.copy2(entry, target / entry.name)


def restore(source: Path, path: Path, *, memory_bytes: int = 2 << 30) -> None:
    """Makes the store folder `path` from the backup folder `source`.

    Raises:
        UsageError: `source` is no whole backup.
        RefusedError: `path` holds something, is in use, or the backup's schema is newer than
            this program.
    """
    facts = _manifest(source)
    _empty_folder(path)
    lock = FolderLock(path)
    try:
        with _opened(path, facts, memory_bytes) as engine:
            for table in facts["tables"]:
                name = f"{checked(facts['database'])}.{checked(table)}"
                sql = f"RESTORE TABLE {name} FROM File({{source:String}})"
                engine.command(sql, {"source": str(source.resolve() / table)})
        _copy_files(source / "files", path)
    except BaseException:
        shutil.rmtree(path / "chdb", ignore_errors=True)
        raise
    finally:
        lock.release()


def _opened(path: Path, facts: Mapping[str, Any], memory_bytes: int) -> Engine:
    where = str(path / "chdb")
    return Engine.open(where, database=facts["database"], memory_bytes=memory_bytes)


def _manifest(source: Path) -> dict[str, Any]:
    try:
        facts: dict[str, Any] = json.loads((source / _MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError) as fault:
        raise UsageError(
            f"{source} is no whole backup: {_MANIFEST} cannot be read ({fault})",
            hint="name the folder that `seedance store backup` made",
        ) from None
    for what, found, known in (
        ("format", facts.get("format", 0), FORMAT),
        ("schema version", facts.get("schema", 0), max(schema_steps())),
    ):
        if not 1 <= found <= known:
            raise RefusedError(
                f"the backup {source} has {what} {found}, this program knows {known}",
                hint="use the program that made it, or a newer one",
            )
    return facts
