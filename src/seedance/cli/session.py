"""What a command knows of its caller: which server, which token, which zone, how talkative.

`connected` gives a command the options that all commands have, also before the verb as in
`seedancectl --context prod cost`, and hands it a `Session` in their place. Precedence: flag,
environment (`SEEDANCE_SERVER` …), context of the configuration file, built-in value.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any, Concatenate, ParamSpec
from urllib.parse import urlsplit

import typer

from seedance.cli import options
from seedance.cli.client import Client
from seedance.cli.contexts import ClientContext, check_server, is_local, load_config
from seedance.cli.terminal import say, warn
from seedance.facts.errors import UsageError
from seedance.facts.window import parse_instant

P = ParamSpec("P")

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, None: 1.0}
DEFAULT_TIMEOUT = "30s"


@dataclass(frozen=True, slots=True)
class Common:
    """The options that every command has, as given; "" and 0 where not."""

    server: str = ""
    context: str = ""
    token_file: str = ""
    certificate_authority: str = ""
    request_timeout: str = ""
    verbose: int = 0

    def over(self, other: Common) -> Common:
        """These, and `other` where these say nothing."""
        return Common(
            server=self.server or other.server,
            context=self.context or other.context,
            token_file=self.token_file or other.token_file,
            certificate_authority=self.certificate_authority or other.certificate_authority,
            request_timeout=self.request_timeout or other.request_timeout,
            verbose=self.verbose or other.verbose,
        )


@dataclass(frozen=True, slots=True)
class Session:
    """A command's surroundings. Nothing is read or opened before it is asked for."""

    common: Common = Common()

    def context(self) -> ClientContext:
        """The context in force, with its server as flag and environment say."""
        name = self.common.context or os.environ.get("SEEDANCE_CONTEXT", "")
        return load_config().pick(name)

    def server(self) -> str:
        """Address of the server."""
        named = self.common.server or os.environ.get("SEEDANCE_SERVER", "")
        return check_server(named) if named else self.context().server

    def client(self) -> Client:
        """A client of the server, with the token that belongs to it."""
        server = self.server()
        own = self.context().server == server
        authority = (
            self.common.certificate_authority
            or os.environ.get("SEEDANCE_CERTIFICATE_AUTHORITY", "")
            or (self.context().certificate_authority if own else "")
        )
        named = self._token(server, own=own)
        return Client(
            server=server,
            token=named or local_token(server),
            found=not named,
            timeout=parse_timeout(self.common.request_timeout or DEFAULT_TIMEOUT),
            certificate_authority=authority,
            log=say if self.common.verbose else None,
        )

    def _token(self, server: str, *, own: bool) -> str:
        """The token that was named for `server`: by flag, environment or its context; or ""."""
        named = self.common.token_file or os.environ.get("SEEDANCE_TOKEN_FILE", "")
        if not named and (value := os.environ.get("SEEDANCE_TOKEN", "").strip()):
            return self._fit_to_send(value, server)
        # A context's token is for the context's server, never for one named by --server.
        named = named or (self.context().token_file if own else "")
        if named:
            return self._fit_to_send(read_token(Path(named).expanduser()), server)
        return ""

    def _fit_to_send(self, token: str, server: str) -> str:
        if server.startswith("http:") and not is_local(server):
            warn(f"the token goes to {server} unencrypted; use https")
        return token

    def zone(self, named: str = "") -> str:
        """Name of the zone in which times are shown.

        Raises:
            UsageError: if the zone is not known here.
        """
        name = named or os.environ.get("SEEDANCE_ZONE", "") or self.context().zone or "UTC"
        zone_of(name)
        return name

    def namespace(self, named: str, *, everywhere: bool) -> str:
        """The namespace to look at, "" for all."""
        return "" if everywhere else named or self.context().namespace


