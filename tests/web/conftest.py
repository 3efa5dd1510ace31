"""Doors are tested over a real server and a small seeded store (`tests/seed.py`)."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from doors import NOW, Door, Open, authenticate
from doors import serving as door_serving
from fastapi import FastAPI

from seed import seed
from seedance.facts.limits import Limits
from seedance.flows.recording.record import Recorder
from seedance.intake import remotewrite
from seedance.store.store import Store
from seedance.store.wal import Wal
from seedance.web.receive import write_router
from serving import AGES, Served, served_store


@pytest.fixture(scope="session")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a seeded store that is closed: a process has one store open at a time."""
    folder = tmp_path_factory.mktemp("seeded")
    with Store.open(folder, retention=AGES, memory_bytes=1 << 30) as store:
        seed(store)
    return folder


@pytest.fixture(scope="module")
def served(seeded: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A running server over the seeded store."""
    with served_store(seeded, tmp_path_factory.mktemp("tokens") / "tokens.json") as running:
        yield running


@pytest.fixture
def client(served: Served) -> Iterator[httpx2.Client]:
    """A client without a token."""
    with httpx2.Client(base_url=served.url, timeout=30, trust_env=False) as opened:
        yield opened


@pytest.fixture
def opened(store: Store, tmp_path: Path) -> Iterator[Open]:
    """Opens doors on the store; options are the recorder's."""
    closers: list[Callable[[], object]] = []

    def begin(**options: Any) -> Door:
        limits = options.pop("limits", Limits())
        recorder = Recorder(
            store,
            Wal.open(tmp_path / "log", fsync="never"),
            decoders={"remote-write": remotewrite.decoder(limits)},
            clock=lambda: NOW,
            limits=limits,
            flush_seconds=0.02,
            **options,
        )
        recorder.start()
        closers.append(recorder.stop)
        app = FastAPI()
        app.include_router(write_router(recorder, authenticate, now=lambda: NOW))
        server = door_serving(app)
        door = Door(server.__enter__(), recorder, store)
        closers.append(lambda: server.__exit__(None, None, None))
        closers.append(door.client.close)
        return door

    yield begin
    for close in reversed(closers):
        close()


@pytest.fixture
def door(opened: Open) -> Door:
    return opened()
