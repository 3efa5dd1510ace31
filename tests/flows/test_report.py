from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seed import LAB, LENGTH, NOW, PROD, START, cost_of, put_hours, seed
from seedance.facts.errors import NoDataError, SeedanceError, UsageError
from seedance.facts.window import Window, format_instant
from seedance.facts.windowwords import parse_zone
from seedance.flows.reporting.answers import CostAnswer
from seedance.flows.reporting.report import CostQuery, costs, steps_of
from seedance.store.reportplan import make_plan, snap
from seedance.store.store import Store
from serving import AGES

ALL = "2026-11-28,2026-12-01"
MINUTES = int((NOW - START) / timedelta(minutes=1))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with Store.open(tmp_path_factory.mktemp("report"), retention=AGES) as opened:
        seed(opened)
        yield opened


def ask(store: Store, **fields: object) -> CostAnswer:
    return costs(store, CostQuery(**{"window": ALL, **fields}), now=NOW)  # type: ignore[arg-type]


def amounts(answer: CostAnswer) -> dict[tuple[str, ...], Decimal]:
    return {
        tuple(item.keys.values()): item.cost for item in answer.items if item.cost is not None
    }  # fmt: skip


def between(first: int, last: int) -> str:
    start, end = (START + timedelta(minutes=minute) for minute in (first, last))
    return f"{format_instant(start)},{format_instant(end)}"


def test_the_whole_is_what_every_row_costs(store: Store) -> None:
    answer = ask(store, by=())
    (item,) = answer.items
    assert item.cost == answer.total.cost == cost_of(*range(20))
    assert item.idle == cost_of(6, 7)
    assert answer.hidden.count == 0
    assert answer.provisional


@given(edges=st.lists(st.integers(0, MINUTES), min_size=3, max_size=3, unique=True).map(sorted))
@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_adjacent_windows_add_up_exactly(store: Store, edges: list[int]) -> None:
    first, middle, last = edges
    whole = amounts(ask(store, by=("namespace", "team"), window=between(first, last)))
    left = amounts(ask(store, by=("namespace", "team"), window=between(first, middle)))
    right = amounts(ask(store, by=("namespace", "team"), window=between(middle, last)))
    assert whole == {key: left[key] + right[key] for key in whole}


def test_a_minute_costs_its_share_of_the_hour(store: Store) -> None:
    answer = ask(store, by=("pod",), window=between(61, 62), filters=("pod:train-0",))
    (item,) = answer.items
    assert item.cost == pytest.approx(cost_of(3, hours=1) / 60, abs=Decimal("2e-12"))
    assert item.resources["cpu"].requested == pytest.approx(4 / 60)
    assert item.resources["cpu"].used == pytest.approx(5 / 60)


def test_days_and_their_hours_give_the_same(store: Store) -> None:
    days = amounts(ask(store, window="2026-11-28,2026-11-30", by=("team",)))
    hourly = ask(store, window="2026-11-28,2026-11-30", by=("team",), step="hour")
    summed: dict[tuple[str, ...], Decimal] = {}
    for item in hourly.items:
        if item.cost is not None:
            key = tuple(item.keys.values())
            summed[key] = summed.get(key, Decimal(0)) + item.cost
    assert days == summed
    assert len(hourly.steps) == 48


@pytest.mark.parametrize("idle", ["rows", "share", "hide"])
def test_asked_again_the_answer_is_the_same(store: Store, idle: str) -> None:
    fields = {"by": ("label:app",), "filters": ("namespace!:shop",), "idle": idle, "step": "day"}
    first = ask(store, **fields)
    kept = sum(len(ids) for ids in store.sums.shapes.values())
    again = ask(store, **fields)
    assert again == first
    assert kept == sum(len(ids) for ids in store.sums.shapes.values()) > 0
    whole = ask(store, **{**fields, "step": "none"})
    both = [(one.total.cost or 0) + (one.hidden.cost or 0) for one in (whole, first)]
    assert both[0] == both[1] == cost_of(*range(20))
    assert whole.hidden.count == first.hidden.count


def test_sums_that_are_gone_are_made_anew(store: Store) -> None:
    before = ask(store, by=("team",))
    store.engine.command(f"DROP TABLE {store.sums.table} SYNC")
    assert ask(store, by=("team",)) == before
    store.sums.table = ""
    store.sums.shapes.clear()
    assert ask(store, by=("team",)) == before
    assert store.sums.shapes


def test_whole_days_are_read_from_the_day_sets(store: Store) -> None:
    window = Window(START, START + timedelta(days=2))
    plan = make_plan(store, [window], clusters=())
    assert (len(plan.days), plan.hours, plan.cuts) == (4, {}, [])
    plan = make_plan(store, [window], clusters=(PROD,))
    assert len(plan.days) == 2


