"""Chance without a generator: the same names give the same numbers, whoever asks first."""

from __future__ import annotations

import uuid
from hashlib import blake2b

_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
"""What Kubernetes makes the ends of names of."""

_SPACE = uuid.UUID("5eeda0ce-0000-4000-8000-000000000001")
_RANGE = 1 << 64


def number(*parts: object) -> int:
    """64 bits that depend on the parts alone."""
    text = "/".join(str(part) for part in parts)
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


def draw(*parts: object) -> float:
    """A number from 0 to below 1 that depends on the parts alone."""
    return number(*parts) / _RANGE


def uid(*parts: object) -> str:
    """A UID that depends on the parts alone."""
    return str(uuid.uuid5(_SPACE, "/".join(str(part) for part in parts)))


def letters(count: int, *parts: object) -> str:
    """The end of a generated name, such as `x7k2f`."""
    rest, found = number(*parts), ""
    for _ in range(count):
        rest, letter = divmod(rest, len(_LETTERS))
        found += _LETTERS[letter]
    return found
