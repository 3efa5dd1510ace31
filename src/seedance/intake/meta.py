"""Metadata that every Kubernetes object carries: labels, annotations, owner, instants.

What is left out, on purpose: `managedFields`; the annotation `last-applied-configuration` (a
second copy of the whole object); annotation values over 1 KiB; annotations that are heartbeats of
some agent. Everything else keeps its raw key and value.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from seedance.facts.errors import IntakeError
from seedance.facts.inventory import Labels, Owner, Uid
from seedance.facts.window import parse_instant

LONGEST_ANNOTATION = 1024
"""Bytes of UTF-8; a longer annotation value is not kept."""

_COPIES = frozenset({"kubectl.kubernetes.io/last-applied-configuration"})
_HEARTBEATS = (
    "control-plane.alpha.kubernetes.io/leader",
    "hami.io/node-handshake",
    "4pd.io/node-handshake",
)
_FIRST_YEAR = 1971  # Kubernetes writes the zero time (year 1 or 1970) for "not known"

Json = Mapping[str, Any]


def metadata_of(document: Json) -> Json:
    """The object's metadata.

    Raises:
        IntakeError: if it has none, or no uid, name or creation time.
    """
    metadata = document.get("metadata")
    if not isinstance(metadata, Mapping):
        raise IntakeError("an object without metadata")
    missing = [key for key in ("uid", "name", "creationTimestamp") if not metadata.get(key)]
    if missing:
        raise IntakeError(f"an object without metadata.{missing[0]}: {metadata.get('name')!r}")
    return metadata


def created_at(metadata: Json) -> datetime:
    """The object's creation time.

    Raises:
        IntakeError: if it is no instant.
    """
    created = instant(metadata.get("creationTimestamp"))
    if created is None:
        raise IntakeError(f"no creation time: {metadata.get('creationTimestamp')!r}")
    return created


def instant(text: str | None) -> datetime | None:
    """An instant of the API; None for a missing one and for the zero time.

    Raises:
        IntakeError: if it is no instant.
    """
    if not text:
        return None
    try:
        at = parse_instant(text)
    except (ValueError, AttributeError, OverflowError):
        raise IntakeError(f"{text!r} is no instant") from None
    return at if at.year >= _FIRST_YEAR else None


def labels_of(metadata: Json) -> Labels:
    """Labels with raw keys."""
    return dict(metadata.get("labels") or {})


def annotations_of(metadata: Json) -> Labels:
    """Annotations with raw keys, less what the module's docstring names."""
    return {
        key: value
        for key, value in (metadata.get("annotations") or {}).items()
        if key not in _COPIES and not key.startswith(_HEARTBEATS) and not _too_long(value)
    }


def _too_long(value: str) -> bool:
    if len(value) * 4 <= LONGEST_ANNOTATION:
        return False
    return len(value.encode()) > LONGEST_ANNOTATION


def owner_of(metadata: Json) -> Owner | None:
    """The controlling owner, else the only one, else None."""
    references = metadata.get("ownerReferences") or []
    controlling = [reference for reference in references if reference.get("controller")]
    chosen = controlling or (references if len(references) == 1 else [])
    if not chosen:
        return None
    first = chosen[0]
    return Owner(first.get("kind", ""), first.get("name", ""), Uid(first.get("uid", "")))
