"""How `seedance` ends: every failure becomes a line on standard error and an exit code.

0 fine · 1 problems found · 2 usage · 3 not found · 4 unreachable · 5 refused · 6 no data · 70 a
bug · 130 interrupted. A traceback is shown only with SEEDANCE_DEBUG=1.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence

from seedance.facts.errors import (
    BugError,
    BusyError,
    NoDataError,
    NotFoundError,
    RefusedError,
    SeedanceError,
    UnreachableError,
    UsageError,
)
from seedance.settings.load import SettingsError

_REPORT = "please report it with what SEEDANCE_DEBUG=1 shows"

FINE, PROBLEMS, USAGE, BUG, INTERRUPTED = 0, 1, 2, 70, 130

# The first class that fits counts, so the leaves of the tree stand before their parents.
CODES: tuple[tuple[type[SeedanceError], int], ...] = (
    (UsageError, USAGE),
    (NotFoundError, 3),
    (UnreachableError, 4),
    (BusyError, 4),
    (RefusedError, 5),
    (NoDataError, 6),
)
"""Which expected failure ends the program with which code."""


def run(arguments: Sequence[str]) -> int:
    """Runs one command line; its exit code. Never raises."""
    try:
        from seedance.serve.program import command  # noqa: PLC0415 - its parts may be missing

        return command(list(arguments))
    except KeyboardInterrupt:
        return INTERRUPTED
    except SettingsError as error:
        return _say(str(error), error.hint, USAGE)
    except SeedanceError as error:
        code = next((code for kind, code in CODES if isinstance(error, kind)), BUG)
        if code == BUG:
            return _bug(error)
        _debug(error)
        return _say(str(error), error.hint, code)
    except ModuleNotFoundError as error:
        return _missing(error)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except BaseException as error:  # noqa: BLE001 - the last line: whatever it is, it is a bug
        return _bug(error)


def _missing(error: ModuleNotFoundError) -> int:
    name = (error.name or "").partition(".")[0]
    if name in {"", "seedance"}:
        return _bug(error)
    _debug(error)
    return _say(
        f"the server's part {name!r} is not installed", "run: pip install 'seedance[server]'", USAGE
    )


def _bug(error: BaseException) -> int:
    _debug(error)
    if isinstance(error, BugError):
        if os.environ.get("SEEDANCE_DEBUG"):
            sys.stderr.write(f"{error.said}\n{error.statement}\n")
        return _say(f"a bug, not your mistake: {error}", _REPORT, BUG)
    return _say(
        f"a bug, not your mistake: {type(error).__name__}: {error}",
        _REPORT,
        BUG,
    )


def _say(message: str, hint: str, code: int) -> int:
    sys.stderr.write(f"error: {message}\n" + (f"  {hint}\n" if hint else ""))
    return code


def _debug(error: BaseException) -> None:
    if os.environ.get("SEEDANCE_DEBUG"):
        traceback.print_exception(error, file=sys.stderr)
