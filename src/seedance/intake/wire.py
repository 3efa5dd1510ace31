"""The protobuf wire format: just enough to walk a message field by field, strictly.

Accepts exactly what protobuf's own parsers accept (a test compares them): unknown fields and
groups are skipped, a length may not leave its message, a varint has at most ten bytes and its
bits beyond 64 are dropped.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from seedance.facts.errors import IntakeError

VARINT, FIXED64, LENGTH, GROUP, GROUP_END, FIXED32 = range(6)
MORE = 0x80
"""A varint byte at or above this has a successor."""
_ALL_64 = (1 << 64) - 1
_MAX_SHIFT = 63
_MIN_TAG = 8
_MAX_SHORT = 5
"""Bytes of a tag or length, at most."""
_MAX_SIZE = (1 << 31) - 1
_MAX_TAG = (1 << 32) - 1
_MAX_DEPTH = 100


class Field(NamedTuple):
    """A field of a message: its tag, and where tag (`at`), value (`start`) and end lie.

    `number` is the value of a varint field, else 0.
    """

    tag: int
    at: int
    start: int
    end: int
    number: int


def read_varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """The unsigned 64-bit varint at `at` and the position after it.

    Raises:
        IntakeError: if it leaves the message or has more than ten bytes.
    """
    value = shift = 0
    while at < end:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < MORE:
            return value & _ALL_64, at
        shift += 7
        if shift > _MAX_SHIFT:
            raise IntakeError(f"varint over ten bytes at byte {at}")
    raise IntakeError(f"varint cut off at byte {at}: the message is truncated")


def read_fields(data: bytes, at: int, end: int) -> Iterator[Field]:
    """Each field of the message in `data[at:end]`, groups as one field.

    Raises:
        IntakeError: if the bytes are no well-formed message.
    """
    while at < end:
        field = read_field(data, at, end)
        yield field
        at = field.end


def read_field(data: bytes, at: int, end: int) -> Field:
    """The field that begins at `at`, a group as a whole.

    Raises:
        IntakeError: if the bytes are no well-formed field.
    """
    field = _read_field(data, at, end, depth=0)
    if field.tag & 7 == GROUP_END:
        raise IntakeError(f"end of a group that was not begun at byte {at}")
    return field


def _read_field(data: bytes, begin: int, end: int, *, depth: int) -> Field:
    tag, at = read_varint(data, begin, end)
    if not _MIN_TAG <= tag <= _MAX_TAG or at - begin > _MAX_SHORT:
        raise IntakeError(f"no field number at byte {begin}")
    number, start, stop = 0, at, at
    match tag & 7:
        case 0:
            number, stop = read_varint(data, at, end)
        case 1:
            stop = at + 8
        case 2:
            size, start = read_varint(data, at, end)
            if size > _MAX_SIZE or start - at > _MAX_SHORT:
                raise IntakeError(f"length over 2 GiB at byte {at}")
            stop = start + size
        case 3:
            stop = _skip_group(data, at, end, tag=tag, depth=depth + 1)
        case 4:
            pass
        case 5:
            stop = at + 4
        case _:
            raise IntakeError(f"unknown wire type {tag & 7} at byte {begin}")
    if stop > end:
        raise IntakeError(f"a field at byte {begin} ends outside its message")
    return Field(tag, begin, start, stop, number)


def _skip_group(data: bytes, at: int, end: int, *, tag: int, depth: int) -> int:
    if depth > _MAX_DEPTH:
        raise IntakeError(f"groups nested deeper than {_MAX_DEPTH} at byte {at}")
    while at < end:
        field = _read_field(data, at, end, depth=depth)
        at = field.end
        if field.tag & 7 == GROUP_END:
            if field.tag >> 3 != tag >> 3:
                raise IntakeError(f"end of another group at byte {at}")
            return at
    raise IntakeError(f"a group is not ended at byte {at}: the message is truncated")
