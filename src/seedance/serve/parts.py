"""The wiring: settings become opened rooms, and rooms are handed to each other.

    store ← recorder ← scraper ← watcher ← connection, one per cluster
    store ← settler ← clock
    all of them → AppContext → application

`Running` is what `serve`, the demo and tests hold in their hands while the server runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast

import structlog

from seedance.clock import Clock
from seedance.facts.errors import UsageError
from seedance.facts.limits import Limits
from seedance.flows.recording.record import Recorder
from seedance.flows.reporting.status import Parts
from seedance.flows.settling.adopt import adopt
from seedance.flows.settling.settle import Settler
from seedance.flows.watching.scrape import Scraper, ScrapeSettings
from seedance.flows.watching.watch import Watcher
from seedance.intake import kubelet, remotewrite
from seedance.intake.access import Source
from seedance.intake.kubernetes import Connection
from seedance.manifests.load import Manifests, load_manifests
from seedance.serve.address import Listen, clusters_of, parse_listen
from seedance.settings.fields import Settings, local_token_file
from seedance.store import admin
from seedance.store.samples import forget_series
from seedance.store.store import Retention, Store
from seedance.store.wal import Fsync, Wal
from seedance.web.auth import LOCAL_ADMIN, Access, check_exposure, is_loopback
from seedance.web.context import AppContext
from seedance.web.tokens import TokenBook, write_secret

log = structlog.get_logger()

_FSYNC = ("always", "interval", "never")
_FLUSH_WAIT = 30.0
"""Seconds that a backup waits for what was acknowledged before it to be in the store."""


def utc_now() -> datetime:
    """The clock of the server."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Checked:
    """What can be known before anything is opened: all mistakes of the command line show here."""

    settings: Settings
    data: Path
    listen: Listen
    clusters: Sequence[tuple[str, Source]]
    manifests: Manifests
    manifest_paths: Sequence[Path]
    book: TokenBook
    fsync: Fsync

    @classmethod
    def of(cls, settings: Settings) -> Checked:
        """Checks the settings.

        Raises:
            UsageError: anything that makes no sense, manifests included.
            RefusedError: the server would be open to others.
        """
        web, data = settings.web, Path(settings.store.data).expanduser().absolute()
        listen = parse_listen(web.listen)
        if bool(web.tls_cert) != bool(web.tls_key):
            raise UsageError(
                "TLS needs a certificate and its key", hint="--tls-cert FILE --tls-key FILE"
            )
        for name in (web.tls_cert, web.tls_key):
            if name and not Path(name).is_file():
                raise UsageError(f"there is no file {name}", hint="a PEM file is needed")
        if settings.store.fsync not in _FSYNC:
            raise UsageError(f"fsync {settings.store.fsync!r} is not known", hint=", ".join(_FSYNC))
        book = TokenBook(data / "tokens.json")
        check_exposure(listen.host, tokens=book, tls=bool(web.tls_cert), insecure=web.insecure)
        paths = [Path(text).expanduser() for text in settings.settle.manifests]
        return cls(
            settings=settings,
            data=data,
            listen=listen,
            clusters=clusters_of(settings.kubernetes),
            manifests=load_manifests(paths),
            manifest_paths=paths,
            book=book,
            fsync=cast("Fsync", settings.store.fsync),
        )


@dataclass(slots=True)
class Running:
    """The opened rooms of one server; `url` is known once it listens."""

    checked: Checked
    store: Store
    recorder: Recorder
    settler: Settler
    clock: Clock
    connections: Sequence[Connection]
    watchers: Sequence[Watcher]
    scrapers: Sequence[Scraper]
    context: AppContext
    url: str = ""
    admin_token: str = ""


def open_store(settings: Settings, data: Path) -> Store:
    """The store of a data folder, with this server's limits.

    Raises:
        RefusedError: locked by another process (its pid is named), not writable, or too new.
    """
    keep = settings.retention
    return Store.open(
        data,
        server=settings.store.server,
        retention=Retention(
            raw_days=keep.raw, minute_days=keep.minutes, hour_days=keep.hours, day_days=keep.days
        ),
        memory_bytes=settings.store.memory,
        threads=settings.store.threads,
    )


