"""Every name under `/metrics`: the one list, and where each value comes from.

Values are asked of the running parts and the store when a scrape comes; the two that cost a query
over cost rows or table sizes are remembered for a minute. `reference/metrics.md` is made from
`METRICS`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from seedance.facts.costquery import CostQuery
from seedance.facts.errors import NoDataError
from seedance.facts.window import parse_instant
from seedance.flows.reporting.report import costs
from seedance.flows.reporting.status import health, settles, told, words_of
from seedance.web.context import AppContext

CONTENT_TYPE = CONTENT_TYPE_LATEST
REMEMBER = 60.0
"""Seconds for which costs and table sizes are remembered."""

Sample = tuple[str, tuple[str, ...], float]
"""Name, label values in the order of the metric's labels, value."""


@dataclass(frozen=True, slots=True)
class Name:
    """One metric: its full name (a counter's ends in `_total`), kind, meaning and labels."""

    name: str
    kind: Literal["counter", "gauge"]
    about: str
    labels: tuple[str, ...] = ()


def _counter(name: str, about: str, *labels: str) -> Name:
    return Name(name, "counter", about, labels)


def _gauge(name: str, about: str, *labels: str) -> Name:
    return Name(name, "gauge", about, labels)


METRICS: tuple[Name, ...] = (
    _gauge("seedance_build_info", "1; the label says which version runs.", "version"),
    _gauge("seedance_ready", "1 while every part is well, as /readyz says."),
    _gauge("seedance_part_healthy", "1 while the part is well.", "part"),
    _counter("seedance_bodies_accepted_total", "Bodies of samples taken since the start."),
    _counter("seedance_samples_accepted_total", "Samples taken since the start."),
    _counter("seedance_samples_resent_total", "Samples that were stored already when they came."),
    _counter("seedance_samples_stored_total", "Samples written to the store since the start."),
    _counter("seedance_samples_rejected_total", "Samples refused since the start.", "reason"),
    _gauge("seedance_samples_per_second", "Samples taken, mean of the last half minute."),
    _gauge("seedance_series", "Series that have a number."),
    _gauge("seedance_queue_samples", "Samples in the write-ahead log that wait for the store."),
    _gauge("seedance_queue_age_seconds", "How long the oldest of them waits."),
    _gauge("seedance_log_bytes", "Size of the write-ahead log."),
    _gauge("seedance_watch_synced", "1 while the kind is listed and watched.", "cluster", "kind"),
    _gauge("seedance_watch_objects", "Objects of the kind that live.", "cluster", "kind"),
    _gauge(
        "seedance_watch_seen_timestamp_seconds",
        "When the API server last told of the kind, in seconds since the epoch.",
        "cluster",
        "kind",
    ),
    _gauge(
        "seedance_kubelets",
        "Kubelets by state: read, failing, covered (remote write arrives for the node).",
        "cluster",
        "state",
    ),
    _counter("seedance_settled_hours_total", "Hours settled since the start."),
    _counter("seedance_settle_failures_total", "Rounds of settling that failed since the start."),
    _gauge("seedance_settle_round_seconds", "How long the last round of settling took."),
    _gauge("seedance_settle_lag_seconds", "Age of the newest settled set.", "cluster"),
    _gauge("seedance_settle_seconds", "How long settling the newest hour took.", "cluster"),
    _gauge("seedance_settle_rows", "Cost rows of the newest hour.", "cluster"),
    _gauge(
        "seedance_invariant_violations",
        "Sums that are off in the hours that count; anything above 0 is a bug to report.",
        "cluster",
    ),
    _gauge("seedance_store_bytes", "Size of a table on disk.", "table"),
    _gauge("seedance_store_rows", "Rows of a table.", "table"),
    _gauge(
        "seedance_cost_today",
        "Cost since midnight UTC, idle and unattributed under their special names.",
        "cluster",
        "namespace",
        "currency",
    ),
)


def exporter(context: AppContext) -> Callable[[str], bytes]:
    """A function that makes the exposition text of this server, anew at each call.

    Its argument is the cluster that the reader is bound to, or "": a bound reader sees no sample
    that bears the name of another cluster.
    """
    everything = _Collector(context)

    def text(only_cluster: str) -> bytes:
        registry = CollectorRegistry(auto_describe=False)
        words = words_of(context.store, only_cluster)
        registry.register(_Bound(everything, words) if only_cluster else everything)
        return generate_latest(registry)

    return text


class _Bound(Collector):
    """What a reader who is bound to a cluster may see of all samples."""

    def __init__(self, everything: Collector, words: frozenset[str]) -> None:
        self._everything = everything
        self._words = words

    def collect(self) -> Iterable[Metric]:
        """All families, without the samples of other clusters."""
        for family in self._everything.collect():
            family.samples = [
                sample
                for sample in family.samples
                if sample.labels.get("cluster") in {None, *self._words}
            ]
            yield family


