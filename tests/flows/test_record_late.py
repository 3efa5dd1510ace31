"""Samples that come late, at once, or not as a message; and what the recorder then tells."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from recording import NOW, Start, T, contents, reasons, send

from remote_write_messages import message, named, pack
from seedance.facts.errors import BusyError, IntakeError
from seedance.facts.inventory import Cluster, ClusterId
from seedance.facts.limits import Limits
from seedance.facts.rejections import Rejection
from seedance.store.objects import put_cluster
from seedance.store.store import Store

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
