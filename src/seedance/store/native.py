"""ClickHouse's Native blocks from and to numpy: columns travel as they lie in memory.

A block is `columns, rows`, then per column its name, its type and its values. `encode_block`
writes one block for the types of the target table, `decode_blocks` joins all blocks of an answer.
Float64 bits pass unchanged, so Prometheus' stale marker survives both ways.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

from seedance.store.columntypes import ColumnType, parse_type

Column = npt.NDArray[Any]
_EPOCH = date(1970, 1, 1)
_EXACT = Context(prec=80, rounding=ROUND_HALF_EVEN)
"""Wider than any Decimal of the engine: Python's own context would round at 28 digits."""


@dataclass(frozen=True, slots=True)
class DecimalColumn:
    """Money as picos: int64 in the last place of the column; True in `null` means NULL."""

    picos: npt.NDArray[np.int64]
    null: npt.NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.picos)


@dataclass(frozen=True, slots=True)
class ArrayColumn:
    """Arrays of one width: `values` of shape (rows * width,) or (rows, width).

    `values` may also be a list of such, which stand one after the other in the column. `empty`
    marks rows whose array is empty; their values are left out.
    """

    values: Column | Sequence[Column]
    width: int
    empty: npt.NDArray[np.bool_] | None = None

    @property
    def parts(self) -> Sequence[Column]:
        """The pieces of the column, each of shape (rows, width)."""
        parts = [self.values] if isinstance(self.values, np.ndarray) else self.values
        return [part.reshape(-1, self.width) for part in parts]

    def __len__(self) -> int:
        return sum(len(part) for part in self.parts)


Piece = bytes | memoryview
"""A run of bytes; arrays are not copied for it."""


def encode_block(columns: Mapping[str, Any], types: Mapping[str, ColumnType]) -> list[Piece]:
    """One Native block as pieces of bytes, valid while the columns are not changed.

    Raises:
        ValueError: if columns differ in length or a value does not fit its type.
    """
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"columns differ in length: {lengths}")
    pieces: list[Piece] = [_varint(len(columns)), _varint(next(iter(lengths.values())))]
    for name, values in columns.items():
        pieces += [_text(name), _text(types[name].text), *_encode(types[name], values)]
    return pieces


def _encode(kind: ColumnType, values: Any) -> list[Piece]:
    if kind.name == "Nullable":
        return _encode_nullable(kind.inner[0], values)
    if kind.name == "Array":
        return _encode_array(kind.inner[0], values)
    if kind.name == "Map":
        return _encode_map(kind, values)
    if kind.name == "String":
        return [_strings(values)]
    if kind.name == "Decimal" and kind.dtype is None:
        return [_wide_decimals(kind, values)]
    return [_bytes_of(_fixed(kind, values))] if len(values) else []


def _bytes_of(values: Column) -> memoryview:
    """The array's own bytes, without a copy where they lie together."""
    return np.ascontiguousarray(values).data.cast("B")


def _encode_nullable(inner: ColumnType, values: Any) -> list[Piece]:
    if isinstance(values, DecimalColumn):
        null = np.zeros(len(values), np.bool_) if values.null is None else values.null
        return [null.astype(np.uint8).tobytes(), *_encode(inner, values)]
    if isinstance(values, np.ma.MaskedArray):
        null = np.ma.getmaskarray(values)
        return [null.astype(np.uint8).tobytes(), *_encode(inner, values.filled(0))]
    if isinstance(values, np.ndarray):
        return [bytes(len(values)), *_encode(inner, values)]
    filler: Any = "" if inner.name == "String" else 0
    missing = bytes(value is None for value in values)
    return [missing, *_encode(inner, [filler if v is None else v for v in values])]


def _encode_array(inner: ColumnType, values: Any) -> list[Piece]:
    if isinstance(values, ArrayColumn):
        full, parts = np.full(len(values), values.width, np.uint64), values.parts
        if values.empty is not None:
            full[values.empty] = 0
            parts = [np.concatenate(parts)[~values.empty]]
        content = [piece for part in parts for piece in _encode(inner, part.reshape(-1))]
        return [np.cumsum(full).astype("<u8").tobytes(), *content]
    ends = np.cumsum([len(item) for item in values], dtype=np.uint64)
    return [ends.astype("<u8").tobytes(), *_encode(inner, [v for item in values for v in item])]


def _encode_map(kind: ColumnType, values: Iterable[Mapping[Any, Any]]) -> list[Piece]:
    rows = list(values)
    ends = np.cumsum([len(row) for row in rows], dtype=np.uint64)
    keys = [key for row in rows for key in row]
    items = [item for row in rows for item in row.values()]
    key, inner = kind.inner
    return [ends.astype("<u8").tobytes(), *_encode(key, keys), *_encode(inner, items)]


def _strings(values: Iterable[str]) -> bytes:
    # Columns repeat their words: each distinct one is encoded once.
    listed = list(values)
    known = {value: _text(value) for value in set(listed)}
    return b"".join([known[value] for value in listed])


def _wide_decimals(kind: ColumnType, values: Any) -> bytes:
    """Decimal(38, s) as two 64-bit words, the high one being the sign's extension."""
    if not isinstance(values, DecimalColumn):
        return b"".join(
            _decimal_units(kind, value).to_bytes(16, "little", signed=True) for value in values
        )
    words = np.empty((len(values), 2), "<i8")
    words[:, 0] = values.picos
    words[:, 1] = values.picos >> 63
    return words.tobytes()


def _decimal_units(kind: ColumnType, value: Decimal | int) -> int:
    return int(Decimal(value).scaleb(kind.scale, _EXACT).to_integral_value(context=_EXACT))


