"""What the server says about itself: names in samples that no watched cluster has."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np

from seed import NOW
from seedance.facts.inventory import Cluster, ClusterId
from seedance.facts.samples import SampleColumns, Series, SeriesId
from seedance.flows.reporting.status import Parts, status, strangers
from seedance.store.objects import put_cluster
from seedance.store.samples import put_metric_ids, put_samples, put_series
from seedance.store.store import Store

CPU = "container_cpu_usage_seconds_total"


def watch(store: Store, name: str) -> None:
    put_cluster(store, Cluster(ClusterId(f"uid-{name}"), name, NOW), now=NOW)


def hear(store: Store, number: int, word: str, *, metric: str = CPU, at: datetime = NOW) -> None:
    put_metric_ids(store, {CPU: 1, "other": 2}, now=NOW)
    labels = (("pod", f"p{number}"),)
    series = Series(SeriesId(number), metric, labels, word, "remote-write")
    put_series(store, [series], now=NOW)
    ts = np.array([int(at.timestamp() * 1000)])
    columns = SampleColumns(np.array([number]), ts, np.array([1.0]))
    put_samples(store, np.array([1 if metric == CPU else 2]), columns, token=f"t{number}")


def told(store: Store) -> dict[str, int]:
    return {each.word: each.series for each in strangers(store, now=NOW + timedelta(minutes=5))}


def test_a_name_that_no_watched_cluster_has_is_a_stranger(store: Store) -> None:
    watch(store, "admin@prod")
    for number, word in enumerate(["prod", "prod", "admin@prod", "uid-admin@prod", ""], 1):
        hear(store, number, word)
    assert told(store) == {"prod": 2}
    answer = status(store, Parts(), now=NOW, version="1")
    assert answer.model_dump(by_alias=True)["strangers"] == [{"word": "prod", "series": 2}]
    watch(store, "prod")
    assert told(store) == {"": 1}, "with two clusters, no name is nobody's"


def test_what_is_no_longer_sent_is_no_stranger(store: Store) -> None:
    watch(store, "prod")
    hear(store, 1, "lab", at=NOW - timedelta(hours=2))
    hear(store, 2, "lab", metric="other")
    assert told(store) == {}
