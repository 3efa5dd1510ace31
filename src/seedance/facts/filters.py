"""Filters of a cost question: `namespace:ml`, `label:app!=x`, `namespace:"a","b"+label[app]:"x"`.

    comparison  = dimension operator value {"," value}
    filter      = comparison {("+" | " ") comparison}          all must hold
    operator    = ":" "=" equal · "!:" "!=" not equal · "~:" contains · "!~:" does not
                  "<~:" starts with · "!<~:" does not · "~>:" ends with · "!~>:" does not

Several values mean any of them (none of them, for a negated operator). The spelling with quotes
and brackets is OpenCost's, so its filters can be pasted; `|` and brackets around comparisons are
not understood and refused by name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from seedance.facts.costquery import parse_dimension
from seedance.facts.errors import UsageError

Operator = Literal["equals", "contains", "starts", "ends"]

_OPERATORS: dict[str, tuple[Operator, bool]] = {
    ":": ("equals", False),
    "=": ("equals", False),
    "!:": ("equals", True),
    "!=": ("equals", True),
    "~:": ("contains", False),
    "!~:": ("contains", True),
    "<~:": ("starts", False),
    "!<~:": ("starts", True),
    "~>:": ("ends", False),
    "!~>:": ("ends", True),
}
_FIELD = re.compile(
    r"\s*(?P<field>(?:label|annotation)\[[^\]]+\]|(?:label|annotation):[A-Za-z0-9./_-]+|[A-Za-z]+)"
    r"\s*(?P<op>!<~:|!~>:|!~:|<~:|~>:|~:|!:|!=|:|=)\s*",
    re.IGNORECASE,
)
_VALUE = re.compile(r"\s*(?:\"(?P<quoted>(?:[^\"\\]|\\.)*)\"|(?P<plain>[^\s\",+|()]*))")
_LONGEST = 4096


@dataclass(frozen=True, slots=True)
class Comparison:
    """One comparison: `dimension` holds one of `values` under `operator`, or does not."""

    dimension: str
    operator: Operator
    negated: bool
    values: tuple[str, ...]


def parse_filters(texts: tuple[str, ...]) -> tuple[Comparison, ...]:
    """Every comparison of every text.

    Raises:
        UsageError: where one cannot be read; names the place in the text.
    """
    return tuple(item for text in texts for item in _comparisons(text))


def quote_value(value: str) -> str:
    """`value` as it can stand in a filter, quoted only where it must be."""
    if value and re.fullmatch(r"[^\s\",+|()]+", value):
        return value
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def spell_filter(comparison: Comparison) -> str:
    """The comparison as text that `parse_filters` reads back."""
    wanted = (comparison.operator, comparison.negated)
    sign = next(text for text, meaning in _OPERATORS.items() if meaning == wanted)
    name, found, key = comparison.dimension.partition(":")
    values = ",".join(quote_value(value) for value in comparison.values)
    return f"{name}[{key}]{sign}{values}" if found else f"{name}{sign}{values}"


def _comparisons(text: str) -> list[Comparison]:
    if len(text) > _LONGEST:
        raise UsageError(f"a filter of {len(text)} characters is longer than {_LONGEST}")
    found: list[Comparison] = []
    at = _skip(text, 0)
    while at < len(text):
        match = _FIELD.match(text, at)
        if match is None:
            raise _cannot(text, at)
        values, at = _values(text, match.end())
        operator, negated = _OPERATORS[match["op"]]
        found.append(Comparison(parse_dimension(match["field"]), operator, negated, values))
        at = _skip(text, at)
    return found


def _values(text: str, at: int) -> tuple[tuple[str, ...], int]:
    values: list[str] = []
    while True:
        match = _VALUE.match(text, at)
        if match is None or match.end() == at or match["plain"] == "":
            raise _cannot(text, at)
        quoted = match["quoted"]
        values.append(match["plain"] if quoted is None else re.sub(r"\\(.)", r"\1", quoted))
        at = match.end()
        if text[at : at + 1] != ",":
            return tuple(values), at
        at += 1


def _skip(text: str, at: int) -> int:
    while at < len(text) and (text[at].isspace() or text[at] == "+"):
        at += 1
    return at


def _cannot(text: str, at: int) -> UsageError:
    if text[at : at + 1] in tuple("|()"):
        return UsageError(
            f"filter {text!r}: {text[at]!r} at character {at + 1} is not understood",
            hint="all comparisons of a filter must hold; ask twice for alternatives",
        )
    return UsageError(
        f"filter {text!r} cannot be read from character {at + 1} on",
        hint='write DIMENSION:VALUE, for example namespace:ml, label:app!=x or team:"a b",c',
    )
