"""Samples from a body to the store: cases of the public bug reports, and what must never happen."""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from remote_write_messages import body, message, named, pack, series
from seedance.facts.errors import BusyError, IntakeError
from seedance.facts.inventory import Cluster, ClusterId
from seedance.facts.limits import Limits
from seedance.facts.rejections import Accepted, Rejection
from seedance.flows.record import Recorder
from seedance.intake import remotewrite
from seedance.store import samples as stored
from seedance.store.objects import put_cluster
from seedance.store.store import Store
from seedance.store.wal import Wal

NOW = datetime(2026, 11, 30, 12, 30, tzinfo=UTC)
T = int(NOW.timestamp() * 1000)
STALE = struct.unpack("<d", struct.pack("<Q", 0x7FF0000000000002))[0]
PLAIN_NAN = struct.unpack("<d", struct.pack("<Q", 0x7FF8000000000001))[0]

Start = Callable[..., Recorder]


@pytest.fixture
def start(store: Store, tmp_path: Path) -> Iterator[Start]:
    """Starts a recorder on the store and its log; call it again for a restart."""
    running: list[Recorder] = []

    def begin(**options: Any) -> Recorder:
        limits = options.pop("limits", Limits())
        recorder = Recorder(
            options.pop("store", store),
            Wal.open(tmp_path / "log", fsync=options.pop("fsync", "never")),
            decoders={"remote-write": remotewrite.decoder(limits)},
            clock=lambda: NOW,
            limits=limits,
            **{"flush_seconds": 0.05, **options},
        )
        recorder.start()
        running.append(recorder)
        return recorder

    yield begin
    for recorder in running:
        if not recorder._stopping:
            recorder.stop()


def send(recorder: Recorder, *all_series: Any, cluster: str = "", now: datetime = NOW) -> Accepted:
    return recorder.accept(body(*all_series), door="remote-write", cluster=cluster, now=now)


def reasons(accepted: Accepted) -> dict[str, int]:
    return {each.reason.value: each.count for each in accepted.rejected}


def contents(store: Store) -> dict[str, list[tuple[int, str]]]:
    """Every stored sample by series text: ms and the value's bits in hex."""
    names = {
        each.id: each.metric + "".join(f",{k}={v}" for k, v in each.labels)
        for each in stored.all_series(store)
    }
    found = store.engine.columns("SELECT sid, ts, value FROM samples ORDER BY sid, ts")
    result: dict[str, list[tuple[int, str]]] = {}
    if found:
        bits = found["value"].view(np.uint64).tolist()
        ms = found["ts"].view(np.int64).tolist()
        for sid, ts, value in zip(found["sid"].tolist(), ms, bits, strict=True):
            result.setdefault(names[sid], []).append((ts, f"{value:016x}"))
    return result


def bits(value: float) -> str:
    return f"{struct.unpack('<Q', struct.pack('<d', value))[0]:016x}"


# ---------------------------------------------------------------- the cases


def test_case_1_partial_write_stores_the_valid_rest(store: Store, start: Start) -> None:
    recorder = start(out_of_order=timedelta(minutes=1))
    send(recorder, named("a", [(T, 1.0)]))
    told = send(
        recorder, named("b", [(T, 2.0)]), named("a", [(T - 90_000, 1.0)]), named("c", [(T, 3.0)])
    )
    assert (told.samples, told.written) == (3, 2)
    assert reasons(told) == {"out-of-order": 1}
    assert told.rejected[0].examples[0].series == "a{}"
    assert told.rejected[0].examples[0].ts == T - 90_000
    recorder.stop()
    assert contents(store) == {
        "a": [(T, bits(1.0))],
        "b": [(T, bits(2.0))],
        "c": [(T, bits(3.0))],
    }


def test_by_default_five_minutes_of_lateness_are_taken(start: Start) -> None:
    recorder = start()
    for name, behind, written in (("a", 90_000, 1), ("b", 300_000, 1), ("c", 300_001, 0)):
        send(recorder, named(name, [(T, 1.0)]))
        assert send(recorder, named(name, [(T - behind, 1.0)])).written == written


