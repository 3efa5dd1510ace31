"""Settle: facts of an hour become cost rows, and the rows become current together.

Which hours are due → the ledger of all of them → block by block the use of their containers → hour
by hour the rows of each run of nodes → written under a new settle id → one row makes them current.
Days are rolled up from their hours. Settling twice changes nothing; late facts make hours due
again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal

import structlog

from seedance.costs import hour, rows
from seedance.costs.book import Book
from seedance.costs.hour import Use
from seedance.costs.lives import millis
from seedance.costs.minutes import MINUTE_MS, Grid
from seedance.costs.strays import Stray, stray_rows
from seedance.facts.costs import Reason
from seedance.facts.inventory import Cluster, ClusterId
from seedance.facts.money import from_picos
from seedance.facts.window import DAY, HOUR, Window, floor_day, floor_hour
from seedance.flows.settling.costset import CostSet
from seedance.flows.settling.gather import Gatherer
from seedance.manifests.load import Manifests
from seedance.store import objects, settles
from seedance.store.settles import SettleRow
from seedance.store.store import Store

FINAL_AFTER = timedelta(minutes=5)
"""How long after its end an hour stays provisional: senders may be behind for that long."""

BLOCK_HOURS = 2
"""Hours whose use is held at once: 50,000 containers × 120 minutes × 2 resources = 72 MB."""

RANGE_HOURS = 24
"""Neighbouring hours that share one reading of the inventory."""

NOWHERE = ClusterId("__unattributed__")
"""The cluster of samples that name none of the clusters that are watched."""

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class SettleResult:
    """What settling one hour of one cluster gave; `violations` says which invariants broke."""

    cluster: str
    start: datetime
    settle_id: int
    provisional: bool
    rows: int
    cost: Decimal
    seconds: float
    violations: tuple[str, ...]


@dataclass(slots=True)
class Settler:
    """Settles one store's hours.

    `manifests` may be replaced between calls (the hours it concerns must then be marked dirty);
    `gap` is the longest time between samples across which use is known.
    """

    store: Store
    manifests: Manifests
    gap: timedelta = timedelta(minutes=5)
    threads: int = 2
    _last_id: int = 0
    _gatherer: Gatherer = field(init=False)

    def __post_init__(self) -> None:
        gap_ms = int(self.gap.total_seconds() * 1000)
        self._gatherer = Gatherer(self.store, gap_ms=gap_ms, threads=self.threads)

    def due(self, cluster: Cluster, now: datetime) -> list[datetime]:
        """Hours of a cluster that want settling at `now`, oldest first, the running one last."""
        first, running = floor_hour(cluster.first_seen), floor_hour(now)
        window = Window(first, running + HOUR)
        settled = {
            row.start
            for row in settles.current_settles(self.store, cluster=cluster.id, window=window)
        }
        waiting = set(settles.dirty_hours(self.store, cluster=cluster.id, before=now))
        waiting |= {start for start in window.hours() if start not in settled}
        waiting.add(running)
        return sorted(start for start in waiting if first <= start <= running)

    def settle_due(self, now: datetime, *, most: int = 48) -> list[SettleResult]:
        """Settle what is due, at most `most` hours a cluster; days that are complete follow."""
        results: list[SettleResult] = []
        known = objects.clusters(self.store)
        nowhere = self._nowhere(known, now)
        for cluster in (*known, *([nowhere] if nowhere else [])):
            hours = self.due(cluster, now)
            chosen = hours[-1:] + hours[:-1][: most - 1]  # the running hour never waits
            for part in _neighbours(sorted(chosen)):
                results += self.settle(cluster, part, now)
            self.roll_days(cluster.id, sorted({floor_day(start) for start in chosen}), now)
        return results

    def settle(
        self, cluster: Cluster, hours: Sequence[datetime], now: datetime
    ) -> list[SettleResult]:
        """Settle neighbouring hours of a cluster from what is known at `now`."""
        window = Window(hours[0], hours[-1] + HOUR)
        book = Book.of(  # the versions are not kept: the book has what it needs of them
            cluster,
            objects.lives_in(self.store, cluster=cluster.id, window=window),
            window,
            self.manifests,
        )
        results = []
        with ThreadPoolExecutor(1) as ahead, ThreadPoolExecutor(1) as writer:
            blocks = self._blocks(cluster, book, hours, now)
            waiting = ahead.submit(next, blocks, None)
            while (got := waiting.result()) is not None:
                waiting = ahead.submit(next, blocks, None)  # read while this one is settled
                results += [
                    self._settle_hour(book, start, got[1], writer=writer, now=now)
                    for start in got[0]
                ]
        return results

    def _blocks(
        self, cluster: Cluster, book: Book, hours: Sequence[datetime], now: datetime
    ) -> Iterator[tuple[Sequence[datetime], tuple[Use, Sequence[Stray]]]]:
        """Blocks of hours with their use; from earlier settles where the samples have expired."""
        plan = self._gatherer.plan(
            book.ledger,
            clusters=self._names_of(cluster, objects.clusters(self.store)),
            series=self._gatherer.series(),
        )
        blocks = [hours[at : at + BLOCK_HOURS] for at in range(0, len(hours), BLOCK_HOURS)]
        expired = now - timedelta(days=self.store.retention.raw_days)
        old = [block for block in blocks if block[0] < expired]
        for block in old:
            yield (
                block,
                (self._gatherer.kept_use(book.ledger, _grid(block), cluster=cluster.id), []),
            )
        live = blocks[len(old) :]
        for block, use in zip(
            live, self._gatherer.uses(plan, [_grid(block) for block in live]), strict=False
        ):
            yield block, (use, self._gatherer.strays(plan, _grid(block)))

    def _names_of(self, cluster: Cluster, known: Sequence[Cluster]) -> list[str]:
        """What a sample's cluster may read: id, name, and nothing where there is only one.

        Of no cluster, it is every word that names none of those that are known.
        """
        if cluster.id != NOWHERE:
            return [cluster.id, cluster.name, *([""] if len(known) == 1 else [])]
        words = {word for columns in self._gatherer.series().values() for word in columns.cluster}
        ours = {name for one in known for name in self._names_of(one, known)}
        return sorted(words - ours)

    def _nowhere(self, known: Sequence[Cluster], now: datetime) -> Cluster | None:
        """The cluster without a name, if there are samples that belong to no other."""
        first = min((one.first_seen for one in known), default=floor_hour(now) - DAY)
        nowhere = Cluster(NOWHERE, NOWHERE, first)
        return nowhere if self._names_of(nowhere, known) else None

    def _settle_hour(
        self,
        book: Book,
        start: datetime,
        gathered: tuple[Use, Sequence[Stray]],
        *,
        writer: Executor,
        now: datetime,
    ) -> SettleResult:
        self._last_id = settles.next_settle_id(now, last=self._last_id)
        grid, until = Grid(millis(start), 60), min(millis(start + HOUR), millis(now))
        use, strays = gathered
        cost_set = CostSet(self.store, settle_id=self._last_id, hour=start, now=now, writer=writer)
        nodes = book.nodes_in(grid)
        members = book.members_in(grid)
        cost_set.entities(book.new_entities())
        settles.put_prices(self.store, book.price_rows, now=now)
        found: list[str] = []
        for run in hour.runs(book.ledger, nodes):
            for cells, containers, own in hour.settle_run(
                book.ledger,
                use,
                nodes,
                run=run,
                hour=grid,
                until=until,
                entity=members,
                gap_seconds=self.gap.total_seconds(),
            ):
                found += rows.violations(cells, containers, own)
                cost_set.node_cost(rows.node_costs(cells)[cells.priced])
                cost_set.rows(containers, book.ledger.resources)
                cost_set.rows(own, book.ledger.resources)
        block, entities = stray_rows(
            strays,
            cluster=book.cluster.id,
            reason=str(Reason.NO_CLUSTER if book.cluster.id == NOWHERE else Reason.NO_OBJECT),
            resources=book.ledger.resources,
            first_minute=(grid.start_ms - use.start_ms) // MINUTE_MS,
        )
        cost_set.entities(entities)
        cost_set.rows(block, book.ledger.resources)
        cost_set.finish()
        return self._make_current(book.cluster.id, cost_set, found, now)

    def _make_current(
        self, cluster: str, cost_set: CostSet, found: Sequence[str], now: datetime
    ) -> SettleResult:
        provisional = now < cost_set.hour + HOUR + FINAL_AFTER
        row = SettleRow(
            cluster=cluster,
            start=cost_set.hour,
            seconds=3600,
            settle_id=cost_set.settle_id,
            provisional=provisional,
            began=now,
            ended=now + timedelta(seconds=cost_set.elapsed()),
            rows=cost_set.count,
            node_cost=from_picos(cost_set.node_picos),
            row_cost=from_picos(cost_set.row_picos),
            violations=len(found),
            violation_text="; ".join(sorted(set(found)))[:500],
        )
        settles.make_current(self.store, row)
        if found:
            log.error(
                "invariant broken", cluster=cluster, hour=cost_set.hour.isoformat(), what=found[0]
            )
        return SettleResult(
            cluster=cluster,
            start=cost_set.hour,
            settle_id=cost_set.settle_id,
            provisional=provisional,
            rows=cost_set.count,
            cost=row.row_cost,
            seconds=cost_set.elapsed(),
            violations=tuple(found),
        )

    def roll_days(self, cluster: str, days: Sequence[datetime], now: datetime) -> None:
        """Roll up the days that are over and of which hours were settled."""
        for day in days:
            if day + DAY > now:
                continue
            self._last_id = settles.next_settle_id(now, last=self._last_id)
            row = settles.roll_day(self.store, cluster=cluster, day=day, settle_id=self._last_id)
            if row is not None:
                settles.make_current(self.store, row)


def _grid(block: Sequence[datetime]) -> Grid:
    return Grid(millis(block[0]), 60 * len(block))


def _neighbours(hours: Sequence[datetime]) -> Iterator[list[datetime]]:
    """Hours in runs without gaps, none longer than RANGE_HOURS."""
    run: list[datetime] = []
    for start in hours:
        if run and (start != run[-1] + HOUR or len(run) == RANGE_HOURS):
            yield run
            run = []
        run.append(start)
    if run:
        yield run
