"""The write-ahead log: what it keeps, what it forgets, and what it says of damage."""

from __future__ import annotations

import errno
import os
import struct
import threading
from collections.abc import Callable
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seedance.facts.errors import BusyError, RefusedError
from seedance.store import logformat, wal
from seedance.store.logformat import Entry, Gap, pack_mask, read_segment
from seedance.store.wal import Wal


def entry(number: int, *, size: int = 100, cluster: str = "c") -> Entry:
    body = number.to_bytes(8, "little") + b"x" * size
    return Entry("remote-write", cluster, 1_796_000_000_000 + number, 10, b"", body)


def left(folder: Path) -> list[tuple[bool, list[Entry]]]:
    """What an earlier run did not finish: (closed, bodies) per batch."""
    log = Wal.open(folder)
    found = [(batch.closed, list(batch.entries)) for batch in log.unfinished()]
    log.close()
    return found


def segments(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.wal"))


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 0xFF
    path.write_bytes(data)


def test_bodies_come_back_as_they_were_until_their_batch_is_done(tmp_path: Path) -> None:
    log = Wal.open(tmp_path)
    mask = np.array([True, False, True, True] * 3)
    odd = Entry("kubelet", "ünïcode", -5, 12, pack_mask(mask), bytes(range(256)))
    for each in (entry(1), odd):
        log.append(each, taken=9)
    first = log.cut()
    log.append(entry(2), taken=10)
    log.close()
    assert left(tmp_path) == [(True, [entry(1), odd]), (False, [entry(2)])]
    assert (odd.mask() == mask).all()
    assert entry(1).mask().tolist() == [True] * 10

    log = Wal.open(tmp_path)
    assert first
    log.done(first)
    log.close()
    assert left(tmp_path) == [(False, [entry(2)])]


def test_a_token_is_never_given_twice(tmp_path: Path) -> None:
    tokens = []
    for _ in range(3):
        log = Wal.open(tmp_path)
        for number in range(3):
            log.append(entry(number), taken=10)
            tokens.append(log.cut())
        log.close()
    assert len(set(tokens)) == 9


def test_an_open_batch_keeps_its_token_over_restarts(tmp_path: Path) -> None:
    log = Wal.open(tmp_path)
    log.append(entry(1), taken=10)
    token = log.token
    log.close()
    for _ in range(2):
        log = Wal.open(tmp_path)
        (batch,) = log.unfinished()
        assert batch.token == token
        log.adopt(batch)
        log.close()
    log = Wal.open(tmp_path)
    assert [batch.closed for batch in log.unfinished()] == [True]
    log.done(token)
    assert list(log.unfinished()) == []
    log.close()
    assert left(tmp_path) == []


def test_an_empty_batch_is_not_cut(tmp_path: Path) -> None:
    log = Wal.open(tmp_path)
    assert log.cut() is None
    log.append(entry(1), taken=10)
    assert log.cut()
    assert log.cut() is None


def test_segments_go_when_all_their_batches_are_done(tmp_path: Path) -> None:
    log = Wal.open(tmp_path, segment_bytes=10_000)
    tokens = []
    for number in range(30):
        log.append(entry(number, size=4000), taken=10)
        tokens.append(log.cut() or "")
    assert len(segments(tmp_path)) == 11
    for token in tokens[1:]:
        log.done(token)
    assert len(segments(tmp_path)) >= 10, "the oldest still holds a batch"
    log.done(tokens[0])
    assert len(segments(tmp_path)) == 1
    assert log.size < 10_000


def test_an_idle_log_shrinks(tmp_path: Path) -> None:
    log = Wal.open(tmp_path)
    for number in range(20):
        log.append(entry(number, size=100_000), taken=10)
    assert log.size > 2_000_000
    log.done(log.cut() or "")
    assert log.size == 0
    log.append(entry(1), taken=10)
    assert left_beside(log) == [entry(1)]


def left_beside(log: Wal) -> list[Entry]:
    """The bodies in the files of a log that is open."""
    return [
        record.entry
        for path in segments(log.folder)
        for record in read_segment(path.read_bytes())
        if not isinstance(record, Gap) and record.entry
    ]


# ---------------------------------------------------------------- torn ends and damage


def written(folder: Path, bodies: int) -> Path:
    log = Wal.open(folder)
    for number in range(bodies):
        log.append(entry(number), taken=10)
    log.close()
    return segments(folder)[0]


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_a_log_cut_at_any_byte_yields_a_whole_prefix_and_no_damage(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("log")
    path = written(folder, 4)
    whole = path.read_bytes()
    keep = data.draw(st.integers(0, len(whole)))
    path.write_bytes(whole[:keep])
    log = Wal.open(folder)
    bodies = [each for batch in log.unfinished() for each in batch.entries]
    assert bodies == [entry(number) for number in range(len(bodies))]
    assert len(bodies) == 4 or keep < len(whole)
    assert log.damage == []
    log.append(entry(9), taken=10)
    log.close()
    assert [each for _, bodies in left(folder) for each in bodies][-1] == entry(9)


def test_a_tail_of_zeros_after_a_power_cut_is_no_damage(tmp_path: Path) -> None:
    path = written(tmp_path, 2)
    path.write_bytes(path.read_bytes() + bytes(4096))
    log = Wal.open(tmp_path)
    assert [len(batch.entries) for batch in log.unfinished()] == [2]
    assert log.damage == []


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_flipped_byte_costs_one_body_at_most_and_is_reported(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("log")
    path = written(folder, 4)
    ends = [record.at + record.size for record in read_segment(path.read_bytes())]
    at = data.draw(st.integers(0, ends[-2] - 1))
    flip(path, at)
    try:
        log = Wal.open(folder)
    except RefusedError:
        raise AssertionError("a damaged version field was believed") from None
    bodies = [each for batch in log.unfinished() for each in batch.entries]
    assert len(bodies) >= 3
    assert bodies == [each for each in map(entry, range(4)) if each in bodies]
    assert len(log.damage) == 1
    assert path.name in log.damage[0]


def test_a_damaged_segment_is_kept_aside_when_it_is_done(tmp_path: Path) -> None:
    path = written(tmp_path, 4)
    flip(path, 200)
    log = Wal.open(tmp_path)
    damaged = path.read_bytes()
    for batch in log.unfinished():
        log.adopt(batch)
        log.done(batch.token)
    assert not path.exists()
    (kept,) = (tmp_path / "damaged").iterdir()
    assert kept.name.startswith(path.name)
    assert kept.read_bytes() == damaged
    log.close()
    again = Wal.open(tmp_path)
    assert again.damage == []


def test_bodies_that_are_missing_from_a_closed_batch_are_reported(tmp_path: Path) -> None:
    log = Wal.open(tmp_path)
    log.append(entry(1), taken=10)
    log.append(entry(2), taken=10)
    log.cut()
    log.close()
    path = segments(tmp_path)[0]
    flip(path, 150)
    log = Wal.open(tmp_path)
    assert any("1 bodies" in text for text in log.damage)
    assert [len(batch.entries) for batch in log.unfinished()] == [1]


def test_a_sender_cannot_smuggle_a_body_into_the_log(tmp_path: Path) -> None:
    forged = b"".join(logformat.body_record("f" * 16 + "-00000000", entry(666, cluster="other")))
    log = Wal.open(tmp_path)
    smuggler = Entry("remote-write", "mine", 1, 10, b"", b"z" * 50 + forged + b"z" * 50)
    for each in (entry(1), smuggler, entry(2)):
        log.append(each, taken=10)
    log.close()
    path = segments(tmp_path)[0]
    flip(path, path.read_bytes().index(b"mine"))
    assert [bodies for _, bodies in left(tmp_path)] == [[entry(1), entry(2)]]


def test_a_log_of_a_newer_version_is_refused_untouched(tmp_path: Path) -> None:
    path = written(tmp_path, 1)
    data = path.read_bytes()
    head = bytearray(data[: logformat.HEADER_SIZE - 4])
    struct.pack_into("<I", head, len(logformat.MAGIC), 2)
    newer = bytes(head) + struct.pack("<I", crc32(head)) + data[logformat.HEADER_SIZE :]
    path.write_bytes(newer)
    with pytest.raises(RefusedError, match="version 2"):
        Wal.open(tmp_path)
    assert path.read_bytes() == newer


def test_the_format_of_version_1_is_this() -> None:
    """Bytes written by the first version: readers of all later ones must take them."""
    token = "0123456789abcdef-00000007"
    data = (
        logformat.header(created=1_796_000_000_000, run="0123456789abcdef")
        + b"".join(logformat.body_record(token, Entry("kubelet", "c", 5, 3, b"\xa0", b"body")))
        + b"".join(logformat.cut_record(token, bodies=1, samples=2))
        + b"".join(logformat.done_record(token))
    )
    assert data.hex() == (
        "73656564616e63652d6c6f67010000000028f129a201000030313233343536373839616263646566"
        "aeeb772aa55265633a000000849b922d01303132333435363738396162636465662d303030303030"
        "3037050000000000000007010003000000010000006b7562656c657463a0626f6479a55265632200"
        "00004d92df3602303132333435363738396162636465662d30303030303030370100000002000000"
        "a55265631a0000002435af2e03303132333435363738396162636465662d3030303030303037"
    )
    assert [type(item).__name__ for item in read_segment(data)] == ["Record"] * 3


# ---------------------------------------------------------------- a disk that does not play along


def failing(code: int, *, after: int) -> Callable[[int, bytes], int]:
    """An `os.write` that writes `after` bytes of a piece and then fails."""
    real = os.write
    state = {"short": False}

    def write(file: int, data: bytes) -> int:
        if state["short"] or after == 0:
            raise OSError(code, os.strerror(code))
        state["short"] = True
        return real(file, data[:after])

    return write


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EDQUOT])
@pytest.mark.parametrize("after", [0, 5, 60])
def test_a_write_that_fails_leaves_the_log_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, after: int
) -> None:
    log = Wal.open(tmp_path)
    log.append(entry(1), taken=10)
    before = segments(tmp_path)[0].read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(wal.os, "write", failing(code, after=after))
        with pytest.raises(BusyError):
            log.append(entry(2), taken=10)
    assert segments(tmp_path)[0].read_bytes() == before
    log.append(entry(3), taken=10)
    log.close()
    assert [bodies for _, bodies in left(tmp_path)] == [[entry(1), entry(3)]]


