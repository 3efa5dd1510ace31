"""The lock: every requirement by version and hash, and nothing about where they come from."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from house.tree import ROOT

LOCK = ROOT / "requirements.lock"
HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")


def entries() -> dict[str, str]:
    """Requirement line to the rest of its entry, continuation lines joined."""
    text = LOCK.read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line.strip() for line in text.splitlines()]
    found: dict[str, str] = {}
    for line in lines:
        if line and not line.startswith("#"):
            requirement, _, rest = line.partition(" --hash=")
            found[requirement.strip()] = f"--hash={rest}" if rest else ""
    return found


ENTRIES = entries()


@pytest.mark.parametrize("requirement", ENTRIES)
def test_every_requirement_has_one_version_and_hashes(requirement: str) -> None:
    wanted = Requirement(requirement)
    assert [each.operator for each in wanted.specifier] == ["=="]
    assert wanted.url is None
    hashes = ENTRIES[requirement].split()
    assert hashes
    assert [text for text in hashes if not HASH.fullmatch(text)] == []


def test_the_lock_names_no_place() -> None:
    lines = LOCK.read_text(encoding="utf-8").splitlines()
    told = [line for line in lines if not line.startswith("#")]
    assert [line for line in lines if re.search(r"://|file:|(?<![\w.])/\w+/", line)] == []
    assert [line for line in told if re.search(r"^\s*-(?!-hash=)|--(?!hash=)", line)] == []


def test_the_lock_holds_what_the_project_asks_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    asked = [
        *project["project"]["dependencies"],
        *project["project"]["optional-dependencies"]["server"],
        *project["dependency-groups"]["dev"],
    ]
    locked = {
        canonicalize_name(wanted.name): wanted.specifier
        for wanted in map(Requirement, ENTRIES)
    }  # fmt: skip
    for text in asked:
        wanted = Requirement(text)
        specifier = locked.get(canonicalize_name(wanted.name))
        assert specifier is not None, f"{text} is not locked; run: make lock"
        version = next(iter(specifier)).version
        assert wanted.specifier.contains(version, prereleases=True), f"{text}: locked is {version}"


def test_pip_takes_the_lock_with_hashes_only() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    installs = [line for line in makefile.splitlines() if "pip install" in line]
    assert any("--require-hashes -r requirements.lock" in line for line in installs)
    assert all("--require-hashes" in line or "--no-deps" in line for line in installs)


def test_the_lock_is_the_one_that_the_makefile_names() -> None:
    assert LOCK.name in (ROOT / "Makefile").read_text(encoding="utf-8")
    assert Path(LOCK).stat().st_size > 0
