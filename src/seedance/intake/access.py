"""Where a cluster's API server is and how to be let in.

The flow: a kubeconfig and a context in it (or the service account of the pod we run in) →
address, certificate checks, client certificate, bearer token or the exec plugin that makes one.
lightkube reads the file and builds the certificate checks; what it leaves out is added here:
`tls-server-name` and `proxy-url`, exec plugins of `client.authentication.k8s.io/v1` with expiry
and client certificates, token files that rotate.

Credentials are values with an end: `Access.expires` says when they are worth reading again.
"""

from __future__ import annotations

import base64
import hashlib
import ssl
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml
from lightkube.config.client_adapter import verify_cluster
from lightkube.config.kubeconfig import SERVICE_ACCOUNT, KubeConfig, SingleConfig
from lightkube.config.models import User
from lightkube.core.exceptions import ConfigError

from seedance.facts.errors import UsageError
from seedance.intake.execplugin import ExecCredential, ExecPlugin

_TOKEN_FILE_AGE = timedelta(minutes=1)
_LOOPBACK = ("localhost", "127.", "::1")


@dataclass(frozen=True, slots=True)
class Source:
    """Where address and credentials stand: a kubeconfig and a context in it.

    Context "" is the file's current one. Without a kubeconfig it is the service account that
    Kubernetes mounts into a pod.
    """

    kubeconfig: Path | None = None
    context: str = ""
    service_account: Path = Path(SERVICE_ACCOUNT)

    def __str__(self) -> str:
        """As a person would write it."""
        if self.kubeconfig is None:
            return "the service account of this pod"
        return f"{self.kubeconfig}#{self.context}" if self.context else str(self.kubeconfig)


@dataclass(frozen=True, slots=True)
class Access:
    """A way in.

    `headers` carry the credentials and are left out of any text; `expires` is when they must be
    read again (None: only when the server refuses them); two with the same `transport` can share
    connections.
    """

    server: str
    tls: ssl.SSLContext = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    expires: datetime | None
    proxy: str | None
    server_name: str | None
    transport: str

    @property
    def trust_env(self) -> bool:
        """Whether proxies named in the environment apply; never for a loopback address."""
        return not (urlsplit(self.server).hostname or "").startswith(_LOOPBACK)


async def open_access(source: Source) -> Access:
    """Read the source and get credentials, running an exec plugin if it names one.

    Raises:
        UsageError: if file, context or credentials are not usable; the message names them.
    """
    config, extras = read_source(source)
    credential = await extras.plugin.run() if extras.plugin else None
    return _access(source, config, extras, credential)


def check_source(source: Source) -> str:
    """Check what can be checked without talking to anyone.

    Returns:
        The server's address.

    Raises:
        UsageError: as `open_access`, for the command line to refuse before it starts.
    """
    config, extras = read_source(source)
    if extras.plugin is None:
        _access(source, config, extras, None)
    return config.cluster.server


@dataclass(frozen=True, slots=True)
class Extras:
    """What lightkube's models leave out."""

    plugin: ExecPlugin | None = None
    proxy: str | None = None
    server_name: str | None = None


def read_source(source: Source) -> tuple[SingleConfig, Extras]:
    """The chosen context of a kubeconfig, or the service account's.

    Raises:
        UsageError: if the file is missing, no kubeconfig, or has no such context.
    """
    try:
        if source.kubeconfig is None:
            return _chosen(KubeConfig.from_service_account(source.service_account), ""), Extras()
        path = source.kubeconfig.expanduser()
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        config = _chosen(KubeConfig.from_dict(content, fname=path), source.context)
    except (ConfigError, OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise _unusable(source, str(error)) from None
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise _unusable(source, f"it is no kubeconfig ({error!r})") from None
    return config, _extras(content, config, path.parent)


def _unusable(source: Source, why: str) -> UsageError:
    if source.kubeconfig is None:
        hint = "name a kubeconfig with --kubeconfig FILE or --cluster NAME=FILE#CONTEXT"
    else:
        hint = f"try it with: kubectl --kubeconfig {source.kubeconfig} get nodes"
    return UsageError(f"cannot use {source}: {why}", hint=hint)


def _chosen(config: KubeConfig, context: str) -> SingleConfig:
    chosen = config.get(context or None)
    if chosen is None:
        raise ConfigError("no context is chosen")
    return chosen


def _extras(content: Mapping[str, Any], config: SingleConfig, folder: Path) -> Extras:
    cluster = _named(content, "clusters", config.context.cluster, "cluster")
    user = _named(content, "users", config.context.user or "", "user")
    plugin = user.get("exec")
    return Extras(
        plugin=ExecPlugin.read(plugin, cluster=cluster, folder=folder) if plugin else None,
        proxy=cluster.get("proxy-url"),
        server_name=cluster.get("tls-server-name"),
    )


def _named(content: Mapping[str, Any], many: str, name: str, one: str) -> Mapping[str, Any]:
    for entry in content.get(many) or []:
        if entry.get("name") == name:
            found: Mapping[str, Any] = entry.get(one) or {}
            return found
    return {}


def _access(
    source: Source, config: SingleConfig, extras: Extras, credential: ExecCredential | None
) -> Access:
    user = config.user or User()
    try:
        tls = verify_cluster(config.cluster, user, config.abs_file)
        if credential and credential.certificate:
            _load_certificate(tls, credential)
        headers, expires = _authorization(config, user, credential)
        transport = _fingerprint(config, user, extras, credential)
    except (ConfigError, OSError, ValueError) as error:
        raise _unusable(source, str(error)) from None
    return Access(
        server=config.cluster.server.rstrip("/"),
        tls=tls,
        headers=headers,
        expires=expires,
        proxy=extras.proxy,
        server_name=extras.server_name,
        transport=transport,
    )


def _authorization(
    config: SingleConfig, user: User, credential: ExecCredential | None
) -> tuple[dict[str, str], datetime | None]:
    if user.token_file:
        token = Path(config.abs_file(user.token_file)).read_text(encoding="utf-8").strip()
        return {"Authorization": f"Bearer {token}"}, datetime.now(UTC) + _TOKEN_FILE_AGE
    if user.token:
        return {"Authorization": f"Bearer {user.token}"}, None
    if credential:
        bearer = {"Authorization": f"Bearer {credential.token}"} if credential.token else {}
        return bearer, credential.expires
    if user.username and user.password:
        pair = base64.b64encode(f"{user.username}:{user.password}".encode()).decode()
        return {"Authorization": f"Basic {pair}"}, None
    if user.auth_provider:
        raise ConfigError("auth-provider is no longer part of Kubernetes; use an exec plugin")
    return {}, None


def _load_certificate(tls: ssl.SSLContext, credential: ExecCredential) -> None:
    """Give the client certificate of an exec plugin to the TLS context, which reads files only."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(f"{credential.certificate}\n{credential.key}\n".encode())
        file.flush()
        tls.load_cert_chain(file.name)


def _fingerprint(
    config: SingleConfig, user: User, extras: Extras, credential: ExecCredential | None
) -> str:
    """A digest of all that connections depend on; the content of files counts, not their names."""
    cluster = config.cluster
    files = (cluster.certificate_auth, user.client_cert, user.client_key)
    digest = hashlib.sha256(
        repr(
            (cluster, user.client_cert_data, user.client_key_data, extras.proxy, extras.server_name)
        ).encode()
    )
    if credential:
        digest.update(f"{credential.certificate}{credential.key}".encode())
    for file in files:
        if file:
            digest.update(Path(config.abs_file(file)).read_bytes())
    return digest.hexdigest()
