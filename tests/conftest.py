"""What every room's tests share: a fresh, empty store."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from seedance.store.store import Retention, Store

AGES = Retention(raw_days=15_000, minute_days=15_000, hour_days=15_000, day_days=15_000)
"""Tests speak of fixed days; nothing may expire under them."""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A fresh, empty store of its own; one is open at a time in a process."""
    with Store.open(tmp_path / "store", retention=AGES, memory_bytes=1 << 30) as opened:
        yield opened
