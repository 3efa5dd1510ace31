"""Tokens: made once, shown once, kept as SHA-256, compared in constant time.

A token is `sdt_ID_SECRET`. `tokens.json` in the data folder (mode 0600) holds its id, role, bound
cluster and hash, never the secret. A 256-bit random secret needs no slow hash: it cannot be
guessed, so SHA-256 loses nothing (`docs/decisions/0005-tokens-and-roles.md`). The file is read
again when it changes, so `seedance token create` and `revoke` work beside a running server.
"""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import json
import os
import re
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from seedance.facts.errors import NotFoundError, RefusedError, UsageError
from seedance.facts.window import format_instant

Role = Literal["ingest", "view", "edit", "admin"]

ROLES: tuple[Role, ...] = ("ingest", "view", "edit", "admin")
"""What a token can be for; `edit` includes `view`, `admin` includes everything."""

GRANTS: dict[Role, frozenset[Role]] = {
    "ingest": frozenset({"ingest"}),
    "view": frozenset({"view"}),
    "edit": frozenset({"view", "edit"}),
    "admin": frozenset(ROLES),
}

_NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9 ._@:/-]{0,99}$")
_PREFIX = "sdt_"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: `author` goes into the audit log, `roles` decide, `cluster` bounds what exists.

    `cluster` is the id or name of the only cluster this caller may see or write to, or "".
    """

    author: str
    roles: frozenset[Role]
    cluster: str = ""
    token_id: str = ""

    def may(self, role: Role) -> bool:
        """Whether the caller holds `role`."""
        return role in self.roles


@dataclass(frozen=True, slots=True)
class Token:
    """A token as it is kept: everything but the secret."""

    id: str
    name: str
    role: Role
    cluster: str
    sha256: str
    created: str

    def caller(self) -> Caller:
        """The caller that presents this token."""
        return Caller(f"token:{self.name}", GRANTS[self.role], self.cluster, self.id)


class TokenBook:
    """All tokens of a data folder; safe to use from several processes and threads."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen: tuple[int, int, int] = (-1, -1, -1)
        self._tokens: tuple[Token, ...] = ()

    def all(self) -> tuple[Token, ...]:
        """Every token, oldest first; the file is read again when it changed.

        Raises:
            RefusedError: if the file cannot be read or is not what it should be.
        """
        try:
            stat = self.path.stat()
        except FileNotFoundError:
            self._seen, self._tokens = (-1, -1, -1), ()
            return self._tokens
        seen = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
        if seen != self._seen:
            self._tokens = self._read()
            self._seen = seen
        return self._tokens

    def create(self, role: str, *, name: str = "", cluster: str = "") -> tuple[Token, str]:
        """A new token and its secret text, which is not kept anywhere.

        Raises:
            UsageError: an unknown role, an unusable or taken name.
        """
        if role not in ROLES:
            raise UsageError(f"role {role!r} is not known", hint=f"roles are {', '.join(ROLES)}")
        ident = secrets.token_hex(4)
        name = name or f"{role}-{ident}"
        if not _NAME.match(name):
            raise UsageError(f"{name!r} cannot be a token's name", hint="letters, digits, ._@:/-")
        text = f"{_PREFIX}{ident}_{secrets.token_urlsafe(32)}"
        token = Token(
            ident, name, role, cluster, digest(text), format_instant(datetime.now(UTC))
        )  # fmt: skip
        with self._locked():
            tokens = self.all()
            if any(other.name == name for other in tokens):
                raise UsageError(
                    f"a token named {name!r} exists", hint="revoke it or choose another name"
                )
            self._write((*tokens, token))
        return token, text

    def revoke(self, which: str) -> Token:
        """Removes the token with that id or name, for good.

        Raises:
            NotFoundError: if there is none.
        """
        with self._locked():
            tokens = self.all()
            gone = next((token for token in tokens if which in (token.id, token.name)), None)
            if gone is None:
                raise NotFoundError(f"no token {which!r}", hint="see: seedance token list")
            self._write(tuple(token for token in tokens if token is not gone))
        return gone

    def drop(self, name: str) -> None:
        """Removes the token of that name, if there is one."""
        with self._locked():
            tokens = self.all()
            if any(token.name == name for token in tokens):
                self._write(tuple(token for token in tokens if token.name != name))

    def find(self, text: str) -> Token | None:
        """The token whose secret text this is; every hash is compared, in constant time."""
        wanted = digest(text)
        found = None
        for token in self.all():
            if hmac.compare_digest(token.sha256, wanted):
                found = token
        return found

    def by_id(self, ident: str) -> Token | None:
        """The token with that id, if it was not revoked."""
        return next((token for token in self.all() if token.id == ident), None)

    def _read(self) -> tuple[Token, ...]:
        try:
            rows = json.loads(self.path.read_text(encoding="utf-8"))
            return tuple(Token(**row) for row in rows["tokens"])
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise RefusedError(
                f"{self.path} cannot be read as a list of tokens: {error}",
                hint="move the file away and create tokens anew",
            ) from error

    def _write(self, tokens: tuple[Token, ...]) -> None:
        text = json.dumps({"version": 1, "tokens": [asdict(token) for token in tokens]}, indent=2)
        write_secret(self.path, text + "\n")

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = os.open(self.path.with_suffix(".lock"), os.O_CREAT | os.O_RDWR, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)


def digest(text: str) -> str:
    """The hash under which a token is kept."""
    return hashlib.sha256(text.encode()).hexdigest()


def write_secret(path: Path, text: str) -> None:
    """Replaces `path` by `text` in one step, readable by its owner alone from the first byte."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        os.fchmod(handle, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
