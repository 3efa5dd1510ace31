"""Series and samples: label sets with their numbers, and columns of values by the hour.

Order of writing is a promise: metric and series rows first, then their samples, so that a sample
never names a number that the store does not know. A batch of samples is written once per token,
however often it is sent. Values keep all their bits (stale markers are NaNs).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import numpy.typing as npt

from seedance.facts.samples import IntArray, SampleColumns, Series, SeriesId
from seedance.facts.window import Window
from seedance.store.statements import statement
from seedance.store.store import Store

_PAGE = 50_000
_PODS_AT_ONCE = 500
"""Names that one statement carries: over HTTP parameters travel in the address."""

_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


def put_series(store: Store, series: Sequence[Series], *, now: datetime) -> None:
    """Writes label sets; namespace, pod and container are also columns of their own."""
    labels = [dict(each.labels) for each in series]
    store.engine.insert(
        "series",
        {
            "sid": np.array([each.id for each in series], np.uint64),
            "metric": [each.metric for each in series],
            "cluster": [each.cluster for each in series],
            "door": [each.door for each in series],
            "namespace": [each.get("namespace", "") for each in labels],
            "pod": [each.get("pod", "") for each in labels],
            "container": [each.get("container", "") for each in labels],
            "labels": labels,
            "at": [now] * len(series),
        },
    )


def all_series(store: Store) -> Iterator[Series]:
    """Every label set that has a number, in order of the number, read page by page."""
    after = 0
    while True:
        rows = store.engine.rows(statement("all_series"), {"after": after, "limit": _PAGE})
        yield from map(_series, rows)
        if len(rows) < _PAGE:
            return
        after = rows[-1]["sid"]


def _series(row: Mapping[str, Any]) -> Series:
    return Series(
        id=SeriesId(row["sid"]),
        metric=row["metric"],
        labels=tuple(sorted(row["labels"].items())),
        cluster=row["cluster"],
        door=row["door"],
    )


def series_of(
    store: Store, *, metrics: Sequence[str], labels: bool = False
) -> dict[str, npt.NDArray[Any]]:
    """Columns sid (int64), metric, cluster, door, namespace, pod, container (str), by sid.

    With `labels` also a column of dicts of all raw labels, which costs ten times the rest.
    """
    params = {"metrics": list(metrics)}
    found = store.engine.columns(statement("series_of"), params)
    columns = {name: found.get(name, np.array([], object)) for name in _SERIES_COLUMNS}
    columns["sid"] = columns["sid"].astype(np.int64)
    if labels:
        rows = store.engine.rows(statement("series_labels"), params)
        known = {row["sid"]: row["labels"] for row in rows}
        dicts = np.empty(len(columns["sid"]), object)
        dicts[:] = [known[sid] for sid in columns["sid"].tolist()]
        columns["labels"] = dicts
    return columns


def labels_of(store: Store, sids: Sequence[int]) -> dict[int, tuple[str, dict[str, str]]]:
    """Door and raw labels of the series with these numbers."""
    rows = store.engine.rows(statement("labels_of_series"), {"sids": list(sids)})
    return {row["sid"]: (row["door"], row["labels"]) for row in rows}


_SERIES_COLUMNS = ("sid", "metric", "cluster", "door", "namespace", "pod", "container")


def forget_series(store: Store, *, now: datetime) -> None:
    """Deletes label sets whose samples have all left with their retention.

    Only before a recorder knows the numbers, that is at the start: a number that it knows must
    not lose its labels. Reads the series column of all samples: seconds for a billion.
    """
    before = now - timedelta(days=store.retention.raw_days + 1)
    store.engine.command(statement("forget_series"), {"before": before})


def metric_ids(store: Store) -> dict[str, int]:
    """The number of every metric name that was ever stored."""
    rows = store.engine.rows(statement("metric_ids"))
    return {row["metric"]: row["metric_id"] for row in rows}


def put_metric_ids(store: Store, ids: Mapping[str, int], *, now: datetime) -> None:
    """Writes numbers of metric names; a name keeps its number for ever."""
    store.engine.insert(
        "metrics",
        {
            "metric_id": np.array(list(ids.values()), np.uint32),
            "metric": list(ids),
            "at": [now] * len(ids),
        },
    )


def put_samples(store: Store, metric_id: IntArray, columns: SampleColumns, *, token: str) -> None:
    """Writes one batch exactly once per token: the same batch sent again adds nothing.

    A repeated token must come with the same samples in the same order. Batches of 100,000
    samples and more cost least.

    Raises:
        BusyError: no space or memory: nothing is lost if the caller keeps the batch and retries.
    """
    store.engine.insert(
        "samples",
        {
            "metric_id": metric_id,
            "sid": columns.sid,
            "ts": columns.ts,
            "value": columns.value,
        },
        token=token,
    )


def read_samples(
    store: Store, *, metric_id: int, first_sid: int, last_sid: int, window: Window
) -> SampleColumns:
    """Samples of one metric and a closed range of series in the window, by (sid, ts).

    Only the hour partitions that the window touches are read.
    """
    found = store.engine.columns(
        statement("read_samples"),
        {
            "metric_id": metric_id,
            "first_sid": first_sid,
            "last_sid": last_sid,
            "start": window.start,
            "end": window.end,
        },
        threads=1,  # read in the order of the key: no dearer than without, and callers run several
    )
    return _samples(found)


def series_seen(store: Store, *, metric_id: int, window: Window) -> IntArray:
    """Numbers of the series of a metric that have a sample in the window, ascending."""
    params = {"metric_id": metric_id, "start": window.start, "end": window.end}
    return _ints(store.engine.columns(statement("series_seen"), params).get("sid"))


def read_some_samples(
    store: Store, *, metric_id: int, sids: Sequence[int], window: Window
) -> SampleColumns:
    """As `read_samples`, of the series with these numbers."""
    params = {
        "metric_id": metric_id, "sids": list(sids), "start": window.start, "end": window.end
    }  # fmt: skip
    return _samples(store.engine.columns(statement("read_some_samples"), params))


def _samples(found: Mapping[str, npt.NDArray[Any]]) -> SampleColumns:
    return SampleColumns(
        sid=_ints(found.get("sid")),
        ts=_ints(found.get("ts")),
        value=found.get("value", np.empty(0)),
    )


def last_timestamps(store: Store, *, since: datetime | None = None) -> tuple[IntArray, IntArray]:
    """Series and the millisecond of the newest stored sample of each, in no order.

    `since` leaves older samples unread: the start after a long time need not read weeks.
    """
    found = store.engine.columns(statement("last_timestamps"), {"since": since or _BEGINNING})
    return _ints(found.get("sid")), _ints(found.get("newest"))


def last_sample_of_pod(
    store: Store, *, cluster_names: Sequence[str], namespace: str, pod: str, before: datetime
) -> datetime | None:
    """When the last sample of any series of a pod was taken, before an instant."""
    pods = [(namespace, pod)]
    found = last_samples_of_pods(store, cluster_names=cluster_names, pods=pods, before=before)
    return found.get((namespace, pod))


def last_samples_of_pods(
    store: Store,
    *,
    cluster_names: Sequence[str],
    pods: Collection[tuple[str, str]],
    before: datetime,
    reach: timedelta | None = None,
) -> dict[tuple[str, str], datetime]:
    """The same for many pods `(namespace, name)` at once; pods without samples are left out.

    `cluster_names` are the values that the samples' cluster may bear; `reach` bounds how far
    back is read (default: all that is kept).
    """
    found: dict[tuple[str, str], datetime] = {}
    keys = [f"{namespace}/{pod}" for namespace, pod in pods]
    for first in range(0, len(keys), _PODS_AT_ONCE):
        params = {
            "clusters": list(cluster_names),
            "pods": keys[first : first + _PODS_AT_ONCE],
            "since": _BEGINNING if reach is None else before - reach,
            "before": before,
        }
        for row in store.engine.rows(statement("last_samples_of_pods"), params):
            namespace, _, pod = row["key"].partition("/")
            found[namespace, pod] = row["newest"]
    return found


def _ints(values: npt.NDArray[Any] | None) -> IntArray:
    if values is None:
        return np.empty(0, np.int64)
    # The same 64 bits read as signed: numbers of series and milliseconds stay below 2**63.
    return values.view(np.int64)