class _Collector(Collector):
    """Turns samples into families; a name that is not in `METRICS` cannot be exported."""

    def __init__(self, context: AppContext) -> None:
        self._context = context
        self._lock = threading.Lock()
        self._kept: dict[str, tuple[float, list[Sample]]] = {}

    def collect(self) -> Iterable[Metric]:
        """All families, in the order of `METRICS`."""
        families = {entry.name: _family(entry) for entry in METRICS}
        for name, labels, value in self._samples():
            families[name].add_metric(labels, value)
        return families.values()

    def _samples(self) -> Iterator[Sample]:
        context = self._context
        yield "seedance_build_info", (context.version,), 1.0
        checks = health(context.parts)
        yield "seedance_ready", (), float(all(check.healthy for check in checks))
        for check in checks:
            yield "seedance_part_healthy", (check.name,), float(check.healthy)
        yield from _recorder(told(context.parts.recorder()))
        for tell in context.parts.watches:
            yield from _watch(told(tell()))
        for tell in context.parts.scrapes:
            yield from _scrape(told(tell()))
        yield from _clock(told(context.parts.settle()))
        yield from _settles(context)
        yield from self._remembered("sizes", lambda: list(_sizes(context)))
        yield from self._remembered("costs", lambda: list(_costs(context)))

    def _remembered(self, what: str, ask: Callable[[], list[Sample]]) -> list[Sample]:
        with self._lock:
            now = time.monotonic()
            kept = self._kept.get(what)
            if kept is None or now - kept[0] > REMEMBER:
                kept = self._kept[what] = (now, ask())
            return kept[1]


def _family(entry: Name) -> CounterMetricFamily | GaugeMetricFamily:
    if entry.kind == "counter":
        name = entry.name.removesuffix("_total")
        return CounterMetricFamily(name, entry.about, labels=entry.labels)
    return GaugeMetricFamily(entry.name, entry.about, labels=entry.labels)


def _recorder(account: dict[str, Any]) -> Iterator[Sample]:
    names = {
        "seedance_bodies_accepted_total": "bodies",
        "seedance_samples_accepted_total": "samples",
        "seedance_samples_resent_total": "resent",
        "seedance_samples_stored_total": "stored",
        "seedance_samples_per_second": "samples_per_second",
        "seedance_series": "series",
        "seedance_queue_samples": "queue_rows",
        "seedance_queue_age_seconds": "queue_age_s",
        "seedance_log_bytes": "log_bytes",
    }
    for name, key in names.items():
        if key in account:
            yield name, (), float(account[key])
    for reason, count in account.get("rejected", {}).items():
        yield "seedance_samples_rejected_total", (reason,), float(count)


def _watch(account: dict[str, Any]) -> Iterator[Sample]:
    cluster = str(account.get("cluster_name", ""))
    for kind in account.get("kinds", ()):
        labels = (cluster, str(kind["kind"]))
        yield "seedance_watch_synced", labels, float(kind["synced"])
        yield "seedance_watch_objects", labels, float(kind["objects"])
        if kind["last_seen"]:
            seen = parse_instant(kind["last_seen"]).timestamp()
            yield "seedance_watch_seen_timestamp_seconds", labels, seen


def _scrape(account: dict[str, Any]) -> Iterator[Sample]:
    cluster = str(account.get("cluster_name", ""))
    nodes = account.get("nodes", ())
    failing = sum(1 for node in nodes if node["error"])
    counts = {
        "read": len(nodes) - failing,
        "failing": failing,
        "covered": account.get("covered", 0),
    }
    for state, count in counts.items():
        yield "seedance_kubelets", (cluster, state), float(count)


def _clock(account: dict[str, Any]) -> Iterator[Sample]:
    names = {
        "seedance_settled_hours_total": "settled",
        "seedance_settle_failures_total": "failures",
        "seedance_settle_round_seconds": "seconds",
    }
    for name, key in names.items():
        if key in account:
            yield name, (), float(account[key])


def _settles(context: AppContext) -> Iterator[Sample]:
    for row in settles(context.store, now=context.now()):
        labels = (row.cluster_name,)
        yield "seedance_settle_lag_seconds", labels, row.lag_seconds
        yield "seedance_settle_seconds", labels, row.seconds
        yield "seedance_settle_rows", labels, float(row.rows)
        yield "seedance_invariant_violations", labels, float(row.violations)


def _sizes(context: AppContext) -> Iterator[Sample]:
    for table, size in sorted(context.store.size().items()):
        yield "seedance_store_bytes", (table,), float(size.bytes)
        yield "seedance_store_rows", (table,), float(size.rows)


def _costs(context: AppContext) -> Iterator[Sample]:
    query = CostQuery(window="today", by=("cluster", "namespace"), limit=10_000)
    try:
        answer = costs(context.store, query, now=context.now())
    except NoDataError:
        return
    for item in answer.items:
        if item.cost is not None:
            labels = (item.keys["cluster"], item.keys["namespace"], answer.currency)
            yield "seedance_cost_today", labels, float(item.cost)
