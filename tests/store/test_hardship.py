"""A full disk and a killed process, as they happen."""

import shutil
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from seedance.facts.samples import SampleColumns
from seedance.store import samples
from seedance.store.store import Retention, Store

AGES = Retention(raw_days=15_000, minute_days=15_000, hour_days=15_000, day_days=15_000)

FULL = """
import shutil, subprocess, sys
from pathlib import Path
import numpy as np
from seedance.facts.errors import BusyError
from seedance.facts.samples import SampleColumns
from seedance.store import samples
from seedance.store.store import Retention, Store
ages = Retention(raw_days=15_000)
disk = Path(sys.argv[1])
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", disk], check=True)
n = 200_000
value = np.random.default_rng(1).random(n)
columns = SampleColumns(np.arange(n), np.full(n, 1_790_000_000_000), value)
def fill(fillers, filler):
    # Nothing may free space behind our back, such as a part that was merged away.
    fillers.append(filler)
    try:
        with filler.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(1 << 16))
    except OSError:
        pass
def put(store, token):
    samples.put_samples(store, np.ones(n, np.int64), columns, token=token)
with Store.open(disk / "s", retention=ages) as store:
    put(store, "before")
    fillers = []
    for turn in range(3):
        fill(fillers, disk / f"filler-{turn}")
        try:
            put(store, "full")
        except BusyError as fault:
            print("busy", fault.retry_after, str(fault)[:27])
    print("free", shutil.disk_usage(disk).free)
    print("readable", len(samples.last_timestamps(store)[0]))
    for filler in fillers:
        filler.unlink()
    for _ in range(2):
        put(store, "full")
    print("rows", store.engine.rows("SELECT count() AS n FROM samples")[0]["n"])
with Store.open(disk / "s", retention=ages) as store:
    print("again", store.engine.rows("SELECT count() AS n FROM samples")[0]["n"])
"""

BATCHES = """
import sys
from pathlib import Path
import numpy as np
from seedance.facts.samples import SampleColumns
from seedance.store import samples
from seedance.store.store import Retention, Store
ages = Retention(raw_days=15_000)
n = 2000
with Store.open(Path(sys.argv[1]), retention=ages) as store:
    for number in range(10_000):
        columns = SampleColumns(np.arange(n), np.full(n, 1_790_000_000_000 + number), np.zeros(n))
        samples.put_samples(store, np.ones(n, np.int64), columns, token=f"batch-{number}")
        print(number, flush=True)
"""


def can_mount() -> bool:
    unshare = shutil.which("unshare")
    return (
        unshare is not None
        and not subprocess.run(
            [unshare, "-rm", "mount", "-t", "tmpfs", "tmpfs", "/mnt"],
            check=False,
            capture_output=True,
        ).returncode
    )


@pytest.mark.skipif(not can_mount(), reason="no user namespace to mount a small disk in")
def test_a_full_disk_is_busy_and_goes_on_when_space_is_back(tmp_path: Path) -> None:
    done = subprocess.run(
        ["unshare", "-rm", sys.executable, "-c", FULL, str(tmp_path)],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )
    lines = [line for line in done.stdout.splitlines() if "schema reached" not in line]
    assert lines == [
        *["busy 30 no space left for the store"] * 3,
        "free 0",
        "readable 200000",
        "rows 400000",
        "again 400000",
    ], done.stderr[-2000:]


def test_a_killed_writer_loses_nothing_acknowledged_and_a_replay_adds_nothing(
    tmp_path: Path,
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", BATCHES, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        numbers = (line for line in process.stdout if line.strip().isdigit())
        acknowledged = 0
        while acknowledged < 25:
            acknowledged = int(next(numbers))
        process.send_signal(signal.SIGKILL)
        acknowledged = max([acknowledged, *map(int, numbers)])
    with Store.open(tmp_path, retention=AGES) as store:
        held = store.engine.rows("SELECT count() AS n FROM samples")[0]["n"]
        assert held in {2000 * (acknowledged + 1), 2000 * (acknowledged + 2)}
        for number in range(acknowledged + 2):
            stamp = np.full(2000, 1_790_000_000_000 + number)
            columns = SampleColumns(np.arange(2000), stamp, np.zeros(2000))
            ids = np.ones(2000, np.int64)
            samples.put_samples(store, ids, columns, token=f"batch-{number}")
        [row] = store.engine.rows("SELECT count() AS n, max(ts) AS newest FROM samples")
        assert row["n"] == 2000 * (acknowledged + 2)
        assert row["newest"] > datetime(2026, 9, 21, tzinfo=UTC)
