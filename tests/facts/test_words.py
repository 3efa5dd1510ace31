"""The catalogue: complete for every code, alike in every language."""

import string

import pytest

from seedance.facts import words
from seedance.facts.costs import Flag, Kind, Reason
from seedance.facts.words_en import ENGLISH


def _placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


@pytest.mark.parametrize("word", [*Reason, *Flag, *Kind])
def test_every_code_has_a_name_and_a_sentence(word: words.Word) -> None:
    found = words.phrase(word)
    assert found.name
    assert found.sentence.endswith(".")


@pytest.mark.parametrize("reason", [*Reason])
def test_every_reason_has_a_next_step(reason: Reason) -> None:
    assert words.next_step(reason).endswith(".")


@pytest.mark.parametrize("flag", [*Flag])
def test_every_flag_has_a_next_step(flag: Flag) -> None:
    assert words.next_step(flag).endswith(".")


def test_flags_are_read_from_the_number_of_a_row() -> None:
    bits = int(Flag.NO_METRICS | Flag.END_ESTIMATED)
    assert [words.flag_word(flag) for flag in words.flags_in(bits)] == [
        "no-metrics",
        "end-estimated",
    ]


def test_an_unknown_code_stands_for_itself() -> None:
    assert words.name("reason:of-tomorrow") == "of-tomorrow"
    assert words.sentence("reason:of-tomorrow") == ""


def test_a_language_without_a_catalogue_falls_back_to_english() -> None:
    assert words.name(Kind.IDLE, "xx") == "Idle"


def test_sentences_are_filled() -> None:
    assert "12" in words.say("page:unattributed", cost="12")
    with pytest.raises(KeyError):
        words.say("page:unattributed")


@pytest.mark.parametrize("lang", sorted(words.CATALOGUES))
def test_languages_have_the_same_codes_and_placeholders(lang: str) -> None:
    catalogue = words.CATALOGUES[lang]
    assert catalogue.keys() == ENGLISH.keys()
    for code, phrase in catalogue.items():
        for one, other in ((phrase.sentence, ENGLISH[code].sentence),):
            assert _placeholders(one) == _placeholders(other), code
