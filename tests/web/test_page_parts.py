"""Parts of pages on their own: figures, links, what a URL asks for, chart values."""

import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from starlette.datastructures import QueryParams

from browser import samplestatus
from browser.sampledesk import NOW, SampleDesk
from seedance.facts.costquery import CostQuery
from seedance.facts.errors import UsageError
from seedance.flows.reporting.answers import Stranger
from seedance.web.pages import asked, chart, figures, links, menus, render
from seedance.web.pages.assets import Assets
from seedance.web.pages.figures import Money
from seedance.web.pages.routes import local
from seedance.web.pages.shell import freshness_of
from seedance.web.pages.status import status_page
from seedance.web.pages.table import table

MINUS = "\u2212"
NARROW = "\u202f"


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (Decimal("1234.5"), "1,234.50"),
        (Decimal("0.004"), "<0.01"),
        (Decimal("-3.1"), f"{MINUS}3.10"),
        (Decimal(0), "0.00"),
        (None, None),
    ],
)
def test_a_column_of_money_has_one_number_of_places(
    amount: Decimal | None, text: str | None
) -> None:
    assert Money("USD").cell(amount) == text


def test_places_follow_the_largest_amount() -> None:
    assert Money.of("USD", [Decimal("0.31"), None]).cell(Decimal("0.0123")) == "0.0123"
    assert Money.of("USD", [Decimal(12)]).places == 2


def test_money_in_a_sentence_has_few_digits_and_the_tip_has_all() -> None:
    money = Money("EUR")
    assert money.words(Decimal("12480.77")) == "€12,481"
    assert money.words(Decimal("12.3456")) == "€12.35"
    assert money.exact(Decimal("1234.500000000001")) == "1,234.500000000001 EUR"
    assert Money("SEK").words(Decimal(5)) == "SEK\u00a05.00"


@pytest.mark.parametrize(
    ("value", "text"),
    [(12345.6, "12,346"), (12.34, "12.3"), (0.4, "0.4"), (0.00001, "<0.001"), (0, "0")],
)
def test_quantities_have_about_three_digits(value: float, text: str) -> None:
    assert figures.quantity(value) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.813, "81"), (0.051, "5.1"), (0.0001, "<0.1"), (1.0, "100"), (0, "0")],
)
def test_percent_has_one_place_below_ten(share: float, text: str) -> None:
    assert figures.percent(share) == f"{text}{NARROW}%"


def test_a_window_of_whole_days_is_said_in_days_of_its_zone() -> None:
    start, end = datetime(2026, 11, 1, 23, tzinfo=UTC), datetime(2026, 11, 8, 23, tzinfo=UTC)
    assert figures.window_words(start, end, "Europe/Berlin") == "2\u20138 Nov 2026"
    assert "23:00" in figures.window_words(start, end, "UTC")


def test_a_drill_pins_the_row_and_goes_one_step_down() -> None:
    query = CostQuery(window="30d", by=("namespace",), sort="name", offset=100)
    assert links.drill(query, {"namespace": "ml"}) == (
        "/costs?window=30d&by=workload&filter=namespace:ml"
    )
    assert links.drill(query, {"namespace": "__idle__"}) == (
        "/costs?window=30d&by=node&filter=kind:idle"
    )
    assert links.drill(query, {"node": "a", "namespace": "__idle__"}) is None
    assert links.drill(replace(query, by=("container",)), {"container": "app"}) is None


def test_a_drill_quotes_values_and_skips_what_is_pinned() -> None:
    query = CostQuery(by=("team",), filters=("namespace:ml",))
    href = links.drill(query, {"team": "a b"})
    assert href == "/costs?window=today&by=workload&filter=namespace:ml&filter=team:%22a%20b%22"


def test_breadcrumbs_lead_back_the_way_one_came() -> None:
    query = CostQuery(by=("pod",), filters=("namespace:ml", "label:app!=x", "workload:train"))
    way = links.crumbs(query)
    assert [item.text for item in way] == ["All costs", "ml", "train"]
    assert "by=namespace" in way[0].href
    assert "by=workload" in way[1].href
    assert "label:app%21%3Dx" not in way[1].href


