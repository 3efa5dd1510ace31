"""Filters of the cost question: kubectl's `-n` and `-l` in the words of `facts.filters`.

`-l app=web,tier!=cache` becomes `label:app=web`, `label:tier!=cache`; several filters all hold.
They are read here as the server will read them, so a mistake shows before anything is sent.
"""

from __future__ import annotations

from collections.abc import Sequence

from seedance.facts.errors import UsageError
from seedance.facts.filters import parse_filters, quote_value


def filters_of(
    filters: Sequence[str], *, namespace: str = "", selector: str = "", cluster: str = ""
) -> list[str]:
    """All filters of a question as the API takes them.

    Raises:
        UsageError: if one cannot be read.
    """
    asked = list(filters)
    if namespace:
        asked.append(f"namespace:{quote_value(namespace)}")
    if cluster:
        asked.append(f"cluster:{quote_value(cluster)}")
    asked += [
        f"label[{key}]{operator}{quote_value(value)}"
        for key, operator, value in selector_parts(selector)
    ]
    parse_filters(tuple(asked))
    return asked


def selector_parts(selector: str) -> list[tuple[str, str, str]]:
    """The comparisons of a label selector: key, `=` or `!=`, value.

    Raises:
        UsageError: if a part is no such comparison.
    """
    return [_comparison(part) for part in map(str.strip, selector.split(",")) if part]


def _comparison(part: str) -> tuple[str, str, str]:
    for operator in ("!=", "==", "="):
        key, found, value = part.partition(operator)
        if found and key.strip():
            return key.strip(), "!=" if operator == "!=" else "=", value.strip()
    raise UsageError(
        f"-l: {part!r} is no comparison of a label",
        hint="write key=value or key!=value, with commas between",
    )
