"""Kubernetes quantities become plain numbers by the API's grammar."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seedance.facts.errors import IntakeError
from seedance.intake.quantities import parse_quantities, parse_quantity


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0.0),
        ("1", 1.0),
        ("+1", 1.0),
        ("-1.5", -1.5),
        (".5", 0.5),
        ("2.", 2.0),
        ("100m", 0.1),
        ("1500m", 1.5),
        ("0.1", 0.1),
        ("250u", 0.00025),
        ("100n", 1e-7),
        ("12345678n", 0.012345678),
        ("1k", 1000.0),
        ("1M", 1e6),
        ("1.5G", 1.5e9),
        ("2T", 2e12),
        ("3P", 3e15),
        ("1E", 1e18),
        ("1Ki", 1024.0),
        ("128Mi", 134217728.0),
        ("1.5Gi", 1610612736.0),
        ("2Ti", 2199023255552.0),
        ("1Pi", 1125899906842624.0),
        ("1Ei", 1152921504606846976.0),
        ("1e3", 1000.0),
        ("1E3", 1000.0),
        ("1.5e-3", 0.0015),
        ("12e+2", 1200.0),
        ("128974848000m", 128974848.0),
        ("63954108Ki", 65489006592.0),
    ],
)
def test_a_quantity_is_read_by_the_grammar_of_the_api(text: str, number: float) -> None:
    assert parse_quantity(text) == number


@pytest.mark.parametrize(
    "text", ["", "m", "1 Gi", "1KI", "1K", "1gi", "1e", "e3", "1.2.3", "0x10", "1mm", "inf", "nan"]
)
def test_what_the_api_would_refuse_is_refused(text: str) -> None:
    with pytest.raises(IntakeError, match="is no Kubernetes quantity"):
        parse_quantity(text)


@given(st.integers(min_value=0, max_value=10**15))
def test_millis_and_units_agree(millis: int) -> None:
    assert parse_quantity(f"{millis}m") == float(Decimal(millis) / 1000)


def test_a_resource_list_keeps_raw_names_and_takes_plain_numbers() -> None:
    found = parse_quantities({"cpu": 2, "memory": "1Gi", "nvidia.com/gpu": "8", "cpu-odd": 0.5})
    assert found == {"cpu": 2.0, "memory": 2.0**30, "nvidia.com/gpu": 8.0, "cpu-odd": 0.5}
    assert parse_quantities(None) == {}
