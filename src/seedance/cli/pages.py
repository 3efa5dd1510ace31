"""Reading a paged list to its end, or to the limit that was asked for.

One page that holds everything comes back as the server wrote it, byte for byte. Several pages
are one document of the same shape: the items in a row, `page` as if asked for at once.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from seedance.cli.client import Answer, Client, Params
from seedance.facts.costquery import MAX_LIMIT, MAX_ROWS

PAGE_ROWS = MAX_LIMIT
"""Rows asked for at once."""
_FEW = 100
"""Keys that fit into one answer unless there are thousands of steps."""


def collect(
    client: Client, path: str, params: Params, *, limit: int = 0, offset: int = 0
) -> Answer:
    """The list at `path`: `limit` rows of it from `offset` on, or all for 0.

    Of costs with a step, limit and offset count keys, each of which brings the rows of its steps.
    """
    most = room(client, path, params, limit=limit)

    def page(rows: int, at: int) -> Answer:
        return client.get(path, {**params, "limit": rows, "offset": at or None})

    done = min(limit or most, most)
    first = page(done, offset)
    document = first.json()
    items: list[Any] = document["items"]
    there = int(document["page"]["total"]) - offset
    wanted = min(limit, there) if limit else there
    if done >= wanted:
        return first
    last: dict[str, Any] = document["page"]
    rest = last.get("rest")
    while done < wanted:
        more = page(min(wanted - done, most), offset + done).json()
        if not more["items"]:
            break  # the list became shorter while it was read
        items += more["items"]
        done += min(wanted - done, most)
        last = more["page"]
        if rest is not None and last["rest"] is not None:
            rest = str(Decimal(rest) - Decimal(more["total"]["cost"]) + Decimal(last["rest"]))
    document["page"] = {**last, "limit": limit or done, "offset": offset, "rest": rest}
    return Answer(json.dumps(document, ensure_ascii=False).encode(), first.media)


def room(client: Client, path: str, params: Params, *, limit: int) -> int:
    """Rows, or keys, to ask for at once: with a step the server takes fewer."""
    if params.get("step") in {None, "", "none"} or 0 < limit <= _FEW:
        return PAGE_ROWS
    steps = len(client.get(path, {**params, "limit": 1}).json()["steps"])
    return max(1, min(PAGE_ROWS, MAX_ROWS // max(1, steps)))
