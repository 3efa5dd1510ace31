"""The life of the server process: open, run, stop in order, the store last.

    check → bind the port → open the store → rooms → tasks in one event loop → wait for the end
    end: no new requests → watchers and scrapers → settling round → recorder flushes → store

SIGTERM and SIGINT are ours: uvicorn's handlers are switched off, since it would leave while the
recorder still holds samples. A second signal ends at once; the log keeps what was acknowledged.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import structlog
import uvicorn

from seedance.facts.errors import SeedanceError
from seedance.serve import logs
from seedance.serve.address import open_socket
from seedance.serve.parts import Checked, Running, leave_token, open_rooms, open_store
from seedance.settings.fields import Settings
from seedance.web.app import create_app

log = structlog.get_logger()

Started = Callable[[Running], bool]
"""Called in a worker thread once the server answers; True ends the server, False lets it stay."""

_GRACE = 10
"""Seconds that running requests get at the end."""


class _Server(uvicorn.Server):
    """uvicorn without its signal handlers; `up` is set once it answers."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.up = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Starts to answer."""
        await super().startup(sockets)
        self.up.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leaves the signals to the process's owner."""
        yield


def serve(settings: Settings, *, started: Started | None = None) -> int:
    """Runs the server until it is told to end; the exit code.

    Raises:
        UsageError: the settings make no sense.
        RefusedError: port in use, store locked, or open to others without tokens and TLS.
    """
    logs.set_up(settings.log)
    checked = Checked.of(settings)
    with (
        contextlib.closing(open_socket(checked.listen)) as sock,
        open_store(settings, checked.data) as store,
    ):
        running = open_rooms(checked, store)
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(_live(running, sock, started))
    return 0


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop  # noqa: PLC0415 - not on every platform
    except ModuleNotFoundError:
        return None
    return uvloop.new_event_loop


async def _live(running: Running, sock: socket.socket, started: Started | None) -> None:
    await asyncio.to_thread(running.recorder.start)
    server = _Server(_config(running))
    end = asyncio.Event()
    _take_signals(end, server)
    port = sock.getsockname()[1]
    tls = bool(running.checked.settings.web.tls_cert)
    running.url = running.checked.listen.url(port, tls=tls)
    left = leave_token(running, port)
    _write_facts(running, port)
    watching = [asyncio.create_task(coroutine) for coroutine in _endless(running)]
    clock = asyncio.create_task(running.clock.run())
    serving = asyncio.create_task(server.serve(sockets=[sock]))
    waiting = asyncio.create_task(end.wait())
    telling = asyncio.create_task(_tell(running, server, started, end))
    try:
        await _first_end([waiting, serving, clock, *watching])
    finally:
        running.context.parts.stopping = True
        server.should_exit = True
        await _settle_down([serving], "web server")
        for task in (*watching, waiting, telling):
            task.cancel()
        running.clock.stop()
        await _settle_down([*watching, waiting, telling, clock], "background work")
        for connection in running.connections:
            await connection.close()
        await asyncio.to_thread(running.recorder.stop)
        _take_back(left, running.admin_token)
        log.info("stopped", url=running.url)


def _config(running: Running) -> uvicorn.Config:
    web = running.checked.settings.web
    return uvicorn.Config(
        create_app(running.context),
        http="httptools",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=_GRACE,
        ssl_certfile=web.tls_cert or None,
        ssl_keyfile=web.tls_key or None,
    )


def _endless(running: Running) -> Iterator[Coroutine[Any, Any, None]]:
    yield from (watcher.run() for watcher in running.watchers)
    yield from (scraper.run() for scraper in running.scrapers)


def _take_signals(end: asyncio.Event, server: _Server) -> None:
    def told() -> None:
        if end.is_set():  # asked twice: do not wait for requests
            server.force_exit = True
        end.set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, told)


async def _tell(
    running: Running, server: _Server, started: Started | None, end: asyncio.Event
) -> None:
    await server.up.wait()
    log.info("serving", url=running.url, data=str(running.checked.data), pid=os.getpid())
    if started is not None and await asyncio.to_thread(started, running):
        end.set()


async def _first_end(tasks: list[asyncio.Task[Any]]) -> None:
    """Waits until one task ends; an error of it is the server's error."""
    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in done:
        error = task.exception()
        if error is not None:
            raise error


async def _settle_down(tasks: list[asyncio.Task[Any]], what: str) -> None:
    for result in await asyncio.gather(*tasks, return_exceptions=True):
        if isinstance(result, SeedanceError | OSError):
            log.warning("ended with an error", what=what, why=str(result))


def _write_facts(running: Running, port: int) -> None:
    """Leaves address and pid for `seedance store backup` of the same folder."""
    facts = {"url": running.url, "pid": os.getpid(), "port": port}
    web = running.checked.settings.web
    if web.tls_cert:
        facts["ca"] = str(Path(web.tls_cert).absolute())
    path = running.checked.data / "server.json"
    path.write_text(json.dumps(facts) + "\n", encoding="utf-8")


def _take_back(files: list[Path], token: str) -> None:
    """Removes the files that hold this run's admin token."""
    for file in files:
        with contextlib.suppress(OSError):
            if file.read_text(encoding="utf-8").strip() == token:
                file.unlink()
