"""Kubernetes quantities: `250m`, `1.5Gi`, `2e3`, `1E`, `100n` as plain numbers.

The grammar is that of the API (`resource.Quantity`): a signed decimal number, then a binary suffix
(Ki to Ei), a decimal suffix (n, u, m, k to E) or a decimal exponent (`e3`, `E-2`). A bare `E` is
exa, `E` before digits is an exponent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Any

from seedance.facts.errors import IntakeError
from seedance.facts.inventory import Quantities

_GRAMMAR = re.compile(
    r"(?P<number>[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))"
    r"(?:[eE](?P<exponent>[+-]?[0-9]{1,3})|(?P<suffix>[KMGTPE]i|[numkMGTPE])?)"
)
_SUFFIXES = {
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    **{suffix: Decimal(1000) ** power for power, suffix in enumerate("kMGTPE", start=1)},
    **{f"{suffix}i": Decimal(1024) ** power for power, suffix in enumerate("KMGTPE", start=1)},
}


@lru_cache(maxsize=65_536)
def parse_quantity(text: str) -> float:
    """`text` in base units, exact up to the precision of a float.

    Raises:
        IntakeError: if it is no quantity.
    """
    match = _GRAMMAR.fullmatch(text.strip())
    if match is None:
        raise IntakeError(f"{text!r} is no Kubernetes quantity")
    number = Decimal(match["number"])
    if match["exponent"]:
        return float(number.scaleb(int(match["exponent"])))
    return float(number * _SUFFIXES[match["suffix"]]) if match["suffix"] else float(number)


def parse_quantities(resources: Mapping[str, Any] | None) -> Quantities:
    """A resource list (`{"cpu": "250m", "memory": "1Gi"}`) in base units; {} for none.

    Numbers are taken as they are: YAML written by hand says `cpu: 2`.

    Raises:
        IntakeError: if a value is no quantity.
    """
    return {name: parse_quantity(str(value)) for name, value in (resources or {}).items()}
