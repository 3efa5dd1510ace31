"""A test language for costs: nodes, pods and samples in, rows per (member, resource) out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import count

import numpy as np

from seedance.costs import hour as hours
from seedance.costs import ledger as ledgers
from seedance.costs import rows as row_blocks
from seedance.costs.epochs import PriceOf, alive_span, node_epochs
from seedance.costs.hour import NodeHour, Use
from seedance.costs.lives import FAR, Life, millis
from seedance.costs.minutes import Grid, Lanes, MinuteUse, minute_use
from seedance.facts.costs import Flag
from seedance.facts.inventory import Container, Node, Pod
from seedance.facts.money import from_picos
from seedance.facts.prices import NodePrice, Unpriced
from seedance.facts.samples import SampleColumns
from seedance.facts.window import Window

GIB = float(2**30)
START = datetime(2026, 11, 1, tzinfo=UTC)
GAP_MS = 300_000


def at(minutes: float) -> datetime:
    """Minutes after the scene's start."""
    return START + timedelta(minutes=minutes)


def per_unit(**prices: float | str) -> PriceOf:
    """A price per unit-hour of each resource (`cpu`, `memory`, `gpu`), for ever."""
    names = {"gpu": "nvidia.com/gpu"}

    def price_of(node: Node, window: Window) -> Sequence[tuple[Window, NodePrice | Unpriced]]:
        amounts = []
        for name, price in prices.items():
            resource = names.get(name, name)
            units = node.capacity.get(resource, 0.0) / (GIB if resource == "memory" else 1)
            amounts.append((resource, Decimal(str(price)) * Decimal(repr(units))))
        return [(window, NodePrice(tuple(amounts), "USD", "book", "entry", "test", estimate=False))]

    return price_of


@dataclass
class Row:
    """One result row, quantities in resource-hours."""

    who: str
    resource: str
    cost: Decimal | None
    requested: float
    used: float
    charged: float
    unused: float
    overcommit: float
    flags: Flag
    reason: str


