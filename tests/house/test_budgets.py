"""Budgets: files and functions that fit into a head, rooms that say what they are for."""

import ast
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from house.tree import ROOT, SOURCE, name_of, python_files

FILE_LINES = 400
FUNCTION_LINES = 60
KERNELS: frozenset[str] = frozenset()
"""Compiled kernels that may be longer, by name; there are none yet."""

VAGUE = ("utils", "util", "helpers", "helper", "common", "base", "manager", "managers", "misc")
"""Names of modules that say nothing about what is in them."""

PACKAGES = sorted(path.parent for path in SOURCE.rglob("__init__.py"))
ENTRY_POINTS = tuple(
    tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "scripts"
    ].values()
)

Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def functions(path: Path) -> Iterator[Function]:
    for node in ast.walk(tree_of(path)):
        if isinstance(node, Function):
            yield node


def length(function: Function) -> int:
    """Lines from `def` (decorators belong to it) to its end."""
    first = min([function.lineno, *(each.lineno for each in function.decorator_list)])
    return (function.end_lineno or first) - first + 1


def test_no_file_is_longer_than_its_budget() -> None:
    lines = {name_of(path): len(path.read_bytes().splitlines()) for path in python_files()}
    assert {name: count for name, count in lines.items() if count > FILE_LINES} == {}


def test_no_function_is_longer_than_its_budget() -> None:
    long = {
        f"{name_of(path)}:{function.lineno} {function.name}": length(function)
        for path in python_files()
        for function in functions(path)
        if length(function) > FUNCTION_LINES and function.name not in KERNELS
    }
    assert long == {}


def test_half_of_all_functions_have_twelve_lines_or_fewer() -> None:
    sizes = sorted(
        length(function)
        for path in python_files()
        if path.is_relative_to(SOURCE)
        for function in functions(path)
    )
    assert sizes[len(sizes) // 2] <= 12


def test_names_of_modules_say_what_is_in_them() -> None:
    assert [name_of(path) for path in python_files() if path.stem in VAGUE] == []
    assert [name_of(path.parent) for path in python_files() if path.parent.name in VAGUE] == []


def test_every_module_says_what_it_does() -> None:
    programs = [path for path in python_files() if not path.is_relative_to(ROOT / "tests")]
    assert [name_of(path) for path in programs if not ast.get_docstring(tree_of(path))] == []


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.name)
def test_every_room_says_what_belongs_there_and_what_may_not(package: Path) -> None:
    said = (ast.get_docstring(tree_of(package / "__init__.py")) or "").lower()
    assert said
    if package != SOURCE:
        assert "belong" in said
        assert "not" in said


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.name)
def test_an_init_holds_a_docstring_and_at_most_the_names_of_a_public_face(package: Path) -> None:
    docstring, *rest = tree_of(package / "__init__.py").body
    assert isinstance(docstring, ast.Expr)
    own = ".".join(("seedance", *package.relative_to(SOURCE).parts))
    entries = {place.partition(":")[2] for place in ENTRY_POINTS if place.startswith(f"{own}:")}
    assert [ast.unparse(node) for node in rest if not _is_face(node, entries)] == []


def _is_face(node: ast.stmt, entries: set[str]) -> bool:
    """Imports, `__all__`, and a function that pyproject names as the start of a program."""
    if isinstance(node, ast.Assign):
        return [ast.unparse(target) for target in node.targets] == ["__all__"]
    if isinstance(node, ast.FunctionDef):
        return node.name in entries
    return isinstance(node, ast.Import | ast.ImportFrom)
