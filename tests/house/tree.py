"""The files of the project, as the tests of the house see them."""

import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
SOURCE = ROOT / "src" / "seedance"
CODE_FOLDERS = ("src", "tests", "scripts", "benchmarks")
NOT_OURS = ("src/seedance/web/static/vendor/",)
"""Works of others that are carried unchanged."""


@cache
def python_files() -> tuple[Path, ...]:
    """Every Python file of the project, committed or not."""
    return tuple(
        path
        for folder in CODE_FOLDERS
        for path in sorted((ROOT / folder).rglob("*.py"))
        if "__pycache__" not in path.parts
    )


@cache
def text_files() -> tuple[Path, ...]:
    """Every text file that is or will be part of the repository, but for works of others."""
    return tuple(path for path in _listed() if _is_text(path) and not _is_foreign(path))


@cache
def pages() -> tuple[Path, ...]:
    """Every Markdown page."""
    return tuple(path for path in _listed() if path.suffix == ".md")


def name_of(path: Path) -> str:
    """The path as it reads in the repository."""
    return path.relative_to(ROOT).as_posix()


def _listed() -> list[Path]:
    """What git tracks or would track; a tree without git (an archive) is walked instead."""
    ended = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if ended.returncode == 0:
        found = [ROOT / name for name in ended.stdout.split("\0") if name]
    else:
        found = [path for path in ROOT.rglob("*") if not _is_hidden(path)]
    return sorted(path for path in found if path.is_file())


def _is_hidden(path: Path) -> bool:
    parts = path.relative_to(ROOT).parts
    return any(part.startswith(".") or part == "__pycache__" for part in parts)


def _is_text(path: Path) -> bool:
    return b"\0" not in path.read_bytes()[:8192]


def _is_foreign(path: Path) -> bool:
    return name_of(path).startswith(NOT_OURS)
