"""The write-ahead log: what was acknowledged is here before the answer goes out.

Flow: `append` writes a body into the open batch; `cut` closes that batch and opens the next one;
the recorder inserts a closed batch under its token and calls `done`. Segments whose batches are
all done are removed. After a crash `unfinished` yields every batch that is not done, with the
token it had, so that what already reached the store is not written twice. The format is in
`store.logformat` and in docs/decisions/0002-write-ahead-log.md.

Nothing is dropped in silence: the torn end of a last write (of which no sender was told) is
skipped with a note; damage is reported in `damage`, everything readable around it is replayed,
and the segment is moved to `damaged/` instead of being removed.
"""

from __future__ import annotations

import errno
import os
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import structlog

from seedance.facts.errors import BusyError
from seedance.store.logformat import (
    Entry,
    Gap,
    Record,
    Token,
    body_record,
    cut_record,
    done_record,
    header,
    read_entry,
    read_segment,
)
from seedance.store.segments import Segment, sync_folder, take_away, write_fully

NO_BATCH: Token = f"{0:016x}-{0:08x}"

log = structlog.get_logger()

Fsync = Literal["always", "interval", "never"]
"""When a body must be on the disk: before the answer, about every second, whenever the kernel
likes. Each of them survives the death of the process; only `always` a power cut."""