def open_rooms(checked: Checked, store: Store) -> Running:
    """Everything over an opened store; the recorder takes samples, nothing else runs yet."""
    settings = checked.settings
    now = utc_now()
    adopt(store, checked.manifests, now=now)
    settler = Settler(
        store,
        checked.manifests,
        gap=timedelta(seconds=settings.settle.gap),
        threads=settings.store.threads,
    )
    clock = Clock(
        store,
        settler,
        paths=checked.manifest_paths,
        every=settings.settle.every,
        now=utc_now,
    )
    forget_series(store, now=now)  # before the recorder learns the numbers: it must not lose one
    recorder = _recorder(checked, store)
    connections = [Connection(source) for _, source in checked.clusters]
    watchers = [
        Watcher(store, name=name, connection=connection, clock=utc_now)
        for (name, _), connection in zip(checked.clusters, connections, strict=True)
    ]
    scrapers = _scrapers(settings, watchers, connections, recorder)
    access = Access(
        book=checked.book,
        loopback=is_loopback(checked.listen.host),
        insecure=settings.web.insecure,
        hosts=frozenset(name.lower() for name in settings.web.hosts),
        tls=bool(settings.web.tls_cert),
    )
    parts = Parts(
        recorder=recorder.stats,
        watches=[watcher.state for watcher in watchers],
        scrapes=[scraper.state for scraper in scrapers],
        settle=clock.state,
        manifests=clock.manifest_state,
        started=now,
    )
    context = AppContext(
        store=store, access=access, parts=parts, recorder=recorder, now=utc_now,
        zone=settings.web.zone, backup=lambda target: _back_up(store, recorder, target),
    )  # fmt: skip
    return Running(
        checked, store, recorder, settler, clock, connections, watchers, scrapers, context
    )


def leave_token(running: Running, port: int) -> list[Path]:
    """Makes the admin token of this run and leaves it for the local client; the files written."""
    book, path = running.checked.book, running.checked.data / "admin.token"
    book.drop(LOCAL_ADMIN)
    _, running.admin_token = book.create("admin", name=LOCAL_ADMIN)
    files = [path]
    if is_loopback(running.checked.listen.host):
        files.append(local_token_file(port))
    for file in files:
        try:
            write_secret(file, running.admin_token + "\n")
        except OSError as error:
            log.warning("cannot leave the admin token", file=str(file), why=error.strerror)
    return files


def _recorder(checked: Checked, store: Store) -> Recorder:
    settings = checked.settings.intake
    limits = Limits(
        body_bytes=settings.body,
        series=settings.series,
        queue_rows=settings.queue,
        cluster_labels=settings.cluster_labels,
        retention=timedelta(days=checked.settings.retention.raw),
    )
    return Recorder(
        store,
        Wal.open(checked.data / "wal", fsync=checked.fsync),
        decoders={"remote-write": remotewrite.decoder(limits), "kubelet": kubelet.decode},
        clock=utc_now,
        limits=limits,
        out_of_order=timedelta(seconds=settings.out_of_order),
        flush_seconds=settings.flush,
    )


def _scrapers(
    settings: Settings,
    watchers: Sequence[Watcher],
    connections: Sequence[Connection],
    recorder: Recorder,
) -> list[Scraper]:
    if not settings.kubernetes.scrape:
        return []
    how = ScrapeSettings(
        every=settings.kubernetes.scrape_every, at_once=settings.kubernetes.scrape_at_once
    )
    return [
        Scraper(
            connection,
            name=watcher.name,
            inventory=lambda watcher=watcher: watcher.inventory,  # type: ignore[misc]
            sink=recorder,
            clock=utc_now,
            settings=how,
        )
        for watcher, connection in zip(watchers, connections, strict=True)
    ]


def _back_up(store: Store, recorder: Recorder, target: str) -> str:
    """A backup with everything that was acknowledged before it began."""
    recorder.flush(timeout=_FLUSH_WAIT)
    path = Path(target).absolute()
    admin.backup(store, path)
    return str(path)
