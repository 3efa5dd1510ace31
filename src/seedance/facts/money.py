"""Money: `Decimal` with 12 places at the edges, integer picos (1e-12 of the unit) inside.

An int64 of picos holds ±9.2 million units, far above any one cost row; sums are made with
`Decimal` or Python integers, which do not overflow. Rounding is half-even, once, at the row
(ground rule 6; `docs/explain/cost-arithmetic.md`, "Rounding").
"""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation

PLACES = 12
PICOS = 10**PLACES
QUANTUM = Decimal(1).scaleb(-PLACES)


def quantize(amount: Decimal) -> Decimal:
    """`amount` rounded half-even to 12 places."""
    return amount.quantize(QUANTUM, rounding=ROUND_HALF_EVEN)


def to_picos(amount: Decimal) -> int:
    """`amount` as whole picos, rounded half-even."""
    return int(amount.scaleb(PLACES).to_integral_value(rounding=ROUND_HALF_EVEN))


def from_picos(picos: int) -> Decimal:
    """Whole picos as a `Decimal` with 12 places."""
    return Decimal(picos).scaleb(-PLACES)


def parse_amount(text: str | float | Decimal) -> Decimal:
    """A non-negative decimal amount as people write it (`"0.0312"`).

    Raises:
        ValueError: if it is no number, not finite, negative or finer than 12 places.
    """
    try:
        amount = Decimal(str(text))
    except InvalidOperation:
        raise ValueError(f"{text!r} is no decimal number") from None
    if not amount.is_finite():
        raise ValueError(f"{text!r} is not finite")
    if amount < 0:
        raise ValueError(f"{text!r} is below zero")
    if amount != quantize(amount):
        raise ValueError(f"{text!r} is finer than {PLACES} decimal places")
    return amount