def _fixed(kind: ColumnType, values: Any) -> Column:
    if isinstance(values, DecimalColumn):
        return values.picos.astype(kind.dtype)
    if not isinstance(values, np.ndarray):
        values = [_number(kind, value) for value in values]
    return np.ascontiguousarray(values, dtype=kind.dtype)


def _number(kind: ColumnType, value: Any) -> Any:
    if isinstance(value, datetime):
        return round(value.timestamp() * 1_000_000) * 10**kind.scale // 1_000_000
    if isinstance(value, date):
        return (value - _EPOCH).days
    return _decimal_units(kind, value) if kind.name == "Decimal" else value


def _varint(number: int) -> bytes:
    if number < 128:  # noqa: PLR2004  # one byte holds seven bits
        return bytes((number,))
    out = bytearray()
    while number > 127:  # noqa: PLR2004
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def _text(text: str) -> bytes:
    raw = text.encode()
    return _varint(len(raw)) + raw


class _Cursor:
    """Walks a buffer of Native blocks."""

    __slots__ = ("at", "data", "end")

    def __init__(self, data: memoryview) -> None:
        self.data = data
        self.end = len(data)
        self.at = 0

    def varint(self) -> int:
        shift = value = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            if byte < 128:  # noqa: PLR2004
                return value
            shift += 7

    def text(self) -> str:
        return bytes(self.take(self.varint())).decode()

    def texts(self, rows: int) -> Column:
        """Many strings at once; the loop is spelled out since it runs for every cell."""
        data, at = self.data, self.at
        found = np.empty(rows, object)
        for row in range(rows):
            size = data[at]
            at += 1
            if size > 127:  # noqa: PLR2004
                self.at = at - 1
                size = self.varint()
                at = self.at
            end = at + size
            found[row] = str(data[at:end], "utf-8")
            at = end
        self.at = at
        return found

    def take(self, size: int) -> memoryview:
        start = self.at
        self.at += size
        return self.data[start : self.at]

    def array(self, dtype: npt.DTypeLike, count: int) -> Column:
        kind = np.dtype(dtype)
        return np.frombuffer(self.take(kind.itemsize * count), kind)


def decode_blocks(data: bytes | memoryview) -> dict[str, Column]:
    """All blocks of a Native answer as one array per column.

    Numbers keep their type, DateTime64 is int64 in its own ticks, DateTime uint32 seconds,
    Decimal int64 in the last place (OverflowError beyond), strings objects, NULLs a mask.
    """
    cursor = _Cursor(memoryview(data))
    parts: dict[str, list[Column]] = {}
    while cursor.at < cursor.end:
        width, height = cursor.varint(), cursor.varint()
        for _ in range(width):
            name = cursor.text()
            kind = parse_type(cursor.text(), stored=True)
            values = _decode(cursor, kind, height)
            parts.setdefault(name, []).append(values)
    return {name: _joined(columns) for name, columns in parts.items()}


def _joined(columns: Sequence[Column]) -> Column:
    filled = [column for column in columns if len(column)] or list(columns[:1])
    if isinstance(filled[0], np.ma.MaskedArray):
        return np.ma.concatenate(filled)  # type: ignore[no-any-return,no-untyped-call]
    # A copy even for one block: the caller may write to it, the answer's buffer goes away.
    return np.concatenate(filled)


def _decode(cursor: _Cursor, kind: ColumnType, rows: int) -> Column:
    if kind.dtype is not None:
        return cursor.array(kind.dtype, rows)
    if kind.name == "Nullable":
        null = cursor.array("<u1", rows).astype(np.bool_)
        return np.ma.MaskedArray(_decode(cursor, kind.inner[0], rows), mask=null)
    if kind.name == "Decimal":
        return _narrow_decimals(cursor.array("<i8", rows * 2).reshape(rows, 2))
    if kind.name == "String":
        return cursor.texts(rows)
    if kind.name == "LowCardinality" and rows:
        return _decode_dictionary(cursor, kind.inner[0])
    if kind.name == "Array" and kind.inner[0].dtype is not None:
        return _decode_arrays(cursor, kind.inner[0], rows)
    if not rows:
        return np.array([], object)
    raise ValueError(f"a column of type {kind.text} is not read as an array; use rows()")


def _narrow_decimals(words: npt.NDArray[np.int64]) -> Column:
    low, high = words[:, 0], words[:, 1]
    if np.any(high != low >> 63):
        raise OverflowError("a decimal is wider than 64 bits; read it with rows()")
    return low


def _decode_dictionary(cursor: _Cursor, inner: ColumnType) -> Column:
    """Keys and, per row, which of them; each block brings its own keys."""
    _version, layout, keys = (int(word) for word in cursor.array("<u8", 3))
    values = _decode(cursor, inner, keys)
    rows = int(cursor.array("<u8", 1)[0])
    # The low byte of the layout is the power of two of the index's width.
    return values[cursor.array(f"<u{1 << (layout & 0xFF)}", rows)]


def _decode_arrays(cursor: _Cursor, inner: ColumnType, rows: int) -> Column:
    """Arrays as a (rows, width) matrix; all of one width, empty ones are zeros."""
    ends = cursor.array("<u8", rows).astype(np.int64)
    values = _decode(cursor, inner, int(ends[-1]) if rows else 0)
    lengths = np.diff(ends, prepend=0)
    width = int(lengths.max(initial=0))
    matrix = np.zeros((rows, width), values.dtype)
    full = lengths == width
    if np.any(~full & (lengths > 0)):
        raise ValueError("arrays of several widths are not read as a matrix; use rows()")
    if width:
        matrix[full] = values.reshape(-1, width)
    return matrix
