"""Where a click leads: every state of a page is its URL, and every link is made here.

A page's URL carries a `CostQuery` in the API's spelling, so page, API, CSV and command line differ
by their door only. Drilling adds the row to the filter and groups by the next thing down;
breadcrumbs are the filters of that path, each a way back up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from seedance.facts import words
from seedance.facts.costquery import (
    IDLE,
    KEYED,
    SYSTEM,
    UNALLOCATED,
    UNATTRIBUTED,
    CostQuery,
)
from seedance.facts.errors import UsageError
from seedance.facts.filters import Comparison, parse_filters, quote_value

PATH = ("cluster", "namespace", "workload", "pod", "container")
"""The way down from all clusters to one container."""

ASIDE = (IDLE, SYSTEM, UNATTRIBUTED)
"""Keys of rows that no pod is behind; they close the table and cannot be drilled by name."""

_NEXT = {
    "cluster": "namespace",
    "namespace": "workload",
    "workload": "pod",
    "pod": "container",
    "node": "pod",
    "instanceType": "node",
    "zone": "node",
    "capacityType": "node",
    "workloadKind": "workload",
    "domain": "team",
    "environment": "namespace",
    "team": "namespace",
    "resource": "namespace",
    "kind": "namespace",
}
_LEAF = "container"


@dataclass(frozen=True, slots=True)
class Link:
    """A link with its words; `current` marks the choice that is in force, `hint` stands aside."""

    text: str
    href: str
    current: bool = False
    hint: str = ""


def pinned(query: CostQuery, keys: Mapping[str, str]) -> tuple[str, ...]:
    """The filters of `query` and those that leave just the row with these keys."""
    known = set(query.filters)
    wanted = (f"{name}:{quote_value(value)}" for name, value in keys.items() if value)
    return (*query.filters, *(text for text in wanted if text not in known))


def drill(query: CostQuery, keys: Mapping[str, str]) -> str | None:
    """The URL one step below the row, or None where nothing is below."""
    if not keys:
        return None
    special = is_aside(keys)
    if special:
        return _places(query, keys, special)
    last = query.by[-1]
    below = _NEXT.get(last.partition(":")[0], "namespace")
    if last == _LEAF or (last == "resource" and _LEAF in query.by):
        return None
    fixed = {item.dimension for item in comparisons(query)} | set(keys)
    while below in fixed and below != _LEAF:
        below = _NEXT[below]
    return at(query, by=(below,), filters=pinned(query, keys)).url("/costs")


def _places(query: CostQuery, keys: Mapping[str, str], special: str) -> str | None:
    """Below what no pod is behind: the nodes it is on."""
    if "node" in keys:
        return None
    known = {name: value for name, value in keys.items() if value not in ASIDE}
    filters = pinned(query, {**known, "kind": special.strip("_")})
    return at(query, by=("node",), filters=filters).url("/costs")


def computed(query: CostQuery, keys: Mapping[str, str]) -> str:
    """The URL that shows how the row's figure came about."""
    return at(query, by=("resource",), filters=pinned(query, keys)).url("/costs/computed")


def at(query: CostQuery, *, by: tuple[str, ...], filters: tuple[str, ...]) -> CostQuery:
    """The same window and zone elsewhere: first page, sorted by cost."""
    return replace(query, by=by, filters=filters, sort="-cost", offset=0, step="none")


def comparisons(query: CostQuery) -> tuple[Comparison, ...]:
    """The filters as comparisons, none where they cannot be read (the answer says why)."""
    try:
        return parse_filters(query.filters)
    except UsageError:
        return ()


def crumbs(query: CostQuery) -> list[Link]:
    """From everything down to here: one link for each filter that pins one value of the path.

    Each link lists what the next one was chosen from, so going up lands where one came from.
    """
    steps: list[tuple[str, str, tuple[str, ...]]] = [("", words.name("page:all"), ())]
    kept: list[str] = []
    for text in query.filters:
        kept.append(text)
        steps += [
            (item.dimension, shown_value(item.dimension, item.values[0]), tuple(kept))
            for item in _one(text)
            if item.dimension in PATH and item.operator == "equals" and not item.negated
        ]
    after = [name for name, _, _ in steps[1:]] + [""]
    found = []
    for (name, text, filters), following in zip(steps, after, strict=True):
        below = following or _NEXT.get(name, PATH[0])
        found.append(Link(text, at(query, by=(below,), filters=filters).url("/costs"), hint=name))
    return found


def _one(text: str) -> tuple[Comparison, ...]:
    try:
        return parse_filters((text,))
    except UsageError:
        return ()


def chips(query: CostQuery) -> list[Link]:
    """Each filter, with the URL that takes it away."""
    return [
        Link(
            text,
            at(
                query,
                by=query.by,
                filters=tuple(other for other in query.filters if other != text),
            ).url("/costs"),
        )
        for text in query.filters
    ]


def sorts(query: CostQuery, names: Iterable[str]) -> dict[str, Link]:
    """For each sortable column the link that sorts by it: down first, then up."""
    now = query.sort
    links: dict[str, Link] = {}
    for name in names:
        down = f"-{name}"
        ahead = name if now == down else down
        if name == "name":
            ahead = down if now == name else name
        href = replace(query, sort=ahead, offset=0).url("/costs")
        state = {name: "ascending", down: "descending"}.get(now, "")
        links[name] = Link(name, href, bool(state), state)
    return links


def is_aside(keys: Mapping[str, str]) -> str:
    """The special key of a row that no pod is behind, else ""."""
    return next((value for value in keys.values() if value in ASIDE), "")


def is_unowned(keys: Mapping[str, str]) -> bool:
    """Whether the row holds what names no owner."""
    return UNALLOCATED in keys.values()


def shown_value(dimension: str, value: str) -> str:
    """A value as people read it: `Idle` for `__idle__`, `No team` where there is none."""
    if value in ASIDE:
        return words.name(f"key:{value}")
    if value and value != UNALLOCATED:
        return value
    kind = dimension.partition(":")[0]
    if kind in KEYED:
        return words.name("key:unset")
    return words.name("key:none").format(what=words.name(f"dimension:{kind}").lower())


def shown_keys(keys: Mapping[str, str]) -> str:
    """A row's values in order, special ones once: `prod / Idle`."""
    found = dict.fromkeys(shown_value(name, value) for name, value in keys.items())
    return " / ".join(found) or words.name("page:everything")