def test_the_url_of_a_form_becomes_the_apis_spelling() -> None:
    params = QueryParams("window=7d&zone=Europe/Berlin&from=2026-11-10T00:00&to=2026-11-11T00:00")
    query = asked.query_of(params, window="7d", by=("namespace",))
    clean = asked.canonical(params, query)
    assert clean is not None
    assert clean.window == "2026-11-09T23:00:00Z,2026-11-10T23:00:00Z"
    assert asked.canonical(QueryParams("window=7d"), query) is None


@pytest.mark.parametrize(
    "text", ["limit=ten", "idle=maybe", "zone=Mars/Base", "limit=-1", "offset=1.5"]
)
def test_a_url_that_makes_no_sense_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError):
        asked.query_of(QueryParams(text), window="7d", by=("namespace",))


def test_an_instant_in_the_future_is_refused() -> None:
    with pytest.raises(UsageError, match="future"):
        asked.instant_of(QueryParams("at=2027-01-01T00:00"), "UTC", NOW)


@pytest.mark.parametrize(
    ("target", "kept"),
    [
        ("/costs?window=7d", True),
        ("//evil.example/", False),
        ("https://evil.example/", False),
        ("/\\evil.example", False),
        ("/x\r\nSet-Cookie: a=b", False),
    ],
)
def test_no_redirect_leads_elsewhere(target: str, *, kept: bool) -> None:
    assert local(target) == (target if kept else "/")


@pytest.mark.parametrize("by", [("team",), ("namespace",), ("cluster", "namespace"), ("kind",)])
def test_bars_of_a_step_add_up_to_the_whole(by: tuple[str, ...]) -> None:
    desk = SampleDesk()
    query = CostQuery(window="7d", by=by)
    drawn = chart.bars(desk, query)
    whole = desk.costs(replace(query, by=(), step="day"))
    for number, item in enumerate(whole.items):
        bars = sum((one.values[number] or Decimal(0) for one in drawn.series), Decimal(0))
        assert bars == pytest.approx(item.cost, rel=Decimal("1e-9"))


def test_rows_and_rest_and_hidden_add_up_to_the_total() -> None:
    desk = SampleDesk()
    query = CostQuery(window="7d", by=("pod",), filters=("team:vision",), limit=3)
    answer = desk.costs(query)
    made = table(query, answer)
    texts = [row.cost or "" for row in (*made.rows, *made.aside)]
    shown = sum(Decimal(text.replace(",", "")) for text in texts)
    left, hidden, total = (Decimal((row.cost or "").replace(",", "")) for row in made.sums)
    assert shown == pytest.approx(left, abs=Decimal("0.03"))
    assert left + hidden == pytest.approx(total, abs=Decimal("0.03"))


def test_figures_that_end_too_early_are_called_stale() -> None:
    desk = SampleDesk()
    query = CostQuery(window="today")
    assert not freshness_of(desk.costs(query), NOW).stale
    desk.as_of = NOW - timedelta(hours=3)
    assert freshness_of(desk.costs(query), NOW).at == "30 Nov 2026, 17:14 UTC"
    assert not freshness_of(desk.costs(CostQuery(window="yesterday")), NOW).stale


def test_window_names_and_sentences() -> None:
    assert menus.window_name("7d") == "Last 7 days"
    assert menus.when("month") == "this month"
    assert menus.window_name("2026-11-01,2026-11-02") == "Chosen window"


def test_an_upgrade_below_a_running_server_changes_none_of_its_pages(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "old.html").write_text("before")
    monkeypatch.setattr(render, "TEMPLATES", tmp_path)
    env = render.Renderer(Assets()).env
    (tmp_path / "old.html").write_text("after")
    os.utime(tmp_path / "old.html", (1, 1))
    assert env.get_template("old.html").render() == "before"


def test_status_names_the_two_words_that_differ_and_what_makes_them_one() -> None:
    answer = samplestatus.status(NOW).model_copy(
        update={
            "clusters": [{"id": "u-1", "name": "admin@prod"}],
            "strangers": [Stranger(word="prod eu", series=3), Stranger(word="", series=1)],
        }
    )
    foreign, nameless = status_page(answer, "UTC").hints[:2]
    assert "Samples name prod eu; watched is admin@prod." in foreign.sentence
    assert foreign.step == "seedance serve --cluster 'prod eu'=KUBECONFIG"
    assert nameless.step == "external_labels:\n  cluster: admin@prod"
    unwatched = answer.model_copy(update={"clusters": []})
    assert "watched is no cluster" in status_page(unwatched, "UTC").hints[0].sentence