def test_case_2_a_resend_is_stored_once_and_counted_as_written(store: Store, start: Start) -> None:
    recorder = start()
    content = [named("r", [(T - 1000, 1.0), (T, 2.0)], i=str(i)) for i in range(50)]
    for _ in range(3):
        told = send(recorder, *content)
        assert (told.written, told.rejected) == (100, ())
    recorder.stop()
    assert {len(samples) for samples in contents(store).values()} == {2}


def test_case_2_also_after_a_restart_and_when_newer_samples_came(
    store: Store, start: Start
) -> None:
    first = [named("r", [(T - 3_600_000 + i, 1.0)]) for i in range(1)]
    recorder = start()
    send(recorder, *first)
    send(recorder, *[named("r", [(T - 1000 * i, float(i))]) for i in range(20, -1, -1)])
    recorder.stop()
    again = start()
    told = send(again, *first)
    assert (told.written, told.rejected) == (1, ())
    assert send(again, named("r", [(T - 20_000, 20.0)])).written == 1
    again.stop()
    assert len(contents(store)["r"]) == 22


def test_case_2_far_back_in_what_is_not_flushed_yet(store: Store, start: Start) -> None:
    recorder = start(flush_seconds=30.0)
    backfill = named("r", [(T - 15_000 * i, float(i)) for i in range(400, -1, -1)])
    assert send(recorder, backfill).written == 401
    assert send(recorder, backfill).written == 401
    recorder.stop()
    assert len(contents(store)["r"]) == 401


def test_case_3_of_conflicting_values_the_first_one_stays(store: Store, start: Start) -> None:
    recorder = start()
    send(recorder, named("a", [(T, 1.0)]))
    told = send(recorder, named("a", [(T, 2.0)]))
    assert (told.written, reasons(told)) == (0, {"duplicate-timestamp": 1})
    told = send(recorder, named("b", [(T, 1.0), (T, 2.0)]))
    assert (told.written, reasons(told)) == (1, {"duplicate-timestamp": 1})
    recorder.stop()
    again = start()
    assert reasons(send(again, named("a", [(T, 2.0)]))) == {"duplicate-timestamp": 1}
    again.stop()
    assert contents(store) == {"a": [(T, bits(1.0))], "b": [(T, bits(1.0))]}


def test_case_5_a_duplicate_label_name_costs_only_its_series(store: Store, start: Start) -> None:
    recorder = start()
    bad = series([("__name__", "e"), ("x", "1"), ("x", "2")], [(T, 1.0)])
    told = send(recorder, named("d", [(T, 1.0)]), bad, named("f", [(T, 1.0)]))
    assert (told.written, reasons(told)) == (2, {"duplicate-label": 1})
    assert told.rejected[0].examples[0].series == 'e{x="1", x="2"}'
    recorder.stop()
    assert sorted(contents(store)) == ["d", "f"]


def test_case_6_stale_markers_keep_their_bits(store: Store, start: Start) -> None:
    recorder = start()
    send(recorder, named("g", [(T, 5.0)]))
    send(recorder, named("g", [(T + 1000, STALE)]), named("h", [(T + 1000, PLAIN_NAN)]))
    recorder.stop()
    assert contents(store) == {
        "g": [(T, bits(5.0)), (T + 1000, "7ff0000000000002")],
        "h": [(T + 1000, "7ff8000000000001")],
    }


def test_case_7_labels_in_any_order_are_one_series(store: Store, start: Start) -> None:
    recorder = start()
    send(recorder, series([("z", "1"), ("__name__", "s"), ("b", "2")], [(T, 1.0)]))
    send(recorder, series([("__name__", "s"), ("b", "2"), ("z", "1")], [(T + 1000, 2.0)]))
    recorder.stop()
    again = start()
    send(again, series([("b", "2"), ("z", "1"), ("__name__", "s")], [(T + 2000, 3.0)]))
    again.stop()
    assert {k: len(v) for k, v in contents(store).items()} == {"s,b=2,z=1": 3}


