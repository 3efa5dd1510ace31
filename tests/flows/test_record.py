"""Samples from a body to the store: cases of the public bug reports, and what must never happen."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from recording import NOW, PLAIN_NAN, STALE, Start, T, bits, contents, reasons, send

from remote_write_messages import named, series
from seedance.facts.limits import Limits
from seedance.store import samples as stored
from seedance.store.store import Store

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
