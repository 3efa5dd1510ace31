"""What a page may not do: run foreign code, call elsewhere, show anything without the right."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from playwright.sync_api import expect

from browser.conftest import Watched
from browser.sampledesk import SampleDesk
from browser.sampleworld import entities
from browser.serving import sample_app, serving
from seedance.store.store import Store
from seedance.web.auth import Access
from seedance.web.context import AppContext
from seedance.web.tokens import TokenBook

Open = Callable[..., Watched]


@pytest.fixture
def closed(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """A server that lets nobody in without a token; its URL and a token that may view."""
    book = TokenBook(tmp_path / "tokens.json")
    _, secret = book.create("view")
    desk = SampleDesk()
    context = AppContext(
        store=cast("Store", None), access=Access(book=book, loopback=False), now=desk.now
    )
    with serving(sample_app(desk, context)) as url:
        yield url, secret


def test_policy_stops_inline_scripts(open_page: Open) -> None:
    watched = open_page()
    page = watched.go("/costs")
    policy = page.evaluate("fetch('/costs').then(r => r.headers.get('content-security-policy'))")
    assert "'unsafe-inline'" not in policy
    assert "'unsafe-eval'" not in policy
    page.evaluate(
        "() => { const s = document.createElement('script'); s.textContent = 'window.hacked = 1';"
        " document.body.append(s); }"
    )
    assert page.evaluate("window.hacked") is None
    assert any("Content Security Policy" in line for line in watched.complaints)
    watched.complaints.clear()


def test_names_from_a_cluster_cannot_become_markup(open_page: Open) -> None:
    name = "<img src=x onerror=alert(1)>"
    keys = {**entities()[0].keys, "namespace": name, "pod": name, "team": name, "workload": name}
    world = [replace(entities()[0], keys=keys)]
    with serving(sample_app(SampleDesk(world))) as url:
        watched = open_page(base=url)
        for path in ("/", "/costs", "/inventory?cluster=prod"):
            page = watched.go(path)
            assert page.locator("main img").count() == 0
            assert name in page.locator("main").inner_text()


def test_a_reader_without_a_token_signs_in_and_out(
    open_page: Open, closed: tuple[str, str]
) -> None:
    base, secret = closed
    watched = open_page(base=base)
    page = watched.go("/costs?window=30d")
    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in to Seedance")
    page.get_by_label("Token").fill("sdt_wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("not known")
    watched.complaints.clear()
    page.get_by_label("Token").fill(secret)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Costs")
    assert page.url.endswith("window=30d")
    cookie = page.context.cookies()[0]
    assert cookie["httpOnly"]
    assert cookie["sameSite"] == "Strict"
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in to Seedance")


def test_a_silent_server_is_said_calmly_and_the_page_stays(open_page: Open) -> None:
    with serving(sample_app(SampleDesk())) as url:
        watched = open_page(base=url)
        page = watched.go("/costs")
    page.locator("table.costs tbody th a").first.click()
    expect(page.get_by_role("alert")).to_contain_text("does not answer")
    expect(page.locator("table.costs")).to_be_visible()
    watched.complaints.clear()
