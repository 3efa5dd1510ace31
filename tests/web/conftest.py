"""Doors are tested over a real server and a small seeded store (`tests/seed.py`)."""

from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from seed import seed
from seedance.store.store import Store
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
