"""The application on a free loopback port, in a thread of the test's process."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast
from unittest.mock import patch

import uvicorn
from fastapi import FastAPI

from seedance.store.store import Store
from seedance.web.app import create_app
from seedance.web.context import AppContext
from seedance.web.pages.desk import Desk
from seedance.web.pages.routes import router


def sample_app(desk: Desk, context: AppContext | None = None) -> FastAPI:
    """The real application with its guard, whose pages answer from `desk`."""
    context = context or AppContext(store=cast("Store", None), now=desk.now)
    with patch("seedance.web.pages.router", lambda shared: router(shared, lambda _: desk)):
        return create_app(context)


@contextmanager
def serving(app: Any) -> Iterator[str]:
    """`http://127.0.0.1:PORT` of `app` while inside."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    config = uvicorn.Config(app, host="127.0.0.1", port=port, log_level="error", ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + 20
    while not server.started and time.monotonic() < deadline:
        time.sleep(0.02)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(10)
