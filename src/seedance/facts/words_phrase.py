"""A phrase of the catalogue: the value that every language's mapping holds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words for one code.

    `name` is short, for chips and column heads; `sentence` says what it means, or is the text of
    a page sentence with `{placeholders}`; `step` says what to do next, "" where nothing is to do.
    """

    name: str
    sentence: str
    step: str = ""
