"""What intake takes at most; every limit is documented, and whatever exceeds one is told so."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a receiver.

    Attributes:
        body_bytes: largest body, as received and after decompression (413 above it).
        labels: labels of one series, `__name__` included.
        label_name_bytes: UTF-8 bytes of a label name.
        label_value_bytes: UTF-8 bytes of a label value.
        label_set_bytes: bytes of all labels of a series as they arrive.
        series: series that this store ever numbers; new ones beyond it are rejected.
        future: how far ahead of the server's clock a sample may be.
        retention: how old a sample may be: what raw samples are kept for.
        queue_rows: samples that are in the log and wait for the store; 503 above it.
        flight_bytes: bodies being received at one time, together; 503 above it.
        cluster_labels: labels that may name a sample's cluster, first one present wins; used
            only where the token is not bound to a cluster.
    """

    body_bytes: int = 32 << 20
    labels: int = 128
    label_name_bytes: int = 1024
    label_value_bytes: int = 8192
    label_set_bytes: int = 64 << 10
    series: int = 5_000_000
    future: timedelta = timedelta(minutes=5)
    retention: timedelta = timedelta(days=15)
    queue_rows: int = 2_000_000
    flight_bytes: int = 256 << 20
    cluster_labels: tuple[str, ...] = ("cluster",)