def test_the_running_hour_is_read_whole(store: Store) -> None:
    window = Window(NOW - timedelta(hours=3), NOW)
    plan = make_plan(store, [window], clusters=(PROD,))
    assert (len(plan.hours), len(plan.cuts)) == (3, 1)
    assert plan.provisional


def test_what_is_charged_in_other_minutes_only_has_no_row(store: Store) -> None:
    later = CostQuery(window="2026-11-30T12:35:00Z,2026-11-30T12:40:00Z", by=("pod",))
    items = costs(store, later, now=NOW + timedelta(hours=1)).items
    assert "train-0" not in {item.keys["pod"] for item in items}


def test_a_window_that_ends_before_the_running_hour_was_settled_is_cut_there(store: Store) -> None:
    window = Window(NOW - timedelta(hours=3), NOW - timedelta(minutes=1))
    plan = make_plan(store, [window], clusters=(PROD,))
    (cut,) = [cut for cut in plan.cuts if cut[2] == 0]
    assert cut[3] == (NOW - timedelta(minutes=1)).minute


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata", "America/New_York"])
@pytest.mark.parametrize("step", ["day", "week", "7h", "45m"])
def test_steps_add_up_to_the_whole(store: Store, zone: str, step: str) -> None:
    window = "2026-11-29,2026-11-30"
    answer = ask(store, by=("cluster",), window=window, step=step, zone=zone)
    whole = ask(store, by=("cluster",), window=window, zone=zone)
    assert sum(step.cost or 0 for step in answer.steps) == whole.total.cost == answer.total.cost
    assert answer.steps[0].start == whole.window.start
    assert answer.steps[-1].end == whole.window.end


def test_a_page_of_steps_counts_keys(store: Store) -> None:
    answer = ask(store, by=("namespace",), step="day", limit=1, idle="hide")
    assert {item.keys["namespace"] for item in answer.items} == {"ml"}
    assert [item.start for item in answer.items] == [START + timedelta(days=n) for n in range(3)]
    assert answer.page.total > 1
    assert answer.page.rest is not None
    assert answer.page.rest > 0


def test_shared_idle_moves_money_and_makes_none(store: Store) -> None:
    shown = ask(store, by=("namespace",))
    for by_node in (False, True):
        shared = ask(store, by=("namespace",), idle="share", idle_by_node=by_node)
        assert shared.total.cost == shown.total.cost
        moved = {key: amounts(shared)[key] - cost for key, cost in amounts(shown).items()}
        assert moved["__idle__",] == -cost_of(6, 7)
        assert moved["__system__",] == moved["__unattributed__",] == 0
        assert sum(moved.values()) == 0
        assert all(item.cost is None or item.cost >= 0 for item in shared.items)


def test_idle_goes_to_those_who_are_charged_for_the_same_resource(store: Store) -> None:
    shared = ask(store, by=("pod",), idle="share", idle_by_node=True)
    gets = {item.keys["pod"]: item.idle for item in shared.items}
    assert gets["train-0"] == cost_of(7)
    assert gets["web-1"] is None or gets["web-1"] == 0


def test_hidden_idle_is_in_the_hidden_sum(store: Store) -> None:
    answer = ask(store, idle="hide", filters=("cluster:prod",))
    assert answer.total.cost == cost_of(1, 2, 3, 4, 5, 8, 9)
    assert answer.hidden.cost == cost_of(6, 7, 11, 12, 13, 14)


def test_an_empty_match_is_empty(store: Store) -> None:
    answer = ask(store, filters=("team:nobody",))
    assert answer.items == []
    assert answer.total.cost is None
    assert answer.hidden.cost == cost_of(*range(20))


def test_reasons_and_flags_come_along(store: Store) -> None:
    answer = ask(store, by=("workload", "environment"), filters=("workload:batch,scratch,old",))
    found = {item.keys["workload"]: item for item in answer.items}
    assert found["batch"].flags == ["no-metrics", "end-estimated"]
    assert found["batch"].reasons == {"environment": "no-owner-key"}
    assert found["batch"].resources["cpu"].used is None
    assert found["scratch"].flags == ["partial-metrics", "reserved-not-running"]
    assert found["scratch"].unpriced == {"example.com/fpga": pytest.approx(LENGTH)}
    assert found["scratch"].cost == cost_of(5)
    assert found["old"].cost is None
    assert found["old"].price_sources[0].reason == "no-matching-entry"


def test_efficiency_weighs_resources_by_cost_and_only_where_use_is_known(store: Store) -> None:
    (item,) = ask(store, by=("pod",), filters=("pod:api-1",)).items
    cpu, memory = 0.03 * 1.25, 0.004 * 2
    assert item.efficiency == pytest.approx((cpu * 0.5 + memory * 0.75) / (cpu + memory))
    (batch,) = ask(store, by=("pod",), filters=("pod:batch-7",)).items
    assert batch.efficiency is None


