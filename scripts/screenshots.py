"""Pictures of the running product for the README: `scripts/screenshots.py http://127.0.0.1:9091`.

Start a server first (`make demo`), then run this with its URL. Pictures go to `docs/images`, each
at most 300 KB; a larger one fails, since a README should load at once.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

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
LARGEST = 300 * 1024
IMAGES = Path(__file__).parents[1] / "docs" / "images"


@dataclass(frozen=True)
class Shot:
    """One picture: `path` of the page, colours, width, and how far to drill before taking it."""

    name: str
    path: str
    scheme: str = "light"
    width: int = 1360
    height: int = 900
    drill: int = 0


SHOTS = (
    Shot("overview-light", "/"),
    Shot("overview-dark", "/", scheme="dark"),
    Shot("costs-light", "/costs?window=7d"),
    Shot("costs-dark", "/costs?window=7d", scheme="dark"),
    Shot("workloads-light", "/costs?window=7d&by=team", drill=2),
    Shot("computed-light", "/costs/computed?window=7d", height=1000),
    Shot("inventory-light", "/inventory?cluster=prod", drill=2),
    Shot("status-dark", "/status", scheme="dark"),
    Shot("overview-phone", "/", width=390, height=844),
)


def main() -> int:
    """Takes every picture; returns 1 where one is too large or a page complained."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url", help="a running server, such as http://127.0.0.1:9091")
    parser.add_argument("--out", type=Path, default=IMAGES)
    parser.add_argument("--only", default="", help="names that contain this")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        print("no Chromium on PATH: run `make rig`", file=sys.stderr)
        return 1
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=FLAGS)
        shots = [shot for shot in SHOTS if options.only in shot.name]
        taken = [take(browser, options.url.rstrip("/"), shot, options.out) for shot in shots]
        browser.close()
    return 0 if all(taken) else 1


def take(browser: Browser, url: str, shot: Shot, out: Path) -> bool:
    """One picture; says its size, and whether it is small enough."""
    context = browser.new_context(
        viewport={"width": shot.width, "height": shot.height},
        color_scheme="dark" if shot.scheme == "dark" else "light",
        reduced_motion="reduce",
    )
    page = context.new_page()
    answer = page.goto(url + shot.path)
    if answer is None or not answer.ok:
        print(f"{shot.name}: {shot.path} answers {answer.status if answer else 'nothing'}")
        context.close()
        return False
    settle(page)
    for _ in range(shot.drill):
        page.locator("[data-rows] tbody tr:not(.aside):not(.here) th a").first.click()
        page.wait_for_timeout(800)
        settle(page)
    page.evaluate("document.activeElement?.blur()")
    file = out / f"{shot.name}.png"
    page.screenshot(path=file)
    context.close()
    size = file.stat().st_size
    print(f"{file.name:24} {size / 1024:6.0f} KB")
    return size <= LARGEST


def settle(page: Page) -> None:
    """Waits for the chart, where there is one."""
    page.wait_for_selector("html:not(.loading)")
    if page.locator("#chart").count():
        page.wait_for_selector("#chart[data-drawn] canvas", timeout=15_000)


if __name__ == "__main__":
    sys.exit(main())
