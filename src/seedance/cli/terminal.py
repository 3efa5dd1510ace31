"""What the client knows about the terminal: colour, width, and text that is safe to print.

Data goes to stdout, everything else to stderr. Colour only where a person looks and did not
say `NO_COLOR`; nothing here ever asks a question.
"""

from __future__ import annotations

import os
import sys
import unicodedata
from typing import TextIO

_STYLES = {"bold": "1", "dim": "2", "red": "1;31", "yellow": "33"}


def has_colour(stream: TextIO) -> bool:
    """Whether a person looks at `stream` on a terminal that shows colour."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return stream.isatty()


def styled(text: str, style: str, stream: TextIO) -> str:
    """`text` in a style (`bold`, `dim`, `red`, `yellow`) where `stream` shows colour."""
    if not has_colour(stream):
        return text
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m"


def safe(text: str) -> str:
    r"""`text` with control characters shown as `\x1b`, so that a label cannot drive a terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def width_of(text: str) -> int:
    """How many terminal cells `text` takes: wide East Asian characters take two."""
    if text.isascii():
        return len(text)
    return sum(_cells(char) for char in text)


def _cells(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def say(text: str) -> None:
    """One line for the person: to stderr, dimmed on a terminal."""
    sys.stderr.write(styled(text, "dim", sys.stderr) + "\n")


def warn(text: str) -> None:
    """One line that the person should not miss, to stderr."""
    sys.stderr.write(styled("warning: ", "yellow", sys.stderr) + text + "\n")


def complain(message: str, *, hint: str = "") -> None:
    """An error and what to do about it, to stderr."""
    first, *rest = [safe(line) for line in message.splitlines()] or [""]
    lines = [styled("error: ", "red", sys.stderr) + first, *(f"  {line}" for line in rest)]
    lines += [f"  {safe(line)}" for line in hint.splitlines()]
    sys.stderr.write("\n".join(lines) + "\n")
