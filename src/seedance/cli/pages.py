"""Reading a paged list to its end, or to the limit that was asked for.

One page that holds everything comes back as the server wrote it, byte for byte. Several pages
are one document of the same shape: the items in a row, `page` as if asked for at once.
"""

from __future__ import annotations

import json
from typing import Any

from seedance.cli.client import Answer, Client, Params
from seedance.facts.costquery import MAX_LIMIT

PAGE_ROWS = MAX_LIMIT
"""Rows asked for at once."""


def collect(
    client: Client, path: str, params: Params, *, limit: int = 0, offset: int = 0
) -> Answer:
    """The list at `path`: `limit` rows of it from `offset` on, or all for 0."""

    def page(rows: int, at: int) -> Answer:
        return client.get(path, {**params, "limit": rows, "offset": at or None})

    first = page(min(limit or PAGE_ROWS, PAGE_ROWS), offset)
    document = first.json()
    items: list[Any] = document["items"]
    there = int(document["page"]["total"]) - offset
    wanted = min(limit, there) if limit else there
    if len(items) >= wanted:
        return first
    last: dict[str, Any] = document["page"]
    while len(items) < wanted:
        more = page(min(wanted - len(items), PAGE_ROWS), offset + len(items)).json()
        if not more["items"]:
            break  # the list became shorter while it was read
        items += more["items"]
        last = more["page"]
    document["page"] = {**last, "limit": limit or len(items), "offset": offset}
    return Answer(json.dumps(document, ensure_ascii=False).encode(), first.media)