def test_overcommit_is_shown(store: Store) -> None:
    (item,) = ask(store, by=("node",), filters=("node:node-b",)).items
    assert item.overcommit == pytest.approx(1.25)
    assert item.flags == ["overcommitted"]


def test_equal_names_in_two_clusters_stay_apart(store: Store) -> None:
    by = amounts(ask(store, by=("cluster", "namespace"), filters=("namespace:ml",)))
    assert by == {("prod", "ml"): cost_of(3, 4), ("lab", "ml"): cost_of(11)}


def test_cluster_filters_take_names_and_ids(store: Store) -> None:
    for name in ("lab", LAB):
        assert ask(store, filters=(f"cluster:{name}",)).total.cost == cost_of(11, 12, 13, 14)
    assert ask(store, filters=("cluster!:lab",)).hidden.cost == cost_of(11, 12, 13, 14)
    assert ask(store, filters=("cluster:nowhere",)).items == []


@pytest.mark.parametrize(
    ("sort", "first"),
    [("-cost", "train-0"), ("name", "__idle__"), ("-name", "web-1"), ("-unusedCost", "train-0"),
     ("-idle", "__idle__"), ("-efficiency", "scratch")],
)  # fmt: skip
def test_sorts(store: Store, sort: str, first: str) -> None:
    answer = ask(store, by=("pod",), sort=sort, filters=("resource:cpu,memory,nvidia.com/gpu",))
    assert answer.items[0].keys["pod"] == first


@pytest.mark.parametrize(
    "fields",
    [{"limit": 0}, {"limit": 10_001}, {"offset": -1}, {"sort": "x"}, {"idle": "gone"},
     {"step": "1m", "window": "2w"}, {"step": "hour", "limit": 10_000}, {"step": "0h"},
     {"by": ("label",)}, {"zone": "Nowhere"}],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(store: Store, fields: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        ask(store, **fields)


def test_no_data_says_since_when_there_is(store: Store) -> None:
    with pytest.raises(NoDataError, match="2026-11-28T00:00:00Z to 2026-11-30T13:00:00Z"):
        ask(store, window="2026-01-01,2026-01-02")
    with pytest.raises(NoDataError, match="nothing is settled yet"):
        ask(store, only_cluster="never seen")


def test_a_label_of_any_spelling_is_a_key(store: Store) -> None:
    answer = ask(store, by=("label:app", "annotation:x.io/none"), filters=('label[app]:"=batch"',))
    (item,) = answer.items
    assert item.keys == {"label:app": "=batch", "annotation:x.io/none": "__unallocated__"}
    assert item.reasons == {"annotation:x.io/none": "no-key"}


def test_windows_beyond_the_minutes_are_snapped_outwards() -> None:
    at = datetime(2026, 11, 1, 10, 20, tzinfo=UTC)
    window = Window(at, at + timedelta(hours=3, minutes=5))
    kept = {"minutes_from": at - timedelta(days=1), "hours_from": at - timedelta(days=9)}
    assert snap(window, [window], **kept)[0] == window
    gone = {**kept, "minutes_from": at + timedelta(days=1)}
    hours = Window(at.replace(minute=0), at.replace(hour=14, minute=0))
    assert snap(window, [window], **gone)[0] == hours
    days = Window(at.replace(hour=0, minute=0), at.replace(day=2, hour=0, minute=0))
    assert snap(window, [window], **{**gone, "hours_from": at + timedelta(days=1)})[0] == days


def test_month_steps_follow_the_calendar() -> None:
    window = Window(datetime(2026, 1, 15, tzinfo=UTC), datetime(2026, 4, 2, tzinfo=UTC))
    starts = [step.start.strftime("%m-%d") for step in steps_of(window, "month", parse_zone("UTC"))]
    assert starts == ["01-15", "02-01", "03-01", "04-01"]


def test_late_facts_are_seen_before_the_day_is_rolled_up_again(store: Store) -> None:
    before = ask(store, window="2026-11-28,2026-11-29").total.cost
    put_hours(store, [(PROD, START + timedelta(hours=5))], later=int(2e12))
    window = Window(START, START + timedelta(days=1))
    plan = make_plan(store, [window], clusters=())
    assert (len(plan.days), len(plan.hours)) == (1, 24)
    assert ask(store, window="2026-11-28,2026-11-29").total.cost == before


def test_a_row_without_its_entity_is_an_error_and_not_a_sum(store: Store) -> None:
    store.engine.command("DELETE FROM entities WHERE entity = 5")
    with pytest.raises(SeedanceError, match="entities"):
        ask(store)
