"""What a report answers: the one shape that API, pages, command line and metrics show.

Field names are camelCase in JSON. Money is a decimal string with up to 12 places (`"12.34"`), None
where there is no price; quantities are numbers in resource-hours (core-hours, GiB-hours, counts ×
hours), None where they are not known. Instants are RFC 3339 in UTC.
"""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer
from pydantic.alias_generators import to_camel

from seedance.facts.window import format_instant


def _plain(amount: Decimal) -> str:
    text = f"{amount:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


Amount = Annotated[Decimal, PlainSerializer(_plain, return_type=str, when_used="json-unless-none")]
"""Money: exact, up to 12 places, as text in JSON."""

Instant = Annotated[
    datetime, PlainSerializer(format_instant, return_type=str, when_used="json-unless-none")
]
"""An aware UTC instant, RFC 3339 with `Z` in JSON."""


class Answer(BaseModel):
    """Root of all answers: immutable, camelCase in JSON."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True)


class WindowOf(Answer):
    """The window that was answered. `snapped` says why it is not the one that was asked for."""

    start: Instant
    end: Instant
    words: str = Field(description="The window as it was asked for.")
    zone: str = Field(description="Zone whose days are meant.")
    snapped: str = Field(
        default="", description="Why the window was widened to whole hours, or empty."
    )


class ResourceOf(Answer):
    """Quantities and money of one resource, in resource-hours."""

    unit: str = Field(description="`core-hour`, `GiB-hour`, else `NAME-hour`.")
    requested: float
    used: float | None = Field(description="None where usage is not known at all.")
    charged: float
    unused: float = Field(description="Charged less used, where usage is known.")
    covered: float = Field(description="Hours with known usage, summed over containers.")
    alive: float = Field(description="Hours charged, summed over containers.")
    idle: float = Field(default=0.0, description="Resource-hours that nobody is charged for.")
    cost: Amount | None
    unused_cost: Amount | None
    unpriced: float = Field(default=0.0, description="Charged resource-hours without a price.")


class PriceSource(Answer):
    """Where a price stands. `reason` is set, and the rest empty, where there is none."""

    book: str
    entry: str
    source: str
    currency: str
    estimate: bool = Field(description="True for list prices that nobody agreed to pay.")
    reason: str = ""


class CostItem(Answer):
    """One row of an answer: everything that shares the keys (and the time step)."""

    keys: dict[str, str] = Field(description="Dimension to value; `__idle__` and friends stand in.")
    reasons: dict[str, str] = Field(
        default_factory=dict, description="Dimension to the reason why its value is not there."
    )
    start: Instant | None = Field(default=None, description="Start of the step; None without.")
    end: Instant | None = None
    cost: Amount | None = Field(description="None where nothing in the row has a price.")
    unused_cost: Amount | None = None
    idle: Amount | None = Field(
        default=None,
        description="Idle money inside `cost`: idle rows of the group, or the share that it bears; "
        "0 on the idle row of a shared answer, whose money went to the others.",
    )
    unpriced: dict[str, float] = Field(
        default_factory=dict, description="Resource to charged resource-hours without a price."
    )
    resources: dict[str, ResourceOf] = Field(default_factory=dict)
    efficiency: float | None = Field(
        default=None, description="Cost-weighted used ÷ requested where usage is known; may pass 1."
    )
    overcommit: float | None = Field(
        default=None, description="Largest charge ÷ capacity of a node in a minute, above 1."
    )
    flags: list[str] = Field(default_factory=list)
    price_sources: list[PriceSource] = Field(default_factory=list)
    clusters: list[str] = Field(default_factory=list, description="Cluster ids in the row.")


class Hidden(Answer):
    """What the filters and `idle=hide` left out, so that total + hidden is the whole window."""

    count: int = Field(description="Rows that would be shown without the filters.")
    cost: Amount | None


class Total(Answer):
    """The sum of every row of all pages, `hidden` excluded."""

    cost: Amount | None
    unused_cost: Amount | None
    idle: Amount | None = None
    resources: dict[str, ResourceOf] = Field(default_factory=dict)
    efficiency: float | None = None


class StepTotal(Answer):
    """The sum of every shown row of one time step, over all pages."""

    start: Instant
    end: Instant
    cost: Amount | None
    idle: Amount | None = None


class Share(Answer):
    """A share that names its numerator."""

    numerator: str
    denominator: str
    value: Amount | None
    share: float | None = Field(description="0 to 1; None where the denominator is nothing.")


class Page(Answer):
    """Where this page stands. `rest` is the money of the rows on other pages."""

    limit: int
    offset: int
    total: int
    rest: Amount | None = None


class Links(Answer):
    """The same numbers at the other doors."""

    self_: str = Field(alias="self")
    csv: str
    cli: str
    page: str


class CostAnswer(Answer):
    """The answer to a `CostQuery`. Items and `hidden` together are the whole window, exactly."""

    window: WindowOf
    currency: str
    by: list[str]
    step: str
    idle_mode: str = Field(description="`rows`, `share` or `hide`.")
    provisional: bool = Field(description="True while a part of the window may still change.")
    as_of: Instant | None = Field(description="When the newest set that was read was settled.")
    items: list[CostItem]
    hidden: Hidden
    total: Total
    steps: list[StepTotal] = Field(
        default_factory=list, description="Totals per time step; empty without a step."
    )
    shares: dict[str, Share] = Field(default_factory=dict)
    page: Page
    links: Links
    notes: list[str] = Field(default_factory=list, description="What a reader must know, in words.")


class ObjectItem(Answer):
    """One version of one object; `facts` is the kind's own document (`facts.inventory`)."""

    cluster: str = Field(description="Cluster id.")
    cluster_name: str
    kind: str
    uid: str
    namespace: str
    name: str
    since: Instant = Field(description="Start of this version.")
    until: Instant | None = Field(description="End of this version; None while it stands.")
    ended: str = Field(default="", description="`seen` or `estimated` once deleted.")
    facts: dict[str, Any] = Field(default_factory=dict)


