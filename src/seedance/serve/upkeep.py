"""Upkeep of a data folder: check, backup, restore, tokens. Directly, or through its server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx2

from seedance.facts.errors import RefusedError, UnreachableError
from seedance.settings.fields import Settings
from seedance.web.tokens import TokenBook

_PATIENCE = 3600.0
"""Seconds that a backup may take."""


def data_of(settings: Settings) -> Path:
    """The data folder."""
    return Path(settings.store.data).expanduser().absolute()


def tokens(settings: Settings) -> TokenBook:
    """The tokens of the data folder."""
    return TokenBook(data_of(settings) / "tokens.json")


def check(settings: Settings) -> list[str]:
    """What is wrong with the store, one line each.

    Raises:
        RefusedError: a process owns the store; its pid is named.
    """
    from seedance.serve.parts import open_store  # noqa: PLC0415 - heavy
    from seedance.store import admin  # noqa: PLC0415

    with open_store(settings, data_of(settings)) as store:
        return [str(problem) for problem in admin.check(store)]


def backup(settings: Settings, target: Path) -> str:
    """Copies the store to `target`, through the server that owns it where there is one."""
    data, target = data_of(settings), target.absolute()
    facts = _server_of(data)
    if facts is not None:
        return _ask_server(data, facts, target)
    from seedance.serve.parts import open_store  # noqa: PLC0415 - heavy
    from seedance.store import admin  # noqa: PLC0415

    with open_store(settings, data) as store:
        admin.backup(store, target)
    return str(target)


def restore(settings: Settings, source: Path) -> str:
    """Makes the data folder from a backup; the folder."""
    from seedance.store import admin  # noqa: PLC0415 - heavy

    data = data_of(settings)
    admin.restore(source.absolute(), data, memory_bytes=settings.store.memory)
    return str(data)


def _server_of(data: Path) -> dict[str, Any] | None:
    """Address of the living server of a folder: the one whose pid holds the lock."""
    try:
        owner = (data / "store.lock").read_text(encoding="utf-8").strip()
        facts: dict[str, Any] = json.loads((data / "server.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return facts if owner and str(facts.get("pid")) == owner else None


def _ask_server(data: Path, facts: dict[str, Any], target: Path) -> str:
    try:
        token = (data / "admin.token").read_text(encoding="utf-8").strip()
    except OSError as error:
        raise RefusedError(
            f"the server {facts['url']} owns the store, and its admin token cannot be read: "
            f"{error.strerror}",
            hint="run this as the user that runs the server",
        ) from None
    try:
        answer = httpx2.post(
            f"{facts['url']}/api/v1/admin/backup",
            json={"target": str(target)},
            headers={"authorization": f"Bearer {token}"},
            timeout=_PATIENCE,
            verify=facts.get("ca", True),
            trust_env=False,
        )
    except httpx2.HTTPError as error:
        raise UnreachableError(f"the server {facts['url']} does not answer: {error}") from None
    body = answer.json()
    if answer.is_error:
        raise RefusedError(body.get("detail", "refused"), hint=body.get("hint", ""))
    return str(body["target"])