_INTERVAL_S = 1.0
_RECYCLE_BYTES = 1 << 20
"""An idle log larger than this begins a new segment, so that the old one can go."""

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch that is not done: its token and its bodies, in the order they came."""

    token: Token
    closed: bool
    entries: tuple[Entry, ...]


@dataclass(slots=True)
class _Left:
    """A batch found at the start, not done: where its bodies lie."""

    closed: bool = False
    bodies: int = 0
    places: list[tuple[Path, int, int]] = field(default_factory=list)


class Wal:
    """A log in a folder that one process owns; safe to share between threads."""

    def __init__(self, folder: Path, *, fsync: Fsync, segment_bytes: int) -> None:
        self.folder = folder
        self.fsync: Fsync = fsync
        self.damage: list[str] = []
        """What could not be read, one sentence each, since the log was opened."""
        self._segment_bytes = segment_bytes
        self._lock = threading.RLock()
        self._syncing = threading.Lock()
        self._segments: list[Segment] = []
        self._left: dict[Token, _Left] = {}
        self._file: int | None = None
        self._worn = False
        self._number = 0
        self._run = secrets.token_hex(8)
        self._batch = 0
        self._bodies = self._samples = 0
        self._written = self._synced = 0
        self._synced_at = time.monotonic()

    @classmethod
    def open(cls, folder: Path, *, fsync: Fsync = "interval", segment_bytes: int = 64 << 20) -> Wal:
        """The log in `folder`, which is made if it is missing; reads what an earlier run left.

        Raises:
            RefusedError: if a newer program wrote the log.
            OSError: if the folder cannot be read or made.
        """
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        wal = cls(folder, fsync=fsync, segment_bytes=segment_bytes)
        for path in sorted(folder.glob("*.wal")):
            wal._read_back(path)
        wal._note_missing()
        wal._retire()
        return wal

    @property
    def token(self) -> Token:
        """The token of the open batch."""
        return f"{self._run}-{self._batch:08x}"

    @property
    def size(self) -> int:
        """Bytes of all segments."""
        with self._lock:
            return sum(segment.size for segment in self._segments)

    def unfinished(self) -> Iterator[Batch]:
        """Each batch that an earlier run did not finish, in order. Call it before `append`."""
        for token, left in list(self._left.items()):
            entries = []
            for path, at, size in left.places:
                with path.open("rb") as file:
                    file.seek(at)
                    entry = read_entry(file.read(size))
                if entry:
                    entries.append(entry)
            yield Batch(token, left.closed, tuple(entries))

    def append(self, entry: Entry, *, taken: int) -> None:
        """Write a body into the open batch; `taken` of its samples count.

        On return it survives the death of the process; `sync_if_due` brings it to the disk.

        Raises:
            BusyError: if it could not be written (disk full); the log is as it was before.
        """
        with self._lock:
            segment = self._write(body_record(self.token, entry))
            segment.open.add(self.token)
            self._bodies += 1
            self._samples += taken

    def sync_if_due(self) -> None:
        """`sync` as often as `fsync` asks for; call it before an answer goes out.

        Raises:
            BusyError: if the disk refuses.
        """
        due = time.monotonic() - self._synced_at >= _INTERVAL_S
        if self.fsync == "always" or (self.fsync == "interval" and due):
            self.sync()

    def sync(self) -> None:
        """Bring everything that was written so far to the disk; writers share one call.

        Raises:
            BusyError: if the disk refuses.
        """
        if self.fsync == "never":
            return
        with self._lock:
            wanted = self._written
        with self._syncing:
            if self._synced >= wanted:
                return
            with self._lock:
                # Another thread may close the segment meanwhile; this descriptor stays open.
                file = None if self._file is None else os.dup(self._file)
                reached = self._written
            if file is not None:
                try:
                    with _busy_on_failure("sync"):
                        os.fdatasync(file)
                finally:
                    os.close(file)
            self._synced, self._synced_at = reached, time.monotonic()

    def cut(self) -> Token | None:
        """Close the open batch and begin the next; its token, or None if it was empty.

        Raises:
            BusyError: if it could not be written; the batch stays open.
        """
        with self._lock:
            if not self._bodies:
                return None
            token = self.token
            self._write(cut_record(token, bodies=self._bodies, samples=self._samples))
            self._batch += 1
            self._bodies = self._samples = 0
            return token

    def adopt(self, batch: Batch) -> None:
        """Close a batch that an earlier run left open.

        Raises:
            BusyError: if it could not be written.
        """
        with self._lock:
            left = self._left[batch.token]
            if not left.closed:
                self._write(cut_record(batch.token, bodies=len(batch.entries), samples=0))
                left.closed = True

    def done(self, token: Token) -> None:
        """A batch is in the store: segments that nobody needs any more are removed.

        Raises:
            BusyError: if it could not be written.
        """
        with self._lock:
            self._write(done_record(token))
            self._left.pop(token, None)
            for segment in self._segments:
                segment.open.discard(token)
            self._retire()

    def probe(self) -> None:
        """Write a few bytes that mean nothing, to learn whether the log can be written.

        Raises:
            BusyError: if it cannot.
        """
        with self._lock:
            self._write(done_record(NO_BATCH))

    def keep_aside(self, token: Token, reason: str) -> None:
        """A batch of an earlier run holds bytes that cannot be used: keep its segments."""
        with self._lock:
            for segment in self._segments:
                if token in segment.open:
                    self._report(segment, reason)

    def close(self) -> None:
        """Sync and close; the segments stay for the next start."""
        try:
            self.sync()
        finally:
            with self._lock:
                self._close_file()

    def _write(self, pieces: list[bytes]) -> Segment:
        data = b"".join(pieces)
        with _busy_on_failure("write"):
            full = bool(self._segments) and self._segments[-1].size >= self._segment_bytes
            if self._file is None or self._worn or full:
                self._begin_segment()
            segment = self._segments[-1]
            try:
                write_fully(self._file or 0, data)
            except OSError:
                self._undo(segment)
                raise
        segment.size += len(data)
        self._written += len(data)
        return segment

    def _undo(self, segment: Segment) -> None:
        """Take a half-written record back; if even that fails, write on in another segment."""
        try:
            os.ftruncate(self._file or 0, segment.size)
        except OSError:
            self._worn = True

    def _begin_segment(self) -> None:
        if self.fsync != "never" and self._file is not None:
            os.fdatasync(self._file)
        path = self.folder / f"{self._number + 1:016d}.wal"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
        file = os.open(path, flags, 0o600)
        head = header(created=time.time_ns() // 1_000_000, run=self._run)
        try:
            write_fully(file, head)
            if self.fsync != "never":
                sync_folder(self.folder)
        except OSError:
            os.close(file)
            path.unlink(missing_ok=True)
            raise
        self._close_file()
        self._number += 1
        self._file, self._worn = file, False
        self._segments.append(Segment(path, len(head)))

    def _close_file(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _read_back(self, path: Path) -> None:
        self._number = max(self._number, int(path.stem))
        data = path.read_bytes()
        segment = Segment(path, len(data))
        self._segments.append(segment)
        for item in read_segment(data):
            if isinstance(item, Gap):
                self._note_gap(segment, item)
            else:
                self._note_record(segment, item)

    def _note_record(self, segment: Segment, record: Record) -> None:
        if record.kind == "done":
            self._left.pop(record.token, None)
            for each in self._segments:
                each.open.discard(record.token)
            return
        left = self._left.setdefault(record.token, _Left())
        if record.kind == "body":
            segment.open.add(record.token)
            left.places.append((segment.path, record.at, record.size))
            return
        left.closed, left.bodies = True, record.bodies

    def _note_missing(self) -> None:
        """Report batches of which bodies are gone; those without any need nothing more."""
        for token, left in list(self._left.items()):
            if left.bodies > len(left.places):
                text = f"{left.bodies - len(left.places)} bodies of batch {token} are missing"
                self._report(self._segments[-1], text)
            if not left.places:
                del self._left[token]

    def _note_gap(self, segment: Segment, gap: Gap) -> None:
        if gap.torn:
            log.info("log-torn-end", segment=segment.path.name, at=gap.at, bytes=gap.size)
        else:
            self._report(segment, f"{gap.size} bytes at {gap.at} are damaged")

    def _report(self, segment: Segment, what: str) -> None:
        segment.damaged = True
        text = f"write-ahead log: {what} in {segment.path.name}; the file is kept in damaged/"
        self.damage.append(text)
        log.error("log-damaged", segment=segment.path.name, what=what)

    def _retire(self) -> None:
        """Remove segments from the oldest on, as long as nobody needs them."""
        newest = self._segments[-1] if self._segments else None
        if newest and not newest.open and newest.size >= _RECYCLE_BYTES:
            self._close_file()
        while self._segments and not self._segments[0].open:
            segment = self._segments[0]
            if segment is newest and self._file is not None:
                return
            try:
                if self._file is not None and self.fsync != "never":
                    os.fdatasync(self._file)  # that it is done must outlast what was done
                take_away(segment)
            except OSError as error:
                log.warning("log-segment-stays", segment=segment.path.name, error=str(error))
                return
            del self._segments[0]


@contextmanager
def _busy_on_failure(doing: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        what = "no space left" if error.errno in _FULL else os.strerror(error.errno or 0)
        raise BusyError(
            f"cannot {doing} the write-ahead log: {what}; nothing is lost, send again later",
            retry_after=10,
            hint="make room on the disk of the data folder",
        ) from error