class ObjectList(Answer):
    """A page of objects as they stood at `at`."""

    kind: str
    at: Instant
    items: list[ObjectItem]
    page: Page


class Description(Answer):
    """Everything known about one object: its version then, its history, its last 24 hours."""

    kind: str
    at: Instant
    object: ObjectItem
    versions: list[ObjectItem]
    containers: list[dict[str, Any]] = Field(default_factory=list)
    cost: CostAnswer | None = Field(description="The 24 hours before `at`; None for kinds without.")
    related: list[ObjectItem] = Field(
        default_factory=list, description="Pods of a node, namespace or workload, at most 100."
    )


class Health(Answer):
    """One thing that can be well or not; `reason` says what is wrong."""

    name: str
    healthy: bool
    reason: str = ""


class TableSize(Answer):
    """Size of one table of the store."""

    name: str
    rows: int
    bytes: int


class SettleOf(Answer):
    """The newest settled hour of a cluster."""

    cluster: str
    cluster_name: str
    hour: Instant
    ended: Instant
    seconds: float = Field(description="How long settling took.")
    rows: int
    provisional: bool
    violations: int
    violation_text: str = ""
    lag_seconds: float = Field(description="Age of the newest settle.")


class Stranger(Answer):
    """A cluster that samples of the last hour name, and that is not watched under that name."""

    word: str = Field(description="As the samples name it; empty where they name none.")
    series: int = Field(description="Series with a sample in the last hour.")


class StatusAnswer(Answer):
    """How the server is. The dictionaries hold what the named part reports about itself."""

    version: str
    at: Instant
    started: Instant | None
    ready: bool
    health: list[Health]
    clusters: list[dict[str, Any]] = Field(default_factory=list)
    recorder: dict[str, Any] = Field(default_factory=dict)
    watches: list[dict[str, Any]] = Field(default_factory=list)
    scrapes: list[dict[str, Any]] = Field(default_factory=list)
    sources: dict[str, int] = Field(
        default_factory=dict, description="Door to the number of series that came through it."
    )
    strangers: list[Stranger] = Field(
        default_factory=list,
        description="Clusters that samples name and that are not watched under that name: their "
        "use is nobody's (`no-cluster`).",
    )
    settles: list[SettleOf] = Field(default_factory=list)
    store: list[TableSize] = Field(default_factory=list)
    manifests: dict[str, Any] = Field(default_factory=dict)
