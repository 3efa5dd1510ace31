"""Addresses: where to listen, and which clusters to watch."""

from __future__ import annotations

import errno
import os
import socket
from dataclasses import dataclass
from pathlib import Path

from seedance.facts.errors import RefusedError, UsageError
from seedance.intake.access import Source, check_source, read_source
from seedance.settings.fields import KubernetesSettings

IN_CLUSTER = "in-cluster"
EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104 - named, not bound
_PORTS = range(65536)


@dataclass(frozen=True, slots=True)
class Listen:
    """Where to listen."""

    host: str
    port: int

    def url(self, port: int, *, tls: bool) -> str:
        """The address for people, with the port that was really taken."""
        host = "localhost" if self.host in EVERYWHERE else self.host
        host = f"[{host}]" if ":" in host else host
        return f"{'https' if tls else 'http'}://{host}:{port}"


def parse_listen(text: str) -> Listen:
    """`HOST:PORT`, `[IPv6]:PORT`, `:PORT` (every address) or `PORT` (this machine alone).

    Raises:
        UsageError: if it is none of these.
    """
    host, colon, port = text.strip().rpartition(":")
    if not colon:
        host = "127.0.0.1"
    if not port.isdecimal() or int(port) not in _PORTS or (":" in host and host[:1] != "["):
        raise UsageError(
            f"{text!r} is no address to listen on", hint="write 127.0.0.1:9091 or [::1]:9091"
        )
    return Listen(host.strip("[]") or EVERYWHERE[0], int(port))


def open_socket(listen: Listen) -> socket.socket:
    """A listening socket.

    Raises:
        RefusedError: the port is in use or not allowed.
        UsageError: the host is no address of this machine.
    """
    try:
        family, _, _, _, place = socket.getaddrinfo(
            listen.host, listen.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except OSError as error:
        raise UsageError(f"cannot listen on {listen.host!r}: {error.strerror}") from None
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(place)
        sock.listen(1024)
        sock.settimeout(0)
    except OSError as error:
        sock.close()
        raise _cannot(listen, error) from None
    return sock


def clusters_of(settings: KubernetesSettings) -> list[tuple[str, Source]]:
    """Name and access of each cluster to watch, checked as far as files can tell.

    Raises:
        UsageError: an entry, a kubeconfig or a context that is not usable, or a name twice.
    """
    found = [_named(text) for text in settings.clusters]
    if settings.kubeconfig:
        source = _source(settings.kubeconfig)
        check_source(source)
        config, _ = read_source(source)
        found.append((str(config.context_name or "cluster"), source))
    if not found and _in_pod():
        found.append((IN_CLUSTER, Source()))
    names = [name for name, _ in found]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"two clusters are named {name!r}", hint="give each its own name")
    return found


def _named(text: str) -> tuple[str, Source]:
    name, found, place = text.partition("=")
    if not found or not name or not place:
        raise UsageError(
            f"--cluster {text!r} is not understood", hint="write NAME=KUBECONFIG[#CONTEXT]"
        )
    source = Source() if place == IN_CLUSTER else _source(place)
    check_source(source)
    return name, source


def _source(text: str) -> Source:
    path, _, context = text.partition("#")
    return Source(kubeconfig=Path(path).expanduser(), context=context)


def _in_pod() -> bool:
    return "KUBERNETES_SERVICE_HOST" in os.environ and Source().service_account.exists()


def _cannot(listen: Listen, error: OSError) -> RefusedError | UsageError:
    where = f"{listen.host}:{listen.port}"
    if error.errno == errno.EADDRINUSE:
        return RefusedError(
            f"port {listen.port} is in use: another program listens on {where}",
            hint="stop it, or choose another: --listen 127.0.0.1:9092",
        )
    if error.errno == errno.EACCES:
        return RefusedError(f"not allowed to listen on {where}", hint="choose a port above 1023")
    return UsageError(f"cannot listen on {where}: {error.strerror}")