def connected(
    command: Callable[Concatenate[Session, P], None],
) -> Callable[..., None]:
    """A command that takes a `Session` first, with the options that every command has."""
    own = inspect.signature(command, eval_str=True)
    session_name, *rest = own.parameters
    common = inspect.signature(_common, eval_str=True).parameters

    def run(ctx: typer.Context, **given: Any) -> None:
        asked = Common(**{name: given.pop(name) for name in common})
        before = ctx.find_root().obj
        if isinstance(before, Common):
            asked = asked.over(before)
        command(Session(asked), **given)  # type: ignore[call-arg]  # typer keeps the signature

    here = inspect.Parameter(
        "ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context
    )
    wanted = [
        own.parameters[name].replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for name in rest
        if name != session_name
    ]
    run.__signature__ = inspect.Signature([here, *wanted, *common.values()])  # type: ignore[attr-defined]
    run.__doc__ = command.__doc__
    run.__name__ = command.__name__
    run.__module__ = command.__module__
    run.__annotations__ = {}
    return run


def _common(
    *,
    server: options.Server = "",
    context: options.Context = "",
    token_file: options.TokenFile = "",
    certificate_authority: options.CertificateAuthority = "",
    request_timeout: options.RequestTimeout = "",
    verbose: options.Verbose = 0,
) -> Common:
    """The options that every command has; `connected` reads this signature."""
    return Common(
        server=server,
        context=context,
        token_file=token_file,
        certificate_authority=certificate_authority,
        request_timeout=request_timeout,
        verbose=verbose,
    )


def read_token(path: Path) -> str:
    """The token in a file.

    Raises:
        UsageError: if there is none.
    """
    try:
        token = path.read_text(encoding="utf-8").strip()
        open_to_others = path.stat().st_mode & 0o077
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", "") or "it is no text"
        raise UsageError(
            f"cannot read the token file {path}: {reason}",
            hint="--token-file names a file that holds one token",
        ) from None
    if not token or not token.isascii() or any(char.isspace() for char in token):
        raise UsageError(
            f"{path} does not hold one token", hint="the file holds the token and nothing else"
        )
    if open_to_others:
        warn(f"others can read the token in {path}; run: chmod 600 {path}")
    return token


def local_token(server: str) -> str:
    """The admin token that a server on this machine left for its user, or ""."""
    if not is_local(server):
        return ""
    from seedance.settings.fields import local_token_file  # noqa: PLC0415  # 7 ms, here alone

    path = local_token_file(urlsplit(server).port or 80)
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def parse_timeout(text: str) -> float | None:
    """Seconds of a duration as kubectl writes it (`30s`, `2m`, `5`); None for 0: no limit.

    Raises:
        UsageError: if it is no duration.
    """
    seconds = _seconds_of(text)
    if seconds is None:
        raise UsageError(
            f"--request-timeout: {text!r} is no duration", hint="write 30s, 2m, or 0 for no limit"
        )
    return seconds or None


def _seconds_of(text: str) -> float | None:
    match = _DURATION.fullmatch(text.strip())
    return float(match[1]) * _SECONDS[match[2]] if match else None


def parse_at(text: str, *, now: datetime) -> datetime:
    """The instant that `--at` names: RFC 3339, or a duration before `now` (`2h`).

    Raises:
        UsageError: if it is neither, or lies in the future.
    """
    seconds = _seconds_of(text)
    try:
        at = now - timedelta(seconds=seconds) if seconds is not None else parse_instant(text)
    except (ValueError, OverflowError) as error:
        raise UsageError(
            f"--at: {error}", hint="write 2026-11-30T12:00:00Z, or 2h for two hours ago"
        ) from None
    if at > now:
        raise UsageError(f"--at: {text} lies in the future", hint="leave --at out to see now")
    return at


def zone_of(name: str) -> tzinfo:
    """The time zone of that name.

    Raises:
        UsageError: if this machine does not know it.
    """
    from zoneinfo import ZoneInfo  # noqa: PLC0415

    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise UsageError(
            f"{name!r} is no time zone that this machine knows",
            hint="write UTC or a name as in Asia/Shanghai; `pip install tzdata` adds them all",
        ) from None
