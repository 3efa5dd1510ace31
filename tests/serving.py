"""A real server for tests of doors, pages and the client: uvicorn on a loopback port."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import uvicorn

from seed import NOW
from seedance.store.store import Retention, Store
from seedance.web.app import create_app
from seedance.web.auth import Access
from seedance.web.context import AppContext
from seedance.web.tokens import ROLES, TokenBook

AGES = Retention(raw_days=15_000, minute_days=15_000, hour_days=15_000, day_days=15_000)


@dataclass
class Served:
    """A running server.

    `tokens` has one secret for each role, and `bound`: a view token bound to the cluster `lab`.
    """

    url: str
    context: AppContext
    tokens: dict[str, str] = field(default_factory=dict)

    def headers(self, role: str) -> dict[str, str]:
        """The Authorization header of a role's token."""
        return {"authorization": f"Bearer {self.tokens[role]}"}


class _Server(uvicorn.Server):
    def install_signal_handlers(self) -> None:
        """Signals are the test runner's."""


@contextmanager
def serving(context: AppContext) -> Iterator[str]:
    """Serves `context` on a free loopback port; yields its URL and stops it at the end."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        config = uvicorn.Config(
            create_app(context), log_config=None, access_log=False, lifespan="off"
        )
        server = _Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]}, daemon=True)
        thread.start()
        while not server.started and thread.is_alive():
            threading.Event().wait(0.01)
        try:
            yield f"http://127.0.0.1:{sock.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(10)


@contextmanager
def served_store(folder: Path, tokens: Path) -> Iterator[Served]:
    """Opens the store in `folder` and serves it at `seed.NOW`, with a token for each role."""
    book = TokenBook(tokens)
    known = {role: book.create(role, name=f"the {role}")[1] for role in ROLES}
    known["bound"] = book.create("view", name="lab only", cluster="lab")[1]
    with Store.open(folder, retention=AGES, memory_bytes=1 << 30) as store:
        context = AppContext(store=store, access=Access(book=book), now=lambda: NOW)
        with serving(context) as url:
            yield Served(url, context, known)
