"""From the overview down to one container, back up, and across the pages, in a real browser."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect

from browser.conftest import Watched

Open = Callable[..., Watched]


def test_rail_leads_to_every_page(open_page: Open) -> None:
    watched = open_page()
    page = watched.go("/")
    for name in ("Costs", "Inventory", "Status", "Overview"):
        page.get_by_role("navigation", name="Pages").get_by_role("link", name=name).click()
        expect(page.get_by_role("heading", level=1)).to_have_text(name)
        expect(page.locator(".rail [aria-current=page]")).to_have_text(name)


def test_costs_drill_from_cluster_to_container_and_back_up(open_page: Open) -> None:
    watched = open_page()
    page = watched.go("/costs?by=cluster")
    for head in ("Namespace", "Workload", "Pod", "Container"):
        page.locator("table.costs tbody tr:not(.aside) th a").first.click()
        expect(page.locator("table.costs thead tr:last-child th").first).to_contain_text(head)
        watched.settled()
    assert page.locator(".crumbs li").count() == 5
    figure = page.locator("table.costs tbody td a").first
    shown = figure.inner_text()
    figure.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("How this figure was computed")
    expect(page.locator("dl.figures dd").first).to_contain_text(shown)
    page.locator(".crumbs a").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Costs")


def test_sums_of_the_page_add_up(open_page: Open) -> None:
    page = open_page().go("/costs?filter=team:vision&window=month")
    cells = page.locator("table.costs :is(tbody, tfoot) tr td:nth-of-type(1)").all_inner_texts()
    *parts, left, hidden, total = (float(cell.replace(",", "")) for cell in cells)
    assert sum(parts) == pytest.approx(left, abs=0.02)
    assert left + hidden == pytest.approx(total, abs=0.02)


def test_window_stays_while_drilling_and_across_pages(open_page: Open) -> None:
    watched = open_page()
    page = watched.go("/costs?window=30d")
    page.locator("table.costs tbody th a").first.click()
    watched.settled()
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Overview").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Overview")
    assert parse_qs(urlsplit(page.url).query)["window"] == ["30d"]


def test_a_bar_leads_to_the_rows_of_its_day(open_page: Open) -> None:
    watched = open_page()
    page = watched.go("/costs?by=namespace")
    box = page.locator("#chart").bounding_box()
    assert box
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] - 60)
    expect(page.locator(".context")).to_contain_text("27 Nov 2026 (UTC)")
    assert "by=namespace" in page.url


def test_a_filter_is_added_shown_and_removed(open_page: Open) -> None:
    watched = open_page()
    page = watched.go("/costs")
    page.keyboard.press("/")
    page.keyboard.type("namespace:search")
    page.keyboard.press("Enter")
    expect(page.locator(".chip")).to_contain_text("namespace:search")
    assert parse_qs(urlsplit(page.url).query)["filter"] == ["namespace:search"]
    expect(page.locator("tfoot")).to_contain_text("Hidden by the filter")
    page.get_by_role("link", name="Remove filter").click()
    expect(page.locator(".chip")).to_have_count(0)


def test_a_window_by_hand_becomes_a_permalink(open_page: Open) -> None:
    watched = open_page()
    page = watched.go("/costs")
    page.locator("details.menu summary").first.click()
    page.get_by_label("From").fill("2026-11-10T00:00")
    page.get_by_label("To", exact=True).fill("2026-11-12T00:00")
    page.get_by_role("button", name="Show").click()
    expect(page.locator(".context")).to_contain_text("10–11 Nov 2026")
    window = parse_qs(urlsplit(page.url).query)["window"]
    assert window == ["2026-11-10T00:00:00Z,2026-11-12T00:00:00Z"]


def test_group_by_any_label(open_page: Open) -> None:
    watched = open_page()
    page = watched.go("/costs")
    page.locator("details.menu summary", has_text="By").click()
    page.get_by_label("Any label, or several").fill("team,label:app")
    page.get_by_role("button", name="Group", exact=True).click()
    expect(page.locator("table.costs thead tr:last-child th").first).to_contain_text("Team, Label")


def test_take_it_with_you_names_every_door(open_page: Open) -> None:
    watched = open_page()
    page = watched.go("/costs?filter=namespace:search&by=workload")
    page.keyboard.press("t")
    fields = [field.input_value() for field in page.locator("details[open] input").all()]
    assert fields[0].startswith(watched.base + "/costs?window=2026-11-2")
    assert fields[1] == f"{watched.base}/api/v1/costs?window=7d&by=workload&filter=namespace:search"
    command = "seedancectl cost -A --window 7d --by workload --filter namespace:search --zone UTC"
    assert fields[2] == command
    csv = page.get_by_role("link", name="Download CSV").get_attribute("href")
    assert csv == "/api/v1/costs?window=7d&by=workload&filter=namespace:search&format=csv"


def test_inventory_opens_down_to_containers(open_page: Open) -> None:
    watched = open_page()
    page = watched.go("/inventory")
    for heading in ("Namespaces", "Workloads", "Pods", "Containers"):
        page.locator("table.tree tbody tr:not(.aside):not(.here) a").first.click()
        expect(page.locator("#level")).to_have_text(heading)
    expect(page.locator("table.tree")).to_contain_text("registry.example/app:1.4.2")
    page.get_by_role("link", name="Its costs").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Costs")


def test_inventory_shows_the_past_and_says_so(open_page: Open) -> None:
    page = open_page().go("/inventory?cluster=prod")
    page.locator("details.menu summary").click()
    page.get_by_role("link", name="One day ago").click()
    expect(page.locator("p.banner")).to_contain_text("29 Nov 2026, 20:14 UTC")
    page.get_by_role("link", name="Back to now").click()
    expect(page.locator("p.banner")).to_have_count(0)


def test_back_button_returns_to_the_view_before(open_page: Open) -> None:
    watched = open_page()
    page = watched.go("/costs")
    page.locator("table.costs tbody th a").first.click()
    expect(page.locator("table.costs thead tr:last-child th").first).to_contain_text("Workload")
    page.go_back()
    expect(page.locator("table.costs thead tr:last-child th").first).to_contain_text("Namespace")
    watched.settled()
    assert page.locator("#chart canvas").count() == 1


def test_nonsense_in_the_url_is_explained(open_page: Open) -> None:
    watched = open_page()
    page = watched.go("/costs?filter=nonsense:1&filter=namespace:search")
    assert watched.complaints, "Chromium reports the 400 itself"
    watched.complaints.clear()
    expect(page.get_by_role("alert")).to_contain_text("nonsense")
    page.get_by_role("link", name="Remove filter nonsense:1").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Costs")