# ---------------------------------------------------------------- single samples


BAD_LABELS: list[tuple[list[tuple[str | bytes, str | bytes]], str]] = [
    ([], "no-labels"),
    ([("job", "x")], "no-metric-name"),
    ([("__name__", "")], "no-metric-name"),
    ([("__name__", "m"), ("", "x")], "empty-label"),
    ([("__name__", "m"), ("x", "")], "empty-label"),
    ([("__name__", "m"), ("x", "a"), ("x", "a")], "duplicate-label"),
    ([("__name__", "m"), ("__name__", "m")], "duplicate-label"),
    ([("__name__", "m"), ("x", b"\xff\xfe")], "invalid-utf-8"),
    ([("__name__", "m"), (b"\xc3", "x")], "invalid-utf-8"),
    ([("__name__", "m"), *((f"l{i}", "v") for i in range(128))], "too-many-labels"),
    ([("__name__", "m"), ("x", "v" * 8193)], "label-too-long"),
    ([("__name__", "m"), ("x" * 1025, "v")], "label-too-long"),
    ([("__name__", "m"), *((f"l{i}", "v" * 8000) for i in range(9))], "label-too-long"),
]


def test_bad_labels_cost_only_their_series(store: Store, start: Start) -> None:
    recorder = start()
    for at, (labels, reason) in enumerate(BAD_LABELS * 2):
        first, last = (named(name, [(T + at, 1.0)]) for name in "df")
        told = send(recorder, first, series(labels, [(T, 9.0)]), last)
        assert (told.written, reasons(told)) == (2, {reason: 1}), labels
    recorder.stop()
    assert {name: len(found) for name, found in contents(store).items()} == dict.fromkeys(
        "df", 2 * len(BAD_LABELS)
    )


def test_labels_at_their_limits_and_odd_names_are_taken(store: Store, start: Start) -> None:
    recorder = start()
    told = send(
        recorder,
        named("m", [(T, 1.0)], **{f"l{i}": "v" for i in range(127)}),
        named("with.dots and spaces", [(T, 1.0)], **{"k.8s/ä": "line\nbreak\0\t'\"\\"}),
        named("m", [(T, 1.0)], x="v" * 8192),
    )
    assert told.written == 3
    recorder.stop()
    assert "with.dots and spaces,k.8s/ä=line\nbreak\0\t'\"\\" in contents(store)


