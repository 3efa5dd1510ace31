"""When disk or store do not play along: refused aloud, nothing lost, and on again by itself."""

from __future__ import annotations

import errno
import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from recording import Start

from remote_write_messages import body, named
from seedance.facts.errors import BusyError, IntakeError
from seedance.facts.limits import Limits
from seedance.flows.recording import flush, record
from seedance.flows.recording.record import Recorder
from seedance.intake import remotewrite
from seedance.store import wal as wal_module
from seedance.store.engine import StoreError
from seedance.store.store import Retention, Store
from seedance.store.wal import Fsync, Wal

NOW = datetime(2026, 11, 30, 12, 30, tzinfo=UTC)
T = int(NOW.timestamp() * 1000)
AGES = Retention(raw_days=15_000, minute_days=15_000, hour_days=15_000, day_days=15_000)


def recorder_on(store: Store, folder: Path, *, fsync: Fsync = "never") -> Recorder:
    recorder = Recorder(
        store,
        Wal.open(folder, fsync=fsync),
        decoders={"remote-write": remotewrite.decoder(Limits())},
        clock=lambda: NOW,
        flush_seconds=0.02,
    )
    recorder.start()
    return recorder


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retries of the flusher come soon."""
    monkeypatch.setattr(record, "_RETRY_S", 0.05)


@pytest.fixture
def recorder(store: Store, tmp_path: Path, quick: None) -> Iterator[Recorder]:
    running = recorder_on(store, tmp_path / "log")
    yield running
    running.stop()


def send(recorder: Recorder, number: int, *, samples: int = 1, metric: str = "m") -> int:
    content = [named(metric, [(T + number, float(number))], i=str(i)) for i in range(samples)]
    told = recorder.accept(body(*content), door="remote-write", cluster="", now=NOW)
    return told.written


def times(store: Store) -> list[int]:
    rows = store.engine.rows("SELECT toUnixTimestamp64Milli(ts) AS ms FROM samples ORDER BY ts")
    return [row["ms"] - T for row in rows]


def wait_for(condition: Callable[[], bool]) -> None:
    for _ in range(1000):
        if condition():
            return
        threading.Event().wait(0.01)
    raise AssertionError("it did not come true within ten seconds")


def fails(error: Exception) -> Callable[..., None]:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    return fail


EARLIER = -7_200_000
"""Hours that are over are marked with every batch."""
STEPS = ["put_metric_ids", "put_series", "put_samples", "mark_dirty"]
ERRORS = [
    BusyError("no space left for the store"),
    StoreError("Code: 1. it broke"),
    KeyError("bug"),
]


def test_while_the_store_refuses_samples_are_refused_and_none_is_lost(
    store: Store, recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, (step, error) in enumerate(product(STEPS, ERRORS)):
        with monkeypatch.context() as patch:
            patch.setattr(flush, step, fails(error))
            send(recorder, EARLIER + 2 * number, metric=f"m{number}")
            wait_for(lambda: not recorder.stats().healthy)
            assert str(error) in recorder.stats().reason
            with pytest.raises(BusyError) as refused:
                send(recorder, 1_000_000)
            assert refused.value.retry_after > 0
        wait_for(lambda: recorder.stats().healthy)
        send(recorder, EARLIER + 2 * number + 1, metric=f"m{number}")
    count = 2 * len(STEPS) * len(ERRORS)
    wait_for(lambda: recorder.stats().stored == count)
    assert times(store) == list(range(EARLIER, EARLIER + count))


def test_a_full_log_disk_refuses_and_takes_again_when_there_is_room(
    store: Store, recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    send(recorder, 1)
    with monkeypatch.context() as patch:
        patch.setattr(wal_module.os, "write", fails(OSError(errno.ENOSPC, "full")))
        with pytest.raises(BusyError, match="no space left"):
            send(recorder, 2)
        assert not recorder.stats().healthy
        with pytest.raises(BusyError):
            send(recorder, 2)
    wait_for(lambda: recorder.stats().healthy)
    assert send(recorder, 2) == 1
    wait_for(lambda: recorder.stats().stored == 2)
    assert times(store) == [1, 2]


def test_what_could_not_be_synced_is_not_acknowledged_until_it_is_stored(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quick: None
) -> None:
    recorder = recorder_on(store, tmp_path / "log", fsync="always")
    with monkeypatch.context() as patch:
        patch.setattr(wal_module.os, "fdatasync", fails(OSError(errno.EIO, "broken")))
        for _ in range(3):
            with pytest.raises(BusyError):
                send(recorder, 1)
    wait_for(lambda: recorder.stats().healthy)
    assert times(store) == [1]
    assert send(recorder, 1) == 1
    recorder.stop()
    assert times(store) == [1]


def test_what_the_store_cannot_take_while_stopping_is_taken_after_the_next_start(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quick: None
) -> None:
    recorder = recorder_on(store, tmp_path / "log")
    with monkeypatch.context() as patch:
        patch.setattr(flush, "put_samples", fails(BusyError("no space left for the store")))
        send(recorder, 1)
        recorder.stop()
    with pytest.raises(BusyError):
        send(recorder, 2)
    assert times(store) == []
    again = recorder_on(store, tmp_path / "log")
    wait_for(lambda: again.stats().stored == 1)
    assert send(again, 1) == 1
    again.stop()
    assert times(store) == [1]


def test_a_store_that_cannot_be_read_makes_late_samples_wait(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(0, 20_000, 1000):
        send(recorder, number)
    with monkeypatch.context() as patch:
        patch.setattr(record, "samples_between", fails(StoreError("Code: 1. it broke")))
        with pytest.raises(BusyError):
            send(recorder, 500)
    assert send(recorder, 500) == 1


def test_a_body_in_the_log_that_cannot_be_read_is_kept_aside_and_told(
    store: Store, tmp_path: Path, quick: None
) -> None:
    log = Wal.open(tmp_path / "log")
    good = body(named("m", [(T, 1.0)]))
    for data in (good, b"not a body"):
        log.append(wal_module.Entry("remote-write", "", T, 1, b"", data), taken=1)
    log.close()
    recorder = recorder_on(store, tmp_path / "log")
    wait_for(lambda: recorder.stats().stored == 1)
    assert "cannot be read" in recorder.stats().log_damage[0]
    recorder.stop()
    assert times(store) == [0]
    assert len(list((tmp_path / "log" / "damaged").iterdir())) == 1


def test_a_decoder_that_breaks_is_the_bodys_fault_for_its_sender(
    store: Store, tmp_path: Path
) -> None:
    recorder = Recorder(
        store,
        Wal.open(tmp_path / "log"),
        decoders={"remote-write": fails(IndexError("a bug"))},
        clock=lambda: NOW,
    )
    recorder.start()
    with pytest.raises(IntakeError, match="cannot be decoded"):
        send(recorder, 1)
    assert recorder.stats().healthy
    recorder.stop()


def test_before_the_start_and_after_the_stop_samples_are_refused(
    store: Store, tmp_path: Path
) -> None:
    recorder = Recorder(
        store,
        Wal.open(tmp_path / "log"),
        decoders={"remote-write": remotewrite.decoder(Limits())},
        clock=lambda: NOW,
    )
    with pytest.raises(BusyError):
        send(recorder, 1)
    recorder.start()
    send(recorder, 1)
    recorder.stop()
    with pytest.raises(BusyError, match="stopping"):
        send(recorder, 2)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system of 48 MB, where this user may mount one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=48m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("this user may not mount a file system")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_on_a_disk_that_is_really_full_nothing_acknowledged_is_lost(
    small_disk: Path, quick: None
) -> None:
    with Store.open(small_disk / "store", retention=AGES, memory_bytes=1 << 30) as store:
        recorder = recorder_on(store, small_disk / "log")
        safe = [number for number in range(5) if send(recorder, number, samples=50) == 50]
        ballast = small_disk / "ballast"
        fill(ballast)
        refused = 0
        for number in range(5, 400):
            try:
                assert send(recorder, number, samples=50) == 50
                safe.append(number)
            except BusyError:
                refused += 1
                threading.Event().wait(0.01)
        assert refused > 0
        ballast.unlink()
        wait_for(lambda: recorder.stats().healthy)
        safe += [n for n in range(400, 405) if send(recorder, n, samples=50) == 50]
        recorder.stop()
        assert times(store) == [number for number in safe for _ in range(50)]


def fill(ballast: Path) -> None:
    """Takes all room but a little, as other programs on the disk would."""
    with ballast.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(1 << 16))


def test_a_flush_brings_what_was_accepted_into_the_store_at_once(
    store: Store, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = start(flush_seconds=3600.0)
    send(recorder, 0)
    assert times(store) == []
    recorder.flush()
    assert times(store) == [0]
    send(recorder, 1)
    with monkeypatch.context() as patch:
        patch.setattr(flush, "put_samples", fails(BusyError("no space left")))
        with pytest.raises(BusyError, match="not everything is in the store yet: no space left"):
            recorder.flush(timeout=0.5)


def test_a_flush_does_not_wait_for_what_comes_after_it(recorder: Recorder) -> None:
    done = threading.Event()

    def keep_sending() -> None:
        number = 0
        while not done.is_set():
            send(recorder, number)
            number += 1

    sender = threading.Thread(target=keep_sending)
    sender.start()
    try:
        for _ in range(5):
            recorder.flush(timeout=20)
    finally:
        done.set()
        sender.join()
