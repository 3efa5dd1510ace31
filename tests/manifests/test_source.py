"""YAML as it is read: exact figures, lines, and refusal of what could be misread."""

from contextlib import suppress
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seedance.facts.errors import ManifestError
from seedance.manifests.source import documents, spell


def data(text: str) -> object:
    return next(iter(documents(text, file="f.yaml"))).data


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.1", Decimal("0.1")),
        ("0.10", Decimal("0.10")),
        (".5", Decimal("0.5")),
        ("5.", Decimal(5)),
        ("-1.5e-3", Decimal("-0.0015")),
        ("0.000000000001", Decimal("1e-12")),
        ("7", 7),
        ("-0", 0),
        ('"7"', "7"),
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        ("2026-01-01", "2026-01-01"),
        ("yes", True),
        ("~", None),
    ],
)
def test_a_scalar_keeps_what_was_written(text: str, value: object) -> None:
    found = data(f"a: {text}")
    assert found == {"a": value}
    assert isinstance(found, dict)
    assert str(found["a"]) == str(value)


@settings(deadline=None)
@given(st.decimals(0, 10**9, places=12))
def test_any_plain_decimal_comes_back_exactly(amount: Decimal) -> None:
    found = data(f"a: {amount:f}")
    assert isinstance(found, dict)
    assert Decimal(found["a"]) == amount


@pytest.mark.parametrize(
    "text", ["012", "0x10", "1_000", "12:30:45", ".inf", ".nan", "0b1", "01.5"]
)
def test_a_number_that_can_be_read_in_two_ways_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(ManifestError, match=r"f.yaml:2: b: .*more than one number"):
        data(f"a: 1\nb: {text}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: {c: 1, c: 2}", r"f.yaml:2: b.c: 'c' stands twice, first in line 2"),
        ("a: &x {b: 1}\nc: {<<: *x}", r"f.yaml:2: c: merge keys"),
        ("a: !!python/object:os.system {}", r"f.yaml:1: a: the tag"),
        ("a: !!set {b}", r"f.yaml:1: a: the tag"),
        ("a: !!binary aGk=", r"f.yaml:1: a: the tag"),
        ("a: !mine text", r"f.yaml:1: a: the tag !mine"),
        ("? [a, b]\n: 1", r"f.yaml:1: a key must be text"),
        ("a: [1\nb: 2", r"f.yaml:2: not YAML"),
        ("a:\n\t- b", r"f.yaml:2: not YAML"),
        ("a: \x00", r"f.yaml: not YAML"),
        ("[" * 500 + "]" * 500, r"f.yaml:.*nested too deeply"),
        ("a: &a [*a]", r"f.yaml:1: a.*(nested too deeply|not YAML)"),
    ],
)
def test_what_cannot_be_trusted_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(ManifestError, match=message):
        list(documents(text, file="f.yaml"))


def test_a_small_file_cannot_grow_large_by_aliases() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 9)]
    with pytest.raises(ManifestError, match="too many values"):
        data("\n".join(lines))


def test_aliases_are_read() -> None:
    assert data("a: &x [1, 2]\nb: *x") == {"a": [1, 2], "b": [1, 2]}


def test_every_place_has_its_line_and_an_unknown_one_the_line_around_it() -> None:
    document = next(iter(documents("# top\na:\n  - b: 1\n  - c:\n      d: 2\n", file="f")))
    assert document.line == 2
    assert document.lines[("a", 1, "c", "d")] == 5
    assert document.line_of(("a", 1, "c", "missing")) == 4
    assert document.line_of(("nowhere",)) == 2


def test_documents_that_are_empty_are_left_out() -> None:
    assert [one.line for one in documents("---\n# nothing\n---\na: 1\n---\n", file="f")] == [4]


@settings(deadline=None)
@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(ManifestError):
        list(documents(text, file="f.yaml"))


def test_places_are_spelled_as_people_write_them() -> None:
    assert spell(("spec", "entries", 0, "node", "labels", "team.io/name")) == (
        'spec.entries[0].node.labels["team.io/name"]'
    )
