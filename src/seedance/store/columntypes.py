"""ClickHouse's column types, read from their text: the ground both directions stand on.

`parse_type("Nullable(Decimal(38, 12))")` gives a small tree; `native` encodes and decodes whole
columns by it, `texts` converts single values by it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

_FIXED: dict[str, str] = {
    "UInt8": "<u1", "UInt16": "<u2", "UInt32": "<u4", "UInt64": "<u8",
    "Int8": "<i1", "Int16": "<i2", "Int32": "<i4", "Int64": "<i8",
    "Float32": "<f4", "Float64": "<f8",
    "Bool": "<u1", "Date": "<u2", "Date32": "<i4", "DateTime": "<u4", "DateTime64": "<i8",
}  # fmt: skip
"""Types of fixed width and how their values lie in memory."""

_WRAPPERS = ("LowCardinality", "SimpleAggregateFunction")


@dataclass(frozen=True, slots=True)
class ColumnType:
    """A type: `name` without arguments, `inner` types, `args` as written, the whole `text`."""

    name: str
    inner: tuple[ColumnType, ...]
    args: tuple[str, ...]
    text: str

    @property
    def scale(self) -> int:
        """Decimal places of a Decimal, sub-second digits of a DateTime64, else 0."""
        if self.name == "Decimal":
            return int(self.args[1])
        return int(self.args[0]) if self.name == "DateTime64" else 0

    @property
    def dtype(self) -> npt.DTypeLike | None:
        """Layout of a fixed-width value, None for every other type."""
        if self.name == "Decimal":
            return _decimal_dtype(int(self.args[0]))
        layout = _FIXED.get(self.name)
        return None if layout is None else np.dtype(layout)


def _decimal_dtype(precision: int) -> npt.DTypeLike | None:
    if precision <= 9:  # noqa: PLR2004  # ClickHouse's own bounds of Decimal32 and Decimal64
        return np.dtype("<i4")
    return np.dtype("<i8") if precision <= 18 else None  # noqa: PLR2004


@lru_cache(maxsize=512)
def parse_type(text: str, *, stored: bool = False) -> ColumnType:
    """The type that `text` names.

    LowCardinality(T) is T, since only its storage differs; with `stored` it is kept, which
    readers of Native blocks need.
    """
    name, _, rest = text.strip().partition("(")
    args = _split(rest[:-1]) if rest else ()
    if name in _WRAPPERS and not (stored and name == "LowCardinality"):
        return parse_type(args[-1], stored=stored)
    inner: tuple[ColumnType, ...] = ()
    if name in {"Nullable", "Array", "Map", "Tuple", "LowCardinality"}:
        inner = tuple(parse_type(arg, stored=stored) for arg in args)
    return ColumnType(name=name, inner=inner, args=args, text=_plain_text(name, inner, args))


def _plain_text(name: str, inner: tuple[ColumnType, ...], args: tuple[str, ...]) -> str:
    parts = tuple(each.text for each in inner) or args
    return f"{name}({', '.join(parts)})" if parts else name


def _split(text: str) -> tuple[str, ...]:
    """Arguments between top-level commas."""
    parts: list[str] = []
    depth = start = 0
    for at, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    return (*parts, text[start:].strip())
