"""What every manifest has in common: the envelope, names, exact amounts, instants, validity.

Types here read what people write and refuse what could be misread: an amount is exact decimal
text or a number whose source text is kept (never a binary float), an instant has an offset and
stands on a whole minute. `refusal` makes an error that carries a hint and, for checks that look at
several fields, the place (`at`) inside the model; `load.py` turns both into file, line and path.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from seedance.facts.money import parse_amount
from seedance.facts.window import parse_instant

API_VERSION = "cost.seedance.io/v2"

_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_MAX_NAME = 253


@dataclass(frozen=True, slots=True)
class TypeWords:
    """How the documentation names a type: metadata of an `Annotated` alias."""

    words: str


def refusal(message: str, *, hint: str = "", at: tuple[str | int, ...] = ()) -> PydanticCustomError:
    """The error a validator raises: what is wrong, what to do, and where below the model.

    Args:
        message: what is wrong, without the place.
        hint: what to write instead, or "".
        at: keys as people write them, from the model down, where that is not the field itself.
    """
    context: dict[str, Any] = {"message": message, "hint": hint, "at": at}
    return PydanticCustomError("manifest", "{message}", context)


class Model(BaseModel):
    """A part of a manifest: frozen, camelCase on paper, unknown keys refused."""

    model_config = ConfigDict(
        alias_generator=to_camel, extra="forbid", frozen=True, defer_build=True
    )


def _amount(value: object) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, str | int | Decimal):
        raise refusal(
            f"an amount is a decimal number, this is {_kind_of(value)}",
            hint='write it in quotes, such as "0.0312"',
        )
    text = str(value).strip()
    try:
        return parse_amount(text)
    except (ValueError, ArithmeticError) as error:
        problem = str(error) if isinstance(error, ValueError) else f"{text!r} is too large"
        raise refusal(
            problem, hint='digits with a decimal point, no sign, no currency: "0.0312"'
        ) from None


def _kind_of(value: object) -> str:
    words = {bool: "a yes or no", float: "a binary float", dict: "a mapping", list: "a list"}
    return words.get(type(value), "nothing" if value is None else type(value).__name__)


def _instant(value: object) -> datetime:
    if isinstance(value, datetime) and value.tzinfo is not None:
        at = value.astimezone(UTC)
    elif isinstance(value, str | datetime | date):
        at = _parsed(str(value))
    else:
        raise refusal(
            f"an instant is text, this is {_kind_of(value)}", hint='write "2026-01-01T00:00:00Z"'
        )
    if at.second or at.microsecond:
        raise refusal(
            f"{value!s} is not on a whole minute",
            hint="costs are settled by the minute, so prices and rules change on whole minutes",
        )
    return at


def _parsed(text: str) -> datetime:
    try:
        return parse_instant(text)
    except ValueError:
        raise refusal(
            f"{text!r} is no instant with an offset",
            hint="write date, time and offset: 2026-01-01T00:00:00Z or 2026-01-01T00:00:00+08:00",
        ) from None


def _name(value: object) -> object:
    if isinstance(value, str) and (len(value) > _MAX_NAME or not _NAME.fullmatch(value)):
        raise refusal(
            f"{value!r} is no name",
            hint="lower-case letters, digits, '-' and '.', starting and ending with one of the "
            "first two, at most 253 characters",
        )
    return value


Amount = Annotated[Decimal, BeforeValidator(_amount), TypeWords("amount")]
"""A non-negative exact decimal with at most 12 places."""

Instant = Annotated[datetime, BeforeValidator(_instant), TypeWords("instant")]
"""RFC 3339 with an offset, on a whole minute; UTC once read."""

Name = Annotated[str, BeforeValidator(_name), TypeWords("name")]
"""A name as Kubernetes has them (RFC 1123 subdomain)."""

Text = Annotated[str, Field(min_length=1, max_length=500)]
"""Words for people: 1 to 500 characters."""


class Metadata(Model):
    """Name and free labels of a manifest."""

    name: Name = Field(description="Name of this manifest, unique among those of its kind.")
    labels: Mapping[str, str] = Field(
        default_factory=dict, description="Labels for your own use; Seedance does not read them."
    )
    annotations: Mapping[str, str] = Field(
        default_factory=dict, description="Notes for your own use; Seedance does not read them."
    )


class Validity(Model):
    """From when until when something holds: start included, end not."""

    valid_from: Instant | None = Field(
        default=None,
        description="First instant at which this holds, on a whole minute, with an offset. "
        "Without it: since ever.",
    )
    valid_to: Instant | None = Field(
        default=None,
        description="First instant at which this no longer holds, on a whole minute, with an "
        "offset. Without it: until further notice.",
    )

    def holds_at(self, at: datetime) -> bool:
        """Whether `at` lies in [valid_from, valid_to)."""
        return (self.valid_from is None or self.valid_from <= at) and (
            self.valid_to is None or at < self.valid_to
        )


def check_order(validity: Validity) -> None:
    """Refuse a validity that ends before it starts.

    Raises:
        PydanticCustomError: located at `validTo`.
    """
    start, end = validity.valid_from, validity.valid_to
    if start is not None and end is not None and end <= start:
        raise refusal(
            "validTo is not after validFrom",
            hint="validFrom is included, validTo is the first instant that no longer counts",
            at=("validTo",),
        )


class Envelope(Model):
    """The outside of every manifest: apiVersion, kind and metadata."""

    api_version: Literal["cost.seedance.io/v2"] = Field(
        description="Group and version of the manifest: always cost.seedance.io/v2."
    )
    metadata: Metadata = Field(description="Name and labels of this manifest.")

    @property
    def name(self) -> str:
        """Name of the manifest."""
        return self.metadata.name
