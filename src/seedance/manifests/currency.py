"""Currencies (ISO 4217) and the bounds within which a price of a unit is plausible.

A price per month in a field per hour is 730 times too high and looks like any other number; the
bounds tell them apart. They are wide, stated in US dollars and scaled by the order of magnitude of
the currency, which is all that is used of it: nothing is ever converted with these figures.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType

HOURS_PER_MONTH = 730

_UNITS_PER_DOLLAR = {
    "0.4": "BHD JOD KWD OMR",
    "1": "AUD AWG AZN BBD BMD BND BSD BZD CAD CHE CHF CHW EUR FJD FKP GBP GEL GIP KYD NZD PAB SGD "
    "SHP TND TOP USD USN WST XCD XCG XDR XSU XUA",
    "4": "AED ANG BAM BGN BRL BYN ILS LYD MYR PEN PGK PLN QAR RON SAR SBD TMT",
    "10": "BOB BOV BWP CNY DKK ERN GHS GTQ HKD MAD MOP MVR NOK SCR SEK TTD VED ZAR NAD LSL SZL",
    "20": "HNL MDL MXN SLE SRD SVC TJS ZMW",
    "40": "CUP CZK DOP EGP MKD MRU NIO PHP STN THB TRY TWD UAH UYU VES ZWG",
    "100": "AFN ALL BDT BTN CVE DJF DZD ETB GMD HTG INR ISK JMD JPY KES KGS LKR LRD MUR MZN NPR "
    "PKR RSD RUB VUV XPF YER",
    "400": "AMD AOA CRC GYD HUF KMF KZT SDG SOS SSP XAF XOF",
    "1000": "ARS CDF CLP COP IQD KPW KRW MMK MNT MWK NGN RWF",
    "4000": "BIF KHR MGA PYG SYP TZS UGX UZS COU",
    "20000": "GNF IDR IRR LAK LBP VND",
}
"""Order of magnitude of the units per US dollar, 2026, and the codes of ISO 4217 it holds for."""


CURRENCIES: Mapping[str, Decimal] = MappingProxyType(
    {code: Decimal(scale) for scale, codes in _UNITS_PER_DOLLAR.items() for code in codes.split()}
)
"""ISO 4217 code to the order of magnitude of its units per US dollar."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Lowest and highest plausible price of a unit per hour, in US dollars, and its words."""

    low: Decimal
    high: Decimal
    unit: str


CORE = Bounds(Decimal("0.00005"), Decimal(1), "core-hour")
MEMORY = Bounds(Decimal("0.000005"), Decimal("0.2"), "GiB-hour of memory")
GPU = Bounds(Decimal("0.001"), Decimal(40), "GPU-hour")
STORAGE = Bounds(Decimal("0.0000001"), Decimal("0.005"), "GiB-hour of storage")
DEVICE = Bounds(Decimal("0.0000001"), Decimal(100), "unit-hour")
NODE = Bounds(Decimal("0.0005"), Decimal(500), "node-hour")


def oddity(amount: Decimal, bounds: Bounds, currency: str) -> tuple[str, str]:
    """What is odd about a price and what to do, or ("", "") if it is plausible.

    Args:
        amount: price per unit and hour.
        bounds: of the unit.
        currency: ISO 4217 code; of an unknown one nothing is judged.
    """
    scale = CURRENCIES.get(currency)
    if scale is None or bounds.low * scale <= amount <= bounds.high * scale:
        return "", ""
    accept = 'if it is meant, add unusual: "<reason>" to the entry'
    if amount == 0:
        return (
            f"0 {currency} per {bounds.unit} makes it free",
            f"leave a price that is not known out, then it is shown as unpriced; {accept}",
        )
    figure = f"{amount} {currency} per {bounds.unit}"
    if amount > bounds.high * scale:
        return (
            f"{figure} is above {plain(bounds.high * scale)}: is that a price per month?",
            f"per hour it is {amount} / {HOURS_PER_MONTH} = {monthly_as_hourly(amount)}; {accept}",
        )
    return (
        f"{figure} is below {plain(bounds.low * scale)}: is that a price per minute or second?",
        f"multiply by 60 or 3600; {accept}",
    )


def monthly_as_hourly(amount: Decimal) -> str:
    """`amount` per month as text per hour, four significant digits."""
    return plain(Decimal(f"{amount / HOURS_PER_MONTH:.4g}"))


def plain(amount: Decimal) -> str:
    """`amount` without exponent and trailing zeros."""
    text = f"{amount:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
