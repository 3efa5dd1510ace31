from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from seedance.facts.errors import UsageError
from seedance.facts.inventory import Cluster, ClusterId, ObjectVersion, Uid
from seedance.facts.window import Window
from seedance.store import objects
from seedance.store.store import Store

T0 = datetime(2026, 3, 1, 12, 0, 0, 123000, tzinfo=UTC)
HOUR = timedelta(hours=1)
A = ClusterId("cluster-a")


def pod(name: str, *, at: datetime = T0, uid: str = "", **doc: object) -> ObjectVersion:
    return ObjectVersion(
        cluster=A,
        kind="Pod",
        uid=Uid(uid or f"uid-{name}"),
        namespace="shop",
        name=name,
        valid_from=at,
        valid_to=None,
        ended="",
        doc={"labels": {"app": name, "it's": 'a \\ "quote"\n€'}, **doc},
    )


def test_a_version_comes_back_as_it_was_written(store: Store) -> None:
    written = pod("web", containers=[{"name": "a", "requests": {"cpu": 0.25}}])
    objects.put_versions(store, [written], now=T0)
    assert objects.open_versions(store, A) == [written]


def test_writing_the_same_key_again_ends_the_version(store: Store) -> None:
    first = pod("web")
    ended = replace(first, valid_to=T0 + HOUR, ended="seen")
    objects.put_versions(store, [first], now=T0)
    objects.put_versions(store, [ended], now=T0 + HOUR)
    assert objects.open_versions(store, A) == []
    history = objects.history_of(store, cluster=A, kind="Pod", namespace="shop", name="web")
    assert history == [ended]


def test_versions_that_only_touch_a_window_do_not_overlap_it(store: Store) -> None:
    before = replace(pod("web"), valid_to=T0 + HOUR)
    after = pod("web", at=T0 + HOUR)
    objects.put_versions(store, [before, after], now=T0 + HOUR)

    def found(start: datetime, end: datetime) -> list[ObjectVersion]:
        return objects.versions_in(store, cluster=A, window=Window(start, end))

    assert found(T0, T0 + HOUR) == [before]
    assert found(T0 + HOUR, T0 + 2 * HOUR) == [after]
    assert found(T0, T0 + 2 * HOUR) == [before, after]
    assert found(T0 - HOUR, T0) == []
    window = Window(T0, T0 + HOUR)
    assert objects.versions_in(store, cluster=A, window=window, kinds=["Node"]) == []
    assert objects.versions_in(store, cluster="other", window=window) == []


def test_the_past_is_paged_sorted_and_counted(store: Store) -> None:
    pods = [
        pod(f"p{n}", created=f"2026-01-0{9 - n}T00:00:00Z", labels={"tier": str(n % 2)})
        for n in range(5)
    ]
    objects.put_versions(store, pods, now=T0)

    def names(**asked: object) -> tuple[list[str], int]:
        page, total = objects.objects_at(store, kind="Pod", at=T0, **asked)  # type: ignore[arg-type]
        return [each.name for each in page], total

    assert names(limit=2, offset=2) == (["p2", "p3"], 5)
    assert names(limit=2, offset=8) == ([], 5)
    assert names(sort="-name", limit=2) == (["p4", "p3"], 5)
    assert names(sort="age", limit=1) == (["p4"], 5)
    assert names(labels={"tier": "1"}) == (["p1", "p3"], 2)
    assert names(namespace="else") == ([], 0)
    assert objects.objects_at(store, kind="Pod", at=T0 - HOUR) == ([], 0)
    with pytest.raises(UsageError, match="cannot sort by 'colour'"):
        names(sort="colour")


def test_a_cluster_keeps_its_first_sight_and_takes_its_newest_name(store: Store) -> None:
    objects.put_cluster(store, Cluster(A, name="old", first_seen=T0), now=T0)
    objects.put_cluster(store, Cluster(A, name="new", first_seen=T0), now=T0 + HOUR)
    assert objects.clusters(store) == [Cluster(A, name="new", first_seen=T0)]
