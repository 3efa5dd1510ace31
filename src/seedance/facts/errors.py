"""Everything that can go wrong on purpose, as one tree.

    SeedanceError
    ├── UsageError           exit 2   HTTP 400   the request or the command line is off
    │   └── ManifestError    exit 2   HTTP 422   a file people wrote is off: file, line, path
    ├── NotFoundError        exit 3   HTTP 404   nothing of that name
    ├── UnreachableError     exit 4   HTTP 502   a server or a cluster does not answer
    ├── RefusedError         exit 5   HTTP 403   rights, a locked store, a port in use
    │   └── UnauthenticatedError      HTTP 401   no token, or one that is not known
    ├── NoDataError          exit 6   HTTP 404   the window holds no data, and why
    ├── BusyError            exit 4   HTTP 503   try again later (`retry_after` seconds)
    ├── IntakeError                   HTTP 400   a body that is not what it says
    │   ├── MediaTypeError            HTTP 415   wrong Content-Type or Content-Encoding
    │   └── TooLargeError             HTTP 413   over a documented limit
    └── BugError             exit 70  HTTP 500   our own mistake: an id, the rest is in the log

Each message says what happened, where, and what to do. Doors translate: `cli/exits.py` to exit
codes, `web/problems.py` to RFC 9457 documents.
"""

from __future__ import annotations

import secrets


class SeedanceError(Exception):
    """Root of every expected failure.

    Attributes:
        code: stable kebab-case word for programs, the `type` of the problem document.
        hint: what the reader can do next, or "".
    """

    code = "error"

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class UsageError(SeedanceError):
    """The request or the command line asks for something that makes no sense."""

    code = "usage"


class ManifestError(UsageError):
    """A manifest is wrong; `file`, `line` and `path` (`spec.entries[0].node`) say where."""

    code = "invalid-manifest"

    def __init__(
        self, message: str, *, file: str = "", line: int = 0, path: str = "", hint: str = ""
    ) -> None:
        where = ":".join(part for part in (file, str(line) if line else "") if part)
        text = f"{where}: {path}: {message}" if path else f"{where}: {message}"
        super().__init__(text if where or path else message, hint=hint)
        self.file = file
        self.line = line
        self.path = path


class NotFoundError(SeedanceError):
    """Nothing of that name is known."""

    code = "not-found"


class UnreachableError(SeedanceError):
    """A server or a cluster does not answer."""

    code = "unreachable"


class RefusedError(SeedanceError):
    """Not allowed: missing rights, a store that another process owns, a port in use."""

    code = "refused"


class UnauthenticatedError(RefusedError):
    """No token, or one that is not known."""

    code = "unauthenticated"


class NoDataError(SeedanceError):
    """The window holds no data; the message says why."""

    code = "no-data"


class BusyError(SeedanceError):
    """Cannot take more now; `retry_after` is the number of seconds to wait."""

    code = "busy"

    def __init__(self, message: str, *, retry_after: int = 5, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after


class IntakeError(SeedanceError):
    """A body that is not what it says it is."""

    code = "invalid-body"


class MediaTypeError(IntakeError):
    """Content-Type or Content-Encoding that this door does not take."""

    code = "unsupported-media-type"


class TooLargeError(IntakeError):
    """A body, label set or declared length over a documented limit."""

    code = "too-large"


class BugError(SeedanceError):
    """A mistake of this program, not of whoever asked.

    The message is for readers and ends with the id. What only a developer can read (`said`, the
    words of the part that failed, and `statement`, what it was asked) belongs into the log.
    """

    code = "bug"

    def __init__(self, message: str, *, said: str = "", statement: str = "") -> None:
        self.id = secrets.token_hex(4)
        super().__init__(
            f"{message} (bug {self.id})",
            hint=f"look for id {self.id} in the server's log and report what stands there",
        )
        self.said = said
        self.statement = statement

    def account(self) -> dict[str, str]:
        """Fields for the log: `id`, `why`, and `said` and `statement` where they are known."""
        told = {"id": self.id, "why": str(self)}
        more = {"said": self.said, "statement": self.statement}
        return told | {name: text for name, text in more.items() if text}


def account_of(error: Exception) -> dict[str, str]:
    """Fields for the log of any failure: `why`, and of a bug everything that is known."""
    return error.account() if isinstance(error, BugError) else {"why": str(error)}
