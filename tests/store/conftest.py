"""The store's tests run twice: embedded, and over HTTP against a façade of a server."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from seedance.store.store import Retention, Store

AGES = Retention(raw_days=15_000, minute_days=15_000, hour_days=15_000, day_days=15_000)
NUMBERS = count(1)


@pytest.fixture(scope="session")
def facade(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a ClickHouse HTTP server that this test run started."""
    folder = tmp_path_factory.mktemp("facade")
    program = Path(__file__).with_name("facade.py")
    with subprocess.Popen(
        [sys.executable, str(program), str(folder / "chdb")], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.kill()


@pytest.fixture(params=["embedded", "http"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """A fresh, empty store behind each of the two transports."""
    server = ""
    folder = tmp_path / "store"
    if request.param == "http":
        server = f"{request.getfixturevalue('facade')}/test_{next(NUMBERS)}"
    else:
        shutil.copytree(request.getfixturevalue("blank_store"), folder, symlinks=True)
    with Store.open(folder, server=server, retention=AGES, memory_bytes=1 << 30) as opened:
        yield opened
        if server:
            opened.engine.command(f"DROP DATABASE {opened.engine.database} SYNC")
