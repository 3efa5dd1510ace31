"""A small, deterministic store of settled costs for tests of doors, pages and the client.

Two clusters from 2026-11-28T00:00Z on, seen at NOW = 2026-11-30T12:30Z: two whole days rolled up,
twelve hours and the running, provisional one. Every kind, reason and flag occurs. The figures are
round: RATES are per unit-hour, QUANTITIES per hour, so a test can say what must come out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np

from seed_objects import versions
from seedance.facts.costs import Flag
from seedance.facts.inventory import Cluster, ClusterId
from seedance.facts.money import to_picos
from seedance.store.native import ArrayColumn, DecimalColumn
from seedance.store.objects import put_cluster, put_versions
from seedance.store.settles import (
    SettleRow,
    make_current,
    put_cost_hours,
    put_entities,
    put_prices,
    put_usage_minutes,
    roll_day,
)
from seedance.store.store import Store

START = datetime(2026, 11, 28, tzinfo=UTC)
NOW = datetime(2026, 11, 30, 12, 30, tzinfo=UTC)
PROD = "aaaaaaaa-0000-4000-8000-000000000001"
LAB = "bbbbbbbb-0000-4000-8000-000000000002"
RATES = {"cpu": Decimal("0.03"), "memory": Decimal("0.004"), "nvidia.com/gpu": Decimal(2)}
HOURS = int((NOW - START) / timedelta(hours=1)) + 1
"""Settled hours per cluster; the last of them holds 30 minutes."""
LENGTH = (NOW - START) / timedelta(hours=1)
"""How many hours of money there are: 60.5."""

_HOUR = timedelta(hours=1)


@dataclass(frozen=True)
class Thing:
    """An entity and what it takes each hour: resource to (requested, used, charged)."""

    number: int
    columns: dict[str, Any]
    takes: dict[str, tuple[float, float, float]]
    price: int = 1
    flags: int = 0
    reason: str = ""
    covered: float = 1.0
    overcommit: float = 0.0


def _pod(
    number: int,
    pod: str,
    *,
    cluster: str = PROD,
    node: str = "node-a",
    namespace: str,
    workload: tuple[str, str],
    team: tuple[str, str],
    container: str = "main",
    labels: dict[str, str] | None = None,
) -> dict[str, Any]:
    return {
        **_blank(number, cluster, "pod" if container == "(pod)" else "container", node),
        "namespace": namespace,
        "workload_kind": workload[0],
        "workload": workload[1],
        "workload_uid": f"w-{workload[1]}",
        "pod": pod,
        "pod_uid": f"u-{pod}",
        "container": container,
        "labels": labels or {},
        "label_origins": dict.fromkeys(labels or {}, "pod"),
        "team": team[0],
        "team_origin": team[1],
        "environment": "production" if namespace == "shop" else "",
        "environment_origin": "namespace:label env" if namespace == "shop" else "no-owner-key",
    }


def _blank(number: int, cluster: str, kind: str, node: str) -> dict[str, Any]:
    texts = (
        "namespace workload_kind workload workload_uid pod pod_uid container domain "
        "environment environment_origin team team_origin"
    )
    maps = "labels label_origins annotations annotation_origins"
    gpu = node == "node-b"
    return {
        "entity": number,
        "cluster": cluster,
        "kind": kind,
        "node": node,
        "node_uid": f"n-{cluster[:4]}-{node}" if node else "",
        "instance_type": "" if not node else "g5.2xlarge" if gpu else "m5.xlarge",
        "zone": "" if not node else "eu-1b" if gpu else "eu-1a",
        "capacity_type": "" if not node else "spot" if gpu else "on-demand",
        **dict.fromkeys(texts.split(), ""),
        **{name: {} for name in maps.split()},
        "domain_origin": "no-rules",
    }


KEY = ("", "no-owner-key")
THINGS: dict[str, tuple[Thing, ...]] = {
    PROD: (
        Thing(
            1,
            _pod(
                1,
                "api-1",
                namespace="shop",
                workload=("Deployment", "api"),
                team=("checkout", "workload:label team"),
                container="app",
                labels={"app": "api", "team": "checkout"},
            ),
            {"cpu": (1.0, 0.5, 1.0), "memory": (2.0, 1.5, 2.0)},
        ),
        Thing(
            2,
            _pod(
                2,
                "api-1",
                namespace="shop",
                workload=("Deployment", "api"),
                team=("checkout", "workload:label team"),
                container="(pod)",
                labels={"app": "api", "team": "checkout"},
            ),
            {"cpu": (0.25, 0.0, 0.25)},
            covered=0.0,
        ),
        Thing(
            3,
            _pod(
                3,
                "train-0",
                node="node-b",
                namespace="ml",
                workload=("Job", "train"),
                team=("vision", "pod:label team"),
                labels={"app": "train", "team": "vision"},
            ),
            {"cpu": (4.0, 5.0, 5.0), "memory": (8.0, 4.0, 8.0), "nvidia.com/gpu": (1.0, 0.25, 1.0)},
            flags=int(Flag.OVERCOMMITTED),
            overcommit=1.25,
        ),
        Thing(
            4,
            _pod(
                4,
                "batch-7",
                namespace="ml",
                workload=("Job", "batch"),
                team=KEY,
                labels={"app": "=batch"},
            ),
            {"cpu": (0.5, 0.0, 0.5)},
            flags=int(Flag.NO_METRICS | Flag.END_ESTIMATED),
            covered=0.0,
        ),
        Thing(
            5,
            _pod(5, "scratch", namespace="shop", workload=("Pod", "scratch"), team=KEY),
            {"cpu": (0.25, 0.125, 0.25), "example.com/fpga": (1.0, 0.0, 1.0)},
            flags=int(Flag.RESERVED_NOT_RUNNING | Flag.PARTIAL_METRICS),
            covered=0.5,
        ),
        Thing(6, _blank(6, PROD, "idle", "node-a"), {"cpu": (0, 0, 1.5), "memory": (0, 0, 13.0)}),
        Thing(
            7,
            _blank(7, PROD, "idle", "node-b"),
            {"cpu": (0, 0, 2.5), "memory": (0, 0, 23.0), "nvidia.com/gpu": (0, 0, 0.0)},
        ),
        Thing(8, _blank(8, PROD, "system", "node-a"), {"cpu": (0, 0, 0.5), "memory": (0, 0, 1.0)}),
        Thing(9, _blank(9, PROD, "system", "node-b"), {"cpu": (0, 0, 0.5), "memory": (0, 0, 1.0)}),
    ),
    LAB: (
        Thing(
            11,
            _pod(
                11,
                "web-1",
                cluster=LAB,
                namespace="ml",
                workload=("StatefulSet", "web"),
                team=("", "no-rules"),
                labels={"app": "web"},
            ),
            {"cpu": (1.0, 0.75, 1.0)},
        ),
        Thing(
            12,
            _pod(
                12,
                "old-1",
                cluster=LAB,
                node="node-x",
                namespace="ml",
                workload=("ReplicaSet", "old"),
                team=("", "no-rules"),
            ),
            {"cpu": (2.0, 1.0, 2.0)},
            price=3,
            flags=int(Flag.NODE_GONE),
            reason="no-matching-entry",
        ),
        Thing(
            13,
            _blank(13, LAB, "unattributed", "node-a"),
            {"cpu": (0, 0, 3.0)},
            reason="no-metrics",
        ),
        Thing(
            14,
            {**_blank(14, LAB, "unattributed", ""), "namespace": "gone"},
            {"cpu": (0, 0.5, 0.0)},
            price=4,
            reason="no-object",
        ),
    ),
}
PRICES: tuple[dict[str, Any], ...] = (
    {"price_id": 1, "currency": "USD", "book": "agreed", "entry": "m5", "source": "contract 7"},
    {"price_id": 2, "currency": "USD", "book": "list", "entry": "fpga", "source": "list price"},
    {"price_id": 3, "currency": "", "reason": "no-matching-entry"},
    {"price_id": 4, "currency": "", "reason": "no-object"},
)


def cost_per_hour(thing: Thing) -> Decimal:
    """What a thing costs an hour; unpriced resources add nothing."""
    if thing.price != 1:
        return Decimal(0)
    return sum(
        (Decimal(str(took[2])) * RATES.get(name, Decimal(0)) for name, took in thing.takes.items()),
        Decimal(0),
    )


def cost_of(*numbers: int, hours: float = LENGTH) -> Decimal:
    """What the things of these numbers cost over so many hours."""
    wanted = [thing for things in THINGS.values() for thing in things if thing.number in numbers]
    return sum((cost_per_hour(thing) for thing in wanted), Decimal(0)) * Decimal(str(hours))


def seed(store: Store) -> None:
    """Fills the store: clusters, objects, entities, prices, hours, minutes, days."""
    for ident, name in ((PROD, "prod"), (LAB, "lab")):
        put_cluster(store, Cluster(ClusterId(ident), name, START), now=NOW)
    everything = [thing.columns for things in THINGS.values() for thing in things]
    put_versions(store, list(versions(everything, start=START, gone_from=PROD)), now=NOW)
    put_entities(store, everything, now=NOW)
    empty = {"book": "", "entry": "", "source": "", "estimate": 0, "per_hour": {}, "reason": ""}
    put_prices(store, [{**empty, **row} for row in PRICES], now=NOW)
    starts = [START + number * _HOUR for number in range(HOURS)]
    put_hours(store, [(cluster, hour) for cluster in THINGS for hour in starts])
    for cluster in THINGS:
        for day in (START, START + timedelta(days=1)):
            settle_id = micros(day + timedelta(days=1, hours=2)) + (cluster == LAB)
            row = roll_day(store, cluster=cluster, day=day, settle_id=settle_id)
            assert row is not None
            make_current(store, row)


def put_hours(store: Store, hours: Sequence[tuple[str, datetime]], *, later: int = 0) -> None:
    """Settles hours of clusters up to NOW; `later` raises the settle ids, to settle anew."""
    rows, minutes, settles = [], [], []
    for cluster, hour in hours:
        settle_id = micros(hour + _HOUR) + (cluster == LAB) + later
        costs, grain, picos = _hour(THINGS[cluster], hour, settle_id)
        rows.append(costs)
        minutes.append(grain)
        settles.append(_settle(cluster, hour, settle_id, len(costs["entity"]), picos))
    put_cost_hours(store, _joined(rows))
    put_usage_minutes(store, _joined(minutes))
    names = [item.name for item in fields(SettleRow)]
    store.engine.insert(
        "settles", {name: [getattr(row, name) for row in settles] for name in names}
    )


def _hour(
    things: tuple[Thing, ...], hour: datetime, settle_id: int
) -> tuple[dict[str, Any], dict[str, Any], int]:
    minutes = min(60, int((NOW - hour) / timedelta(minutes=1)))
    rows = [(thing, name) for thing in things for name in thing.takes]
    rate = [RATES.get(name) if thing.price == 1 else None for thing, name in rows]
    part = Decimal(minutes) / 60
    takes = np.array([thing.takes[name] for thing, name in rows])
    covered = np.array([thing.covered for thing, _ in rows])
    unused = np.where(takes[:, 0] > 0, np.maximum(takes[:, 2] * covered - takes[:, 1], 0), 0)
    null = np.array([price is None for price in rate])
    count = len(rows)
    same = {
        "settle_id": np.full(count, settle_id, np.uint64),
        "hour": np.full(count, int(hour.timestamp()), np.uint32),
        "entity": np.array([thing.number for thing, _ in rows], np.uint64),
        "resource": [name for _, name in rows],
        "price_id": np.array([_price(thing, name) for thing, name in rows], np.uint64),
    }
    picos = _picos(takes[:, 2], rate, part)
    costs = {
        **same,
        "requested": takes[:, 0] * float(part),
        "used": takes[:, 1] * float(part),
        "charged": takes[:, 2] * float(part),
        "unused": unused * float(part),
        "covered": covered * float(part),
        "alive": np.full(count, float(part)),
        "cost": DecimalColumn(picos, null),
        "unused_cost": DecimalColumn(_picos(unused, rate, part), null),
        "overcommit": np.array([thing.overcommit for thing, _ in rows], np.float32),
        "flags": np.array([thing.flags for thing, _ in rows], np.uint32),
        "reason": [_reason(thing, name) for thing, name in rows],
    }
    on = (np.arange(60) < minutes).astype(np.float32)
    grain = {
        **same,
        "requested": _minutes(takes[:, 0], on),
        "used": _minutes(takes[:, 1], on),
        "charged": _minutes(takes[:, 2], on),
        "covered": ArrayColumn(np.outer(covered * 60, on).astype(np.uint8), 60),
    }
    return costs, grain, int(picos.sum())


def _picos(amounts: np.ndarray, rate: list[Decimal | None], part: Decimal) -> np.ndarray:
    priced = [
        to_picos(Decimal(str(amount)) * price * part) if price else 0
        for amount, price in zip(amounts, rate, strict=True)
    ]
    return np.array(priced, np.int64)


def _joined(blocks: list[dict[str, Any]]) -> dict[str, Any]:
    return {name: _joined_column([block[name] for block in blocks]) for name in blocks[0]}


def _joined_column(parts: list[Any]) -> Any:
    if isinstance(parts[0], DecimalColumn):
        return DecimalColumn(
            np.concatenate([part.picos for part in parts]),
            np.concatenate([part.null for part in parts]),
        )
    if isinstance(parts[0], ArrayColumn):
        return ArrayColumn(np.concatenate([part.values for part in parts]), 60)
    if isinstance(parts[0], list):
        return [value for part in parts for value in part]
    return np.concatenate(parts)


def micros(at: datetime) -> int:
    """A settle id of that instant."""
    return int(at.timestamp()) * 1_000_000


def _settle(cluster: str, hour: datetime, settle_id: int, count: int, picos: int) -> SettleRow:
    ended = min(hour + _HOUR, NOW)
    cost = Decimal(picos).scaleb(-12)
    return SettleRow(
        cluster=cluster,
        start=hour,
        seconds=3600,
        settle_id=settle_id,
        provisional=hour + _HOUR > NOW,
        began=ended,
        ended=ended + timedelta(seconds=2),
        rows=count,
        node_cost=cost,
        row_cost=cost,
    )


def _price(thing: Thing, resource: str) -> int:
    return 2 if resource not in RATES else thing.price


def _reason(thing: Thing, resource: str) -> str:
    return thing.reason or ("" if resource in RATES else "no-resource-price")


def _minutes(per_minute: np.ndarray, on: np.ndarray) -> ArrayColumn:
    return ArrayColumn(np.outer(per_minute, on).astype(np.float32), 60)
