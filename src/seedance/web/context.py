"""What the doors share: the opened store, the clock, who may what, and the parts that run.

The composition root (`serve`) makes one `AppContext` and hands it to `create_app`; every router
is a function of it. Nothing here is global, so a test makes a second server beside the first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from typing import TYPE_CHECKING

from seedance.flows.reporting.status import Parts
from seedance.web.auth import Access
from seedance.web.tokens import Caller

if TYPE_CHECKING:  # the recorder and the store are heavy; who only builds pages needs neither
    from seedance.flows.recording.record import Recorder
    from seedance.store.store import Store

__all__ = ["AppContext", "Caller"]


def _utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(slots=True)
class AppContext:
    """Everything a request may need.

    Attributes:
        store: the opened store; flows read it, doors do not.
        access: who may what (`web.auth`); the caller of a request is `request.state.caller`.
        parts: what the running parts say about themselves (status page, readiness, metrics).
        recorder: takes remote write; None where the server only reads (tests, pages alone).
        now: the clock of this server, UTC.
        zone: the zone that pages and answers show unless the request names one.
        backup: writes a backup of the store under the given folder; None where not offered.
    """

    store: Store
    access: Access = field(default_factory=Access)
    parts: Parts = field(default_factory=Parts)
    recorder: Recorder | None = None
    now: Callable[[], datetime] = _utc_now
    zone: str = "UTC"
    version: str = field(default_factory=lambda: metadata.version("seedance"))
    backup: Callable[[str], str] | None = None
