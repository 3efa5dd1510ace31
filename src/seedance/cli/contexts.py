"""Which server the client talks to: flag, then environment, then the configuration file.

The file holds named contexts, like kubeconfig's, and never a token: only the path of the file
that holds one. Its place is `$SEEDANCE_CLIENT_CONFIG`, else `seedance/config.yaml` under
`$XDG_CONFIG_HOME` or `~/.config`. Without a file the local server's address is used.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from seedance.facts.errors import NotFoundError, UsageError

DEFAULT_SERVER = "http://127.0.0.1:9091"
DEFAULT_CONTEXT = "default"
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True)
class ClientContext:
    """One server as the client knows it. Empty fields take the client's defaults.

    `token_file` and `certificate_authority` are paths; `zone` is a name of the time zone
    database in which times are shown; `namespace` is used where `-n` is not given.
    """

    name: str = DEFAULT_CONTEXT
    server: str = DEFAULT_SERVER
    token_file: str = ""
    certificate_authority: str = ""
    zone: str = ""
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class ClientConfig:
    """The configuration file: contexts by name and the one in use."""

    current: str = ""
    contexts: Mapping[str, ClientContext] = field(default_factory=dict)

    def pick(self, name: str = "") -> ClientContext:
        """The context `name`, else the current one, else the local server.

        Raises:
            NotFoundError: if there is no context of that name.
        """
        wanted = name or self.current
        if not wanted:
            return ClientContext()
        if wanted not in self.contexts:
            known = ", ".join(sorted(self.contexts)) or "none"
            raise NotFoundError(
                f"no context {wanted!r} in {config_path()} (known: {known})",
                hint="add it: seedancectl config set-server URL --name NAME",
            )
        return self.contexts[wanted]

    def with_context(self, context: ClientContext) -> ClientConfig:
        """This configuration with `context` added or replaced, and in use."""
        return replace(
            self, current=context.name, contexts={**self.contexts, context.name: context}
        )


def config_path() -> Path:
    """Where the configuration file is, whether or not it exists."""
    if named := os.environ.get("SEEDANCE_CLIENT_CONFIG"):
        return Path(named).expanduser()
    home = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(home).expanduser() / "seedance" / "config.yaml"


def load_config() -> ClientConfig:
    """The configuration file, or an empty configuration where there is none.

    Raises:
        UsageError: if the file cannot be read or is not a client configuration.
    """
    path = config_path()
    if not path.exists():
        return ClientConfig()
    import yaml  # noqa: PLC0415  # 20 ms that most first starts need not pay

    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
        return _read_config(document)
    except (OSError, yaml.YAMLError, TypeError, ValueError, AttributeError, KeyError) as error:
        raise UsageError(
            f"{path} is no client configuration: {error}",
            hint="repair it, or move it away and run: seedancectl config set-server URL",
        ) from error


def save_config(config: ClientConfig) -> Path:
    """Write the configuration file, readable by its owner alone; its path comes back.

    Raises:
        UsageError: if it cannot be written.
    """
    import yaml  # noqa: PLC0415

    path = config_path()
    text = yaml.safe_dump(config_document(config), sort_keys=False, allow_unicode=True)
    spare = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        spare.touch(mode=0o600)
        spare.write_text(text, encoding="utf-8")
        spare.replace(path)
    except OSError as error:
        raise UsageError(
            f"cannot write {path}: {error.strerror}",
            hint="name another place: SEEDANCE_CLIENT_CONFIG=…",
        ) from error
    return path


def config_document(config: ClientConfig) -> dict[str, Any]:
    """The configuration as plain YAML values, keys in camelCase, empty ones left out."""
    return {
        "currentContext": config.current,
        "contexts": [
            {_camel(key): value for key, value in asdict(context).items() if value}
            for context in config.contexts.values()
        ],
    }


def _read_config(document: Any) -> ClientConfig:
    names = {_camel(item.name): item.name for item in fields(ClientContext)}
    contexts: dict[str, ClientContext] = {}
    for entry in document.get("contexts") or []:
        unknown = sorted(set(entry) - set(names))
        if unknown:
            raise ValueError(f"unknown key {unknown[0]!r} in a context")
        context = ClientContext(**{names[key]: str(value) for key, value in entry.items()})
        contexts[context.name] = replace(context, server=check_server(context.server))
    return ClientConfig(current=str(document.get("currentContext") or ""), contexts=contexts)


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def check_server(url: str) -> str:
    """`url` without a trailing slash.

    Raises:
        UsageError: if it is not a plain http(s) address.
    """
    hint = f"write it as {DEFAULT_SERVER} or https://seedance.example.org"
    try:
        parts = urlsplit(url)
        port_is_fine = parts.port is None or parts.port > 0
    except ValueError:
        raise UsageError(f"{url!r} is no server address: the port is wrong", hint=hint) from None
    if parts.scheme not in {"http", "https"} or not parts.hostname or not port_is_fine:
        raise UsageError(f"{url!r} is no server address", hint=hint)
    if parts.username or parts.password or parts.query or parts.fragment:
        raise UsageError(
            f"the server address {parts.scheme}://{parts.hostname} carries more than a host, "
            "a port and a path; a token belongs into --token-file",
            hint=hint,
        )
    return url.rstrip("/")


def is_local(server: str) -> bool:
    """Whether the address is this machine's loopback."""
    return urlsplit(server).hostname in LOOPBACK
