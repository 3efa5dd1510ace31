"""How help reads: a sentence, two or three examples, then the options.

When the program was started as a kubectl plugin (`kubectl-seedance`, which kubectl runs for
`kubectl seedance`), help and examples show that form, since it is what the reader typed.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable
from enum import StrEnum
from pathlib import PurePath
from typing import Any

from typer import BadParameter
from typer.core import TyperCommand, TyperGroup

PROGRAM = "seedancectl"
PLUGIN = "kubectl-seedance"
PLUGIN_FORM = "kubectl seedance"


def program_name(argv0: str) -> str:
    """How the reader started the program, from the path of the script."""
    name = PurePath(argv0).name.removesuffix(".exe")
    return PLUGIN_FORM if name == PLUGIN else PROGRAM


def as_typed(command: str) -> str:
    """A command line of ours in the form that the reader uses."""
    form = program_name(sys.argv[0])
    return f"{form}{command.removeprefix(PROGRAM)}" if command.startswith(PROGRAM) else command


def help_of(command: Any, ctx: Any) -> str:
    """The help of a command: sentence, examples, rest, usage line, then options and commands."""
    formatter = ctx.make_formatter()
    about, examples, rest = split_help(command.help or "")
    formatter.write(about + "\n")
    if examples:
        form = ctx.find_root().info_name or PROGRAM
        lines = [line.replace(PROGRAM, form, 1) for line in examples]
        formatter.write("\nExamples:\n" + "".join(f"  {line}\n" for line in lines))
    if rest:
        formatter.write(f"\n{rest}\n")
    formatter.write("\n")
    command.format_usage(ctx, formatter)
    command.format_options(ctx, formatter)
    return str(formatter.getvalue()).rstrip("\n")


def split_help(text: str) -> tuple[str, list[str], str]:
    """A docstring's first paragraph, the lines under `Examples:`, and the other paragraphs."""
    about, examples, rest = "", [], []
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        if paragraph.startswith("Examples:"):
            examples = [line.strip() for line in paragraph.splitlines()[1:]]
        elif not about:
            about = " ".join(paragraph.split())
        else:
            rest.append(paragraph)
    return about, examples, "\n\n".join(rest)


def one_line(text: str) -> str:
    """The first sentence of a docstring, for a list of commands."""
    return split_help(text)[0].partition(". ")[0].removesuffix(".")


class Plain:
    """Turns what was typed into a value: words, numbers, flags, choices, lists of words.

    typer would import pydantic for that, which takes a third of the time of `version`; these
    five need no library.
    """

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """The value of a parameter as its annotation says.

        Raises:
            BadParameter: if the text is no such value.
        """
        wanted = param.type_descriptor.annotation
        if value is None:
            return [] if param.multiple else None
        if wanted is int:
            return _whole_number(value, param, ctx)
        if isinstance(wanted, type) and issubclass(wanted, StrEnum):
            return _choice(value, wanted, param, ctx)
        return list(value) if param.multiple else value


def _whole_number(value: Any, param: Any, ctx: Any) -> int:
    try:
        found = int(value)
    except ValueError:
        raise BadParameter(f"{value!r} is no whole number", ctx=ctx, param=param) from None
    if param.min is not None and found < param.min:
        raise BadParameter(f"{found} is below {param.min}", ctx=ctx, param=param)
    return found


def _choice(value: Any, choices: type[StrEnum], param: Any, ctx: Any) -> StrEnum:
    try:
        return choices(value)
    except ValueError:
        known = ", ".join(choices)
        raise BadParameter(f"{value!r} is none of {known}", ctx=ctx, param=param) from None


def _is_plain(param: Any) -> bool:
    described = getattr(param, "type_descriptor", None)
    wanted = getattr(described, "annotation", None)
    plain = wanted in (str, int, bool, list[str])
    return plain or (isinstance(wanted, type) and issubclass(wanted, StrEnum))


def without_pydantic(params: Iterable[Any]) -> None:
    """Let the plain ones of these parameters be read by `Plain`.

    Where typer has no such place any more, its own slower way is taken.
    """
    for param in filter(_is_plain, params):
        param._runtime_param = Plain()  # noqa: SLF001  # typer offers no public way


class Verb(TyperCommand):
    """A command whose help starts with examples, and which starts without pydantic."""

    def get_params(self, ctx: Any) -> list[Any]:
        """All parameters, the help option among them."""
        params = super().get_params(ctx)
        without_pydantic(params)
        return params

    def get_help(self, ctx: Any) -> str:
        """The help text."""
        return help_of(self, ctx)

    def get_short_help_str(self, limit: int = 45) -> str:  # noqa: ARG002  # the parent's signature
        """One line for the list of commands."""
        return one_line(self.help or "")


class Verbs(TyperGroup):
    """A group of commands whose help starts with examples."""

    command_class = Verb

    def get_params(self, ctx: Any) -> list[Any]:
        """All parameters, the help option among them."""
        params = super().get_params(ctx)
        without_pydantic(params)
        return params

    def get_help(self, ctx: Any) -> str:
        """The help text."""
        return help_of(self, ctx)

    def get_short_help_str(self, limit: int = 45) -> str:  # noqa: ARG002  # the parent's signature
        """One line for the list of commands."""
        return one_line(self.help or "")
