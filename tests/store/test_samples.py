from datetime import UTC, datetime, timedelta

import numpy as np

from seedance.facts.samples import STALE_BITS, SampleColumns, Series, SeriesId
from seedance.facts.window import Window
from seedance.store import samples
from seedance.store.statements import statement
from seedance.store.store import Store

T0 = datetime(2026, 3, 1, 12, tzinfo=UTC)
MS = int(T0.timestamp() * 1000)
HOUR = timedelta(hours=1)
HOUR_MS = 3_600_000


def batch(sids: list[int], stamps: list[int], values: list[float]) -> SampleColumns:
    return SampleColumns(
        sid=np.array(sids, np.int64),
        ts=np.array(stamps, np.int64),
        value=np.array(values, np.float64),
    )


def put(store: Store, columns: SampleColumns, *, token: str, metric: int = 1) -> None:
    ids = np.full(len(columns), metric, np.int64)
    samples.put_samples(store, ids, columns, token=token)


def everything(store: Store, *, hours: int = 1000) -> SampleColumns:
    window = Window(T0, T0 + hours * HOUR)
    return samples.read_samples(store, metric_id=1, first_sid=0, last_sid=1 << 62, window=window)


def test_every_bit_of_a_value_survives(store: Store) -> None:
    bits = np.array(
        [STALE_BITS, 0x7FF8000000000001, 0xFFF0000000000000, 0x8000000000000000, 1], np.uint64
    )
    stamps = MS + np.arange(5)
    put(store, SampleColumns(np.arange(5), stamps, bits.view(np.float64)), token="a")
    found = everything(store)
    order = np.argsort(found.sid)
    assert found.value[order].view(np.uint64).tolist() == bits.tolist()
    assert found.ts[order].tolist() == stamps.tolist()
    assert found.sid.dtype == found.ts.dtype == np.int64


def test_a_batch_counts_once_however_often_it_is_sent(store: Store) -> None:
    columns = batch([1, 2], [MS, MS + HOUR_MS], [1.0, 2.0])
    for _ in range(3):
        put(store, columns, token="batch-1")
    assert len(everything(store)) == 2
    put(store, columns, token="batch-2")
    assert len(everything(store)) == 4


def test_a_batch_may_span_many_hours(store: Store) -> None:
    stamps = MS + HOUR_MS * np.arange(150)
    columns = SampleColumns(np.ones(150, np.int64), stamps, np.arange(150.0))
    for _ in range(2):
        put(store, columns, token="hours")
    assert len(everything(store)) == 150


def test_reading_keeps_to_metric_series_and_window(store: Store) -> None:
    put(store, batch([1, 2, 3], [MS, MS, MS], [1, 2, 3]), token="a")
    put(store, batch([2], [MS + HOUR_MS], [20]), token="b")
    put(store, batch([2], [MS], [200]), token="c", metric=2)
    found = samples.read_samples(
        store, metric_id=1, first_sid=2, last_sid=3, window=Window(T0, T0 + HOUR)
    )
    assert sorted(zip(found.sid.tolist(), found.value.tolist(), strict=True)) == [(2, 2), (3, 3)]
    empty = samples.read_samples(
        store, metric_id=9, first_sid=0, last_sid=9, window=Window(T0, T0 + HOUR)
    )
    assert (len(empty), empty.sid.dtype, empty.value.dtype) == (0, np.int64, np.float64)


def test_reading_an_hour_touches_one_partition(store: Store) -> None:
    for hour in range(6):
        put(store, batch([1], [MS + hour * HOUR_MS], [0]), token=str(hour))
    params = {
        "metric_id": 1, "first_sid": 0, "last_sid": 9,
        "start": T0 + 2 * HOUR, "end": T0 + 3 * HOUR,
    }  # fmt: skip
    plan = store.engine.rows(f"EXPLAIN indexes = 1 {statement('read_samples')}", params)
    text = "\n".join(row["explain"] for row in plan)
    assert "Parts: 1/6" in text


