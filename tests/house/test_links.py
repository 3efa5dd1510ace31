"""Links in pages lead somewhere: files, headings and pictures."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from house.tree import ROOT, name_of, pages

FENCE = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"!?\[[^\]]*\]\(\s*<?([^)\s>]+)>?[^)]*\)")
HTML = re.compile(r"<(?:img|a|source)\b[^>]*?\b(?:src|srcset|href)=\"([^\"]+)\"")
PICTURE = re.compile(r"\.(?:png|jpg|svg|webp)$")
LARGEST = 300 * 1024


def links(page: Path) -> Iterator[str]:
    text = CODE.sub("", FENCE.sub("", page.read_text(encoding="utf-8")))
    yield from (match[1] for match in LINK.finditer(text))
    yield from (match[1] for match in HTML.finditer(text))


@cache
def anchors(page: Path) -> frozenset[str]:
    """The anchors that a forge makes of a page's headings."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    titles = re.findall(r"^#{1,6} +(.+?)\s*#*$", text, re.MULTILINE)
    return frozenset(_anchor(title) for title in titles)


def _anchor(title: str) -> str:
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def test_relative_links_resolve() -> None:
    broken = [
        f"{name_of(page)}: {link}"
        for page in pages()
        for link in links(page)
        if not link.startswith(("https://", "http://", "mailto:")) and not _leads(page, link)
    ]
    assert broken == []


def _leads(page: Path, link: str) -> bool:
    place, _, anchor = link.partition("#")
    target = (page.parent / place).resolve() if place else page
    if not target.exists() or not target.is_relative_to(ROOT):
        return False
    return not anchor or target.suffix != ".md" or anchor in anchors(target)


def test_pictures_are_small_and_described() -> None:
    for page in pages():
        text = FENCE.sub("", page.read_text(encoding="utf-8"))
        assert "![](" not in text, f"{name_of(page)}: a picture without a description"
        pictures = [link for link in links(page) if PICTURE.search(link) and "://" not in link]
        for link in pictures:
            assert (page.parent / link).stat().st_size <= LARGEST, f"{name_of(page)}: {link}"


def test_every_page_is_reached_from_the_readme() -> None:
    waiting, seen = [ROOT / "README.md"], set[Path]()
    while waiting:
        page = waiting.pop()
        if page in seen or page.suffix != ".md" or not page.is_file():
            continue
        seen.add(page)
        waiting += [(page.parent / link.partition("#")[0]).resolve() for link in links(page)
                    if "://" not in link and not link.startswith("#")]  # fmt: skip
    lost = [name_of(page) for page in pages() if page not in seen and _is_for_readers(page)]
    assert lost == []


def _is_for_readers(page: Path) -> bool:
    return page.is_relative_to(ROOT / "docs") or page.parent == ROOT
