"""Every manifest in examples/ and in the pages of docs/ loads."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.lines import parse
from seedance.manifests.load import KINDS, load_manifests

ROOT = Path(__file__).parent.parent.parent
FENCE = re.compile(r"^```ya?ml\n(.*?)^```", re.MULTILINE | re.DOTALL)
OURS = re.compile(rf"^kind:\s*({'|'.join(KINDS)})\s*$", re.MULTILINE)


def blocks() -> Iterator[tuple[str, str]]:
    """Place and text of each manifest in a page."""
    for page in sorted([*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")]):
        text = page.read_text(encoding="utf-8")
        for match in FENCE.finditer(text):
            if OURS.search(match[1]):
                line = text[: match.start()].count("\n") + 1
                yield f"{page.relative_to(ROOT)}:{line}", match[1]


CONSOLE = re.compile(r"^\$ (?:source <\()?((?:seedancectl|kubectl seedance)\s.*)$", re.MULTILINE)


def lines() -> Iterator[tuple[str, str]]:
    """Place and text of each command line of ours in a page."""
    for page in sorted([*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")]):
        text = page.read_text(encoding="utf-8")
        for match in CONSOLE.finditer(text):
            line = text[: match.start()].count("\n") + 1
            yield f"{page.relative_to(ROOT)}:{line}", match[1]


LINES = dict(lines())
BLOCKS = dict(blocks())
FILES = sorted((ROOT / "examples").rglob("*.yaml"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_example_loads(path: Path) -> None:
    if OURS.search(path.read_text(encoding="utf-8")):
        load_manifests([path])


@pytest.mark.parametrize("place", BLOCKS)
def test_every_manifest_in_a_page_loads(place: str, tmp_path: Path) -> None:
    path = tmp_path / "page.yaml"
    path.write_text(BLOCKS[place], encoding="utf-8")
    load_manifests([path])


def test_each_kind_has_an_example() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in FILES)
    assert {match[1] for match in OURS.finditer(text)} == set(KINDS)


@pytest.mark.parametrize("place", LINES)
def test_every_command_line_in_a_page_is_understood(place: str) -> None:
    parse(LINES[place].replace("kubectl seedance", "seedancectl"))
