"""SQL by name: every statement lives in a file under `sql/`, values travel as parameters.

A file holds either one statement, named like the file, or several, each under a line
`-- name: …`. Schema files hold several statements in order, split at `;` at the end of a line.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

_HEADER = re.compile(r"^-- name: (\w+)\s*$", re.MULTILINE)
_SCHEMA = re.compile(r"^schema_(\d{4})\.sql$")


@cache
def _catalogue() -> dict[str, str]:
    found: dict[str, str] = {}
    for entry in resources.files("seedance.store").joinpath("sql").iterdir():
        if not entry.name.endswith(".sql") or _SCHEMA.match(entry.name):
            continue
        for name, text in _named(entry.name.removesuffix(".sql"), entry.read_text("utf-8")):
            if name in found:
                raise ValueError(f"two statements are named {name!r}; rename one under store/sql")
            found[name] = text
    return found


def _named(stem: str, text: str) -> list[tuple[str, str]]:
    pieces = _HEADER.split(text)
    if len(pieces) == 1:
        return [(stem, text.strip().rstrip(";"))]
    names, texts = pieces[1::2], pieces[2::2]
    return [(name, body.strip().rstrip(";")) for name, body in zip(names, texts, strict=True)]


def statement(name: str) -> str:
    """The SQL of that name.

    Raises:
        KeyError: if no file under `sql/` holds it.
    """
    return _catalogue()[name]


def names() -> list[str]:
    """Names of all statements, sorted."""
    return sorted(_catalogue())


@cache
def schema_steps() -> dict[int, tuple[str, ...]]:
    """Statements that lead from version n - 1 to n, by n, from `sql/schema_NNNN.sql`."""
    steps: dict[int, tuple[str, ...]] = {}
    for entry in resources.files("seedance.store").joinpath("sql").iterdir():
        match = _SCHEMA.match(entry.name)
        if match:
            steps[int(match[1])] = split_script(entry.read_text("utf-8"))
    return dict(sorted(steps.items()))


def split_script(text: str) -> tuple[str, ...]:
    """Statements of a script: comments dropped, split at `;` that ends a line."""
    bare = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("--"))
    parts = re.split(r";\s*(?:\n|$)", bare)
    return tuple(part.strip() for part in parts if part.strip())
