"""Every command that the pages tell people to type exists and is understood."""

import re
import shlex
from collections.abc import Iterator

import pytest
from typer.main import get_command

from house.tree import ROOT, name_of, pages
from seedance.serve.program import app

TARGET = re.compile(r"(?<![\w-])make ((?:[a-z][a-z-]*)(?: [a-z][a-z-]*)?)")
FENCE = re.compile(r"^( *)```(?:console|sh|bash|shell)?\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`(make [a-z][^`]*|seedance [a-z][^`]*)`")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = {match[1] for match in re.finditer(r"^([a-z][a-z%-]*):", MAKEFILE, re.MULTILINE)}
BENCHES = {path.stem for path in (ROOT / "benchmarks").glob("*.py")}


def lines() -> Iterator[tuple[str, str]]:
    """Place and text of each command in a fence or between backticks, comments taken off."""
    for page in pages():
        text = page.read_text(encoding="utf-8")
        for fence in FENCE.finditer(text):
            first = text[: fence.start(2)].count("\n") + 1
            for number, line in enumerate(_joined(fence[2]).split("\n"), start=first):
                yield f"{name_of(page)}:{number}", line.strip().removeprefix("$ ")
        for match in INLINE.finditer(FENCE.sub("", text)):
            yield f"{name_of(page)}:`{match[1]}`", " ".join(match[1].split())


def _joined(block: str) -> str:
    """Lines that go on after a backslash, as one (line numbers stay)."""
    return re.sub(r"\\\n((?:.|\n)*?)(?=\n|\Z)", lambda match: " " + match[1].strip(), block)


MAKES = {place: line for place, line in lines() if line.startswith("make ")}
SERVERS = {place: line for place, line in lines() if line.startswith("seedance ")}


def test_there_are_commands_to_look_at() -> None:
    assert MAKES
    assert SERVERS


@pytest.mark.parametrize("place", MAKES)
def test_every_make_target_exists(place: str) -> None:
    words = shlex.split(MAKES[place], comments=True)[1:]
    targets = [word for word in words if "=" not in word and not word.startswith("-")]
    assert targets
    for target in targets:
        bench = target.removeprefix("bench-") in BENCHES and "bench-%" in TARGETS
        anything = re.fullmatch(r"bench-(\*|…|NAME)", target)
        assert target in TARGETS or bench or anything, f"{place}: make {target}"


@pytest.mark.parametrize("place", SERVERS)
def test_every_command_line_of_the_server_is_understood(place: str) -> None:
    words = shlex.split(SERVERS[place].replace("…", ""), comments=True)[1:]
    if "`" in place and words[-1].startswith("--"):
        words.append("1")  # a sentence that names an option without its value
    understand(words)


def understand(words: list[str]) -> None:
    """Parses the words after `seedance` to their end without running anything.

    A line that only names a command (`seedance token create`) is taken as its name.
    """
    context = get_command(app).make_context("seedance", list(words))
    command, rest = context.command, [*context._protected_args, *context.args]
    while rest and hasattr(command, "commands"):
        assert rest[0] in command.commands, f"no command {rest[0]!r}"
        command = command.commands[rest[0]]
        named = len(rest) == 1
        context = command.make_context(rest[0], rest[1:], parent=context, resilient_parsing=named)
        rest = [*getattr(context, "_protected_args", ()), *context.args]
    assert rest == [], f"{rest} is left over"


@pytest.mark.parametrize("words", [["serve", "--nonsense"], ["nonsense"], ["store", "nonsense"]])
def test_what_the_program_does_not_know_is_noticed(words: list[str]) -> None:
    with pytest.raises(Exception, match="nonsense"):
        understand(words)
