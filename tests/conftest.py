"""What every room's tests share: a fresh, empty store, and no skips where CI counts on them."""

import os
import shutil
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from seedance.store.store import Retention, Store

NEEDS_SHARED = "shared"
"""The one marker whose tests may be skipped where CI=true: their folder is not in the project."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """With CI=true a skip is a failure: there, every real part has been built."""
    report = yield
    counts = os.environ.get("CI") == "true" and not item.get_closest_marker(NEEDS_SHARED)
    if report.skipped and counts:
        report.outcome = "failed"
        report.longrepr = f"skipped, and CI=true: {report.longrepr}"
    return report


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
