"""The Prometheus of the demo: samples of all meters, sent through the door that users use.

Time goes forward in slices. For each slice the meters that run in it are asked for their use, CPU
is added up to counters that go on where the last slice ended, and one body with all series is
posted. A container that ended gets its stale marker. A busy server is asked again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import httpx2
import numpy as np

from seedance.demo.loads import Meters, Name
from seedance.demo.payload import encode_samples, message, stale_samples
from seedance.facts.errors import RefusedError, UnreachableError
from seedance.facts.samples import FloatArray, IntArray
from seedance.intake.labelset import encode_labels

CPU, MEMORY = "container_cpu_usage_seconds_total", "container_memory_working_set_bytes"
WRITE = "/api/v1/write"

_HEADERS = {
    "content-type": "application/x-protobuf",
    "content-encoding": "snappy",
    "x-prometheus-remote-write-version": "0.1.0",
    "user-agent": "seedance-demo",
}
_PHASE_MS = 15_000
_BUSY, _OK, _PROBLEM = 503, 200, 300
_TRIES = 60
_TIMEOUT = 60.0


@dataclass(slots=True)
class Sender:
    """Sends what the meters measure; remembers how far each counter is.

    `stopped` is asked while the server is busy, so that an end is not waited for.
    """

    url: str
    meters: Meters
    stopped: Callable[[], bool]
    sent: int = 0
    """Samples that the server has taken."""
    _counters: FloatArray = field(init=False)
    _last: IntArray = field(init=False)
    _labels: dict[int, tuple[bytes, bytes]] = field(default_factory=dict)
    _client: httpx2.Client = field(init=False)

    def __post_init__(self) -> None:
        meters = self.meters
        self._counters = np.zeros(len(meters))
        self._last = meters.start.copy()
        self._client = httpx2.Client(base_url=self.url, timeout=_TIMEOUT, trust_env=False)

    def close(self) -> None:
        """Ends the connection."""
        self._client.close()

    def send(self, first: int, last: int, *, step: int) -> None:
        """Samples of [first, last), both ms, every `step` ms.

        Raises:
            RefusedError: the server takes them not, which no demo should see.
            UnreachableError: it does not answer.
        """
        which = self.meters.alive(first, last)
        at = np.arange(-(-first // step) * step, last, step, dtype=np.int64)
        series = list(self._series(which, at, first, last)) if len(which) else []
        if series:
            self._post(message(series))

    def _series(
        self, which: IntArray, at: IntArray, first: int, last: int
    ) -> Iterator[tuple[bytes, bytes]]:
        meters = self.meters
        phase = (meters.seed[which] % np.uint64(_PHASE_MS)).astype(np.int64)
        ts = np.maximum(at - _PHASE_MS, 0)[None, :] + phase[:, None]
        last_of = self._last[which, None]
        runs = (ts > last_of) & (ts < meters.end[which, None])
        before = np.maximum(np.concatenate([last_of, ts[:, :-1]], axis=1), last_of)
        spent = np.where(runs, ts - before, 0) / 1000.0
        counted = np.cumsum(meters.cores(which, ts) * spent, axis=1) + self._counters[which, None]
        cpu = encode_samples(ts, np.round(counted, 6))
        memory = encode_samples(ts, meters.bytes(which, ts))
        ended = (meters.end[which] >= first) & (meters.end[which] < last)
        stale = stale_samples(np.minimum(meters.end[which], last))
        for row, number in enumerate(which.tolist()):
            cut = np.flatnonzero(runs[row])
            end = stale[row].tobytes() if ended[row] else b""
            if not len(cut) and not end:
                continue
            whole = slice(cut[0], cut[-1] + 1) if len(cut) else slice(0, 0)
            labels = self._labels_of(number)
            yield labels[0], cpu[row, whole].tobytes() + end
            yield labels[1], memory[row, whole].tobytes() + end
            self.sent += 2 * (len(cut) + bool(end))
            if len(cut):
                self._last[number] = ts[row, cut[-1]]
                self._counters[number] = counted[row, cut[-1]]

    def _labels_of(self, number: int) -> tuple[bytes, bytes]:
        found = self._labels.get(number)
        if found is None:
            name = self.meters.names[number]
            found = _labels(CPU, name), _labels(MEMORY, name)
            self._labels[number] = found
        return found

    def _post(self, body: bytes) -> None:
        for _ in range(_TRIES):
            try:
                answer = self._client.post(WRITE, content=body, headers=_HEADERS)
            except httpx2.HTTPError as error:
                raise UnreachableError(f"{self.url} does not take samples: {error}") from error
            if answer.status_code != _BUSY or self.stopped():
                break
            time.sleep(float(answer.headers.get("retry-after", "1")))
        else:
            raise UnreachableError(f"{self.url} stays too busy to take samples")
        if answer.status_code >= _PROBLEM and not self.stopped():
            first = answer.text.partition("\n")[0]
            raise RefusedError(f"{self.url} refuses samples ({answer.status_code}): {first}")


def _labels(metric: str, name: Name) -> bytes:
    """The labels that Prometheus gives a container's series, with the cluster as external label."""
    return encode_labels(
        (
            ("__name__", metric),
            ("cluster", name.cluster),
            ("container", name.container),
            ("image", name.image),
            ("instance", name.node),
            ("job", "kubelet"),
            ("metrics_path", "/metrics/cadvisor"),
            ("namespace", name.namespace),
            ("node", name.node),
            ("pod", name.pod),
        )
    )