BAD_TIMES = [
    (T // 1000, "wrong-time-unit", "seconds"),
    (T * 1000, "wrong-time-unit", "microseconds"),
    (T * 1_000_000, "wrong-time-unit", "nanoseconds"),
    (T + 300_001, "in-future", ""),
    (T + 365 * 86_400_000, "in-future", ""),
    (T - 15 * 86_400_000 - 1, "too-old", ""),
    (0, "too-old", ""),
    (-1, "too-old", ""),
    (-(2**63), "too-old", ""),
    (2**63 - 1, "in-future", ""),
]


def test_times_that_cannot_be_are_named(store: Store, start: Start) -> None:
    recorder = start()
    for at, (ts, reason, detail) in enumerate(BAD_TIMES):
        first, last = (named(name, [(T + at, 1.0)]) for name in "df")
        told = send(recorder, first, named("a", [(ts, 1.0)]), last)
        assert (told.written, reasons(told)) == (2, {reason: 1}), ts
        assert told.rejected[0].examples[0].detail == detail
    recorder.stop()
    assert sorted(contents(store)) == ["d", "f"]


def test_times_at_the_edges_are_taken(start: Start) -> None:
    recorder = start()
    for name, ts in (("a", T + 300_000), ("b", T - 15 * 86_400_000)):
        assert send(recorder, named(name, [(ts, 1.0)])).written == 1


def test_a_sample_of_the_future_does_not_shut_out_the_present(start: Start) -> None:
    recorder = start()
    send(recorder, named("a", [(T + 3_600_000, 1.0)]))
    assert send(recorder, named("a", [(T, 1.0)])).written == 1


def test_new_series_over_the_limit_are_rejected_and_known_ones_go_on(start: Start) -> None:
    recorder = start(limits=Limits(series=2))
    send(recorder, named("a", [(T, 1.0)]), named("b", [(T, 1.0)]))
    told = send(recorder, named("a", [(T + 1, 1.0)]), named("c", [(T, 1.0)]))
    assert (told.written, reasons(told)) == (1, {"too-many-series": 1})


def test_a_series_without_samples_is_fine_unless_its_labels_are_not(start: Start) -> None:
    recorder = start()
    assert send(recorder, named("a", [])).rejected == ()
    told = send(recorder, series([], []))
    assert (told.written, reasons(told)) == (0, {"no-labels": 0})


# ---------------------------------------------------------------- clusters and doors


def test_the_cluster_is_the_tokens_else_the_labels_else_none(store: Store, start: Start) -> None:
    recorder = start()
    send(recorder, named("a", [(T, 1.0)], cluster="labelled"), cluster="bound")
    send(recorder, named("a", [(T, 2.0)], cluster="labelled"))
    send(recorder, named("a", [(T, 3.0)]))
    recorder.stop()
    clusters = sorted(each.cluster for each in stored.all_series(store))
    assert clusters == ["", "bound", "labelled"]


def test_label_and_token_that_name_the_same_cluster_are_one_series(
    store: Store, start: Start
) -> None:
    recorder = start()
    send(recorder, named("a", [(T, 1.0)], cluster="x"), cluster="x")
    send(recorder, named("a", [(T + 1, 1.0)], cluster="x"))
    recorder.stop()
    assert len(list(stored.all_series(store))) == 1


def test_series_keep_their_numbers_over_a_restart(store: Store, start: Start) -> None:
    recorder = start()
    send(recorder, *[named("a", [(T, 1.0)], i=str(i)) for i in range(100)])
    recorder.stop()
    before = {each.labels: each.id for each in stored.all_series(store)}
    again = start()
    send(again, *[named("a", [(T + 1, 1.0)], i=str(i)) for i in range(100, -1, -1)])
    again.stop()
    after = {each.labels: each.id for each in stored.all_series(store)}
    assert {labels: after[labels] for labels in before} == before
    assert sorted(after.values()) == list(range(1, 102))


def test_fresh_pods_are_those_whose_containers_sent_use(start: Start) -> None:
    recorder = start()
    use = "container_cpu_usage_seconds_total"

    def of(metric: str, pod: str, container: str, samples: list[tuple[int, float]]) -> Any:
        return named(metric, samples, namespace="n", pod=pod, container=container)

    send(
        recorder,
        of(use, "fresh", "c", [(T, 1.0)]),
        of(use, "old", "c", [(T - 200_000, 1.0)]),
        of(use, "ended", "c", [(T - 200_000, 1.0), (T, STALE)]),
        of(use, "pause", "POD", [(T, 1.0)]),
        named(use, [(T, 1.0)], namespace="n", pod="cgroup"),
        of("kube_pod_info", "inventory", "c", [(T, 1.0)]),
    )
    assert recorder.fresh_pods({""}, NOW - timedelta(minutes=2)) == {("n", "fresh")}
    assert recorder.fresh_pods({"other"}, NOW - timedelta(minutes=2)) == set()


# ---------------------------------------------------------------- late, backfilled, concurrent


def test_a_backfill_of_two_weeks_in_one_body_is_stored(store: Store, start: Start) -> None:
    recorder = start()
    week2 = 14 * 24 * 60
    told = send(
        recorder,
        *[
            named("b", [(T - 60_000 * i, float(i % 7)) for i in range(week2, -1, -1)], pod=str(p))
            for p in range(3)
        ],
    )
    assert told.written == 3 * (week2 + 1)
    recorder.stop()
    assert {len(v) for v in contents(store).values()} == {week2 + 1}


def test_a_series_that_was_silent_for_days_is_late_against_its_own_past(
    store: Store, start: Start
) -> None:
    recorder = start()
    send(recorder, named("a", [(T - 86_400_000, 1.0)]))
    recorder.stop()
    again = start()
    assert send(again, named("a", [(T - 86_400_000 + 1, 1.0)])).written == 1
    assert send(again, named("a", [(T - 86_400_000 - 1, 1.0)])).written == 1
    told = send(again, named("a", [(T - 86_400_000 - 300_001, 1.0)]))
    assert reasons(told) == {"out-of-order": 1}
    assert send(again, named("a", [(T, 1.0)])).written == 1
    again.stop()
    assert len(contents(store)["a"]) == 4


def test_flushed_hours_are_marked_for_the_cluster_that_they_settle_in(
    store: Store, start: Start
) -> None:
    put_cluster(store, Cluster(ClusterId("uid-1"), "prod", NOW), now=NOW)
    recorder = start()
    two_hours_ago = T - 7_200_000
    send(recorder, named("a", [(two_hours_ago, 1.0), (T, 1.0)], cluster="prod"))
    recorder.stop()
    rows = store.engine.rows("SELECT DISTINCT cluster, hour FROM dirty ORDER BY hour")
    assert [(row["cluster"], row["hour"].hour) for row in rows] == [("uid-1", 10), ("uid-1", 12)]


def test_many_threads_lose_and_double_nothing(store: Store, start: Start) -> None:
    recorder = start(flush_rows=500)

    def work(thread: int) -> None:
        for at in range(40):
            content = [named("t", [(T + at, 1.0)], thread=str(thread), i=str(i)) for i in range(20)]
            assert send(recorder, *content).written == 20

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    recorder.stop()
    found = contents(store)
    assert len(found) == 80
    assert {len(samples) for samples in found.values()} == {40}


# ---------------------------------------------------------------- bodies


def test_a_body_that_is_no_message_is_refused_as_a_whole(store: Store, start: Start) -> None:
    recorder = start()
    cut = message(named("a", [(T, 1.0)]))[:-3]
    for wrong in (b"", b"nonsense", pack(b"nonsense"), pack(cut)):
        with pytest.raises(IntakeError):
            recorder.accept(wrong, door="remote-write", cluster="", now=NOW)
    recorder.stop()
    assert contents(store) == {}


def test_an_empty_message_is_fine(start: Start) -> None:
    told = start().accept(pack(b""), door="remote-write", cluster="", now=NOW)
    assert (told.samples, told.written, told.rejected) == (0, 0, ())


def test_a_full_queue_refuses_and_goes_on_when_it_is_empty(store: Store, start: Start) -> None:
    recorder = start(limits=Limits(queue_rows=10), flush_seconds=0.2)
    content = [named("q", [(T, 1.0)], i=str(i)) for i in range(12)]
    send(recorder, *content)
    with pytest.raises(BusyError, match="wait for the store"):
        send(recorder, *content)
    wait_for(lambda: recorder.stats().queue_rows == 0)
    send(recorder, named("q", [(T, 1.0)], i="12"))
    recorder.stop()
    assert len(contents(store)) == 13


def wait_for(condition: Callable[[], bool]) -> None:
    """Waits until `condition` holds, ten seconds at most."""
    for _ in range(1000):
        if condition():
            return
        threading.Event().wait(0.01)
    raise AssertionError("it did not come true within ten seconds")


def test_stats_tell_what_happened(start: Start) -> None:
    recorder = start()
    send(recorder, named("a", [(T, 1.0)]), named("b", [(T, 1.0)]))
    send(recorder, named("a", [(T, 1.0)]), named("b", [(T // 1000, 1.0)]))
    wait_for(lambda: recorder.stats().stored == 2)
    stats = recorder.stats()
    assert (stats.healthy, stats.reason) == (True, "")
    assert (stats.bodies, stats.samples, stats.resent, stats.series) == (2, 3, 1, 2)
    assert stats.rejected == {Rejection.WRONG_TIME_UNIT: 1}
    assert (stats.queue_rows, stats.last_flush) == (0, NOW)
    assert stats.log_bytes > 0
