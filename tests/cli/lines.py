"""Whether a command line of ours can be understood: parsed to its end, without being run."""

import re
import shlex

from typer.main import get_command

from seedance.cli.app import app

_REST = re.compile(r"\s(\||>|2>|#|&&|;).*")
"""Where the shell's part of a line begins."""


def parse(line: str) -> None:
    """Parse `seedancectl …` as it stands in a page; raises what the program would refuse."""
    words = shlex.split(_REST.sub("", line).removesuffix(")"))[1:]
    context = get_command(app).make_context("seedancectl", list(words))
    command, rest = context.command, [*context._protected_args, *context.args]
    while rest and hasattr(command, "commands"):
        command = command.commands[rest[0]]
        context = command.make_context(rest[0], rest[1:], parent=context)
        rest = [*getattr(context, "_protected_args", ()), *context.args]
    assert rest == [], f"{line}: {rest} is left over"
