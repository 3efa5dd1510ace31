"""Values as ClickHouse's text: query parameters on the way in, JSON rows on the way out.

In: `{name:Type}` in a statement says the type, `plain` turns the Python value into text, numbers
and lists that this type reads, `escaped` writes those as one parameter. Out: `reader`
gives a function per column that turns JSON values into Python's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np

from seedance.facts.errors import UsageError
from seedance.store.columntypes import ColumnType, parse_type

_PLACEHOLDER = re.compile(r"\{(\w+):([A-Za-z0-9_(), '/-]+)\}")
_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\0": "\\0"})
_QUOTES = str.maketrans({"\\": "\\\\", "'": "\\'", "\t": "\\t", "\n": "\\n", "\0": "\\0"})

Plain = str | int | float | list[Any] | None


def bind(sql: str, params: Mapping[str, object]) -> dict[str, Plain]:
    """The values that `sql` names, each in the plain form of its type; others are dropped.

    Raises:
        UsageError: if the statement names a parameter that is not given.
    """
    bound: dict[str, Plain] = {}
    for name, type_text in _PLACEHOLDER.findall(sql):
        if name not in params:
            raise UsageError(f"statement parameter {name!r} is missing: {sql[:80]!r}")
        bound[name] = plain(parse_type(type_text), params[name])
    return bound


def plain(kind: ColumnType, value: Any) -> Plain:
    """`value` as text, number or list, as the type reads it; maps travel as two arrays."""
    if value is None:
        return None
    if kind.name == "Nullable":
        return plain(kind.inner[0], value)
    if kind.name == "Array":
        return [plain(kind.inner[0], item) for item in value]
    if kind.name.startswith("DateTime"):
        return _instant_text(value, kind.scale)
    return _scalar(value)


def _scalar(value: Any) -> Plain:
    if isinstance(value, bool | np.bool_):
        return int(value)
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, np.integer | np.floating):
        return value.item()
    if isinstance(value, int | float | str):
        return value
    return value.isoformat() if isinstance(value, date) else str(value)


def _instant_text(value: Any, digits: int) -> str:
    if not isinstance(value, datetime):
        return str(value)
    text = value.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")
    return text[: 20 + digits] if digits else text[:19]


def escaped(value: Plain) -> str:
    """A plain value as the text of one query parameter."""
    if value is None:
        return "\\N"
    return value.translate(_ESCAPES) if isinstance(value, str) else _literal(value)


def _literal(value: Plain) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return f"'{value.translate(_QUOTES)}'"
    if isinstance(value, list):
        return f"[{','.join(_literal(item) for item in value)}]"
    return repr(value)


Reader = Callable[[Any], Any]


def reader(kind: ColumnType) -> Reader | None:
    """What turns a JSON value of this type into Python's; None where they are the same."""
    if kind.name == "Nullable":
        return _nullable(reader(kind.inner[0]))
    if kind.name == "Array":
        return _listed(reader(kind.inner[0]))
    if kind.name == "Map":
        return _mapped(reader(kind.inner[1]))
    return _READERS.get(kind.name)


def _nullable(inner: Reader | None) -> Reader | None:
    return None if inner is None else lambda value: None if value is None else inner(value)


def _listed(inner: Reader | None) -> Reader | None:
    return None if inner is None else lambda value: [inner(item) for item in value]


def _mapped(inner: Reader | None) -> Reader | None:
    if inner is None:
        return None
    return lambda value: {key: inner(item) for key, item in value.items()}


def _instant(value: str) -> datetime:
    return datetime.fromisoformat(value).replace(tzinfo=UTC)


_READERS: dict[str, Reader] = {
    "DateTime": _instant,
    "DateTime64": _instant,
    "Date": date.fromisoformat,
    "Date32": date.fromisoformat,
    "Decimal": Decimal,
    "Float32": float,
    "Float64": float,
}


def read_rows(lines: bytes) -> list[dict[str, Any]]:
    """Rows of `JSONCompactEachRowWithNamesAndTypes` as dicts of Python values."""
    parsed: Iterable[list[Any]] = (json.loads(line) for line in lines.splitlines() if line)
    rows = iter(parsed)
    names = next(rows, [])
    readers = [reader(parse_type(text)) for text in next(rows, [])]
    todo = [(at, read) for at, read in enumerate(readers) if read is not None]
    result = []
    for row in rows:
        for at, read in todo:
            row[at] = read(row[at])
        result.append(dict(zip(names, row, strict=True)))
    return result
