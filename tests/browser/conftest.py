"""A real Chromium on the real application; every test watches the console and the network."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, Request, sync_playwright

from browser.sampledesk import SampleDesk
from browser.serving import sample_app, serving

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
HERE = Path(__file__).parent


def _chromium() -> str | None:
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of this folder that ask for a page are browser tests, and say how to get one."""
    for item in items:
        if HERE in item.path.parents and "open_page" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.browser)
            if _chromium() is None and os.environ.get("CI") != "true":
                item.add_marker(pytest.mark.skip(reason="no Chromium here: run `make rig`"))


@dataclass
class Watched:
    """A page, and everything about it that should not have happened."""

    page: Page
    base: str
    complaints: list[str] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)

    def go(self, path: str) -> Page:
        """Opens a path and waits for its chart, where it has one."""
        self.page.goto(self.base + path)
        return self.settled()

    def settled(self) -> Page:
        """The page once its chart is drawn and nothing is loading."""
        self.page.wait_for_selector("html:not(.loading)")
        if self.page.locator("html.js #chart").count():
            self.page.wait_for_function(
                "() => { const { bars, drawn } = document.getElementById('chart').dataset;"
                " return bars === drawn; }"
            )
        return self.page


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """One browser for all tests."""
    path = _chromium()
    assert path, "no Chromium on PATH: run `make rig`"
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def base_url() -> Iterator[str]:
    """The application with the sample desk."""
    with serving(sample_app(SampleDesk())) as url:
        yield url


@pytest.fixture
def open_page(chromium: Browser, base_url: str) -> Iterator[Callable[..., Watched]]:
    """Opens watched pages; complaints of the console fail the test at its end."""
    opened: list[Watched] = []

    def make(*, width: int = 1440, scheme: str = "light", base: str = "", **more: Any) -> Watched:
        context = chromium.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=scheme,
            reduced_motion="reduce",
            **more,
        )
        context.set_default_timeout(10_000)
        watched = Watched(context.new_page(), base or base_url)
        _watch(watched)
        opened.append(watched)
        return watched

    yield make
    for watched in opened:
        watched.page.context.close()
    assert [line for one in opened for line in one.complaints] == []
    assert [url for one in opened for url in one.strangers] == []


def _watch(watched: Watched) -> None:
    def heard(message: Any) -> None:
        if message.type in {"error", "warning"}:
            watched.complaints.append(f"{message.type}: {message.text}")

    def asked(request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme not in {"data", "blob"} and parts.hostname != "127.0.0.1":
            watched.strangers.append(request.url)

    watched.page.on("console", heard)
    watched.page.on("pageerror", lambda error: watched.complaints.append(f"thrown: {error}"))
    watched.page.on("request", asked)
