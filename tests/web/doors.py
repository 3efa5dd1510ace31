"""The remote-write door under test: a real server, a recorder and the store behind it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import httpx2
import uvicorn
from fastapi import FastAPI, Request

from remote_write_messages import body
from seedance.facts.errors import RefusedError, UnauthenticatedError
from seedance.flows.recording.record import Recorder
from seedance.store.samples import all_series
from seedance.store.store import Store
from seedance.web.receive import PATH

NOW = datetime(2026, 11, 30, 12, 30, tzinfo=UTC)
T = int(NOW.timestamp() * 1000)
HEADERS = {
    "Content-Type": "application/x-protobuf",
    "Content-Encoding": "snappy",
    "X-Prometheus-Remote-Write-Version": "0.1.0",
}


@contextmanager
def serving(app: FastAPI) -> Iterator[str]:
    """A server of its own on a free port of loopback."""
    server = uvicorn.Server(
        uvicorn.Config(app, host="127.0.0.1", port=0, log_level="warning", loop="uvloop")
    )
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            time.sleep(0.005)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}{PATH}"
    finally:
        server.should_exit = True
        thread.join()


def authenticate(request: Request) -> str:
    """Test tokens: `cluster NAME` is bound to it, `none` and `viewer` may not write."""
    shown = request.headers.get("authorization", "")
    if shown == "none":
        raise UnauthenticatedError("no token, or one that is not known")
    if shown == "viewer":
        raise RefusedError("this token may only view")
    return shown.removeprefix("cluster ")


class Door:
    """A running receiver and the store behind it."""

    def __init__(self, url: str, recorder: Recorder, store: Store) -> None:
        self.url = url
        self.recorder = recorder
        self.store = store
        self.client = httpx2.Client(timeout=30)

    def post(self, data: bytes, **headers: str) -> httpx2.Response:
        changed = {name.replace("_", "-"): value for name, value in headers.items()}
        merged = {k: v for k, v in {**HEADERS, **changed}.items() if v}
        return self.client.post(self.url, content=data, headers=merged)

    def send(self, *all_series: Any, **headers: str) -> httpx2.Response:
        return self.post(body(*all_series), **headers)

    def stored(self) -> dict[str, list[tuple[int, float]]]:
        """What is in the store once everything has been flushed."""
        for _ in range(1000):
            if not self.recorder.stats().queue_rows:
                break
            time.sleep(0.01)
        names = {each.id: each.metric for each in all_series(self.store)}
        rows = self.store.engine.rows(
            "SELECT sid, toUnixTimestamp64Milli(ts) AS ms, value FROM samples ORDER BY sid, ts"
        )
        found: dict[str, list[tuple[int, float]]] = {}
        for row in rows:
            found.setdefault(names[row["sid"]], []).append((row["ms"], row["value"]))
        return found


Open = Callable[..., Door]


def written(response: httpx2.Response) -> list[str]:
    return [
        response.headers[f"X-Prometheus-Remote-Write-{kind}-Written"]
        for kind in ("Samples", "Histograms", "Exemplars")
    ]
