"""The one catalogue of words for people: what a code means and what to do about it.

A code is `group:word`: `reason:no-owner-key`, `flag:end-estimated`, `kind:idle`, `key:__idle__`,
`dimension:namespace`, `measure:unused`, `page:spent`. A language is one frozen mapping of code to
`Phrase`, in a module of its own (`words_en`); `CATALOGUES` lists the languages, and a test keeps
their codes and placeholders alike. Command line, API and pages all read here, so the same code
reads the same everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from seedance.facts.costs import Flag, Kind, Reason
from seedance.facts.words_en import ENGLISH
from seedance.facts.words_phrase import Phrase

Word = Reason | Flag | Kind | str
"""What can be looked up: a member of the enumerations, or a full code such as `measure:unused`."""

CATALOGUES: Mapping[str, Mapping[str, Phrase]] = MappingProxyType({"en": ENGLISH})
"""Language to catalogue; `en` is complete by definition and stands in for what others lack."""


def code(word: Word) -> str:
    """The catalogue code of `word`: `reason:…`, `kind:…`, `flag:…`, or the text as it is."""
    if isinstance(word, Reason):
        return f"reason:{word.value}"
    if isinstance(word, Kind):
        return f"kind:{word.value}"
    if isinstance(word, Flag):
        return f"flag:{flag_word(word)}"
    return word


def flag_word(flag: Flag) -> str:
    """A single flag as programs see it: `END_ESTIMATED` is `end-estimated`."""
    return (flag.name or "").lower().replace("_", "-")


def flags_in(bits: int) -> Iterator[Flag]:
    """Each flag that is set in the number of a cost row, lowest bit first."""
    return (flag for flag in Flag if bits & flag)


def phrase(word: Word, lang: str = "en") -> Phrase:
    """Name, sentence and next step of `word`; an unknown code stands for itself.

    An unknown code is one that a newer writer stored: showing it bare is honest, failing is not.
    """
    key = code(word)
    found = CATALOGUES.get(lang, ENGLISH).get(key) or ENGLISH.get(key)
    return found or Phrase(key.partition(":")[2] or key, "")


def name(word: Word, lang: str = "en") -> str:
    """The short name of `word`, as it stands on a chip or in a column head."""
    return phrase(word, lang).name


def sentence(word: Word, lang: str = "en") -> str:
    """One sentence that says what `word` means, or "" if nothing is known of it."""
    return phrase(word, lang).sentence


def next_step(word: Word, lang: str = "en") -> str:
    """What the reader can do about `word`, or "" where there is nothing to do."""
    return phrase(word, lang).step


def say(word: Word, lang: str = "en", **values: object) -> str:
    """The sentence of `word` with its `{placeholders}` filled.

    Raises:
        KeyError: if the sentence has a placeholder that `values` lacks: a mistake in the caller.
    """
    return sentence(word, lang).format(**values)
