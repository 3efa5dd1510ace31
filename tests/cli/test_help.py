"""Help starts with examples, names the form the reader typed, and every example can be parsed."""

from collections.abc import Iterator
from typing import Any

import pytest
from typer.main import get_command

from seedance.cli.app import app
from seedance.cli.grammar import split_help

from .conftest import Run, golden
from .lines import parse


def commands(
    command: Any = None, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Any]]:
    command = command or get_command(app)
    yield path, command
    for name, below in getattr(command, "commands", {}).items():
        yield from commands(below, (*path, name))


ALL = list(commands())


@pytest.mark.parametrize(("path", "command"), ALL, ids=lambda value: str(value)[:40])
def test_every_command_has_a_sentence_and_examples(path: tuple[str, ...], command: Any) -> None:
    about, examples, _ = split_help(command.help)
    assert about.endswith(".")
    assert 1 <= len(examples) <= 3
    assert all("seedancectl" in example for example in examples)


@pytest.mark.parametrize(("path", "command"), ALL, ids=lambda value: str(value)[:40])
def test_every_option_and_argument_has_help(path: tuple[str, ...], command: Any) -> None:
    for param in command.params:
        assert param.help, f"{' '.join(path)} {param.name}"
        assert param.help[-1] in ".…?", f"{' '.join(path)} {param.name}: {param.help}"


@pytest.mark.parametrize(
    "example",
    [
        example
        for _, command in ALL
        for example in split_help(command.help)[1]
        if example.startswith("seedancectl")
    ],
)
def test_every_example_is_a_command_line_that_is_understood(example: str) -> None:
    parse(example)


def test_help_starts_with_what_it_does_and_examples(ctl: Run) -> None:
    ended = ctl("cost", "-h")
    assert (ended.code, ended.err) == (0, "")
    golden("help_cost.txt", ended.out)
    assert ctl("cost", "--help").out == ended.out


def test_the_plugin_shows_the_form_of_kubectl(ctl: Run) -> None:
    out = ctl("cost", "-h", started_as="/usr/local/bin/kubectl-seedance").out
    assert "  kubectl seedance cost --by namespace,team" in out
    assert "Usage: kubectl seedance cost [OPTIONS]" in out
    assert "seedancectl" not in out
    ended = ctl("cost", "--nope", started_as="kubectl-seedance")
    assert "see: kubectl seedance cost -h" in ended.err


def test_no_verb_shows_help(ctl: Run) -> None:
    for line in ((), ("config",)):
        ended = ctl(*line)
        assert ended.code == 0
        assert "Examples:" in ended.out


def test_a_typing_error_suggests_the_verb(ctl: Run) -> None:
    ended = ctl("cots")
    assert ended.code == 2
    assert "'cost'" in ended.err


def test_explaining_words_and_fields(ctl: Run) -> None:
    assert "KEY: __idle__" in ctl("explain", "__idle__").out
    assert "REASON: no-owner-key" in ctl("explain", "reason:no-owner-key").out
    assert "KIND:     PriceBook" in ctl("explain", "pricebook.spec.entries").out
    assert ctl("explain", "PriceBook.spec.nothing").code == 3
    ended = ctl("explain", "no-owner-kee")
    assert ended.code == 3
    assert "no-owner-key" in ended.err
