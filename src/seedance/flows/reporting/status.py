"""How the server is: every running part says so itself, this flow puts it together.

Used by `/readyz` (ready or not, with reasons), the status page, `seedancectl` and `/metrics`, so
that all four say the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import Any

from seedance.facts.window import HOUR
from seedance.flows.reporting.answers import Health, SettleOf, StatusAnswer, Stranger, TableSize
from seedance.flows.reporting.report import only_of
from seedance.flows.settling.gather import METRICS
from seedance.store.lists import cluster_words, newest_settles, series_by_door, words_heard
from seedance.store.objects import clusters
from seedance.store.reports import cluster_names
from seedance.store.store import Store

Telling = Callable[[], Any]
"""A part's own account of itself: a dataclass or a mapping, taken when asked."""


def _nothing() -> dict[str, Any]:
    return {}


@dataclass(slots=True)
class Parts:
    """Accounts of the running parts; absent parts are simply not told of.

    Attributes:
        recorder: `Recorder.stats`; has `healthy` and `reason`.
        watches: one `Watcher.state` per cluster; each has `healthy` and `reason`.
        scrapes: one `Scraper.state` per cluster.
        settle: the settling clock's state; has `healthy` and `reason`.
        manifests: what was loaded: `fingerprint`, `books`, `rules`.
        started: when the server started.
    """

    recorder: Telling = _nothing
    watches: Sequence[Telling] = ()
    scrapes: Sequence[Telling] = ()
    settle: Telling = _nothing
    manifests: Telling = _nothing
    started: datetime | None = None
    stopping: bool = False
    extra: Sequence[Callable[[], Health]] = field(default_factory=tuple)


def told(part: Any) -> dict[str, Any]:
    """A part's account as plain JSON-able values."""
    if is_dataclass(part) and not isinstance(part, type):
        account = {**asdict(part), **_properties(part)}
    elif isinstance(part, Mapping):
        account = dict(part)
    else:
        account = {}
    return {str(key): _plain(value) for key, value in account.items()}


def health(parts: Parts) -> list[Health]:
    """Every part, well or not, with its reason."""
    found = [_health("recorder", told(parts.recorder()))]
    found += [_watch_health("watch", told(tell())) for tell in parts.watches]
    found += [_watch_health("scrape", told(tell())) for tell in parts.scrapes]
    found.append(_health("settle", told(parts.settle())))
    found += [check() for check in parts.extra]
    if parts.stopping:
        found.append(Health(name="server", healthy=False, reason="the server is stopping"))
    return found


def words_of(store: Store, bound: str) -> frozenset[str]:
    """Id and name of the cluster that a reader is bound to; either of them binds."""
    names = cluster_names(store)
    ids = only_of(bound, names)
    return frozenset((*ids, *(names[cluster] for cluster in ids if cluster in names)))


def status(
    store: Store, parts: Parts, *, now: datetime, version: str, only_cluster: str = ""
) -> StatusAnswer:
    """Everything that the status page shows.

    A reader bound to `only_cluster` hears of the others no more than `/readyz` tells everybody.
    """
    words = words_of(store, only_cluster)

    def seen(*cluster: object) -> bool:
        return not only_cluster or not words.isdisjoint(cluster)

    def of(tellings: Sequence[Telling]) -> list[dict[str, Any]]:
        accounts = [told(tell()) for tell in tellings]
        return [each for each in accounts if seen(each.get("cluster"), each.get("cluster_name"))]

    settled = [row for row in settles(store, now=now) if seen(row.cluster, row.cluster_name)]
    checks = [*health(parts), *_invariants(settled)]
    sizes = store.size()
    return StatusAnswer(
        version=version,
        at=now,
        started=parts.started,
        ready=all(check.healthy for check in health(parts)),
        health=checks,
        clusters=[
            {"id": c.id, "name": c.name, "firstSeen": _plain(c.first_seen)}
            for c in clusters(store)
            if seen(c.id, c.name)
        ],
        recorder=told(parts.recorder()),
        watches=of(parts.watches),
        scrapes=of(parts.scrapes),
        sources=series_by_door(store),
        strangers=[] if only_cluster else strangers(store, now=now),
        settles=settled,
        store=[TableSize(name=n, rows=s.rows, bytes=s.bytes) for n, s in sorted(sizes.items())],
        manifests=told(parts.manifests()),
    )


def strangers(store: Store, *, now: datetime) -> list[Stranger]:
    """Clusters that samples of the last hour name, and that are not known under that name.

    Samples without a name are fine while there is one cluster; so it is in settling.
    """
    known, metrics = clusters(store), [name for name, _ in METRICS.values()]
    ours = {word for cluster in known for word in (cluster.id, cluster.name)}
    foreign = cluster_words(store, metrics=metrics) - ours - ({""} if len(known) == 1 else set())
    if not foreign:
        return []
    heard = words_heard(store, foreign, metrics=metrics, since=now - HOUR)
    return [Stranger(word=word, series=series) for word, series in heard.items()]


def settles(store: Store, *, now: datetime) -> list[SettleOf]:
    """The newest settled hour of each cluster, and whether its sums are right."""
    names = cluster_names(store)
    return [
        SettleOf(
            cluster=row["cluster"],
            cluster_name=names.get(row["cluster"], row["cluster"]),
            hour=row["hour"],
            ended=row["done"],
            seconds=(row["done"] - row["begun"]).total_seconds(),
            rows=row["row_count"],
            provisional=bool(row["open"]),
            violations=row["broken"],
            violation_text=row["broken_text"],
            lag_seconds=max(0.0, (now - row["done"]).total_seconds()),
        )
        for row in newest_settles(store)
    ]


def _invariants(settled: Sequence[SettleOf]) -> list[Health]:
    """A sum that is off is said loudly, though the server goes on serving."""
    return [
        Health(
            name=f"sums {row.cluster_name}",
            healthy=not row.violations,
            reason=row.violation_text and f"{row.violations} violated: {row.violation_text}",
        )
        for row in settled
    ]


def _health(name: str, account: Mapping[str, Any]) -> Health:
    return Health(
        name=name,
        healthy=bool(account.get("healthy", True)),
        reason=str(account.get("reason") or ""),
    )


def _watch_health(name: str, account: Mapping[str, Any]) -> Health:
    cluster = str(account.get("cluster_name") or account.get("name") or account.get("cluster", ""))
    return _health(f"{name} {cluster}".strip(), account)


def _properties(part: Any) -> dict[str, Any]:
    names = ("healthy", "reason", "ready")
    return {name: getattr(part, name) for name in names if hasattr(part, name)}


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return str(value)
