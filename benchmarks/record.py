"""What taking samples costs: `python benchmarks/record.py [FSYNC]` prints CPU seconds a million.

10,000 series with 12 labels (500 bytes) each, 1,000 series a body and a sample each, a fifth of
the values zero, as an agent scrapes cAdvisor. First every series is new, then 30 rounds are known.
Decoding alone, the answer (`accept`), and everything until the samples are in the store, flushes,
merges and the flusher's thread included. FSYNC is always, interval (default) or never.
"""

from __future__ import annotations

import platform
import random
import resource
import struct
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import cramjam

from seedance.facts.limits import Limits
from seedance.flows.recording.record import Recorder
from seedance.intake import remotewrite
from seedance.intake.labelset import encode_labels
from seedance.store.store import Retention, Store
from seedance.store.wal import Fsync, Wal

SERIES, BATCH, ROUNDS = 10_000, 1000, 30


def varint(number: int) -> bytes:
    """A protobuf varint."""
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def keys() -> list[bytes]:
    """Label bytes of each series."""
    rnd = random.Random(1)
    words = [f"some-label-value-of-{n}-letters" + "x" * n for n in range(14)]
    return [
        encode_labels(
            [
                ("__name__", "container_cpu_usage_seconds_total"),
                ("pod", f"web-7d9f8b6c5-{number:05d}"),
                *((f"label_{k:02d}_name", rnd.choice(words)) for k in range(10)),
            ]
        )
        for number in range(SERIES)
    ]


def sample(ts: int, value: float) -> bytes:
    """A sample field as Prometheus writes it: a zero value is left out."""
    inner = (b"\x09" + struct.pack("<d", value) if value else b"") + b"\x10" + varint(ts)
    return b"\x12" + varint(len(inner)) + inner


def bodies(labels: list[bytes], first: int, rounds: int) -> list[bytes]:
    """Write requests, snappy-compressed, a second apart."""
    rnd = random.Random(2)
    out = []
    for ts in range(first, first + 1000 * rounds, 1000):
        for start in range(0, SERIES, BATCH):
            parts = []
            for number in range(start, start + BATCH):
                series = labels[number] + sample(ts, rnd.random() * 100 if number % 5 else 0.0)
                parts.append(b"\x0a" + varint(len(series)) + series)
            out.append(bytes(cramjam.snappy.compress_raw(b"".join(parts))))
    return out


def clock() -> datetime:
    """Now."""
    return datetime.now(UTC)


def report(what: str, cpu: float, samples: int) -> None:
    """One line of the answer."""
    print(f"{what:<44} {cpu / samples * 1e6:8.2f} s CPU a million")


def decode_alone(all_bodies: list[bytes]) -> None:
    """Decoding without anything behind it."""
    known = set(remotewrite.decode(all_bodies[0], limits=Limits()).keys)
    for what, keep in (("decode, new series", set[bytes]()), ("decode, known series", known)):
        began = time.process_time()
        for _ in range(200):
            remotewrite.decode(all_bodies[0], limits=Limits(), known=keep)
        report(what, time.process_time() - began, 200 * BATCH)


def record(recorder: Recorder, what: str, all_bodies: list[bytes]) -> None:
    """Accept bodies and wait until they are in the store."""
    all_cpu, own_cpu, wall = time.process_time(), time.thread_time(), time.perf_counter()
    for each in all_bodies:
        told = recorder.accept(each, door="remote-write", cluster="", now=clock())
        if told.written != BATCH:
            sys.exit(f"not all was written: {told}")
    own_cpu = time.thread_time() - own_cpu
    while recorder.stats().queue_rows:
        time.sleep(0.01)
    samples, wall = BATCH * len(all_bodies), time.perf_counter() - wall
    report(f"accept, {what}", own_cpu, samples)
    report(f"accept → stored, {what}", time.process_time() - all_cpu, samples)
    print(f"{'':<44} {samples / wall / 1e6:8.2f} M samples/s wall")


def main(fsync: Fsync) -> None:
    """Run and print."""
    print(platform.platform(), platform.python_version())
    labels, first = keys(), int(clock().timestamp() * 1000) - 600_000
    new, known = bodies(labels, first, 1), bodies(labels, first + 1000, ROUNDS)
    print(f"{len(labels[0])} label bytes a series, {len(known[0])} bytes a body, fsync {fsync}")
    decode_alone(known)
    with tempfile.TemporaryDirectory() as folder:
        store = Store.open(Path(folder) / "store", retention=Retention())
        recorder = Recorder(
            store,
            Wal.open(Path(folder) / "log", fsync=fsync),
            decoders={"remote-write": remotewrite.decoder(Limits())},
            clock=clock,
        )
        recorder.start()
        record(recorder, "new series", new)
        record(recorder, "known series", known)
        recorder.stop()
        store.close()
    print(f"peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MB resident")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "interval")  # type: ignore[arg-type]
