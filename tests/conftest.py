"""What every room's tests share: a fresh, empty store."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from seedance.store.store import Retention, Store

AGES = Retention(raw_days=15_000, minute_days=15_000, hour_days=15_000, day_days=15_000)
"""Tests speak of fixed days; nothing may expire under them."""


@pytest.fixture(scope="session")
def blank_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a closed, empty store with every table: copying it is quicker than DDL."""
    folder = tmp_path_factory.mktemp("blank") / "store"
    Store.open(folder, retention=AGES, memory_bytes=1 << 30).close()
    return folder


@pytest.fixture
def store(blank_store: Path, tmp_path: Path) -> Iterator[Store]:
    """A fresh, empty store of its own; one is open at a time in a process."""
    shutil.copytree(blank_store, tmp_path / "store", symlinks=True)
    with Store.open(tmp_path / "store", retention=AGES, memory_bytes=1 << 30) as opened:
        yield opened