@dataclass
class Scene:
    """Collects nodes and pods; `settle` gives the rows of hours."""

    price_of: PriceOf
    nodes: list[Life[Node]] = field(default_factory=list)
    pods: list[Life[Pod]] = field(default_factory=list)
    samples: dict[tuple[str, str, str], list[tuple[float, float]]] = field(default_factory=dict)
    node_costs: Decimal = Decimal(0)
    violations: list[str] = field(default_factory=list)
    _uid: count[int] = field(default_factory=count)

    def node(
        self,
        name: str = "n",
        *,
        cpu: float = 4,
        memory_gib: float = 16,
        gpu: float = 0,
        kept_back: Mapping[str, float] | None = None,
        born: float = 0,
        dies: float | None = None,
    ) -> None:
        capacity = {"cpu": cpu, "memory": memory_gib * GIB}
        if gpu:
            capacity["nvidia.com/gpu"] = gpu
        back = {k: v * (GIB if k == "memory" else 1) for k, v in (kept_back or {}).items()}
        allocatable = {k: v - back.get(k, 0.0) for k, v in capacity.items()}
        facts = Node(created=at(born), capacity=capacity, allocatable=allocatable)
        end = FAR if dies is None else millis(at(dies))
        uid = f"node-{next(self._uid)}"
        versions = ((millis(at(born)), facts),)
        self.nodes.append(Life(uid, "", name, "Node", versions, end, estimated=False))

    def pod(
        self,
        name: str,
        *,
        node: str = "n",
        containers: Sequence[Container] | None = None,
        scheduled: float = 0,
        finished: float | None = None,
        deletion: float | None = None,
        gone: float | None = None,
        estimated: bool = False,
        effective: Mapping[str, float] | None = None,
        **requests: float,
    ) -> None:
        if containers is None:
            containers = [a_container("main", started=scheduled, **requests)]
        own: dict[str, float] = {}
        for one in containers:
            for resource, amount in one.requests.items():
                own[resource] = own.get(resource, 0.0) + (amount if one.type != "init" else 0.0)
        facts = Pod(
            created=at(scheduled),
            node=node,
            phase="Succeeded" if finished is not None else "Running",
            scheduled=at(scheduled),
            finished=None if finished is None else at(finished),
            deletion=None if deletion is None else at(deletion),
            effective=dict(effective) if effective is not None else own,
            containers=tuple(containers),
        )
        uid = f"{name}-{next(self._uid)}"
        end = FAR if gone is None else millis(at(gone))
        versions = ((millis(at(scheduled)), facts),)
        self.pods.append(Life(uid, "ns", name, "Pod", versions, end, estimated=estimated))

    def use(
        self, pod: str, resource: str, *points: tuple[float, float], container: str = "main"
    ) -> None:
        """Samples (minute, value): cumulative core-seconds for cpu, bytes for memory."""
        self.samples[pod, container, resource] = list(points)

    def steady(self, pod: str, *, cpu: float = 0, memory_gib: float = 0, minutes: int = 60) -> None:
        """A sample a minute of constant use."""
        ticks = range(minutes + 1)
        self.use(pod, "cpu", *((m, cpu * 60 * m) for m in ticks))
        self.use(pod, "memory", *((m, memory_gib * GIB) for m in ticks))

    def settle(self, *, hours_: int = 1, until: float | None = None) -> list[Row]:
        start, end = millis(START), millis(at(60 * hours_))
        book = ledgers.build(self.pods, self.nodes, start=start, end=end)
        use = self._use(book, Grid(start, 60 * hours_))
        rows: list[Row] = []
        for number in range(hours_):
            grid = Grid(start + number * 3_600_000, 60)
            limit = end if until is None else millis(at(until))
            rows += self._hour(book, use, grid, limit)
        return rows

    def _use(self, book: ledgers.Ledger, grid: Grid) -> Use:
        found = {}
        for resource in ledgers.MEASURED:
            out = MinuteUse.empty(len(book.members), grid.minutes)
            for number, member in enumerate(book.members):
                place = book.places[member.place]
                points = self.samples.get((place.life.name, member.container, resource))
                if not points:
                    continue
                lanes = Lanes(
                    *(np.array([v]) for v in (1, place.span.start, place.span.end, member.began))
                )
                ts = np.array([millis(at(m)) for m, _ in points])
                columns = SampleColumns(
                    np.ones(len(ts), np.int64), ts, np.array([float(v) for _, v in points])
                )
                one = minute_use(
                    columns, lanes, grid=grid, gap_ms=GAP_MS, counter=resource == "cpu"
                )
                out.used[number], out.known[number] = one.used[0], one.known[0]
            found[resource] = out
        return Use(grid.start_ms, found)

    def _hour(self, book: ledgers.Ledger, use: Use, grid: Grid, until: int) -> list[Row]:
        names = {
            i: f"{book.places[m.place].life.name}/{m.container}" for i, m in enumerate(book.members)
        }
        nodes, own = [], {}
        for i, life in enumerate(book.nodes):
            assert life is not None
            base = 10_000 + 3 * i
            own |= {
                base: f"{life.name}:idle",
                base + 1: f"{life.name}:system",
                base + 2: f"{life.name}:unattributed",
            }
            epochs = node_epochs(life, self.price_of, start=grid.start_ms, end=grid.end_ms)
            alive = alive_span(life, watched_from=0)
            nodes.append(NodeHour(tuple(epochs), alive, True, base, base + 1, base + 2))
        rows: list[Row] = []
        for run in hours.runs(book, nodes):
            for cells, containers, node_rows in hours.settle_run(
                book,
                use,
                nodes,
                run=run,
                hour=grid,
                until=until,
                entity=np.arange(len(book.members), dtype=np.uint64),
                gap_seconds=GAP_MS / 1000,
            ):
                self.violations += row_blocks.violations(cells, containers, node_rows)
                costs = row_blocks.node_costs(cells)
                self.node_costs += from_picos(int(costs[cells.priced].sum()))
                rows += _rows(containers, names, book.resources)
                rows += _rows(node_rows, own, book.resources)
        return rows


def _rows(
    block: row_blocks.RowBlock, names: Mapping[int, str], resources: Sequence[str]
) -> list[Row]:
    return [
        Row(
            who=names[int(block.entity[i])],
            resource=resources[block.resource[i]],
            cost=from_picos(int(block.picos[i])) if block.priced[i] else None,
            requested=float(block.requested[i]),
            used=float(block.used[i]),
            charged=float(block.charged[i]),
            unused=float(block.unused[i]),
            overcommit=float(block.overcommit[i]),
            flags=Flag(int(block.flags[i])),
            reason=str(block.reason[i]),
        )
        for i in range(len(block))
    ]


def a_container(
    name: str = "main",
    *,
    type: str = "app",  # noqa: A002  # the field's own name
    started: float | None = 0,
    finished: float | None = None,
    cpu: float = 0,
    memory_gib: float = 0,
    gpu: float = 0,
    limits: Mapping[str, float] | None = None,
) -> Container:
    requests = {"cpu": cpu, "memory": memory_gib * GIB, "nvidia.com/gpu": gpu}
    return Container(
        name=name,
        type=type,  # type: ignore[arg-type]
        requests={k: v for k, v in requests.items() if v},
        limits=dict(limits or {}),
        started=None if started is None else at(started),
        finished=None if finished is None else at(finished),
    )


def total(rows: Sequence[Row], who: str = "", resource: str = "") -> Decimal:
    """Sum of the costs of rows whose `who` starts with the text."""
    mine = [r for r in rows if r.who.startswith(who) and resource in ("", r.resource)]
    return sum((r.cost for r in mine if r.cost is not None), Decimal(0))
