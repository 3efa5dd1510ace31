"""A kubelet's resource metrics (`/metrics/resource`): exposition text to series and samples.

The flow: `wrap` puts cluster, node and instant before the text, so that the body that the log keeps
says all that its samples need; `decode` reads the two metrics that costs stand on, of real
containers only, and gives each series the node's name. A sample without a timestamp, or with one
from a clock that runs ahead, is given the instant at which it was read.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator
from datetime import datetime
from functools import lru_cache

import numpy as np

from seedance.facts.errors import IntakeError
from seedance.intake.decoded import Decoded
from seedance.intake.labelset import METRIC_NAME, encode_labels

METRICS = ("container_cpu_usage_seconds_total", "container_memory_working_set_bytes")
"""What is read: core-seconds since the container began, and bytes."""

NOT_CONTAINERS = frozenset({"", "POD"})
"""Container names of pod and root cgroups, and of the pause container."""

_AHEAD = 60_000  # ms that a node's clock may be ahead before it is not believed
_HEADER_PARTS = 4
_SAMPLE = re.compile(
    r"(?P<metric>[a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(?P<labels>(?:[^\"}]|\"(?:[^\"\\]|\\.)*\")*)\})?"
    r"[ \t]+(?P<value>[^ \t]+)(?:[ \t]+(?P<ts>-?[0-9]+))?[ \t]*"
)
_LABEL = re.compile(r'\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*(?:,|$)')
_ESCAPES = {"\\n": "\n", '\\"': '"', "\\\\": "\\"}
_ESCAPED = re.compile(r'\\[n"\\]')


def wrap(text: bytes, *, cluster: str, node: str, at: datetime) -> bytes:
    """The body for the recorder: a header of texts that end with NUL, then the text as it came."""
    header = f"{cluster}\0{node}\0{round(at.timestamp() * 1000)}\0"
    return header.encode() + text


def decode(body: bytes, now: datetime, known: Collection[bytes] = ()) -> Decoded:
    """The samples of a body that `wrap` made; a decoder as `intake.decoded.Decoder` says.

    Raises:
        IntakeError: if the header or a line of the text is not what it says.
    """
    del now, known  # the instant is in the body, so that a replay gives the same samples
    parts = body.split(b"\0", _HEADER_PARTS - 1)
    try:
        _, node, at = (part.decode() for part in parts[:-1])
        instant, text = int(at), parts[-1].decode()
    except ValueError as error:
        raise IntakeError(f"no body of kubelet metrics: {error}") from None
    keys: list[bytes] = []
    stamps: list[int] = []
    values: list[float] = []
    for key, stamp, value in _samples(text, node):
        keys.append(key)
        stamps.append(instant if stamp is None or stamp > instant + _AHEAD else stamp)
        values.append(value)
    return Decoded(
        keys=keys,
        counts=np.ones(len(keys), np.int64),
        ts=np.array(stamps, np.int64),
        value=np.array(values, np.float64),
    )


def _samples(text: str, node: str) -> Iterator[tuple[bytes, int | None, float]]:
    for number, raw in enumerate(text.split("\n"), start=1):
        line = raw.strip(" \t\r")
        if not line or line.startswith("#"):
            continue
        match = _SAMPLE.fullmatch(line)
        if match is None:
            raise IntakeError(f"line {number} of {node}'s metrics is none: {line[:120]!r}")
        if match["metric"] not in METRICS:
            continue
        key = _key(match["metric"], match["labels"] or "", node)
        value = _value(match["value"], number)
        if key and math.isfinite(value):
            yield key, int(match["ts"]) if match["ts"] else None, value


def _value(text: str, line: int) -> float:
    try:
        return float(text)
    except ValueError:
        raise IntakeError(f"line {line}: {text!r} is no number") from None


@lru_cache(maxsize=65_536)
def _key(metric: str, labels: str, node: str) -> bytes:
    """The key of a real container's series; empty for everything else."""
    found = {
        name: _ESCAPED.sub(lambda escape: _ESCAPES[escape[0]], value)
        for name, value in _LABEL.findall(labels)
    }
    real = found.get("container", "") not in NOT_CONTAINERS
    if not real or not found.get("pod") or not found.get("namespace"):
        return b""
    named = {name: value for name, value in found.items() if value}
    return encode_labels({**named, METRIC_NAME: metric, "node": node}.items())
