"""`seedancectl` from the command line to the exit code.

`main` runs one command and ends the process; `run` does the same and returns the code. Every
expected failure has its code (`exits.py`); everything unexpected is a bug, also when a module
cannot be imported: one line, exit code 70, and with `SEEDANCE_DEBUG=1` the traceback. Installed
also as `kubectl-seedance`, so that `kubectl seedance cost` works; help then shows that form.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import typer

_BUG = 70
"""`ExitCode.BUG`, here because even `exits.py` may fail to import."""


def main() -> None:
    """Entry point of `seedancectl` and `kubectl-seedance`."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that lacks a character shows its code, and nothing breaks.
            stream.reconfigure(errors="backslashreplace")
    sys.exit(run(sys.argv[1:], started_as=sys.argv[0]))


def run(arguments: Sequence[str], *, started_as: str = "seedancectl") -> int:
    """Run one command line; its exit code. Never raises."""
    try:
        code = _run(list(arguments), started_as)
        sys.stdout.flush()
    except BrokenPipeError:
        return _pipe_closed()
    except BaseException as error:  # noqa: BLE001  # the last line: whatever it is, it is a bug
        return _bug(error)
    return code


def _run(arguments: list[str], started_as: str) -> int:
    """Run the command; expected failures become messages and codes here."""
    from seedance.cli.exits import ExitCode, exit_code_of  # noqa: PLC0415
    from seedance.cli.terminal import complain  # noqa: PLC0415
    from seedance.facts.errors import SeedanceError  # noqa: PLC0415

    try:
        return _command(arguments, started_as)
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except SeedanceError as error:
        complain(str(error), hint=error.hint)
        return exit_code_of(error)


def _command(arguments: list[str], started_as: str) -> int:
    import typer  # noqa: PLC0415
    from typer.main import get_command  # noqa: PLC0415

    from seedance.cli.app import app  # noqa: PLC0415
    from seedance.cli.completion import COMPLETE, candidates  # noqa: PLC0415
    from seedance.cli.exits import ExitCode  # noqa: PLC0415
    from seedance.cli.grammar import program_name  # noqa: PLC0415

    command = get_command(app)
    if arguments[:1] == [COMPLETE]:
        return candidates(command, arguments[1:])
    try:
        ended = command.main(
            args=arguments, prog_name=program_name(started_as), standalone_mode=False
        )
    except typer.TyperException as error:
        return _misused(error)
    except typer.Abort:
        return ExitCode.INTERRUPTED
    except SystemExit as error:
        # typer ends the process itself, and with 1, when it sees a closed pipe.
        if isinstance(error.__context__, BrokenPipeError):
            raise error.__context__ from None
        raise
    return ended if isinstance(ended, int) else ExitCode.FINE


def _misused(error: typer.TyperException) -> int:
    """A command line that cannot be understood, or help where a verb is missing."""
    from seedance.cli.exits import ExitCode  # noqa: PLC0415
    from seedance.cli.terminal import complain  # noqa: PLC0415

    text = error.format_message()
    if type(error).__name__ == "NoArgsIsHelpError":
        sys.stdout.write(text + "\n")
        return ExitCode.FINE
    ctx = getattr(error, "ctx", None)
    hint = f"see: {ctx.command_path} -h" if ctx is not None else ""
    complain(text[:1].lower() + text[1:].rstrip("."), hint=hint)
    return ExitCode.USAGE


def _pipe_closed() -> int:
    from seedance.cli.exits import ExitCode  # noqa: PLC0415

    # What is still buffered has no reader; without this, Python complains when it ends.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return ExitCode.PIPE_CLOSED


def _bug(error: BaseException) -> int:
    if os.environ.get("SEEDANCE_DEBUG"):
        import traceback  # noqa: PLC0415

        traceback.print_exception(error, file=sys.stderr)
    sys.stderr.write(
        f"error: a bug, not your mistake: {type(error).__name__}: {error}\n"
        "  please report it with what SEEDANCE_DEBUG=1 shows\n"
    )
    return _BUG


if __name__ == "__main__":
    main()
