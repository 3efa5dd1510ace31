"""The write-ahead log's bytes, version 1 (docs/decisions/0002-write-ahead-log.md).

A segment is a header and records. A record is a mark, the length and the CRC-32 of its payload,
and the payload, whose first byte is its kind:

    BODY  a request body as it was received, and which of its samples were taken
    CUT   a batch is closed: nothing of it reaches the store before this
    DONE  a batch is in the store

All numbers are little-endian. The mark lets a reader find the next record behind damaged bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal
from zlib import crc32

import numpy as np
import numpy.typing as npt

from seedance.facts.errors import RefusedError
from seedance.facts.samples import Door

VERSION = 1
MAGIC = b"seedance-log"
_HEADER = struct.Struct("<12sIq16s")
_CRC = struct.Struct("<I")
HEADER_SIZE = _HEADER.size + _CRC.size

MARK = b"\xa5Rec"
_FRAME = struct.Struct("<4sII")
_BODY, _CUT, _DONE = 1, 2, 3
_KIND_TOKEN = struct.Struct("<B25s")
_BODY_HEAD = struct.Struct("<B25sqBHII")
_CUT_HEAD = struct.Struct("<B25sII")

_RUN = 16

Token = str
"""Names a batch, unique for ever: 16 hex digits of the run, a dash, 8 of the batch."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A received body.

    Attributes:
        door: which door it came through; it names the decoder.
        cluster: the cluster the sender's token is bound to, or "".
        received: when, in ms since the epoch.
        samples: how many samples the body holds.
        taken: bit i (most significant first) says whether sample i of the body belongs to the
            batch; empty where all do.
        body: as received, still compressed.
    """

    door: Door
    cluster: str
    received: int
    samples: int
    taken: bytes
    body: bytes

    def mask(self) -> npt.NDArray[np.bool_]:
        """Which samples of the body were taken, by position."""
        if not self.taken:
            return np.ones(self.samples, np.bool_)
        bits = np.unpackbits(np.frombuffer(self.taken, np.uint8), count=self.samples)
        return bits.view(np.bool_)


def pack_mask(mask: npt.NDArray[np.bool_]) -> bytes:
    """`Entry.taken` for a mask."""
    return b"" if bool(mask.all()) else np.packbits(mask).tobytes()


@dataclass(frozen=True, slots=True)
class Record:
    """A record as it stands in a segment at `at`; `entry` is there for bodies only."""

    kind: Literal["body", "cut", "done"]
    token: Token
    at: int
    size: int
    bodies: int = 0
    entry: Entry | None = None


@dataclass(frozen=True, slots=True)
class Gap:
    """Bytes of a segment that are no record.

    They are the `torn` end of a write that nobody was told of, since a crash cut it short, or
    damage.
    """

    at: int
    size: int
    torn: bool


def header(*, created: int, run: str) -> bytes:
    """The first bytes of a segment, created at `created` ms since the epoch by a run."""
    head = _HEADER.pack(MAGIC, VERSION, created, run.encode())
    return head + _CRC.pack(crc32(head))


def body_record(token: Token, entry: Entry) -> list[bytes]:
    """A body as pieces to write."""
    door, cluster = entry.door.encode(), entry.cluster.encode()
    head = _BODY_HEAD.pack(
        _BODY,
        token.encode(),
        entry.received,
        len(door),
        len(cluster),
        entry.samples,
        len(entry.taken),
    )
    return _framed([head, door, cluster, entry.taken, entry.body])


def cut_record(token: Token, *, bodies: int, samples: int) -> list[bytes]:
    """The end of a batch of `bodies` bodies, of which `samples` samples were taken."""
    return _framed([_CUT_HEAD.pack(_CUT, token.encode(), bodies, samples)])


def done_record(token: Token) -> list[bytes]:
    """A batch is in the store."""
    return _framed([_KIND_TOKEN.pack(_DONE, token.encode())])


def _framed(pieces: list[bytes]) -> list[bytes]:
    size = crc = 0
    for piece in pieces:
        size += len(piece)
        crc = crc32(piece, crc)
    return [_FRAME.pack(MARK, size, crc), *pieces]


def read_segment(data: bytes) -> Iterator[Record | Gap]:
    """Everything in a segment, in order; what is no record is told as a gap.

    Raises:
        RefusedError: if a newer program wrote it.
    """
    run = _read_header(data)
    at = min(len(data), HEADER_SIZE)
    if not run:
        yield Gap(0, at, torn=len(data) < HEADER_SIZE)
    while at < len(data):
        record = _read_record(data, at)
        if record is None:
            gap = _find_gap(data, at, run=run)
            yield gap
            at += gap.size
        else:
            run = run or record.token[:_RUN]
            yield record
            at += record.size


def read_entry(data: bytes) -> Entry | None:
    """The body in the bytes of one record, or None if they are not whole."""
    record = _read_record(data, 0)
    return record.entry if record else None


def _read_header(data: bytes) -> str:
    """The run that wrote the segment, or "" if its header is damaged."""
    if len(data) < HEADER_SIZE:
        return ""
    magic, version, _, run = _HEADER.unpack_from(data)
    if magic != MAGIC or crc32(data[: _HEADER.size]) != _CRC.unpack_from(data, _HEADER.size)[0]:
        return ""
    if version != VERSION:
        raise RefusedError(
            f"the write-ahead log has version {version}, this program reads {VERSION}",
            hint="start the version that wrote it once, it will empty the log",
        )
    return str(run.decode())


def _read_record(data: bytes, at: int) -> Record | None:
    if at + _FRAME.size > len(data):
        return None
    mark, size, crc = _FRAME.unpack_from(data, at)
    start = at + _FRAME.size
    if mark != MARK or start + size > len(data) or size < _KIND_TOKEN.size:
        return None
    payload = data[start : start + size]
    if crc32(payload) != crc:
        return None
    kind, token = payload[0], payload[1 : _KIND_TOKEN.size].decode()
    whole = _FRAME.size + size
    if kind == _BODY:
        return Record("body", token, at, whole, entry=_read_body(payload))
    if kind == _CUT:
        return Record("cut", token, at, whole, bodies=_CUT_HEAD.unpack(payload)[2])
    return Record("done", token, at, whole) if kind == _DONE else None


def _read_body(payload: bytes) -> Entry:
    _, _, received, door, cluster, samples, taken = _BODY_HEAD.unpack_from(payload)
    ends = np.cumsum([_BODY_HEAD.size, door, cluster, taken]).tolist()
    parts = [payload[a:b] for a, b in zip(ends, [*ends[1:], len(payload)], strict=True)]
    name = parts[0].decode()
    return Entry(
        door=name,  # type: ignore[arg-type]  # written from a Door
        cluster=parts[1].decode(),
        received=received,
        samples=samples,
        taken=parts[2],
        body=parts[3],
    )


def _find_gap(data: bytes, at: int, *, run: str) -> Gap:
    """The bytes at `at` up to the next whole record, or up to the end.

    A body that a sender made up may hold what looks like a record; it cannot know the run.
    """
    found = data.find(MARK, at + 1)
    while found >= 0:
        record = _read_record(data, found)
        if record is not None and (record.kind != "body" or record.token.startswith(run or "?")):
            return Gap(at, found - at, torn=False)
        found = data.find(MARK, found + 1)
    return Gap(at, len(data) - at, torn=_is_torn(data, at))


def _is_torn(data: bytes, at: int) -> bool:
    """Whether the rest of a segment looks like a write that did not come to its end."""
    rest = len(data) - at
    if rest < _FRAME.size:
        return MARK.startswith(data[at : at + len(MARK)]) or not any(data[at:])
    mark, size, _ = _FRAME.unpack_from(data, at)
    if mark == MARK:
        return bool(at + _FRAME.size + size > len(data))
    return not any(data[at:])
