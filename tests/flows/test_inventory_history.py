"""The inventory of one cluster in a real store: restarts, estimates, dirty hours."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from seedance.facts.errors import BusyError
from seedance.facts.inventory import Cluster, ClusterId, ObjectVersion
from seedance.facts.samples import SampleColumns, Series, SeriesId
from seedance.flows.watching import inventory as flow
from seedance.flows.watching.inventory import Inventory, known_cluster, record
from seedance.flows.watching.ledger import Event
from seedance.store.objects import clusters, history_of, open_versions, put_cluster
from seedance.store.samples import put_metric_ids, put_samples, put_series
from seedance.store.settles import dirty_hours
from seedance.store.store import Store

DAY = datetime(2026, 11, 30, tzinfo=UTC)
CLUSTER = Cluster(ClusterId("c-1"), name="prod", first_seen=DAY)


def at(hours: float) -> datetime:
    return DAY + timedelta(hours=hours)


def pod(
    name: str = "web-0", *, created: float = 1.0, uid: str = "", **status: Any
) -> dict[str, Any]:
    return {
        "metadata": {
            "uid": uid or f"u-{name}",
            "name": name,
            "namespace": "shop",
            "creationTimestamp": at(created).isoformat(),
        },
        "spec": {"nodeName": "n0", "containers": [{"name": "app"}]},
        "status": {"phase": "Running", "startTime": at(created).isoformat()},
    }


def added(document: dict[str, Any], hours: float) -> Event:
    return Event("ADDED", "Pod", document, at(hours))


def deleted(document: dict[str, Any], hours: float) -> Event:
    return Event("DELETED", "Pod", document, at(hours))


def opened(store: Store, hours: float) -> Inventory:
    return Inventory(store, CLUSTER, now=at(hours))


def history(store: Store, name: str = "web-0") -> Sequence[ObjectVersion]:
    return history_of(store, cluster="c-1", kind="Pod", namespace="shop", name=name)


def sample(store: Store, hours: Sequence[float], *, name: str = "web-0", sid: int = 1) -> None:
    labels = (("container", "app"), ("namespace", "shop"), ("pod", name))
    put_metric_ids(store, {"container_cpu_usage_seconds_total": 1}, now=DAY)
    series = Series(
        SeriesId(sid),
        metric="container_cpu_usage_seconds_total",
        labels=labels,
        cluster="prod",
        door="remote-write",
    )
    put_series(store, [series], now=DAY)
    ts = np.array([round(at(hour).timestamp() * 1000) for hour in hours], np.int64)
    columns = SampleColumns(np.full(len(ts), sid, np.int64), ts, np.ones(len(ts)))
    put_samples(store, np.ones(len(ts), np.int64), columns, token="-".join(map(str, hours)))


def test_a_restart_leaves_what_lives_as_it_was(store: Store) -> None:
    opened(store, 1).record([added(pod(), 1.1)], now=at(1.1))
    again = opened(store, 5)
    assert again.record([added(pod(), 5)], now=at(5)) == 0
    assert again.absent("Pod", {"u-web-0"}, now=at(5)) == 0
    (version,) = history(store)
    assert (version.valid_from, version.valid_to, version.ended) == (at(1), None, "")


def test_a_deletion_missed_over_a_restart_ends_at_the_last_sample(store: Store) -> None:
    first = opened(store, 1)
    first.record([added(pod(), 1.1), added(pod("other"), 1.1)], now=at(1.1))
    first.saw("Pod", at(2), current=True)
    first.remember(now=at(2))
    sample(store, [1.5, 2.25])
    again = opened(store, 5)
    assert again.absent("Pod", {"u-other"}, now=at(5)) == 1
    again.write(now=at(5))
    (version,) = history(store)
    assert (version.valid_to, version.ended) == (at(2.25), "estimated")
    assert [v.name for v in open_versions(store, "c-1")] == ["other"]


def test_without_samples_it_ends_at_the_last_sight(store: Store) -> None:
    first = opened(store, 1)
    first.record([added(pod(), 1.1)], now=at(1.1))
    first.saw("Pod", at(2), current=True)
    first.remember(now=at(2.001))
    again = opened(store, 5)
    again.absent("Pod", (), now=at(5))
    again.write(now=at(5))
    (version,) = history(store)
    assert (version.valid_to, version.ended) == (at(2), "estimated")


def test_samples_that_a_sender_kept_back_correct_the_end(store: Store) -> None:
    first = opened(store, 1)
    first.record([added(pod(), 1.1)], now=at(1.1))
    first.saw("Pod", at(2), current=True)
    first.remember(now=at(2))
    again = opened(store, 5)
    again.absent("Pod", (), now=at(5))
    written = again.write(now=at(5))
    again.mark(written, now=at(5))
    sample(store, [2.5, 3.5, 5.5])
    assert again.correct(now=at(5) + timedelta(seconds=30)) == 0
    assert again.correct(now=at(5) + timedelta(minutes=1)) == 1
    again.write(now=at(5.1))
    (version,) = history(store)
    assert (version.valid_to, version.ended) == (at(3.5), "estimated")
    sample(store, [4.5])
    assert again.correct(now=at(5.02)) == 0
    assert again.correct(now=at(5.1)) == 1
    again.write(now=at(5.1))
    assert history(store)[0].valid_to == at(4.5)
    assert again.correct(now=at(7)) == 0


def test_the_next_process_goes_on_correcting_what_this_one_estimated(store: Store) -> None:
    first = opened(store, 1)
    first.record([added(pod(), 1.1), added(pod("other"), 1.1)], now=at(1.1))
    first.saw("Pod", at(2), current=True)
    first.remember(now=at(2))
    second = opened(store, 5)
    second.record([added(pod("other", uid="u-heir", created=3), 5)], now=at(5))
    second.absent("Pod", {"u-heir"}, now=at(5))
    second.write(now=at(5))
    third = opened(store, 5.1)
    sample(store, [2.5, 3.5])
    sample(store, [2.5, 3.6], name="other", sid=2)
    assert third.correct(now=at(5.2)) == 2
    third.write(now=at(5.2))
    assert history(store)[0].valid_to == at(3.5)
    dead, heir = history(store, "other")
    assert (dead.valid_to, dead.ended, heir.valid_to) == (at(2.5), "estimated", None)


def test_the_samples_of_an_heir_of_the_name_are_not_the_deads(store: Store) -> None:
    first = opened(store, 1)
    first.record([added(pod(), 1.1)], now=at(1.1))
    first.saw("Pod", at(2), current=True)
    first.remember(now=at(2))
    sample(store, [1.5, 2.5, 3.5, 4.5])
    again = opened(store, 5)
    again.record([added(pod(uid="u-heir", created=3), 5)], now=at(5))
    again.absent("Pod", {"u-heir"}, now=at(5))
    again.write(now=at(5))
    dead, heir = history(store)
    assert (dead.uid, dead.valid_to, dead.ended) == ("u-web-0", at(2.5), "estimated")
    assert (heir.uid, heir.valid_from, heir.valid_to) == ("u-heir", at(3), None)


def test_a_deletion_told_after_a_long_silence_is_an_estimate(store: Store) -> None:
    inventory = opened(store, 1)
    inventory.record([added(pod(), 1.1), added(pod("b"), 1.1)], now=at(1.1))
    inventory.saw("Pod", at(2), current=True)
    sample(store, [2.2])
    inventory.record([deleted(pod(), 3), deleted(pod("b"), 3)], now=at(3))
    (version,), (other,) = history(store), history(store, "b")
    assert (version.valid_to, version.ended) == (at(2.2), "estimated")
    assert (other.valid_to, other.ended) == (at(2), "estimated")


def test_events_do_not_end_a_silence_before_everything_is_told(store: Store) -> None:
    inventory = opened(store, 1)
    inventory.record([added(pod(), 1.1)], now=at(1.1))
    inventory.saw("Pod", at(2), current=True)
    inventory.saw("Pod", at(3), current=False)
    inventory.record([deleted(pod(), 3)], now=at(3))
    assert history(store)[0].ended == "estimated"


def test_a_deletion_told_at_once_was_seen(store: Store) -> None:
    inventory = opened(store, 1)
    inventory.record([added(pod(), 1.1)], now=at(1.1))
    inventory.saw("Pod", at(2), current=True)
    inventory.record([deleted(pod(), 2.01)], now=at(2.01))
    assert (history(store)[0].valid_to, history(store)[0].ended) == (at(2.01), "seen")


def waiting(store: Store, hours: float) -> list[float]:
    return [
        (hour - DAY) / timedelta(hours=1)
        for hour in dirty_hours(store, cluster="c-1", before=at(hours))
    ]


def test_late_facts_mark_the_hours_that_they_are_about(store: Store) -> None:
    inventory = opened(store, 0)
    inventory.record([added(pod(created=1.5), 4.2)], now=at(4.2))
    assert waiting(store, 4) == [1, 2, 3]


def test_news_of_now_marks_nothing(store: Store) -> None:
    inventory = opened(store, 0)
    inventory.record([added(pod(created=4.1), 4.2)], now=at(4.2))
    assert waiting(store, 4) == []


def test_hours_before_the_cluster_was_known_are_not_marked(store: Store) -> None:
    young = Cluster(CLUSTER.id, name="prod", first_seen=at(50.5))
    record(store, young, [added(pod(created=1), 52.5)], now=at(52.5))
    assert waiting(store, 52) == [50, 51]


def test_the_hours_in_which_nobody_watched_are_marked(store: Store) -> None:
    first = opened(store, 1)
    first.record([added(pod(), 1.1)], now=at(1.1))
    first.saw("Pod", at(2.5), current=True)
    first.remember(now=at(2.5))
    again = opened(store, 6.2)
    again.mark_gap(now=at(6.2))
    assert waiting(store, 6) == [2, 3, 4, 5]


def test_a_document_that_cannot_be_read_does_not_stop_the_others(store: Store) -> None:
    inventory = opened(store, 1)
    broken = {"metadata": {"name": "broken", "uid": "x"}}
    assert inventory.record([added(broken, 2), added(pod(), 2)], now=at(2)) == 1
    assert inventory.unreadable == 1


def test_what_the_store_refused_is_written_later(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    inventory = opened(store, 1)
    honest = flow.put_versions
    monkeypatch.setattr(flow, "put_versions", _refuse)
    with pytest.raises(BusyError):
        inventory.record([added(pod(), 2)], now=at(2))
    monkeypatch.setattr(flow, "put_versions", honest)
    assert inventory.record([deleted(pod(), 2.01)], now=at(2.01)) == 1
    assert history(store)[0].ended == "seen"


def _refuse(*_: Any, **__: Any) -> None:
    raise BusyError("no space left")


def test_a_cluster_keeps_its_first_sight_under_a_new_name(store: Store) -> None:
    put_cluster(store, CLUSTER, now=at(1))
    found = known_cluster(store, ClusterId("c-1"), name="renamed", now=at(9))
    assert (found.name, found.first_seen) == ("renamed", DAY)
    new = known_cluster(store, ClusterId("c-2"), name="other", now=at(9))
    assert new.first_seen == at(9)


def test_a_vanished_cluster_ends_with_everything_in_it(store: Store) -> None:
    inventory = opened(store, 1)
    namespace = {"metadata": {"uid": "ns", "name": "shop", "creationTimestamp": at(1).isoformat()}}
    events = [added(pod(), 1.1), Event("ADDED", "Namespace", namespace, at(1.1))]
    inventory.record(events, now=at(1.1))
    inventory.saw("Pod", at(2), current=True)
    inventory.vanished(now=at(3))
    assert open_versions(store, "c-1") == []
    assert history(store)[0].valid_to == at(2)


def test_samples_without_a_cluster_mean_the_only_one(store: Store) -> None:
    inventory = opened(store, 1)
    assert inventory.sample_names() == ("c-1", "prod", "")
    put_cluster(store, Cluster(ClusterId("c-2"), name="b", first_seen=DAY), now=at(1))
    assert inventory.sample_names() == ("c-1", "prod")
    assert len(clusters(store)) == 2


def test_a_node_missed_over_a_restart_did_not_end_before_its_pods(store: Store) -> None:
    metadata = {"uid": "u-n0", "name": "n0", "creationTimestamp": at(1).isoformat()}
    node = Event("ADDED", "Node", {"metadata": metadata}, at(1.1))
    first = opened(store, 1)
    first.record([node, added(pod(), 1.1)], now=at(1.1))
    first.saw("Pod", at(2), current=True)
    first.remember(now=at(2))
    sample(store, [2.5])
    again = opened(store, 5)
    again.absent("Node", (), now=at(5))
    again.absent("Pod", (), now=at(5))
    again.write(now=at(5))
    assert again.correct(now=at(5.1)) == 1
    again.write(now=at(5.1))
    (ended,) = history_of(store, cluster="c-1", kind="Node", namespace="", name="n0")
    assert (ended.valid_to, ended.ended) == (at(2.5), "estimated")
