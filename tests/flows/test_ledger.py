"""Sights become versions: what begins, changes and ends, and about when that is news."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from seedance.facts.errors import IntakeError
from seedance.facts.inventory import ClusterId, ObjectVersion, Pod, Uid
from seedance.flows.watching.ledger import End, Event, Ledger

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
MS = timedelta(milliseconds=1)


def at(minutes: float) -> datetime:
    return NOON + timedelta(minutes=minutes)


def stamp(minutes: float) -> str:
    return at(minutes).isoformat()


def pod(
    *, labels: dict[str, str] | None = None, uid: str = "u", phase: str = "Running", **status: Any
) -> dict[str, Any]:
    return {
        "metadata": {
            "uid": uid,
            "name": "web-0",
            "namespace": "shop",
            "creationTimestamp": stamp(0),
            "labels": labels or {},
        },
        "spec": {
            "nodeName": "n0",
            "containers": [{"name": "app", "resources": {"requests": {"cpu": "1"}}}],
        },
        "status": {"phase": phase, "startTime": stamp(1), **status},
    }


def seen(minutes: float, document: dict[str, Any], kind: str = "MODIFIED") -> Event:
    return Event(kind, "Pod", document, at(minutes))  # type: ignore[arg-type]


def spans(ledger: Ledger) -> list[tuple[float, float | None, str]]:
    """Versions that wait, as (from, to, ended) in minutes after noon."""

    def minutes(instant: datetime) -> float:
        return (instant - NOON) / timedelta(minutes=1)

    return [
        (
            minutes(version.valid_from),
            None if version.valid_to is None else minutes(version.valid_to),
            version.ended,
        )
        for version in sorted(ledger.pending.values(), key=lambda version: version.valid_from)
    ]


def written(ledger: Ledger) -> list[ObjectVersion]:
    versions = list(ledger.pending.values())
    ledger.forget(versions)
    return versions


@pytest.fixture
def ledger() -> Ledger:
    return Ledger(ClusterId("c"))


def test_the_first_version_begins_at_creation_however_late_it_is_seen(ledger: Ledger) -> None:
    ledger.sight(seen(30, pod(), "ADDED"))
    assert spans(ledger) == [(0, None, "")]
    assert ledger.since == at(0)


def test_an_equal_sight_is_no_version(ledger: Ledger) -> None:
    ledger.sight(seen(1, pod()))
    written(ledger)
    ledger.sight(seen(2, {**pod(), "metadata": {**pod()["metadata"], "resourceVersion": "9"}}))
    assert not ledger.pending
    assert ledger.since is None


def test_a_change_ends_one_version_and_begins_the_next(ledger: Ledger) -> None:
    ledger.sight(seen(1, pod(labels={"v": "1"})))
    ledger.sight(seen(5, pod(labels={"v": "2"})))
    assert spans(ledger) == [(0, 5, ""), (5, None, "")]
    first, second = written(ledger)
    assert (first.doc["labels"], second.doc["labels"]) == ({"v": "1"}, {"v": "2"})


def test_changes_within_a_millisecond_and_clocks_that_go_back_keep_the_order(
    ledger: Ledger,
) -> None:
    for n, minutes in enumerate((5, 5, -3)):
        ledger.sight(seen(minutes, pod(labels={"v": str(n)})))
    versions = sorted(written(ledger), key=lambda version: version.valid_from)
    assert [v.valid_from for v in versions] == [at(0), at(5), at(5) + MS]
    assert [v.valid_to for v in versions] == [at(5), at(5) + MS, None]


def test_a_deletion_that_was_seen_ends_the_version(ledger: Ledger) -> None:
    ledger.sight(seen(1, pod()))
    ledger.gone(seen(9, pod(), "DELETED"))
    assert spans(ledger) == [(0, 9, "seen")]
    assert ledger.known("Pod") == set()


def test_what_a_deletion_tells_last_is_kept(ledger: Ledger) -> None:
    ledger.sight(seen(1, pod()))
    ledger.gone(seen(9, pod(phase="Succeeded"), "DELETED"))
    first, last = sorted(written(ledger), key=lambda version: version.valid_from)
    assert (first.ended, last.ended) == ("", "seen")
    assert last.valid_to == at(9)
    assert Pod.from_doc(last.doc).phase == "Succeeded"
    assert first.valid_to == last.valid_from == at(9) - MS


def test_an_object_known_by_its_deletion_only_lived_since_creation(ledger: Ledger) -> None:
    ledger.gone(seen(9, pod(), "DELETED"))
    assert spans(ledger) == [(0, 9, "seen")]


def test_a_repeated_deletion_changes_nothing(ledger: Ledger) -> None:
    ledger.sight(seen(1, pod()))
    ledger.gone(seen(9, pod(), "DELETED"))
    written(ledger)
    assert ledger.gone(seen(10, pod(), "DELETED")) is None
    assert not ledger.pending


def test_a_pod_wrongly_ended_by_an_estimate_lives_on_without_a_gap(ledger: Ledger) -> None:
    ledger.sight(seen(1, pod()))
    ended = ledger.end(Uid("u"), End(at(5), "estimated"))
    ledger.sight(seen(20, pod()))
    assert spans(ledger) == [(0, 5, "estimated"), (5, None, "")]
    assert ledger.correct(ended, at(7)) is None


def test_an_object_brought_back_after_a_seen_end_begins_when_it_is_seen(ledger: Ledger) -> None:
    ledger.sight(seen(1, pod()))
    ledger.gone(seen(5, pod(), "DELETED"))
    ledger.sight(seen(20, pod()))
    assert spans(ledger) == [(0, 5, "seen"), (20, None, "")]


def test_a_ledger_opened_from_versions_finds_nothing_new(ledger: Ledger) -> None:
    ledger.sight(seen(1, pod(labels={"empty": ""})))
    again = Ledger(ClusterId("c"), written(ledger))
    again.sight(seen(30, pod(labels={"empty": ""})))
    assert not again.pending
    again.sight(seen(31, pod(labels={"empty": "x"})))
    assert spans(again) == [(0, 31, ""), (31, None, "")]


def test_a_pod_over_without_an_end_ended_when_that_was_first_seen(ledger: Ledger) -> None:
    ledger.sight(seen(1, pod()))
    ledger.sight(seen(7, pod(phase="Failed")))
    ledger.sight(seen(9, pod(phase="Failed", reason="Evicted")))
    last = max(written(ledger), key=lambda version: version.valid_from)
    assert Pod.from_doc(last.doc).finished == at(7)


def test_a_pod_bound_by_nobody_was_bound_when_it_was_created_or_first_seen_bound(
    ledger: Ledger,
) -> None:
    bound = pod()
    del bound["status"]["startTime"]
    ledger.sight(seen(3, bound))
    (version,) = written(ledger)
    assert Pod.from_doc(version.doc).scheduled == at(0)
    waiting = pod(uid="w")
    del waiting["status"]["startTime"], waiting["spec"]["nodeName"]
    ledger.sight(seen(3, waiting))
    waiting["spec"]["nodeName"] = "n0"
    ledger.sight(seen(4, waiting))
    last = max(written(ledger), key=lambda version: version.valid_from)
    assert Pod.from_doc(last.doc).scheduled == at(4)


def test_only_instants_that_were_not_known_are_news(ledger: Ledger) -> None:
    ledger.sight(seen(1, pod()))
    written(ledger)
    ledger.sight(seen(90, pod(labels={"late": "label"})))
    assert ledger.since == at(90)
    written(ledger)
    scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": stamp(2)}
    ledger.sight(seen(120, pod(labels={"late": "label"}, conditions=[scheduled])))
    assert ledger.since == at(2)


def test_what_cannot_be_read_changes_nothing(ledger: Ledger) -> None:
    ledger.sight(seen(1, pod()))
    broken = pod()
    broken["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "many"
    with pytest.raises(IntakeError, match="Pod shop/web-0"):
        ledger.sight(seen(2, broken))
    assert spans(ledger) == [(0, None, "")]


def test_who_runs_where_is_at_hand(ledger: Ledger) -> None:
    ledger.sight(seen(1, pod()))
    ledger.sight(seen(1, pod(uid="done", phase="Succeeded")))
    node = {
        "metadata": {
            "uid": "n",
            "name": "n0",
            "creationTimestamp": stamp(0),
            "annotations": {"metrics.k8s.io/resource-metrics-path": "/odd/metrics"},
        }
    }
    ledger.sight(Event("ADDED", "Node", node, at(1)))
    for opened in (ledger, Ledger(ClusterId("c"), list(ledger.pending.values()))):
        assert opened.pods_on_nodes() == {"n0": {("shop", "web-0")}}
        assert opened.metrics_paths() == {"n0": "/odd/metrics"}
        assert opened.counts() == {"Pod": 2, "Node": 1}
