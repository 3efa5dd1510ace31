"""Exit codes: what a script may rely on, and which error leads to which.

The one table of the house. 1 always means "differences found" or "policy violated", never "it
broke": a bug is 70, so that a gate in CI cannot mistake a crash for a verdict.
"""

from __future__ import annotations

from enum import IntEnum

from seedance.facts.errors import (
    BusyError,
    ManifestError,
    NoDataError,
    NotFoundError,
    RefusedError,
    SeedanceError,
    UnauthenticatedError,
    UnreachableError,
    UsageError,
)


class ExitCode(IntEnum):
    """How `seedancectl` ends; `MEANINGS` says what each stands for."""

    FINE = 0
    DIFFERENT = 1
    USAGE = 2
    NOT_FOUND = 3
    UNREACHABLE = 4
    REFUSED = 5
    NO_DATA = 6
    BUG = 70
    INTERRUPTED = 130
    PIPE_CLOSED = 141


MEANINGS: dict[ExitCode, str] = {
    ExitCode.FINE: "All went well; no difference found.",
    ExitCode.DIFFERENT: "A difference was found or a policy is violated. Never a crash.",
    ExitCode.USAGE: "The command line or a file is wrong.",
    ExitCode.NOT_FOUND: "Nothing of that name is known.",
    ExitCode.UNREACHABLE: "The server or a cluster does not answer, or cannot take more now.",
    ExitCode.REFUSED: "Not allowed: no token, missing rights, a locked store, a port in use.",
    ExitCode.NO_DATA: "The window holds no data; the message says why.",
    ExitCode.BUG: "A bug: one line says what happened, `SEEDANCE_DEBUG=1` shows where.",
    ExitCode.INTERRUPTED: "Interrupted with Ctrl-C.",
    ExitCode.PIPE_CLOSED: "The reader of the pipe went away (`… | head -1`).",
}
"""The table that the reference prints."""

# The first class that fits counts, so the leaves of the tree stand before their parents.
_BY_CLASS: tuple[tuple[type[SeedanceError], ExitCode], ...] = (
    (UsageError, ExitCode.USAGE),
    (NotFoundError, ExitCode.NOT_FOUND),
    (UnreachableError, ExitCode.UNREACHABLE),
    (BusyError, ExitCode.UNREACHABLE),
    (RefusedError, ExitCode.REFUSED),
    (NoDataError, ExitCode.NO_DATA),
)

_BY_STATUS: dict[int, type[SeedanceError]] = {
    400: UsageError,
    401: UnauthenticatedError,
    403: RefusedError,
    404: NotFoundError,
    408: UnreachableError,
    409: RefusedError,
    422: UsageError,
    429: BusyError,
    502: UnreachableError,
    503: BusyError,
    504: UnreachableError,
}
"""What a problem document is, where its type is not one of ours (a proxy in between)."""

_KINDS: tuple[type[SeedanceError], ...] = (
    UsageError,
    ManifestError,
    NotFoundError,
    UnreachableError,
    BusyError,
    RefusedError,
    UnauthenticatedError,
    NoDataError,
)
_BY_CODE = {kind.code: kind for kind in _KINDS}


def exit_code_of(error: SeedanceError) -> ExitCode:
    """The exit code of an expected failure; `BUG` for one that the client should never see."""
    for kind, code in _BY_CLASS:
        if isinstance(error, kind):
            return code
    return ExitCode.BUG


def error_of_problem(code: str, status: int) -> type[SeedanceError]:
    """The error that a problem document stands for: by its type, else by its HTTP status."""
    return _BY_CODE.get(code) or _BY_STATUS.get(status, SeedanceError)