def test_where_even_undoing_fails_the_log_goes_on_in_another_segment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no(*_: object) -> None:
        raise OSError(errno.EIO, "no")

    log = Wal.open(tmp_path)
    log.append(entry(1), taken=10)
    with monkeypatch.context() as patch:
        patch.setattr(wal.os, "write", failing(errno.ENOSPC, after=30))
        patch.setattr(wal.os, "ftruncate", no)
        with pytest.raises(BusyError):
            log.append(entry(2), taken=10)
    log.append(entry(3), taken=10)
    log.close()
    assert len(segments(tmp_path)) == 2
    again = Wal.open(tmp_path)
    assert [list(batch.entries) for batch in again.unfinished()] == [[entry(1), entry(3)]]
    assert again.damage == []


def test_a_segment_that_cannot_be_begun_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = Wal.open(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(wal.os, "write", failing(errno.ENOSPC, after=10))
        with pytest.raises(BusyError):
            log.append(entry(1), taken=10)
    assert segments(tmp_path) == []
    log.append(entry(1), taken=10)


def test_a_sync_that_fails_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no(_: int) -> None:
        raise OSError(errno.EIO, "no")

    log = Wal.open(tmp_path, fsync="always")
    log.append(entry(1), taken=10)
    with monkeypatch.context() as patch:
        patch.setattr(wal.os, "fdatasync", no)
        with pytest.raises(BusyError):
            log.sync_if_due()
    log.sync_if_due()


def test_writers_share_syncs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    syncs = []
    slow = threading.Event()

    def sync(file: int) -> None:
        syncs.append(file)
        slow.wait(0.02)

    monkeypatch.setattr(wal.os, "fdatasync", sync)
    log = Wal.open(tmp_path, fsync="always")

    def work() -> None:
        for number in range(10):
            log.append(entry(number), taken=10)
            log.sync_if_due()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(syncs) < 60
    assert len(left_beside(log)) == 80


@pytest.mark.parametrize(("fsync", "least", "most"), [("always", 5, 5), ("interval", 0, 1)])
def test_fsync_is_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fsync: wal.Fsync, least: int, most: int
) -> None:
    syncs: list[int] = []
    monkeypatch.setattr(wal.os, "fdatasync", syncs.append)
    log = Wal.open(tmp_path, fsync=fsync)
    for number in range(5):
        log.append(entry(number), taken=10)
        log.sync_if_due()
    assert least <= len(syncs) <= most
