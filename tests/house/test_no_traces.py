"""The tree tells of the product, not of a machine it was made on or of who did what.

Patterns begin with a letter in brackets so that this file does not hold what it looks for.
"""

import re
from pathlib import Path

import pytest

from house.tree import name_of, text_files

MACHINE = re.compile(r"(?<![\w.~<>{}$/-])/(?:[r]oot|[w]ork|[h]ome|[m]nt|[U]sers|[w]orkspace)/")
"""A place of one machine; `~`, `$HOME` and the system's own folders are everybody's."""

HOSTS = re.compile(
    r"[p]ypi\.(?:org|python\.org)|[p]ythonhosted|[n]pmjs|[p]roxy\.golang|[s]um\.golang"
    r"|[r]egistry\.k8s\.io|[d]ocker\.io|[g]hcr\.io|[q]uay\.io|[g]cr\.io|[u]npkg|[j]sdelivr"
    r"|[c]rates\.io|[a]rtifactory|[G]OPROXY\s*=\s*['\"]?http",
    re.IGNORECASE,
)
"""Where packages come from is the business of whoever installs: their configuration says it."""

ORGANISATION = re.compile(
    r"\b(?:[i]ssues?|[p]ull requests?|[m]ilestones?|[t]ickets?|[s]prints?) #?\d"
    r"|\b[s]ub-?agents?\b|\b[l]anguage models?\b|\bL[L]Ms?\b|\b[c]hat-?bots?\b|\b[c]opilot\b"
    r"|\b[c]o-authored-by\b|\b[b]uilders? [A-Z]\b|\b[h]elper sessions?\b|(?<![-\w])[p]lan\.md\b"
    r"|\b[d]efects\.md\b|(?-i:\bT[O]DO\b|\bF[I]XME\b|\bX[X]X\b)|\b[w]ork items?\b",
    re.IGNORECASE,
)
"""Words on who did what when: a tracker and the history have them."""

SHARED = re.compile(r"\.\./[s]hared")
WITH_SHARED = {"pyproject.toml"}
"""The marker `shared` is described there; tests reach the folder through it and do without."""

RECIPES = "tests/rig/recipes/"
"""Module files of Go name modules by host."""


def found(pattern: re.Pattern[str], path: Path) -> list[str]:
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    return [
        f"{name_of(path)}:{number}: {match[0]}"
        for number, line in enumerate(lines, start=1)
        if (match := pattern.search(line)) is not None
    ]


@pytest.mark.parametrize(
    "pattern",
    [MACHINE, HOSTS, ORGANISATION],
    ids=["place-of-a-machine", "host-of-packages", "organisation"],
)
def test_no_file_holds(pattern: re.Pattern[str]) -> None:
    traces = [
        trace
        for path in text_files()
        if not name_of(path).startswith(RECIPES)
        for trace in found(pattern, path)
    ]
    assert traces == []


def test_no_file_leans_on_what_lies_beside_the_checkout() -> None:
    traces = [
        trace
        for path in text_files()
        if name_of(path) not in WITH_SHARED
        for trace in found(SHARED, path)
    ]
    assert traces == []


def test_module_recipes_name_modules_and_nothing_else() -> None:
    recipes = [path for path in text_files() if name_of(path).startswith(RECIPES)]
    assert {path.name for path in recipes} <= {"go.mod", "go.sum"}
    assert [trace for path in recipes for trace in found(MACHINE, path)] == []


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (MACHINE, "cd /" + "root/x"),
        (MACHINE, "'/" + "work/main'"),
        (HOSTS, "https://py" + "pi.org/simple"),
        (HOSTS, "GO" + "PROXY=https://x"),
        (ORGANISATION, "see iss" + "ue #3"),
        (ORGANISATION, "TO" + "DO later"),
    ],
)
def test_what_is_looked_for_would_be_found(pattern: re.Pattern[str], text: str) -> None:
    assert pattern.search(text)
