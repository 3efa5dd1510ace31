"""Tables and cells: aligned whatever the text, unknown never 0."""

import io
from datetime import timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seedance.cli import cells, terminal
from seedance.cli.tables import Column, Table, as_csv, lay_out

WORDS = st.text(alphabet=st.characters(categories=("L", "N", "P", "Zs", "Mn")), max_size=12)


@given(rows=st.lists(st.tuples(WORDS, WORDS, WORDS), max_size=6))
def test_columns_line_up_in_terminal_cells(rows: list[tuple[str, str, str]]) -> None:
    columns = (Column("A"), Column("B", right=True), Column("C", right=True))
    lines = lay_out(Table(columns, tuple(tuple(f"{cell}." for cell in row) for row in rows)))
    assert len({terminal.width_of(line) for line in lines}) == 1
    assert len(lines) == len(rows) + 1


def test_wide_columns_are_left_out_of_the_narrow_table() -> None:
    table = Table((Column("A"), Column("B", wide=True)), (("1", "2"),), footer=(("3", "4"),))
    assert lay_out(table.narrow()) == ["A", "1", "3"]


def test_chinese_text_takes_two_cells() -> None:
    lines = lay_out(Table((Column("TEAM"), Column("N", right=True)), (("视觉", "1"), ("ab", "2"))))
    assert lines == ["TEAM   N", "视觉   1", "ab     2"]


def test_csv_runs_no_formula() -> None:
    table = Table(
        (Column("A"), Column("N", right=True)), (("=cmd|' /C calc'!A0", "-1"), ("a,b", "2"))
    )
    assert as_csv(table) == "A,N\r\n'=cmd|' /C calc'!A0,-1\r\n\"a,b\",2\r\n"


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        (["12.345", "0.001", None, "0"], ["12.34", "<0.01", "-", "0.00"]),
        (["0.5", "0.00001"], ["0.5000", "<0.0001"]),
        (["0.001", "0.0000001"], ["0.001000", "<0.000001"]),
        (["-0.004", "20"], [">-0.01", "20.00"]),
        (["-0", "1"], ["0.00", "1.00"]),
        ([], []),
        (["100000000000000000000000000.123456789012"], ["100000000000000000000000000.12"]),
    ],
)
def test_a_column_of_figures_shares_its_decimals(
    values: list[str | None], shown: list[str]
) -> None:
    assert cells.figures([cells.number(value) for value in values]) == shown


@given(st.decimals(min_value=0, max_value=10**9, places=12))
def test_what_is_not_nothing_never_shows_as_nothing(amount: Decimal) -> None:
    (shown,) = cells.figures([amount], places=2)
    assert (shown == "0.00") == (amount == 0)


@pytest.mark.parametrize(
    ("part", "whole", "shown"),
    [("1", "3", "33%"), ("0.001", "3", "<1%"), ("0", "3", "0%"), (None, "3", "-"), ("1", "0", "-")],
)
def test_a_share_of_nothing_is_unknown(part: str | None, whole: str, shown: str) -> None:
    assert cells.share(cells.number(part), cells.number(whole)) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [(2, "2"), (0.25, "250m"), (0.0004, "<1m"), (1.5, "1500m"), (None, "-"), (0, "0")],
)
def test_cores_are_written_as_in_kubectl(value: float | None, shown: str) -> None:
    assert cells.cores(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [(2**30, "1Gi"), (1.5 * 2**30, "1.5Gi"), (200 * 2**20, "200Mi"), (5 * 2**40, "5Ti"), (0, "0")],
)
def test_memory_is_written_in_binary_units(value: float, shown: str) -> None:
    assert cells.memory(value) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (125, "2m5s"),
        (3 * 3600 - 1, "179m"),
        (5 * 3600 + 1800, "5h30m"),
        (47 * 3600, "47h"),
        (3 * 86400 + 4 * 3600, "3d4h"),
        (10 * 86400, "10d"),
        (800 * 86400, "2y70d"),
        (-5, "0s"),
    ],
)
def test_ages_are_written_as_in_kubectl(seconds: int, shown: str) -> None:
    assert cells.duration(timedelta(seconds=seconds)) == shown


def test_nothing_is_a_dash() -> None:
    for nothing in (None, "", [], {}, ()):
        assert cells.text(nothing) == "-"
    assert cells.text(False) == "no"
    assert cells.text(0) == "0"


@given(st.text())
def test_nothing_that_is_printed_drives_the_terminal(text: str) -> None:
    assert terminal.safe(text).isprintable()


def test_colour_is_for_terminals_that_want_it(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert terminal.styled("x", "red", Terminal()) == "\x1b[1;31mx\x1b[0m"
    assert terminal.styled("x", "red", io.StringIO()) == "x"
    monkeypatch.setenv("NO_COLOR", "1")
    assert terminal.styled("x", "red", Terminal()) == "x"
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert terminal.styled("x", "red", Terminal()) == "x"