def test_the_newest_sample_of_each_series_is_known_after_a_restart(store: Store) -> None:
    put(store, batch([1, 1, 2], [MS, MS + 5, MS + 3], [0, 0, 0]), token="a")
    sid, ts = samples.last_timestamps(store)
    assert dict(zip(sid.tolist(), ts.tolist(), strict=True)) == {1: MS + 5, 2: MS + 3}
    sid, ts = samples.last_timestamps(store, since=T0 + timedelta(milliseconds=4))
    assert dict(zip(sid.tolist(), ts.tolist(), strict=True)) == {1: MS + 5}


def series(number: int, *, pod: str, metric: str = "m", cluster: str = "") -> Series:
    labels = (("container", "c\u00e9"), ("namespace", "shop"), ("pod", pod), ("x", "a'\\\n"))
    return Series(
        SeriesId(number), metric=metric, labels=labels, cluster=cluster, door="remote-write"
    )


def test_series_come_back_as_they_were_written(store: Store) -> None:
    written = [series(n, pod=f"p{n}") for n in range(1, 4)]
    samples.put_series(store, written, now=T0)
    assert list(samples.all_series(store)) == written
    columns = samples.series_of(store, metrics=["m", "other"], labels=True)
    assert columns["sid"].tolist() == [1, 2, 3]
    assert columns["pod"].tolist() == ["p1", "p2", "p3"]
    assert columns["labels"][0] == dict(written[0].labels)
    assert samples.series_of(store, metrics=["none"])["sid"].tolist() == []


def test_all_series_reads_page_after_page(store: Store, monkeypatch: object) -> None:
    samples.put_series(store, [series(n, pod="p") for n in range(1, 8)], now=T0)
    monkeypatch.setattr(samples, "_PAGE", 3)  # type: ignore[attr-defined]
    assert [each.id for each in samples.all_series(store)] == list(range(1, 8))


def test_series_without_samples_are_forgotten_after_the_retention(store: Store) -> None:
    samples.put_series(store, [series(n, pod=f"p{n}") for n in (1, 2, 4)], now=T0)
    samples.put_series(store, [series(3, pod="young")], now=T0 + timedelta(days=15_000))
    put(store, batch([2], [MS], [0]), token="a")
    samples.forget_series(store, now=T0 + timedelta(days=15_000))
    assert [each.id for each in samples.all_series(store)] == [1, 2, 3, 4]
    samples.forget_series(store, now=T0 + timedelta(days=15_002))
    # 2 has a sample, 3 is young, 4 is the largest number.
    assert [each.id for each in samples.all_series(store)] == [2, 3, 4]


def test_metric_numbers_are_kept(store: Store) -> None:
    samples.put_metric_ids(store, {"a": 1, "b": 2}, now=T0)
    assert samples.metric_ids(store) == {"a": 1, "b": 2}


def test_the_last_sample_of_a_pod_is_found_by_name_and_cluster(store: Store) -> None:
    samples.put_metric_ids(store, {"m": 1}, now=T0)
    samples.put_series(
        store, [series(1, pod="web", cluster="a"), series(2, pod="db", cluster="b")], now=T0
    )
    put(store, batch([1, 1, 2], [MS, MS + 60_000, MS + 90_000], [0, 0, 0]), token="t")

    def last(pod: str, *names: str, before: datetime = T0 + HOUR) -> datetime | None:
        return samples.last_sample_of_pod(
            store, cluster_names=names, namespace="shop", pod=pod, before=before
        )

    assert last("web", "a", "") == T0 + timedelta(seconds=60)
    assert last("web", "a", before=T0 + timedelta(seconds=60)) == T0
    assert last("web", "b") is None
    assert last("db", "b") == T0 + timedelta(seconds=90)
    both = samples.last_samples_of_pods(
        store,
        cluster_names=["a", "b"],
        pods=[("shop", "web"), ("shop", "db"), ("shop", "gone")],
        before=T0 + HOUR,
        reach=HOUR,
    )
    assert set(both) == {("shop", "web"), ("shop", "db")}
