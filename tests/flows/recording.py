"""A recorder under test: how it is sent to, and what the store then holds."""

from __future__ import annotations

import struct
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import numpy as np

from remote_write_messages import body
from seedance.facts.rejections import Accepted
from seedance.flows.recording.record import Recorder
from seedance.store import samples as stored
from seedance.store.store import Store

NOW = datetime(2026, 11, 30, 12, 30, tzinfo=UTC)
T = int(NOW.timestamp() * 1000)
STALE = struct.unpack("<d", struct.pack("<Q", 0x7FF0000000000002))[0]
PLAIN_NAN = struct.unpack("<d", struct.pack("<Q", 0x7FF8000000000001))[0]

Start = Callable[..., Recorder]


def send(recorder: Recorder, *all_series: Any, cluster: str = "", now: datetime = NOW) -> Accepted:
    return recorder.accept(body(*all_series), door="remote-write", cluster=cluster, now=now)


def reasons(accepted: Accepted) -> dict[str, int]:
    return {each.reason.value: each.count for each in accepted.rejected}


def contents(store: Store) -> dict[str, list[tuple[int, str]]]:
    """Every stored sample by series text: ms and the value's bits in hex."""
    names = {
        each.id: each.metric + "".join(f",{k}={v}" for k, v in each.labels)
        for each in stored.all_series(store)
    }
    found = store.engine.columns("SELECT sid, ts, value FROM samples ORDER BY sid, ts")
    result: dict[str, list[tuple[int, str]]] = {}
    if found:
        bits = found["value"].view(np.uint64).tolist()
        ms = found["ts"].view(np.int64).tolist()
        for sid, ts, value in zip(found["sid"].tolist(), ms, bits, strict=True):
            result.setdefault(names[sid], []).append((ts, f"{value:016x}"))
    return result


def bits(value: float) -> str:
    return f"{struct.unpack('<Q', struct.pack('<d', value))[0]:016x}"
