"""What a shell offers for a value: dimensions, windows, and names that the server knows.

Called only while a word is being completed. The server is given a second; where it does not
answer, or refuses, nothing is offered: a shell shows no errors.
"""

from __future__ import annotations

from typing import Any

import typer

from seedance.facts.costquery import DIMENSIONS, SORTS

WINDOWS = ("today", "yesterday", "week", "lastweek", "month", "lastmonth", "30m", "12h", "7d")
_SECONDS = "1s"
_MOST = 500
"""More names than this help nobody who presses Tab."""


def dimensions(incomplete: str) -> list[str]:
    """Dimensions for `--by`, after what stands before the last comma."""
    before, comma, _ = incomplete.rpartition(",")
    taken = set(before.split(","))
    return [f"{before}{comma}{name}" for name in DIMENSIONS if name not in taken]


def filter_starts() -> list[str]:
    """Beginnings of a filter."""
    return [f"{name}:" for name in (*DIMENSIONS, "label", "annotation")]


def windows() -> list[str]:
    """Words for time."""
    return list(WINDOWS)


def cost_orders() -> list[str]:
    """What costs can be sorted by, both ways."""
    return [*SORTS, *(f"-{name}" for name in SORTS)]


def names(ctx: typer.Context) -> list[str]:
    """Names of the objects of the kind that is already on the line."""
    return _known(ctx, str(ctx.params.get("kind") or ""))


def namespaces(ctx: typer.Context) -> list[str]:
    """Names of the namespaces."""
    return _known(ctx, "namespaces")


def clusters(ctx: typer.Context) -> list[str]:
    """Names of the clusters."""
    return _known(ctx, "clusters")


def _known(ctx: typer.Context, word: str) -> list[str]:
    from seedance.cli.client import Params  # noqa: PLC0415
    from seedance.cli.kinds import kind_of  # noqa: PLC0415
    from seedance.cli.session import Common, Session  # noqa: PLC0415
    from seedance.facts.errors import SeedanceError  # noqa: PLC0415

    fields = Common.__dataclass_fields__
    given: dict[str, Any] = {
        key: value for key, value in ctx.params.items() if key in fields and value
    }
    try:
        kind = kind_of(word)
        client = Session(Common(**given | {"request_timeout": _SECONDS, "verbose": 0})).client()
        place = str(ctx.params.get("namespace") or "") if kind.namespaced else ""
        asked: Params = {"namespace": place, "limit": _MOST}
        items = client.get(f"/api/v1/{kind.plural}", asked).json()["items"]
    except SeedanceError:
        return []
    return sorted({str(item["name"]) for item in items})
