"""Usage without Prometheus: kubelets are read where no remote write arrives for a node.

The flow, every round: which nodes run pods, and for which of those pods are samples fresh → the
nodes without any are read through the API server's proxy, some at a time → the text goes to the
recorder as it came. A node that fails is asked less and less often; one for which remote write
begins is left alone from the next round on.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol
from urllib.parse import quote

import structlog

from seedance.facts.errors import SeedanceError
from seedance.facts.rejections import Accepted
from seedance.facts.samples import Door
from seedance.flows.watching.inventory import Inventory
from seedance.intake.kubelet import wrap
from seedance.intake.kubernetes import Connection

log = structlog.get_logger()

USUAL_PATH = "/metrics/resource"
_SAFE_PATH = re.compile(r"(?:/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+")
_LONGEST_PAUSE = timedelta(minutes=5)
_NODE_TIMEOUT = 10.0


class SampleSink(Protocol):
    """What is needed of the recorder."""

    def accept(self, body: bytes, *, door: Door, cluster: str, now: datetime) -> Accepted:
        """Take a body."""

    def fresh_pods(self, cluster_names: Collection[str], since: datetime) -> set[tuple[str, str]]:
        """Namespace and name of pods with samples of remote write newer than `since`."""


@dataclass(frozen=True, slots=True)
class ScrapeSettings:
    """How kubelets are read.

    Attributes:
        every: seconds between rounds, 15 to 60.
        at_once: kubelets that are read at the same time.
        fresh: how recent a pod's samples of remote write must be to leave its node alone.
    """

    every: float = 30.0
    at_once: int = 10
    fresh: timedelta = timedelta(minutes=3)


@dataclass(frozen=True, slots=True)
class NodeScrape:
    """How reading one kubelet goes. `failures` are those in a row, `next_try` after them."""

    node: str
    last_success: datetime | None
    samples: int
    error: str
    failures: int
    next_try: datetime | None


@dataclass(frozen=True, slots=True)
class ScrapeState:
    """How the kubelets of one cluster are read.

    Always healthy: a server without kubelets still serves and records. `reason` says what fails.
    `covered` counts nodes that are left alone since remote write arrives for them.
    """

    cluster_name: str
    healthy: bool
    reason: str
    covered: int
    nodes: tuple[NodeScrape, ...]
    last_round: datetime | None
    round_seconds: float


class Scraper:
    """Reads the kubelets of one cluster until it is cancelled."""

    def __init__(
        self,
        connection: Connection,
        *,
        name: str,
        inventory: Callable[[], Inventory | None],
        sink: SampleSink,
        clock: Callable[[], datetime],
        settings: ScrapeSettings | None = None,
    ) -> None:
        self._connection = connection
        self._name = name
        self._inventory = inventory
        self._sink = sink
        self._clock = clock
        self._settings = settings or ScrapeSettings()
        self._nodes: dict[str, NodeScrape] = {}
        self._covered = 0
        self._last_round: datetime | None = None
        self._round_seconds = 0.0
        self._error = ""

    async def run(self) -> None:
        """Round after round, until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            began = loop.time()
            inventory = self._inventory()
            if inventory is not None and inventory.metrics_paths():
                await self._guarded(inventory)
                self._round_seconds = loop.time() - began
                wait = self._settings.every - self._round_seconds
            else:
                wait = 1.0
            await asyncio.sleep(max(wait, 1.0))

    def state(self) -> ScrapeState:
        """How it goes; any thread may ask."""
        nodes = tuple(sorted(self._nodes.values(), key=lambda scrape: scrape.node))
        failing = [scrape for scrape in nodes if scrape.error]
        reason = self._error
        if failing and not reason:
            first = failing[0]
            reason = f"{len(failing)} of {len(nodes)} kubelets fail; {first.node}: {first.error}"
        return ScrapeState(
            cluster_name=self._name,
            healthy=True,
            reason=reason,
            covered=self._covered,
            nodes=nodes,
            last_round=self._last_round,
            round_seconds=self._round_seconds,
        )

    async def round(self, inventory: Inventory) -> None:
        """Read every kubelet whose turn it is, once."""
        now = self._clock()
        uncovered, self._covered = await asyncio.to_thread(self._uncovered, inventory, now)
        self._nodes = {node: self._nodes.get(node, _unread(node)) for node in uncovered}
        turns = asyncio.Semaphore(self._settings.at_once)
        paths = inventory.metrics_paths()
        await asyncio.gather(
            *(
                self._read(inventory.cluster.id, scrape, paths.get(scrape.node, ""), turns)
                for scrape in self._nodes.values()
                if scrape.next_try is None or scrape.next_try <= now
            )
        )
        self._last_round = self._clock()

    async def _guarded(self, inventory: Inventory) -> None:
        try:
            await self.round(inventory)
        except Exception as error:
            log.exception("a round of reading kubelets failed", cluster=self._name)
            self._error = f"the last round failed: {error}"
        else:
            self._error = ""

    def _uncovered(self, inventory: Inventory, now: datetime) -> tuple[list[str], int]:
        """Nodes that run pods of which no sample arrives, and how many others there are."""
        since = now - self._settings.fresh
        fresh = self._sink.fresh_pods(inventory.sample_names(), since)
        pods = inventory.pods_on_nodes()
        known = inventory.metrics_paths()
        occupied = [node for node in known if pods.get(node)]
        uncovered = [node for node in occupied if fresh.isdisjoint(pods[node])]
        return uncovered, len(occupied) - len(uncovered)

    async def _read(
        self, cluster: str, scrape: NodeScrape, path: str, turns: asyncio.Semaphore
    ) -> None:
        node = scrape.node
        async with turns:
            try:
                text = await self._connection.get_text(
                    proxy_path(node, path),
                    doing=f"get nodes/proxy of {node}",
                    read_timeout=_NODE_TIMEOUT,
                )
                now = self._clock()
                body = wrap(text, cluster=cluster, node=node, at=now)
                accepted = await asyncio.to_thread(
                    self._sink.accept, body, door="kubelet", cluster=cluster, now=now
                )
            except SeedanceError as error:
                self._nodes[node] = self._failed(scrape, str(error))
            else:
                self._nodes[node] = NodeScrape(
                    node=node,
                    last_success=now,
                    samples=accepted.written,
                    error=_rejections(accepted),
                    failures=0,
                    next_try=None,
                )

    def _failed(self, scrape: NodeScrape, error: str) -> NodeScrape:
        if scrape.error != error:
            log.warning("kubelet cannot be read", cluster=self._name, node=scrape.node, why=error)
        pause = timedelta(seconds=self._settings.every * 2.0 ** min(scrape.failures, 8))
        return NodeScrape(
            node=scrape.node,
            last_success=scrape.last_success,
            samples=0,
            error=error,
            failures=scrape.failures + 1,
            next_try=self._clock() + min(pause, _LONGEST_PAUSE) - timedelta(seconds=1),
        )


def proxy_path(node: str, path: str) -> str:
    """Where the API server passes a node's resource metrics on.

    `path` is what the node's annotation says; only a plain path to metrics is followed.
    """
    usable = _SAFE_PATH.fullmatch(path) and "metrics" in path
    return f"/api/v1/nodes/{quote(node, safe='')}/proxy{path if usable else USUAL_PATH}"


def _unread(node: str) -> NodeScrape:
    return NodeScrape(node, None, samples=0, error="", failures=0, next_try=None)


def _rejections(accepted: Accepted) -> str:
    reasons: Iterable[str] = (f"{each.count} {each.reason}" for each in accepted.rejected)
    return f"samples rejected: {', '.join(reasons)}" if accepted.rejected else ""
