"""Numbers for label sets: the same labels, cluster and door have one number, over restarts too.

Keys are compared byte for byte, so a known series costs one dictionary look-up. A key that was
not met before is read and checked once; labels in another order lead to the number that the
sorted ones have. Numbers begin at 1 and are never given twice.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from seedance.facts.limits import Limits
from seedance.facts.rejections import Rejection
from seedance.facts.samples import STALE_BITS, Door, IntArray, SampleColumns, Series, SeriesId
from seedance.intake.labelset import METRIC_NAME, LabelSet, Refusal, encode_labels, read_labels

USAGE_METRIC = "container_cpu_usage_seconds_total"
"""A pod whose containers have samples of this through remote write needs no other source."""

_SPARE_KEYS = 100_000


@dataclass(slots=True)
class Unsaved:
    """Series and metric names that have a number, but are not in the store yet."""

    series: list[Series] = field(default_factory=list)
    metrics: dict[str, int] = field(default_factory=dict)


class SeriesTable:
    """Every series that was ever met, by key; not thread-safe, but keys may be read any time."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._numbers: dict[tuple[Door, str], dict[bytes, int]] = {}
        self._seen: dict[tuple[Door, str], dict[bytes, int]] = {}
        self._metrics: dict[str, int] = {}
        self._codes: dict[str, int] = {}
        self._pods: dict[tuple[str, str, str], int] = {}
        self._next = 1
        self.unsaved = Unsaved()
        self.metric_of: IntArray = np.zeros(1024, np.int64)
        self.cluster_of: IntArray = np.zeros(1024, np.int64)
        self._pod_of: IntArray = np.zeros(1024, np.int64)
        self._pod_last: IntArray = np.zeros(1024, np.int64)

    def __len__(self) -> int:
        return self._next - 1

    @property
    def clusters(self) -> list[str]:
        """Names that samples gave their clusters, at the index that `cluster_of` holds."""
        return list(self._codes)

    def load(self, series: Iterable[Series], metrics: Mapping[str, int]) -> None:
        """Begin from what the store knows."""
        self._metrics.update(metrics)
        for each in series:
            key = encode_labels(((METRIC_NAME, each.metric), *each.labels))
            self._numbers.setdefault((each.door, each.cluster), {})[key] = each.id
            self._next = max(self._next, each.id + 1)
            self._index(each)

    def known(self, door: Door, cluster: str) -> Collection[bytes]:
        """The keys that senders of this door and cluster used before."""
        return self._seen.setdefault((door, cluster), {})

    def number(
        self, keys: Sequence[bytes], *, door: Door, cluster: str, limits: Limits | None = None
    ) -> tuple[IntArray, dict[int, Refusal]]:
        """The number of each key, 0 where it is refused, and the refusals by position.

        `cluster` is the one that the sender is bound to, or "". New series are added to `unsaved`.
        """
        seen = self._seen.setdefault((door, cluster), {})
        numbers = [seen.get(key, 0) for key in keys]
        refusals: dict[int, Refusal] = {}
        if 0 in numbers:
            limits = limits or self._limits
            for index, key in enumerate(keys):
                if numbers[index]:
                    continue
                met = seen.get(key) or self._meet(key, door=door, cluster=cluster, limits=limits)
                if isinstance(met, Refusal):
                    refusals[index] = met
                else:
                    numbers[index] = met
                    self._remember(seen, key, met)
        return np.array(numbers, np.int64), refusals

    def _meet(self, key: bytes, *, door: Door, cluster: str, limits: Limits) -> int | Refusal:
        labels = read_labels(key, limits)
        if isinstance(labels, Refusal):
            return labels
        cluster = cluster or self._named_cluster(labels)
        numbers = self._numbers.setdefault((door, cluster), {})
        sorted_key = labels.key()
        number = numbers.get(sorted_key)
        if number is not None:
            return number
        if self._next > limits.series:
            return Refusal(Rejection.TOO_MANY_SERIES, f"at most {limits.series} series")
        series = Series(SeriesId(self._next), labels.metric, labels.labels, cluster, door)
        numbers[key if key == sorted_key else sorted_key] = self._next
        self._next += 1
        self._index(series)
        self.unsaved.series.append(series)
        return series.id

    def _named_cluster(self, labels: LabelSet) -> str:
        named = dict(labels.labels)
        return next((named[n] for n in self._limits.cluster_labels if n in named), "")

    def _remember(self, seen: dict[bytes, int], key: bytes, number: int) -> None:
        if len(seen) > 2 * len(self) + _SPARE_KEYS:
            seen.clear()  # a sender that writes its labels in ever new orders
        seen[key] = number

    def _index(self, series: Series) -> None:
        if series.id >= len(self.metric_of):
            room = max(series.id + 1, 2 * len(self.metric_of)) - len(self.metric_of)
            self.metric_of = np.append(self.metric_of, np.zeros(room, np.int64))
            self.cluster_of = np.append(self.cluster_of, np.zeros(room, np.int64))
            self._pod_of = np.append(self._pod_of, np.zeros(room, np.int64))
        self.metric_of[series.id] = self._metric_id(series.metric)
        self.cluster_of[series.id] = self._codes.setdefault(series.cluster, len(self._codes))
        if series.door == "remote-write" and series.metric == USAGE_METRIC:
            self._index_pod(series)

    def _metric_id(self, metric: str) -> int:
        number = self._metrics.get(metric)
        if number is None:
            number = max(self._metrics.values(), default=0) + 1
            self._metrics[metric] = self.unsaved.metrics[metric] = number
        return number

    def _index_pod(self, series: Series) -> None:
        labels = dict(series.labels)
        pod = labels.get("namespace", ""), labels.get("pod", "")
        if not all(pod) or labels.get("container", "") in {"", "POD"}:
            return
        code = self._pods.setdefault((series.cluster, *pod), len(self._pods) + 1)
        if code >= len(self._pod_last):
            self._pod_last = np.append(self._pod_last, np.zeros_like(self._pod_last))
        self._pod_of[series.id] = code

    def see_pods(self, columns: SampleColumns) -> None:
        """Note when pods had their last sample of use, but for markers that they have ended."""
        live = columns.value.view(np.uint64) != STALE_BITS
        pods = self._pod_of[columns.sid[live]]
        np.maximum.at(self._pod_last, pods, columns.ts[live])

    def fresh_pods(self, clusters: Collection[str], since: int) -> set[tuple[str, str]]:
        """(namespace, pod) whose last sample of use is newer than `since` ms."""
        fresh = self._pod_last > since
        return {
            (namespace, pod)
            for (cluster, namespace, pod), code in self._pods.items()
            if fresh[code] and cluster in clusters
        }

    def take_unsaved(self) -> Unsaved:
        """What is to be written to the store; give it to `put_back` if that fails."""
        taken, self.unsaved = self.unsaved, Unsaved()
        return taken

    def put_back(self, taken: Unsaved) -> None:
        """Unsaved again, before whatever came since."""
        self.unsaved.series[:0] = taken.series
        self.unsaved.metrics = {**taken.metrics, **self.unsaved.metrics}
