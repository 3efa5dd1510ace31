"""The question "what did it cost": as plain text, as it travels between doors, and its links.

`CostQuery` holds what a person wrote; `flows.reporting.report.costs` checks and answers it. The
same value makes the API URL, the page's permalink and the command line, so that they cannot drift
apart.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Literal
from urllib.parse import quote, urlencode

from seedance.facts.errors import UsageError

DIMENSIONS = (
    "cluster",
    "node",
    "instanceType",
    "zone",
    "capacityType",
    "namespace",
    "workload",
    "workloadKind",
    "pod",
    "container",
    "kind",
    "domain",
    "environment",
    "team",
    "resource",
)
"""What costs can be grouped and filtered by, besides `label:KEY` and `annotation:KEY`."""

KEYED = ("label", "annotation")
"""Dimensions that need a key: `label:app`, `annotation:example.com/owner`."""

IDLE = "__idle__"
SYSTEM = "__system__"
UNATTRIBUTED = "__unattributed__"
UNALLOCATED = "__unallocated__"

SORTS = ("cost", "unusedCost", "idle", "efficiency", "name")
"""What an answer can be sorted by; a leading `-` sorts downwards."""

STEPS = ("none", "hour", "day", "week", "month")
"""How an answer is cut along time, besides lengths such as `30m`, `6h`, `2d`."""

MAX_LIMIT = 10_000
"""The most rows of one page."""
MAX_ROWS = 200_000
"""The most rows of one answer: keys times steps."""

MAX_DIMENSIONS = 6
"""The most dimensions of one question."""

_ALIASES = {
    "instancetype": "instanceType",
    "capacitytype": "capacityType",
    "workloadkind": "workloadKind",
    "controller": "workload",
    "controllername": "workload",
    "clusterid": "cluster",
    "controllerkind": "workloadKind",
    "env": "environment",
    "ns": "namespace",
}
OF_KIND = ("deployment", "statefulset", "daemonset", "job")
"""Workloads of one kind alone, for OpenCost's questions; the rest is `__unallocated__`."""

_BY_LOWER = {name.lower(): name for name in (*DIMENSIONS, *OF_KIND)} | _ALIASES


@dataclass(frozen=True, slots=True)
class CostQuery:
    """A question about costs, as written; nothing is checked until it is answered.

    Attributes:
        window: words for time (`facts.windowwords`).
        by: dimensions, in order; () sums everything into one row.
        filters: comparisons (`facts.filters`), all of which must hold.
        step: `none`, `hour`, `day`, `week`, `month` or a length such as `6h`.
        zone: IANA name of the zone whose days, weeks and months are meant.
        sort: one of `SORTS`, downwards with a leading `-`.
        limit: rows of this page, 1 to `MAX_LIMIT`.
        offset: rows before this page.
        idle: `rows` shows idle as rows of its own, `share` spreads it over who is charged,
            `hide` leaves it to the hidden remainder.
        idle_by_node: share each node's idle among that node's pods only.
        only_cluster: a cluster id or name outside which nothing exists for this reader, or "".
    """

    window: str = "today"
    by: tuple[str, ...] = ("namespace",)
    filters: tuple[str, ...] = ()
    step: str = "none"
    zone: str = "UTC"
    sort: str = "-cost"
    limit: int = 100
    offset: int = 0
    idle: Literal["rows", "share", "hide"] = "rows"
    idle_by_node: bool = False
    only_cluster: str = ""

    def params(self) -> list[tuple[str, str]]:
        """The query as URL parameters, in the API's spelling, defaults left out."""
        pairs = [("window", self.window), ("by", ",".join(self.by))]
        pairs += [("filter", text) for text in self.filters]
        rest = {
            "step": (self.step, "none"),
            "zone": (self.zone, "UTC"),
            "sort": (self.sort, "-cost"),
            "limit": (str(self.limit), "100"),
            "offset": (str(self.offset), "0"),
            "idle": (self.idle, "rows"),
            "idleByNode": (str(self.idle_by_node).lower(), "false"),
        }
        return pairs + [(key, value) for key, (value, unset) in rest.items() if value != unset]

    def url(self, path: str, **more: str) -> str:
        """`path` with the query attached: the same numbers at another door."""
        pairs = [*self.params(), *more.items()]
        return f"{path}?{urlencode(pairs, quote_via=quote, safe=',:/')}"

    def command(self) -> str:
        """The command line that gives the same numbers, whatever the reader's context says.

        A context may name a namespace (`-A` overrides it) and a zone (so `--zone` is always there).
        """
        words = ["seedancectl", "cost", "-A"]
        asked = {"zone": self.zone} if self.zone == "UTC" else {}  # which `params` leaves out
        for key, value in [*self.params(), *asked.items()]:
            flag = {"idleByNode": "idle-by-node"}.get(key, key)
            words += [f"--{flag}"] if value == "true" else [f"--{flag}", shlex.quote(value)]
        return " ".join(words)


def parse_dimension(text: str) -> str:
    """A dimension in the house's spelling: `ns` → `namespace`, `label[app]` → `label:app`.

    Raises:
        UsageError: if there is no such dimension, or a key is missing.
    """
    text = text.strip()
    name, key = _keyed(text)
    if name in KEYED:
        if not key:
            raise UsageError(
                f"{text!r} needs a key", hint=f"write {name}:KEY, for example {name}:app"
            )
        return f"{name}:{key}"
    found = _BY_LOWER.get(text.lower())
    if found is None:
        known = ", ".join((*DIMENSIONS, "label:KEY", "annotation:KEY"))
        raise UsageError(f"{text!r} is no dimension", hint=f"known are {known}")
    return found


def parse_dimensions(names: tuple[str, ...]) -> tuple[str, ...]:
    """All dimensions in the house's spelling, each once.

    Raises:
        UsageError: an unknown one, a repeated one, more than `MAX_DIMENSIONS`.
    """
    found = tuple(parse_dimension(name) for name in names if name.strip())
    if len(set(found)) != len(found):
        raise UsageError(f"a dimension is named twice in {','.join(names)!r}")
    if len(found) > MAX_DIMENSIONS:
        raise UsageError(f"{len(found)} dimensions are more than {MAX_DIMENSIONS}")
    return found


def _keyed(text: str) -> tuple[str, str]:
    for name in KEYED:
        if text.lower().startswith(name + ":"):
            return name, text[len(name) + 1 :]
        if text.lower().startswith(name + "[") and text.endswith("]"):
            return name, text[len(name) + 1 : -1]
        if text.lower() == name:
            return name, ""
    return text, ""
