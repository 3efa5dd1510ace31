"""From an answer to stdout in the format that `-o` asks for.

`json` is the API's body, byte for byte; `yaml` is the same document; `table`, `wide`, `name` and
`csv` come from the command's table. Nothing else ever goes to stdout.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from seedance.cli.options import Output
from seedance.cli.tables import Table, as_csv, lay_out
from seedance.cli.terminal import styled

_PIECE = 1 << 16


def is_document(output: Output) -> bool:
    """Whether the format shows the API's document rather than a table."""
    return output in {Output.JSON, Output.YAML}


def show_document(body: bytes, output: Output) -> None:
    """The API's document: unchanged, or as YAML."""
    if output is Output.JSON:
        show_text(body.decode("utf-8"))
    else:
        show_values(json.loads(body), output)


def show_values(document: Any, output: Output) -> None:
    """Plain values as JSON or YAML."""
    if output is Output.JSON:
        show_text(json.dumps(document, ensure_ascii=False, indent=2))
        return
    import yaml  # noqa: PLC0415

    show_text(yaml.safe_dump(document, sort_keys=False, allow_unicode=True))


def show_table(table: Table, output: Output) -> None:
    """The table, its names or its CSV."""
    if output is Output.NAME:
        show_text("\n".join(table.names))
    elif output is Output.CSV:
        show_text(as_csv(table))
    else:
        shown = table if output is Output.WIDE else table.narrow()
        head, *lines = lay_out(shown)
        show_text("\n".join([styled(head, "bold", sys.stdout), *lines]))


def show_text(text: str) -> None:
    """Text on stdout, with one line end after it."""
    if text and not text.endswith("\n"):
        text += "\n"
    # In pieces: an unbuffered stream forgets the rest of a write that its reader cut short.
    for start in range(0, len(text), _PIECE):
        sys.stdout.write(text[start : start + _PIECE])
