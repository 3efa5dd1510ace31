"""Fixtures of the flows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from recording import NOW, Start

from seedance.facts.limits import Limits
from seedance.flows.recording.record import Recorder
from seedance.intake import remotewrite
from seedance.store.store import Store
from seedance.store.wal import Wal


@pytest.fixture
def start(store: Store, tmp_path: Path) -> Iterator[Start]:
    """Starts a recorder on the store and its log; call it again for a restart."""
    running: list[Recorder] = []

    def begin(**options: Any) -> Recorder:
        limits = options.pop("limits", Limits())
        recorder = Recorder(
            options.pop("store", store),
            Wal.open(tmp_path / "log", fsync=options.pop("fsync", "never")),
            decoders={"remote-write": remotewrite.decoder(limits)},
            clock=lambda: NOW,
            limits=limits,
            **{"flush_seconds": 0.05, **options},
        )
        recorder.start()
        running.append(recorder)
        return recorder

    yield begin
    for recorder in running:
        if not recorder._stopping:
            recorder.stop()
