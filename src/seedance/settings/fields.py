"""Every setting, by topic: what it does, in which unit, and why its default is what it is.

The reference and `seedance settings` are made from these fields. A secret has no flag, since it
would show in the process list, and its value is never printed.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


def setting(
    default: Any, about: str, *, why: str, unit: str = "", flag: str = "", secret: bool = False
) -> Any:
    """A field with its documentation; `flag` is its own option of `seedance serve`, if any."""
    notes = {"about": about, "why": why, "unit": unit, "flag": flag, "secret": secret}
    return field(default=default, metadata=notes)


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """Where costs and samples are kept."""

    data: str = setting(
        "~/.local/share/seedance",
        "Folder of the store, the write-ahead log and the tokens; one process owns it.",
        why="a place that the user may write to, kept across upgrades",
        flag="--data",
    )
    server: str = setting(
        "",
        "ClickHouse server that keeps the tables: http[s]://user:password@host:port/database.",
        why="the embedded engine needs no server",
        secret=True,
    )
    memory: int = setting(
        2 << 30,
        "Most memory that the embedded engine may take.",
        unit="bytes",
        why="enough for a day of 50,000 pods; the engine's own default takes nearly all there is",
    )
    threads: int = setting(
        2, "Threads of one query.", why="the smallest machine that is supported has two cores"
    )
    fsync: str = setting(
        "interval",
        "When the write-ahead log reaches the disk: `always`, `interval` or `never`.",
        why="an acknowledged sample survives kill -9 in any case; `always` adds power loss",
    )


@dataclass(frozen=True, slots=True)
class RetentionSettings:
    """How long each grain is kept."""

    raw: int = setting(
        15, "Samples as they came.", unit="days", why="late facts older than this are rare"
    )
    minutes: int = setting(
        35, "The minute grain.", unit="days", why="a month can be cut to the minute"
    )
    hours: int = setting(
        400, "Hourly cost rows and objects.", unit="days", why="a year can be compared by hours"
    )
    days: int = setting(
        1200, "Daily cost rows.", unit="days", why="three budget years can be compared"
    )


@dataclass(frozen=True, slots=True)
class IntakeSettings:
    """What is taken from senders."""

    cluster_labels: tuple[str, ...] = setting(
        ("cluster",),
        "Labels that may name a sample's cluster; the first one present counts.",
        why="the usual external label of Prometheus",
    )
    body: int = setting(
        32 << 20, "Largest body of a write.", unit="bytes", why="ten times Prometheus' usual body"
    )
    series: int = setting(
        5_000_000, "Series that are ever numbered.", why="a runaway label must not fill memory"
    )
    queue: int = setting(
        2_000_000, "Samples that may wait for the store.", why="two minutes of 1,000 nodes"
    )
    out_of_order: float = setting(
        300.0,
        "How far a sample may be behind the newest of its series.",
        unit="seconds",
        why="senders repeat what failed for a few minutes",
    )
    flush: float = setting(
        1.0,
        "How long samples wait for a batch.",
        unit="seconds",
        why="ten times cheaper than at once, and hardly noticed",
    )


@dataclass(frozen=True, slots=True)
class KubernetesSettings:
    """Which clusters are watched."""

    clusters: tuple[str, ...] = setting(
        (),
        "Clusters as NAME=KUBECONFIG[#CONTEXT]; in a pod also NAME=in-cluster.",
        why="in a pod its own cluster is watched, elsewhere none until one is named",
        flag="--cluster",
    )
    kubeconfig: str = setting(
        "",
        "Short for one cluster named after the kubeconfig's context: FILE[#CONTEXT].",
        why="the common case has one cluster",
        flag="--kubeconfig",
    )
    scrape: bool = setting(
        True,  # noqa: FBT003 - a default, not an argument
        "Read kubelets of nodes for which no remote write arrives.",
        why="true costs without Prometheus",
    )
    scrape_every: float = setting(
        30.0,
        "Time between two readings of a kubelet.",
        unit="seconds",
        why="two samples a minute give every minute its use",
    )
    scrape_at_once: int = setting(
        10, "Kubelets that are read at the same time.", why="spares the API server"
    )


@dataclass(frozen=True, slots=True)
class SettleSettings:
    """How facts become costs."""

    manifests: tuple[str, ...] = setting(
        (),
        "Files and folders of price books and ownership rules.",
        why="without any, the built-in list prices count",
        flag="--manifests",
    )
    every: float = setting(
        60.0,
        "Time between two settles of the running hour.",
        unit="seconds",
        why="figures are a minute old at most",
    )
    gap: float = setting(
        300.0,
        "Longest time between two samples across which use is known.",
        unit="seconds",
        why="Prometheus' own look-back",
    )


@dataclass(frozen=True, slots=True)
class WebSettings:
    """The one port."""

    listen: str = setting(
        "127.0.0.1:9091",
        "Address and port; port 0 takes a free one.",
        why="reachable from this machine alone until tokens and TLS are there",
        flag="--listen",
    )
    hosts: tuple[str, ...] = setting(
        (),
        "Names under which browsers reach this server, besides localhost and IP addresses.",
        why="a foreign name in the Host header is DNS rebinding",
        flag="--host-name",
    )
    tls_cert: str = setting(
        "",
        "Certificate chain, PEM.",
        why="needed off loopback",
        flag="--tls-cert",
    )
    tls_key: str = setting(
        "", "Private key of the certificate, PEM.", why="needed off loopback", flag="--tls-key"
    )
    insecure: bool = setting(
        False,  # noqa: FBT003 - a default, not an argument
        "Listen beyond loopback without tokens or TLS: everybody who reaches it may view and write "
        "samples.",
        why="nobody should do that by accident",
        flag="--insecure",
    )
    zone: str = setting(
        "UTC", "Zone that answers and pages show unless asked otherwise.", why="the same everywhere"
    )


@dataclass(frozen=True, slots=True)
class LogSettings:
    """What is told on standard error."""

    level: str = setting(
        "info", "debug, info, warning or error.", why="one line for what changes", flag="--log"
    )
    form: str = setting(
        "auto", "auto, text or json.", why="text on a terminal, JSON where a machine reads"
    )


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of a server."""

    store: StoreSettings = field(default_factory=StoreSettings)
    retention: RetentionSettings = field(default_factory=RetentionSettings)
    intake: IntakeSettings = field(default_factory=IntakeSettings)
    kubernetes: KubernetesSettings = field(default_factory=KubernetesSettings)
    settle: SettleSettings = field(default_factory=SettleSettings)
    web: WebSettings = field(default_factory=WebSettings)
    log: LogSettings = field(default_factory=LogSettings)


def local_token_file(port: int) -> Path:
    """Where a server on loopback leaves its admin token for the client of the same user."""
    home = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(home).expanduser() / "seedance" / f"admin-{port}.token"
