"""Tables as kubectl prints them: upper-case headers, no borders, three spaces between columns.

A table is columns and rows of finished text. `lay_out` makes lines of it, `as_csv` the same
columns for a spreadsheet. Numbers are right-aligned, everything else left, and the last
left-aligned column is not padded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from seedance.cli.terminal import width_of

GAP = 3


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its header, whether it holds numbers, and whether only `-o wide` shows it."""

    header: str
    right: bool = False
    wide: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Columns and rows of finished text; `names` is what `-o name` prints, one a row.

    `footer` rows are sums: part of the table on the screen, not of CSV.
    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    names: tuple[str, ...] = ()
    footer: tuple[tuple[str, ...], ...] = ()

    def narrow(self) -> Table:
        """The table without the columns that only `-o wide` shows."""
        kept = [at for at, column in enumerate(self.columns) if not column.wide]
        return replace(
            self,
            columns=tuple(self.columns[at] for at in kept),
            rows=tuple(tuple(row[at] for at in kept) for row in self.rows),
            footer=tuple(tuple(row[at] for at in kept) for row in self.footer),
        )


def lay_out(table: Table, *, widths: Sequence[int] = ()) -> list[str]:
    """Header, rows and footer as lines; `widths` are the least widths, to line up with earlier."""
    header = tuple(column.header for column in table.columns)
    lines = [header, *table.rows, *table.footer]
    least = list(widths) or [0] * len(header)
    wanted = [
        max([least[at], *(width_of(line[at]) for line in lines)]) for at in range(len(header))
    ]
    return [_line(line, table.columns, wanted) for line in lines]


def widths_of(table: Table) -> list[int]:
    """Width of each column, for lines that are printed later."""
    header = tuple(column.header for column in table.columns)
    lines = [header, *table.rows, *table.footer]
    return [max(width_of(line[at]) for line in lines) for at in range(len(header))]


def _line(line: Sequence[str], columns: Sequence[Column], widths: Sequence[int]) -> str:
    cells = []
    for cell, column, width in zip(line, columns, widths, strict=True):
        padding = " " * (width - width_of(cell))
        cells.append(padding + cell if column.right else cell + padding)
    return (" " * GAP).join(cells).rstrip()


def as_csv(table: Table) -> str:
    """All columns with header as RFC 4180 text.

    A cell that a spreadsheet would run as a formula gets an apostrophe in front.
    """
    import csv  # noqa: PLC0415
    import io  # noqa: PLC0415

    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow([column.header for column in table.columns])
    for row in table.rows:
        writer.writerow(
            [_no_formula(cell, column) for cell, column in zip(row, table.columns, strict=True)]
        )
    return out.getvalue()


def _no_formula(cell: str, column: Column) -> str:
    return f"'{cell}" if not column.right and cell[:1] in {"=", "+", "@"} else cell
