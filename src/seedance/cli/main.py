"""`seedancectl` from the command line to the exit code.

`main` runs one command and ends the process; `run` does the same and returns the code. Every
expected failure has its code (`exits.py`); everything unexpected is a bug: one line, exit code
70, and with `SEEDANCE_DEBUG=1` the traceback. Installed also as `kubectl-seedance`, so that
`kubectl seedance cost` works; help then shows that form.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import typer
from typer.main import get_command

from seedance.cli import options
from seedance.cli.completion import COMPLETE, candidates, completion
from seedance.cli.configure import config_app
from seedance.cli.cost import cost
from seedance.cli.describe import describe
from seedance.cli.exits import ExitCode, exit_code_of
from seedance.cli.explain import explain
from seedance.cli.get import get
from seedance.cli.grammar import PROGRAM, Verb, Verbs, program_name
from seedance.cli.session import Common
from seedance.cli.terminal import complain
from seedance.cli.top import top
from seedance.cli.version import version
from seedance.facts.errors import SeedanceError

app = typer.Typer(
    cls=Verbs,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


@app.callback()
def root(
    ctx: typer.Context,
    *,
    server: options.Server = "",
    context: options.Context = "",
    token_file: options.TokenFile = "",
    certificate_authority: options.CertificateAuthority = "",
    request_timeout: options.RequestTimeout = "",
    verbose: options.Verbose = 0,
) -> None:
    """Show what Kubernetes costs: by team, workload, node or label, now and in the past.

    Examples:
      seedancectl cost --by namespace,team --window 7d
      seedancectl get pods -n ml --at 2h
      seedancectl describe workload trainer -n ml

    The same options stand before or after the verb. Exit codes: 0 fine, 1 difference or
    violation, 2 usage, 3 not found, 4 unreachable, 5 refused, 6 no data, 70 bug.
    """
    ctx.obj = Common(
        server=server,
        context=context,
        token_file=token_file,
        certificate_authority=certificate_authority,
        request_timeout=request_timeout,
        verbose=verbose,
    )


for verb in (cost, get, describe, top, explain, version, completion):
    app.command(cls=Verb)(verb)
app.add_typer(config_app, name="config")


def main() -> None:
    """Entry point of `seedancectl` and `kubectl-seedance`."""
    sys.exit(run(sys.argv[1:], started_as=sys.argv[0]))


def run(arguments: Sequence[str], *, started_as: str = PROGRAM) -> int:
    """Run one command line; its exit code. Never raises."""
    try:
        code = _run(list(arguments), program_name(started_as))
        sys.stdout.flush()
    except BrokenPipeError:
        return _pipe_closed()
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except SeedanceError as error:
        complain(str(error), hint=error.hint)
        return exit_code_of(error)
    except BaseException as error:  # noqa: BLE001  # the last line: whatever it is, it is a bug
        return _bug(error)
    return code


def _run(arguments: list[str], form: str) -> int:
    command = get_command(app)
    if arguments[:1] == [COMPLETE]:
        return candidates(command, arguments[1:])
    try:
        ended = command.main(args=arguments, prog_name=form, standalone_mode=False)
    except typer.TyperException as error:
        return _misused(error)
    except typer.Abort:
        return ExitCode.INTERRUPTED
    except SystemExit as error:
        # typer ends the process itself, and with 1, when it sees a closed pipe.
        raise BrokenPipeError from error
    return ended if isinstance(ended, int) else ExitCode.FINE


def _misused(error: typer.TyperException) -> int:
    """A command line that cannot be understood, or `-h` left out where a verb is missing."""
    ctx = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        sys.stdout.write(error.format_message() + "\n")
        return ExitCode.FINE
    hint = f"see: {ctx.command_path} -h" if ctx is not None else ""
    text = error.format_message().replace("Value error, ", "")
    complain(text[:1].lower() + text[1:].rstrip("."), hint=hint)
    return ExitCode.USAGE


def _pipe_closed() -> int:
    # What is still buffered has no reader; without this, Python complains when it ends.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return ExitCode.PIPE_CLOSED


def _bug(error: BaseException) -> int:
    if os.environ.get("SEEDANCE_DEBUG"):
        import traceback  # noqa: PLC0415

        traceback.print_exception(error, file=sys.stderr)
    complain(
        f"a bug, not your mistake: {type(error).__name__}: {error}",
        hint="please report it with what SEEDANCE_DEBUG=1 shows",
    )
    return ExitCode.BUG
