"""Whoever reads: with a screen reader, by keyboard, without JavaScript, on a phone, in the dark."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from browser.conftest import Watched

Open = Callable[..., Watched]

PAGES = {
    "overview": "/",
    "costs": "/costs?filter=team:vision",
    "pods": "/costs?by=pod",
    "computed": "/costs/computed?filter=namespace:search",
    "clusters": "/inventory",
    "nodes": "/inventory?cluster=prod&via=nodes",
    "workload": "/inventory?cluster=prod&namespace=search&workload=search-api",
    "status": "/status",
    "login": "/login",
    "empty": "/costs?window=2026-10-01,2026-10-02",
}


def _serious(page: Page) -> list[str]:
    found: dict[str, Any] = Axe().run(page).response
    return [
        f"{item['id']}: {item['help']} at {item['nodes'][0]['target']} "
        f"({item['nodes'][0]['failureSummary'][:200]})"
        for item in found["violations"]
        if item["impact"] in {"serious", "critical"}
    ]


@pytest.mark.parametrize("path", PAGES.values(), ids=PAGES)
def test_axe_finds_nothing_serious_and_nothing_overflows(open_page: Open, path: str) -> None:
    page = open_page(bypass_csp=True).go(path)
    for width, scheme in product((1440, 360), ("light", "dark")):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        assert _serious(page) == [], (width, scheme)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("path", ["/", "/costs", "/status"])
def test_widths_between_phone_and_wall_do_not_overflow(open_page: Open, path: str) -> None:
    page = open_page().go(path)
    for width in (320, 600, 859, 1100, 2560, 3840):
        page.set_viewport_size({"width": width, "height": 900})
        # The chart follows the window a moment later.
        page.wait_for_function(
            "width => document.documentElement.scrollWidth <= width", arg=width, timeout=5000
        )


@pytest.mark.parametrize("menu", [0, 1, 2])
def test_open_menus_stay_on_a_phone_and_are_readable(open_page: Open, menu: int) -> None:
    page = open_page(width=360, bypass_csp=True).go("/costs")
    page.locator("details.menu summary").nth(menu).click()
    box = page.locator("details.menu[open] .panel").bounding_box()
    assert box
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 360
    assert _serious(page) == []


def test_rows_are_walked_with_arrows_and_opened_with_enter(open_page: Open) -> None:
    page = open_page().go("/costs?by=namespace")
    page.locator("table.costs tbody th a").first.focus()
    second = page.locator("table.costs tbody th a").nth(1)
    page.keyboard.press("ArrowDown")
    expect(second).to_be_focused()
    name = second.inner_text()
    page.keyboard.press("Enter")
    expect(page.locator(".crumbs [aria-current]")).to_have_text(name)
    page.keyboard.press("Escape")
    expect(page.locator("table.costs thead tr:last-child th").first).to_contain_text("Namespace")


def test_letters_go_places_and_a_question_mark_lists_them(open_page: Open) -> None:
    page = open_page().go("/")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    for letter, name in (("c", "Costs"), ("i", "Inventory"), ("s", "Status"), ("o", "Overview")):
        page.keyboard.press("g")
        page.keyboard.press(letter)
        expect(page.get_by_role("heading", level=1)).to_have_text(name)


def test_a_figure_says_its_context_on_focus(open_page: Open) -> None:
    page = open_page().go("/costs")
    page.locator("table.costs tbody td a").first.focus()
    tip = page.locator(".tip")
    expect(tip).to_contain_text("USD")
    expect(tip).to_contain_text("list-price estimate")
    expect(tip).to_contain_text("settled 30 Nov 2026, 20:13")
    page.keyboard.press("Tab")
    assert page.locator("table.costs tbody td a").first.get_attribute("title")


def test_everything_is_readable_without_javascript(open_page: Open) -> None:
    watched = open_page(java_script_enabled=False)
    page = watched.go("/costs?by=namespace")
    expect(page.locator(".lead")).to_contain_text("in the last 7 days")
    page.locator("table.costs tbody th a").first.click()
    expect(page.locator(".crumbs li")).to_have_count(2)
    page.locator("input[name=filter]:not([type=hidden])").fill("kind:container")
    page.get_by_role("button", name="Add").click()
    expect(page.locator(".chip")).to_have_count(2)
    page.locator("details.menu summary").first.click()
    page.get_by_role("link", name="This month").click()
    expect(page.locator(".lead")).to_contain_text("this month")
    page.get_by_role("link", name="Colours").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "light")


def test_colours_and_density_change_in_place_and_are_remembered(open_page: Open) -> None:
    watched = open_page()
    page = watched.go("/costs")
    for expected in ("light", "dark"):
        page.get_by_role("link", name="Colours").click()
        expect(page.locator("html")).to_have_attribute("data-theme", expected)
    background = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert background == "rgb(15, 17, 20)"
    page.get_by_role("link", name="Compact rows").click()
    page = watched.go("/")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(page.locator("html")).to_have_attribute("data-density", "compact")


def test_a_step_that_was_not_settled_is_hatched_not_zero(open_page: Open) -> None:
    page = open_page().go("/costs?window=month")
    data = page.evaluate(
        "fetch(document.getElementById('chart').dataset.bars).then(answer => answer.json())"
    )
    assert data["labels"][:3] == ["1 Nov", "2 Nov", "3 Nov"]
    assert {series["values"][0] for series in data["series"]} == {None}
    assert data["series"][0]["values"][2] > 0


def test_prints_as_a_statement(open_page: Open) -> None:
    page = open_page().go("/costs")
    page.emulate_media(media="print")
    expect(page.locator(".rail")).to_be_hidden()
    expect(page.locator(".tools")).to_be_hidden()
    expect(page.locator(".lead")).to_be_visible()
    expect(page.locator("tfoot")).to_be_visible()
