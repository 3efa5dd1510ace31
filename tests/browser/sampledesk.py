"""A desk that answers from the sample world, in the shapes of `flows.reporting.answers`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from browser.sampleobjects import objects
from browser.samplestatus import status
from browser.sampleworld import PRICES, UNITS, Entity, entities
from seedance.facts.costquery import CostQuery, parse_dimensions
from seedance.facts.errors import NoDataError, NotFoundError
from seedance.facts.filters import Comparison, parse_filters
from seedance.facts.window import HOUR, Window, floor_hour
from seedance.facts.windowwords import midnight, parse_window
from seedance.flows.reporting import answers as a

NOW = datetime(2026, 11, 30, 20, 14, tzinfo=UTC)
SINCE = datetime(2026, 11, 3, tzinfo=UTC)


@dataclass
class Cut:
    """A stretch of the window and how many hours of day and night it holds."""

    start: datetime | None
    end: datetime | None
    day: float
    night: float


class SampleDesk:
    """Answers for pictures and tests."""

    def __init__(self, world: Sequence[Entity] | None = None, now: datetime = NOW) -> None:
        self.world = list(world if world is not None else entities())
        self.at = now
        self.as_of = now - timedelta(seconds=50)
        self.status_answer = status(self.at)

    def now(self) -> datetime:
        return self.at

    def costs(self, query: CostQuery) -> a.CostAnswer:
        window = parse_window(query.window, now=self.at, zone=query.zone)
        if window.end <= SINCE:
            raise NoDataError(
                "nothing was settled in this window", hint="figures begin on 3 Nov 2026"
            )
        by = parse_dimensions(query.by)
        tests = parse_filters(query.filters)
        shown = [one for one in self.world if all(_holds(one, t) for t in tests)]
        hidden = [one for one in self.world if one not in shown]
        whole = _cuts(window, "none", query.zone)[0]
        groups = _grouped(shown, by)
        keyed = {key: _item(key, members, whole, by) for key, members in groups.items()}
        order, down = _order(query.sort), query.sort.startswith("-")
        ranked = sorted(keyed, key=lambda key: order(keyed[key]), reverse=down)
        chosen = ranked[query.offset : query.offset + query.limit]
        cuts = _cuts(window, query.step, query.zone)
        page = [_item(key, groups[key], cut, by) for key in chosen for cut in cuts]
        total = _item((), shown, whole, ())
        rest = sum((keyed[key].cost or 0 for key in ranked if key not in chosen), Decimal(0))
        out = _item((), hidden, whole, ()).cost if hidden else None
        return a.CostAnswer(
            window=a.WindowOf(
                start=window.start, end=window.end, words=query.window, zone=query.zone
            ),
            currency="USD",
            by=list(by),
            step=query.step,
            idle_mode=query.idle,
            provisional=window.end > self.at - timedelta(hours=1),
            as_of=self.as_of,
            items=page,
            hidden=a.Hidden(count=len(hidden), cost=out),
            total=a.Total(
                cost=total.cost,
                unused_cost=total.unused_cost,
                idle=total.idle,
                resources=total.resources,
                efficiency=total.efficiency,
            ),
            shares=_shares(shown, whole, total.cost),
            page=a.Page(
                limit=query.limit, offset=query.offset, total=len(ranked), rest=rest or None
            ),
            links=a.Links.model_validate(
                {"self": query.url("/api/v1/costs"), "csv": "", "cli": "", "page": ""}
            ),
        )

    def objects(
        self,
        kind: str,
        *,
        at: datetime,
        cluster: str = "",
        namespace: str = "",
        limit: int = 100,
        offset: int = 0,
    ) -> a.ObjectList:
        found = [
            one
            for one in objects(self.world, kind)
            if (not cluster or cluster == one.cluster_name)
            and (not namespace or namespace == one.namespace)
        ]
        page = a.Page(limit=limit, offset=offset, total=len(found))
        return a.ObjectList(kind=kind, at=at, items=found[offset : offset + limit], page=page)

    def describe(
        self, kind: str, name: str, *, at: datetime, cluster: str = "", namespace: str = ""
    ) -> a.Description:
        for one in self.objects(
            kind, at=at, cluster=cluster, namespace=namespace, limit=9999
        ).items:
            if one.name == name:
                return self._described(kind, one, at)
        raise NotFoundError(f"no {kind} named {name!r} was ever seen")

    def _described(self, kind: str, one: a.ObjectItem, at: datetime) -> a.Description:
        key = {"workloads": "workload", "nodes": "node", "namespaces": "namespace"}.get(kind, "pod")
        pods = [
            item
            for item in objects(self.world, "pods")
            if item.facts["keys"].get(key) == one.name and item.cluster == one.cluster
        ]
        older = one.model_copy(update={"until": one.since, "since": one.since - timedelta(hours=5)})
        return a.Description(
            kind=kind,
            at=at,
            object=one,
            versions=[older, one],
            containers=list(one.facts.get("containers", [])),
            cost=None,
            related=pods if kind != "pods" else [],
        )

    def status(self) -> a.StatusAnswer:
        return self.status_answer


def _holds(entity: Entity, test: Comparison) -> bool:
    value = entity.keys.get(test.dimension, "")
    compare: dict[str, Callable[[str], bool]] = {
        "equals": value.__eq__,
        "contains": value.__contains__,
        "starts": value.startswith,
        "ends": value.endswith,
    }
    return any(compare[test.operator](one) for one in test.values) != test.negated


def _grouped(
    world: Sequence[Entity], by: Sequence[str]
) -> dict[tuple[str, ...], list[tuple[Entity, str]]]:
    found: dict[tuple[str, ...], list[tuple[Entity, str]]] = {}
    for one in world:
        for resource in one.requested:
            key = tuple(resource if d == "resource" else one.keys.get(d, "") for d in by)
            found.setdefault(key, []).append((one, resource))
    return found


def _cuts(window: Window, step: str, zone: str) -> list[Cut]:
    starts = list(_starts(window, step, zone))
    ends = [*starts[1:], window.end]
    found = []
    for start, end in zip(starts, ends, strict=True):
        day, night = _hours(max(start, SINCE), end) if end > SINCE else (0.0, 0.0)
        if day + night:
            found.append(
                Cut(start, end, day, night) if step != "none" else Cut(None, None, day, night)
            )
    return found


def _starts(window: Window, step: str, zone: str) -> Iterator[datetime]:
    place = ZoneInfo(zone)
    at = window.start
    while at < window.end:
        yield at
        if step == "none":
            return
        if step == "hour":
            at = floor_hour(at) + HOUR
        elif step in {"day", "week", "month"}:
            at = midnight(at, place, days={"day": 1, "week": 7, "month": 30}[step])
        else:
            at += timedelta(minutes=5)


def _hours(start: datetime, end: datetime) -> tuple[float, float]:
    day = night = 0.0
    at = start
    while at < end:
        after = min(floor_hour(at) + HOUR, end)
        length = (after - at).total_seconds() / 3600
        weight = 1 - 0.15 * (at.weekday() >= 5)
        if 7 <= at.hour < 20:
            day += length * weight
        else:
            night += length * weight
        at = after
    return day, night


def _item(
    key: tuple[str, ...],
    members: Sequence[tuple[Entity, str]] | Sequence[Entity],
    cut: Cut,
    by: Sequence[str],
) -> a.CostItem:
    pairs = [
        pair
        for one in members
        for pair in ([one] if isinstance(one, tuple) else [(one, r) for r in one.requested])
    ]
    resources: dict[str, a.ResourceOf] = {}
    for name in dict.fromkeys(resource for _, resource in pairs):
        resources[name] = _resource(name, [one for one, r in pairs if r == name], cut)
    entities_ = [one for one, _ in pairs]
    idle = sum(
        (_money(one.requested[r] * _length(one, cut) * PRICES[r])
         for one, r in pairs if one.keys["kind"] == "idle"), Decimal(0))  # fmt: skip
    cost = sum((part.cost or Decimal(0) for part in resources.values()), Decimal(0))
    unused = sum((part.unused_cost or Decimal(0) for part in resources.values()), Decimal(0))
    named = dict(zip(by, key, strict=True))
    charged = [p for n, p in resources.items() if p.used is not None]
    asked = sum(p.requested * PRICES[n] for n, p in resources.items() if p.used is not None)
    use = sum((p.used or 0) * PRICES[n] for n, p in resources.items() if p.used is not None)
    reasons = {d: r for one in entities_ for d, r in one.reasons.items() if d in by or d == "kind"}
    return a.CostItem(
        keys=named,
        reasons=reasons,
        start=cut.start,
        end=cut.end,
        cost=cost,
        unused_cost=unused,
        idle=idle or None,
        resources=resources,
        efficiency=use / asked if charged and asked else None,
        flags=sorted({flag for one in entities_ for flag in one.flags}),
        price_sources=[
            a.PriceSource(
                book="list-prices",
                entry=one.keys["instanceType"],
                source="AWS on-demand, eu-central-1, 2026-10",
                currency="USD",
                estimate=True,
            )
            for one in {one.keys["instanceType"]: one for one in entities_}.values()
        ],
        clusters=sorted({one.keys["cluster"] for one in entities_}),
    )


def _length(one: Entity, cut: Cut) -> float:
    return cut.day + cut.night * one.night


def _resource(name: str, members: Sequence[Entity], cut: Cut) -> a.ResourceOf:
    requested = sum(one.requested[name] * _length(one, cut) for one in members)
    known = [one for one in members if one.used.get(name) is not None]
    used = sum((one.used[name] or 0) * _length(one, cut) for one in known)
    charged = requested
    unused = sum((one.requested[name] - (one.used[name] or 0)) * _length(one, cut) for one in known)
    aside = all(one.keys["kind"] != "container" for one in members)
    hours = sum(_length(one, cut) for one in members)
    return a.ResourceOf(
        unit=UNITS[name],
        requested=0 if aside else requested,
        used=used if known else None,
        charged=0 if aside else charged,
        unused=unused,
        covered=sum(_length(one, cut) for one in known),
        alive=0 if aside else hours,
        idle=requested if aside else 0,
        cost=_money(requested * PRICES[name]),
        unused_cost=_money(unused * PRICES[name]),
    )


def _money(value: float) -> Decimal:
    return Decimal(f"{value:.12f}")


def _order(sort: str) -> Callable[[a.CostItem], Any]:
    name = sort.lstrip("-")
    if name == "name":
        return lambda item: tuple(item.keys.values())
    field = {"unusedCost": "unused_cost"}.get(name, name)
    return lambda item: getattr(item, field) or 0


def _shares(shown: Sequence[Entity], whole: Cut, cost: Decimal | None) -> dict[str, a.Share]:
    found = {}
    for kind, numerator in (("idle", "cost of idle"),):
        part = _item((), [one for one in shown if one.keys["kind"] == kind], whole, ()).cost
        share = float((part or 0) / cost) if cost else None
        found[kind] = a.Share(
            numerator=numerator, denominator="cost shown", value=part, share=share
        )
    return found
