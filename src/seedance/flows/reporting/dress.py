"""Sums dressed for people: parts of the store become the items and totals of an answer.

Nothing is added up here that the store could add up; what is summed are the few resources of one
key. Money is exact (integer picos) until it becomes a `Decimal`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import groupby
from typing import Any

from seedance.facts.costquery import CostQuery
from seedance.facts.money import from_picos
from seedance.facts.prices import RESOURCE_UNITS
from seedance.facts.window import Window, format_instant
from seedance.facts.words import flag_word, flags_in
from seedance.flows.reporting.answers import (
    CostAnswer,
    CostItem,
    Hidden,
    Links,
    Page,
    PriceSource,
    ResourceOf,
    Share,
    StepTotal,
    Total,
    WindowOf,
)
from seedance.store.reports import Ask, Part, Sums

PriceRows = Mapping[int, Mapping[str, Any]]

_LATE = timedelta(minutes=5)
"""Settling runs each minute; older than this it is worth a note."""


def dress(
    query: CostQuery,
    ask: Ask,
    sums: Sums,
    *,
    prices: PriceRows,
    clusters: Mapping[str, str],
    now: datetime,
) -> CostAnswer:
    """The answer to `query` out of its sums."""
    stepped = len(ask.steps) > 1 or query.step not in {"none", ""}
    steps: Sequence[Window | None] = sums.steps if stepped else [None]
    items = [
        _item(list(parts), ask, step=steps[at[1]], prices=prices, clusters=clusters)
        for at, parts in groupby(sums.items, key=lambda part: (part["place"], part["bucket"]))
    ]
    total = _total(sums.totals)
    shown = sum((item.cost or Decimal(0) for item in items), Decimal(0))
    return CostAnswer(
        window=_window(query, ask, sums),
        currency=_currency(prices),
        by=list(ask.by),
        step=query.step,
        idle_mode=ask.idle,
        provisional=sums.plan.provisional,
        as_of=sums.plan.as_of,
        items=items,
        hidden=Hidden(count=sums.left_out, cost=_amount(sums.hidden, _cost)),
        total=total,
        steps=_steps(sums) if stepped else [],
        shares=_shares(sums.totals, total),
        page=Page(
            limit=ask.limit,
            offset=ask.offset,
            total=sums.found,
            rest=None if total.cost is None else total.cost - shown,
        ),
        links=_links(query),
        notes=_notes(sums, prices, now),
    )


def _item(
    parts: list[Part],
    ask: Ask,
    *,
    step: Window | None,
    prices: PriceRows,
    clusters: Mapping[str, str],
) -> CostItem:
    first = parts[0]
    keys = dict(zip(ask.by, first["keys"], strict=True))
    if "cluster" in keys:
        keys["cluster"] = clusters.get(keys["cluster"], keys["cluster"])
    bits = 0
    for part in parts:
        bits |= part["flags"]
    overcommit = max(part["overcommit"] for part in parts)
    has_idle = any(part["idle"] or part["idle_picos"] or part["share_picos"] for part in parts)
    ids = {ident for part in parts for ident in part["prices"]}
    return CostItem(
        keys=keys,
        reasons={name: why for name, why in zip(ask.by, first["why"], strict=True) if why},
        start=step.start if step else None,
        end=step.end if step else None,
        cost=_amount(parts, _cost),
        unused_cost=_amount(parts, _unused),
        idle=_amount(parts, _idle) if has_idle else None,
        unpriced={part["resource"]: part["unpriced"] for part in parts if part["unpriced"] > 0},
        resources={part["resource"]: _resource(part) for part in parts},
        efficiency=_efficiency(parts),
        overcommit=overcommit if overcommit > 1 else None,
        flags=[flag_word(flag) for flag in flags_in(bits)],
        price_sources=[_source(prices[i]) for i in sorted(ids) if i in prices],
        clusters=sorted({ident for part in parts for ident in part["clusters"]}),
    )


def _resource(part: Part) -> ResourceOf:
    name = part["resource"]
    return ResourceOf(
        unit=RESOURCE_UNITS.get(name, (f"{name}-hour", 1.0))[0],
        requested=part["requested"],
        used=part["used"] if part["covered"] > 0 or part["used"] > 0 else None,
        charged=part["charged"],
        unused=part["unused"],
        covered=part["covered"],
        alive=part["alive"],
        idle=part["idle"],
        cost=_amount([part], _cost),
        unused_cost=_amount([part], _unused),
        unpriced=part["unpriced"],
    )


def _cost(part: Part) -> int:
    return int(part["own_picos"]) + int(part["share_picos"])


def _unused(part: Part) -> int:
    return int(part["unused_picos"])


def _idle(part: Part) -> int:
    return int(part["idle_picos"]) + int(part["share_picos"])


def _amount(parts: Iterable[Part], picos: Any) -> Decimal | None:
    """The sum of what has a price; None where nothing has."""
    priced = [part for part in parts if part["priced"]]
    return from_picos(sum(picos(part) for part in priced)) if priced else None


def _efficiency(parts: Iterable[Part]) -> float | None:
    """Used ÷ requested of each resource, weighted by its own cost; where use is known."""
    known = [part for part in parts if part["known"] > 0 and part["own_picos"] > 0]
    weight = sum(part["own_picos"] for part in known)
    if not weight:
        return None
    used = (part["own_picos"] / weight * part["used_known"] / part["known"] for part in known)
    return float(sum(used))


def _total(parts: list[Part]) -> Total:
    has_idle = any(part["idle"] or part["idle_picos"] for part in parts)
    return Total(
        cost=_amount(parts, _cost),
        unused_cost=_amount(parts, _unused),
        idle=_amount(parts, lambda part: int(part["idle_picos"])) if has_idle else None,
        resources={part["resource"]: _resource(part) for part in parts},
        efficiency=_efficiency(parts),
    )


def _steps(sums: Sums) -> list[StepTotal]:
    by_step = {
        bucket: list(parts)
        for bucket, parts in groupby(
            sorted(sums.by_step, key=lambda part: int(part["bucket"])),
            key=lambda part: int(part["bucket"]),
        )
    }
    return [
        StepTotal(
            start=step.start,
            end=step.end,
            cost=_amount(by_step.get(number, []), _cost),
            idle=_amount(by_step.get(number, []), lambda part: int(part["idle_picos"])),
        )
        for number, step in enumerate(sums.steps)
    ]


def _shares(parts: list[Part], total: Total) -> dict[str, Share]:
    idle = _amount(parts, lambda part: int(part["idle_picos"]))
    return {
        "idle": _share("cost of idle", idle, total.cost),
        "unused": _share("cost of charged, not used", total.unused_cost, total.cost),
    }


def _share(numerator: str, value: Decimal | None, whole: Decimal | None) -> Share:
    share = float(value / whole) if value is not None and whole else None
    return Share(numerator=numerator, denominator="cost shown", value=value, share=share)


def _window(query: CostQuery, ask: Ask, sums: Sums) -> WindowOf:
    snapped = ""
    if sums.window != ask.window:
        snapped = (
            f"{format_instant(ask.window.start)} to {format_instant(ask.window.end)} was widened: "
            "minutes or hours so old are no longer kept"
        )
    return WindowOf(
        start=sums.window.start,
        end=sums.window.end,
        words=query.window,
        zone=query.zone,
        snapped=snapped,
    )


def _currency(prices: PriceRows) -> str:
    return next((row["currency"] for _, row in sorted(prices.items()) if row["currency"]), "")


def _source(row: Mapping[str, Any]) -> PriceSource:
    return PriceSource(
        book=row["book"],
        entry=row["entry"],
        source=row["source"],
        currency=row["currency"],
        estimate=bool(row["estimate"]),
        reason=row["reason"],
    )


def _links(query: CostQuery) -> Links:
    api = "/api/v1/costs"
    return Links(
        self=query.url(api),
        csv=query.url(api, format="csv"),
        cli=query.command(),
        page=query.url("/costs"),
    )


def _notes(sums: Sums, prices: PriceRows, now: datetime) -> list[str]:
    notes = []
    plan = sums.plan
    if plan.provisional:
        notes.append("A part of this window is provisional and may still change.")
    if plan.as_of is not None and sums.window.end > now - _LATE and now - plan.as_of > _LATE:
        notes.append(f"The newest hour was settled at {format_instant(plan.as_of)}.")
    if any(row["estimate"] for row in prices.values()):
        notes.append("Some prices are list-price estimates that nobody agreed to pay.")
    if any(part["unpriced"] > 0 for part in (*sums.totals, *sums.hidden)):
        notes.append("Some resources have no price; they are listed, and not in the money.")
    currencies = {row["currency"] for row in prices.values() if row["currency"]}
    if len(currencies) > 1:
        notes.append(f"Several currencies are added up as one: {', '.join(sorted(currencies))}.")
    return notes
