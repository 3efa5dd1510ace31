"""PriceBook: what nodes cost, dated, with the source of each figure.

A book has entries (`priceentry`). `PriceBook.rules` resolves what an entry takes from its book
(validity, priority, weights, discount, source) into flat `PriceRule`s, which `costs/pricing.py`
matches and applies. Checks across books are in `load.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Annotated, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from seedance.facts.inventory import Node
from seedance.manifests.currency import CURRENCIES
from seedance.manifests.objects import (
    Envelope,
    Text,
    TypeWords,
    Validity,
    check_order,
    refusal,
)
from seedance.manifests.priceentry import (
    MAX_PRIORITY,
    Discount,
    PriceEntry,
    SplitWeights,
    default_weights,
)


def _currency(value: object) -> object:
    if value not in CURRENCIES:
        raise refusal(
            f"{value!r} is no ISO 4217 currency",
            hint="three capital letters, such as USD, EUR or CNY",
        )
    return value


Currency = Annotated[str, BeforeValidator(_currency), TypeWords("currency code")]


class PriceBookSpec(Validity):
    """Currency, source and entries of a price book."""

    currency: Currency = Field(
        description="ISO 4217 code of every figure in the book. A store has one currency."
    )
    source: Text = Field(
        description="Where the figures come from, such as a contract and its date; shown with "
        "each price."
    )
    estimate: bool = Field(
        default=False,
        description="Whether these are list prices that nobody agreed to pay; marks each row.",
    )
    priority: int = Field(
        default=0,
        ge=-MAX_PRIORITY,
        le=MAX_PRIORITY,
        description="The book of the higher priority wins, whatever its selectors.",
    )
    builtin: bool = Field(
        default=True,
        description="Whether nodes that no book prices take the built-in list prices. One book "
        "that says false switches them off.",
    )
    split_weights: SplitWeights | None = Field(
        default=None,
        description="How a nodeHour is split over the resources. Without it, the default weights "
        "apply.",
    )
    discount: Discount | None = Field(
        default=None, description="Taken off every price in the book."
    )
    entries: tuple[PriceEntry, ...] = Field(
        description="What which nodes cost, at least one entry. The order does not matter."
    )

    @model_validator(mode="after")
    def _checked(self) -> Self:
        check_order(self)
        if not self.entries:
            raise refusal("no entry", hint="write at least one", at=("entries",))
        seen: set[str] = set()
        for index, entry in enumerate(self.entries):
            if entry.name in seen:
                raise refusal(
                    f"the name {entry.name} stands twice in this book",
                    hint="give each entry a name of its own",
                    at=("entries", index, "name"),
                )
            seen.add(entry.name)
            if not _meets(self, entry):
                raise refusal(
                    f"{entry.name} is never in force, since the book is not valid then",
                    hint="widen the validity of the book",
                    at=("entries", index),
                )
        return self


def _meets(book: Validity, entry: Validity) -> bool:
    start, end = _joint(book, entry)
    return start is None or end is None or start < end


def _joint(book: Validity, entry: Validity) -> tuple[datetime | None, datetime | None]:
    starts = [at for at in (book.valid_from, entry.valid_from) if at is not None]
    ends = [at for at in (book.valid_to, entry.valid_to) if at is not None]
    return max(starts, default=None), min(ends, default=None)


@dataclass(frozen=True, slots=True, eq=False)
class PriceRule:
    """An entry with everything it takes from its book: what pricing matches and applies.

    `wants` are the selector's terms; `rank` orders rules, the larger wins.
    """

    book: str
    entry: PriceEntry
    index: int
    currency: str
    source: str
    estimate: bool
    valid_from: datetime | None
    valid_to: datetime | None
    wants: Mapping[str, frozenset[str]]
    rank: tuple[bool, int, int, float]
    weights: SplitWeights
    default_weights: bool
    discount: Discount | None

    def holds_at(self, at: datetime) -> bool:
        """Whether `at` lies in [valid_from, valid_to)."""
        return (self.valid_from is None or self.valid_from <= at) and (
            self.valid_to is None or at < self.valid_to
        )

    def fits(self, node: Node) -> bool:
        """Whether the selector matches `node`."""
        for name, values in self.wants.items():
            if name.startswith("label:"):
                found = node.labels.get(name.removeprefix("label:"))
            else:
                found = getattr(node, name)
            if found not in values:
                return False
        return True

    def could_share_a_node(self, other: PriceRule) -> bool:
        """Whether some node could match both selectors."""
        return all(
            values & other.wants[name] for name, values in self.wants.items() if name in other.wants
        )

    def overlaps(self, other: PriceRule) -> bool:
        """Whether both can be in force at one instant."""
        return _before(self.valid_from, other.valid_to) and _before(other.valid_from, self.valid_to)


def _before(start: datetime | None, end: datetime | None) -> bool:
    return start is None or end is None or start < end


class PriceBook(Envelope):
    """A dated list of prices of nodes, with its source."""

    kind: Literal["PriceBook"] = Field(description="Always PriceBook.")
    spec: PriceBookSpec = Field(description="Currency, source and entries.")
    builtin_sheet: ClassVar[bool] = False
    """Whether the book is part of the built-in sheet, below every other book."""

    @cached_property
    def rules(self) -> tuple[PriceRule, ...]:
        """Every entry with what it takes from the book."""
        return tuple(self._rule(index, entry) for index, entry in enumerate(self.spec.entries))

    @cached_property
    def by_type(self) -> Mapping[str, tuple[PriceRule, ...]]:
        """Rules by each instance type they name; those that name none under ""."""
        index: dict[str, list[PriceRule]] = {}
        for rule in self.rules:
            for name in rule.wants.get("instance_type") or ("",):
                index.setdefault(name, []).append(rule)
        return {name: tuple(rules) for name, rules in index.items()}

    def candidates(self, node: Node) -> Iterator[PriceRule]:
        """Rules whose selector matches `node`, in no particular order."""
        names = {node.instance_type, ""}
        return (rule for name in names for rule in self.by_type.get(name, ()) if rule.fits(node))

    def _rule(self, index: int, entry: PriceEntry) -> PriceRule:
        spec = self.spec
        start, end = _joint(spec, entry)
        wants = entry.node.wants()
        priority = spec.priority if entry.priority is None else entry.priority
        weights = entry.split_weights or spec.split_weights
        return PriceRule(
            book=self.name,
            entry=entry,
            index=index,
            currency=spec.currency,
            source=entry.source or spec.source,
            estimate=spec.estimate,
            valid_from=start,
            valid_to=end,
            wants=wants,
            rank=(
                not self.builtin_sheet,
                priority,
                len(wants),
                start.timestamp() if start else -1e18,
            ),
            weights=weights or default_weights(),
            default_weights=weights is None,
            discount=entry.discount or spec.discount,
        )


class ListedBook(PriceBook):
    """A book of the built-in sheet: list prices, which spot machines do not have."""

    builtin_sheet: ClassVar[bool] = True

    def candidates(self, node: Node) -> Iterator[PriceRule]:
        """As of any book, but none for a spot node."""
        return iter(()) if node.capacity_type == "spot" else super().candidates(node)
