"""Checks across manifests: names, ties, currencies, and figures of an implausible unit."""

from pathlib import Path
from typing import Any

import pytest
from manifest_texts import GOOD, book, entries, refused, rules

from seedance.facts.errors import ManifestError
from seedance.manifests.load import check_store_currency, load_text

ROOT = Path(__file__).parents[2]


TIES: list[tuple[str, str, bool]] = [
    ("node: {zone: a}", "node: {zone: a}", True),
    ("node: {zone: a}", "node: {zone: b}", False),
    ("node: {zone: [a, b]}", "node: {zone: [b, c]}", True),
    ("node: {zone: a}", "node: {pool: p}", True),
    ("node: {zone: a}", "node: {pool: p}, priority: 1", False),
    ("node: {zone: a}", "node: {zone: a, pool: p}", False),
    ("node: {instanceType: m}", "node: {instanceType: n}", False),
    ("node: {instanceType: m}", "node: {zone: a}", True),
    ("node: {labels: {k: v}}", "node: {labels: {k: w}}", False),
    ("node: {labels: {k: v}}", "node: {labels: {l: w}}", True),
    ("priority: 3", "priority: 3", True),
    ("validTo: 2026-02-01T00:00:00Z", "validFrom: 2026-02-01T00:00:00Z", False),
    ("validFrom: 2026-01-01T00:00:00Z", "validFrom: 2026-02-01T00:00:00Z", False),
    ("validFrom: 2026-01-01T00:00:00Z", "validFrom: 2026-01-01T08:00:00+08:00", True),
]


@pytest.mark.parametrize(("one", "other", "tie"), TIES)
def test_entries_that_nothing_orders_are_refused_and_both_are_named(
    one: str, other: str, tie: bool
) -> None:
    first = entries(f"{{name: one, nodeHour: 1, {one}}}", name="first")
    second = entries(f"{{name: other, nodeHour: 2, {other}}}", name="second")
    within = entries(f"{{name: one, nodeHour: 1, {one}}}", f"{{name: other, nodeHour: 2, {other}}}")
    if not tie:
        load_text(f"{first}\n---\n{second}")
        load_text(within)
        return
    assert "f.yaml:17: spec.entries[0]: second/other ties with first/one (f.yaml:8)" in refused(
        f"{first}\n---\n{second}"
    )
    assert "f.yaml:9: spec.entries[1]: mine/other ties with mine/one (f.yaml:8)" in refused(within)


def test_the_priority_of_the_book_counts_for_its_entries() -> None:
    load_text(
        entries(GOOD, name="a") + "\n---\n" + book(f"priority: 1\nentries: [{GOOD}]", name="b")
    )


def test_two_manifests_of_one_kind_and_name_are_refused() -> None:
    text = entries(GOOD) + "\n---\n" + entries("{name: b, node: {zone: z}, nodeHour: 1}")
    assert "f.yaml:12: metadata.name: another PriceBook is named mine: f.yaml:3" in refused(text)
    owners = rules("team: {default: x}", name="mine")
    load_text(entries(GOOD) + "\n---\n" + owners)


def test_books_of_two_currencies_are_refused() -> None:
    euro = entries("{name: a, node: {zone: z}, nodeHour: 1}", name="e").replace("USD", "EUR")
    found = refused(entries(GOOD) + "\n---\n" + euro)
    assert "f.yaml:14: spec.currency: EUR here, USD in f.yaml:5 (a store has one currency" in found


@pytest.mark.parametrize("code", ["usd", "US", "USDT", "$", "1"])
def test_a_currency_is_an_iso_code(code: str) -> None:
    assert "f.yaml:5: spec.currency: " in refused(entries(GOOD).replace("USD", f'"{code}"'))


def test_books_in_another_currency_leave_the_built_in_sheet_out_and_say_so() -> None:
    found = load_text(entries(GOOD).replace("USD", "CNY"))
    assert [book.name for book in found.books] == ["mine"]
    assert found.currency == "CNY"
    assert "CNY" in found.notes[0]


def test_a_store_keeps_its_currency() -> None:
    found = load_text(entries(GOOD))
    check_store_currency(found, [])
    check_store_currency(found, ["USD", ""])
    with pytest.raises(ManifestError, match="books are in USD, the costs in this store in CNY"):
        check_store_currency(found, ["CNY"])


def test_a_book_can_switch_the_built_in_sheet_off() -> None:
    found = load_text(book(f"builtin: false\nentries: [{GOOD}]"))
    assert [book.name for book in found.books] == ["mine"]


MONTHLY = [
    ("nodeHour: 140.16, node: {instanceType: m5.xlarge}", "nodeHour", "140.16 / 730 = 0.192"),
    ("nodeHour: 1000", "nodeHour", "1000 / 730 = 1.37"),
    ("perResource: {cpuCoreHour: 23.08}", "perResource.cpuCoreHour", "23.08 / 730 = 0.03162"),
    ("perResource: {memoryGiBHour: 3.09}", "perResource.memoryGiBHour", "3.09 / 730 = 0.004233"),
    ("perResource: {gpuHour: 2139}", "perResource.gpuHour.default", "2139 / 730 = 2.93"),
    (
        "perResource: {gpuHour: {byModel: {T4: 255.5}}}",
        "perResource.gpuHour.byModel.T4",
        "255.5 / 730 = 0.35",
    ),
    (
        "perResource: {resources: {ephemeral-storage: 0.08687}}",
        "perResource.resources.ephemeral-storage",
        "0.08687 / 730 = 0.000119",
    ),
]


@pytest.mark.parametrize(("figures", "path", "hint"), MONTHLY)
def test_a_price_per_month_is_refused_unless_the_reason_is_given(
    figures: str, path: str, hint: str
) -> None:
    found = refused(entries(f"{{name: a, {figures}}}"))
    assert found.startswith(f"f.yaml:8: spec.entries[0].{path}: ")
    assert "is that a price per month?" in found
    assert hint in found
    load_text(entries(f"{{name: a, {figures}, unusual: we checked}}"))


def test_bounds_scale_with_the_currency() -> None:
    yen = entries("{name: a, perResource: {cpuCoreHour: 4.7, memoryGiBHour: 0.6}}")
    load_text(yen.replace("USD", "JPY"))
    assert "below 0.005" in refused(
        entries("{name: a, perResource: {cpuCoreHour: 0.001}}").replace("USD", "JPY")
    )


def test_zero_is_refused_since_an_unknown_price_is_left_out() -> None:
    found = refused(entries("{name: a, perResource: {cpuCoreHour: 0}}"))
    assert "0 USD per core-hour makes it free (leave a price that is not known out" in found


def test_rules_that_start_at_one_instant_and_overlap_are_refused() -> None:
    start = "validFrom: 2026-01-01T00:00:00Z\n"
    one, other = (
        rules(start + "team: {default: x}", name="a"),
        rules(start + "team: {default: y}", name="b"),
    )
    assert "f.yaml:11: spec: b ties with a (f.yaml:4)" in refused(f"{one}\n---\n{other}")
    load_text(f"{one}\n---\n{other.replace('2026-01', '2026-02')}")


@pytest.mark.shared
@pytest.mark.skipif(not (ROOT.parent / "shared" / "cases").is_dir(), reason="cases are not there")
def test_the_case_of_the_monthly_price_is_the_one_that_is_tested() -> None:
    cases = (ROOT.parent / "shared" / "cases" / "costs.md").read_text()
    assert "monthly PV price 0.08687 entered as hourly" in cases
    figures: list[Any] = [figure for figure, _, _ in MONTHLY]
    assert any("0.08687" in figure for figure in figures)
