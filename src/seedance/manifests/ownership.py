"""OwnershipRules: which labels and annotations say who owns a pod, dated.

Three dimensions, each with keys in order (`from`), a table that maps found values (`values`) and a
default. What the rules mean is told in `docs/tasks/ownership.md`; `costs/ownership.py` applies
them. Regular expressions are compiled when the manifest is read, so a bad one is refused with its
line and never met later.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from seedance.manifests.objects import (
    Envelope,
    Model,
    Text,
    TypeWords,
    Validity,
    check_order,
    refusal,
)

DIMENSIONS = ("domain", "environment", "team")
"""What can own a cost: business domain, environment and team."""


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


Values = Annotated[
    tuple[Annotated[str, Field(min_length=1)], ...],
    BeforeValidator(_listed),
    TypeWords("text or list of texts"),
]


class ValueRule(Model):
    """A found value, or all that match a pattern, and the value that it stands for."""

    exact: Values = Field(
        default=(), description="The value, or several, to the letter. Wins over every regex."
    )
    regex: str = Field(
        default="",
        min_length=1,
        description="Python regular expression that the whole value must match. The first in "
        "order wins.",
    )
    to: Text = Field(
        description="The value it stands for. After a regex, \\1 or \\g<name> is what a group "
        "matched."
    )

    @model_validator(mode="after")
    def _checked(self) -> Self:
        if bool(self.exact) == bool(self.regex):
            raise refusal("a value rule has either exact or regex", hint="write one of them")
        if self.regex:
            _compiled(self.regex, self.to)
        return self

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The compiled `regex`."""
        return re.compile(self.regex)


def _compiled(regex: str, to: str) -> None:
    try:
        pattern = re.compile(regex)
    except (re.error, RecursionError, OverflowError) as error:
        raise refusal(
            f"{regex!r} is no regular expression: {error}",
            hint="in single quotes, YAML leaves backslashes alone: 'team-(.+)'",
            at=("regex",),
        ) from None
    try:
        pattern.sub(to, "")
    except (re.error, IndexError) as error:
        raise refusal(
            f"{to!r} refers to a group that the regex lacks: {error}",
            hint="count the groups in brackets, the first is \\1",
            at=("to",),
        ) from None


class Table(Model):
    """Value rules, as a look-up."""

    values: tuple[ValueRule, ...] = Field(
        default=(),
        description="What found values stand for: prod, prd and production are one environment. "
        "In a key, the table replaces that of the dimension.",
    )

    @model_validator(mode="after")
    def _unambiguous(self) -> Self:
        seen: set[str] = set()
        for index, rule in enumerate(self.values):
            for value in rule.exact:
                if value in seen:
                    raise refusal(
                        f"the value {value!r} stands twice in this table",
                        hint="keep one of the two",
                        at=("values", index, "exact"),
                    )
                seen.add(value)
        return self

    @cached_property
    def _exact(self) -> Mapping[str, str]:
        return {value: rule.to for rule in self.values for value in rule.exact}

    @cached_property
    def _patterns(self) -> tuple[tuple[re.Pattern[str], str], ...]:
        return tuple((rule.pattern, rule.to) for rule in self.values if rule.regex)

    def look_up(self, value: str) -> str | None:
        """What `value` stands for, or None if the table does not know it."""
        found = self._exact.get(value)
        if found is not None:
            return found
        for pattern, to in self._patterns:
            match = pattern.fullmatch(value)
            if match:
                return match.expand(to) or None
        return None


class OwnerKey(Table):
    """One place to look for an owner: a label key, an annotation key, or the namespace's name."""

    label: str = Field(
        default="",
        min_length=1,
        description="Raw label key, looked up on pod, workload, namespace and node; the nearest "
        "wins.",
    )
    annotation: str = Field(
        default="", min_length=1, description="Raw annotation key, looked up in the same order."
    )
    namespace_name: bool = Field(
        default=False, description="Set to true to take the name of the namespace itself."
    )
    unmatched: Literal["keep", "skip"] = Field(
        default="keep",
        description="What happens to a value that the table does not know: keep it as it is, or "
        "skip it, as if it were not set.",
    )

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if sum((bool(self.label), bool(self.annotation), self.namespace_name)) != 1:
            raise refusal(
                "a key is one of label, annotation and namespaceName",
                hint="make a list item of each",
            )
        return self


class Dimension(Table):
    """Where the value of a dimension comes from."""

    from_: tuple[OwnerKey, ...] = Field(
        default=(),
        alias="from",
        description="Keys in order. The first that is set anywhere up the chain gives the value.",
    )
    default: Text | None = Field(
        default=None, description="The value where no key is set. Without it: unallocated."
    )

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.from_ and self.default is None:
            raise refusal("neither from nor default is set", hint="name at least one key")
        return self

    @cached_property
    def plan(self) -> tuple[tuple[OwnerKey, Table], ...]:
        """Each key with the table that applies to it."""
        return tuple((key, key if key.values else self) for key in self.from_)


class OwnershipRulesSpec(Validity):
    """The three dimensions; one that is left out has no owner."""

    domain: Dimension | None = Field(default=None, description="Business domain or product line.")
    environment: Dimension | None = Field(
        default=None, description="Environment, such as production or staging."
    )
    team: Dimension | None = Field(default=None, description="Team that answers for the cost.")

    @model_validator(mode="after")
    def _checked(self) -> Self:
        check_order(self)
        if not any(True for _ in self.dimensions()):
            raise refusal("no dimension at all", hint=f"set one of {', '.join(DIMENSIONS)}")
        return self

    def dimensions(self) -> Iterator[tuple[str, Dimension]]:
        """Name and rules of each dimension that is set."""
        for name in DIMENSIONS:
            dimension = getattr(self, name)
            if dimension is not None:
                yield name, dimension


class OwnershipRules(Envelope):
    """Who owns what: keys in order, mapping and default for domain, environment and team."""

    kind: Literal["OwnershipRules"] = Field(description="Always OwnershipRules.")
    spec: OwnershipRulesSpec = Field(description="Validity and dimensions.")

    @cached_property
    def by_dimension(self) -> Mapping[str, Dimension]:
        """The dimensions that are set, by name."""
        return dict(self.spec.dimensions())
