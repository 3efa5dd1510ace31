"""Who may what: the guard in front of every route.

    1. Host     must be a name of this server (DNS rebinding), unless a known token is shown
    2. Origin   a web page of another origin may not write, whatever cookie the browser adds
    3. caller   bearer token, basic password or login cookie; else, on loopback, `view` + `ingest`
    4. role     by method and path: reading is `view`, writing samples `ingest`, the rest as listed
    5. CSRF     a write that leans on the login cookie shows the session's token as well

The guard works on the path, before routing, so a route that somebody adds is closed by default:
reading needs `view`, anything else needs `admin`, until a line in `_RULES` says otherwise.
"""

from __future__ import annotations

import base64
import hmac
import ipaddress
import secrets
import time
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from urllib.parse import quote, urlsplit

from starlette.datastructures import Headers
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from seedance.facts.errors import RefusedError, SeedanceError, UnauthenticatedError
from seedance.web.problems import is_api, problem_of
from seedance.web.tokens import Caller, Role, TokenBook

COOKIE = "seedance_session"
CSRF_HEADER = "x-csrf-token"
CSRF_FIELD = "csrf"
SESSION_SECONDS = 12 * 3600
LOCAL_ADMIN = "local admin"
"""Name of the token that a server makes at each start for the client of the same user."""

_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_OPEN = ("/healthz", "/readyz", "/login", "/logout", "/static/", "/favicon.ico")
"""Paths that need no role: probes, the login page and what it looks like."""

_RULES: tuple[tuple[str, Role], ...] = (
    ("/api/v1/write", "ingest"),
    ("/v1/traces", "ingest"),
    ("/v1/metrics", "ingest"),
    ("/api/v1/admin/", "admin"),
)
"""Role for a write at a path that begins so."""

ANONYMOUS = Caller("anonymous@loopback", frozenset[Role]({"view", "ingest"}))
NOBODY = Caller("nobody", frozenset[Role]())


@dataclass(slots=True)
class Session:
    """A browser that logged in: which token it showed, until when, and its CSRF token."""

    token_id: str
    expires: float
    csrf: str


@dataclass(slots=True)
class Access:
    """The rules of one server.

    Attributes:
        book: tokens; None where there are none (tests, demo).
        loopback: the server listens on loopback, so a caller without a token may view and ingest.
        insecure: the operator said `--insecure`: as on loopback, whatever the address.
        hosts: names under which this server is reached, besides loopback and IP addresses.
        tls: whether cookies may insist on TLS.
    """

    book: TokenBook | None = None
    loopback: bool = True
    insecure: bool = False
    hosts: frozenset[str] = frozenset()
    tls: bool = False
    sessions: dict[str, Session] = field(default_factory=dict)

    def login(self, token: str) -> tuple[str, Session]:
        """A session for whoever shows a known token; the cookie's value and the session.

        Raises:
            UnauthenticatedError: if the token is not known.
        """
        found = self.book.find(token.strip()) if self.book else None
        if found is None:
            raise UnauthenticatedError("this token is not known", hint="see: seedance token create")
        now = time.monotonic()
        for key in [key for key, old in self.sessions.items() if old.expires < now]:
            del self.sessions[key]
        key = secrets.token_urlsafe(32)
        session = Session(found.id, now + SESSION_SECONDS, secrets.token_urlsafe(32))
        self.sessions[key] = session
        return key, session

    def session(self, key: str) -> Session | None:
        """The living session with that cookie value."""
        session = self.sessions.get(key)
        return session if session is not None and session.expires > time.monotonic() else None

    def logout(self, key: str) -> None:
        """Ends a session."""
        self.sessions.pop(key, None)

    def cookie(self, key: str) -> str:
        """The Set-Cookie line of a session; an empty key removes it."""
        age = SESSION_SECONDS if key else 0
        secure = "; Secure" if self.tls else ""
        return f"{COOKIE}={key}; Path=/; Max-Age={age}; HttpOnly; SameSite=Strict{secure}"

    def identify(self, headers: Headers) -> tuple[Caller, Session | None]:
        """The caller, and its session where a cookie said who it is.

        Raises:
            UnauthenticatedError: a token is shown that is not known.
        """
        shown = _shown_token(headers.get("authorization", ""))
        if shown is not None:
            token = self.book.find(shown) if self.book else None
            if token is None:
                raise UnauthenticatedError(
                    "the token in the Authorization header is not known",
                    hint="create one: seedance token create --role view",
                )
            return token.caller(), None
        session = self.session(session_key(headers))
        if session is not None and self.book is not None:
            token = self.book.by_id(session.token_id)
            if token is not None:
                return token.caller(), session
        return (ANONYMOUS if self.loopback or self.insecure else NOBODY), None

    def check_host(self, host: str) -> None:
        """Refuses a Host that is no name of this server.

        Raises:
            RefusedError: a browser was led here under a foreign name (DNS rebinding).
        """
        name = host_name(host)
        if name in _LOOPBACK_NAMES or name in self.hosts or _is_address(name):
            return
        raise RefusedError(
            f"this server is not known as {name!r}",
            hint="add the name to the setting web.hosts (SEEDANCE_WEB_HOSTS) or show a token",
        )


class Guard:
    """The ASGI layer that lets a request through or answers with a problem."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self.app = app
        self.access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Checks an HTTP request; other scopes pass."""
        if scope["type"] == "http":
            try:
                self._check(scope)
            except SeedanceError as error:
                await refusal(error, scope)(scope, receive, send)
                return
        await self.app(scope, receive, send)

    def _check(self, scope: Scope) -> None:
        headers, method, path = Headers(scope=scope), scope["method"], scope["path"]
        caller, session = self.access.identify(headers)
        if not caller.token_id or session is not None:
            self.access.check_host(headers.get("host", ""))
        if method not in _SAFE:
            check_origin(headers, scheme=scope.get("scheme", "http"))
        scope.setdefault("state", {})
        scope["state"]["caller"] = caller
        scope["state"]["session"] = session
        role = needed_role(method, path)
        if role is not None and not caller.may(role):
            raise _denied(caller, role, method, path)
        if session is not None and method not in _SAFE and not path.startswith(_OPEN):
            check_csrf(session, headers.get(CSRF_HEADER, ""))


def refusal(error: SeedanceError, scope: Scope) -> Response:
    """The answer to a request that may not pass: a page's reader is led to the login page."""
    path, headers = scope["path"], Headers(scope=scope)
    reads = scope["method"] in _SAFE and "text/html" in headers.get("accept", "")
    if isinstance(error, UnauthenticatedError) and reads and not is_api(path):
        query = scope.get("query_string", b"").decode("latin-1")
        target = f"{path}?{query}" if query else path
        return RedirectResponse(f"/login?next={quote(target, safe='/')}", status_code=303)
    return problem_of(error).response(path)


def needed_role(method: str, path: str) -> Role | None:
    """The role for a method and a path; None where everybody may."""
    if path.startswith(_OPEN):
        return None
    if method in _SAFE:
        return "admin" if path.startswith("/api/v1/admin/") else "view"
    return next((role for prefix, role in _RULES if path.startswith(prefix)), "admin")


def check_origin(headers: Headers, *, scheme: str) -> None:
    """Refuses a write that another origin's page makes a browser send.

    Raises:
        RefusedError: Origin or Sec-Fetch-Site names another site.
    """
    origin = headers.get("origin")
    if origin is not None:
        parts = urlsplit(origin)
        if (parts.scheme, parts.netloc.lower()) != (scheme, headers.get("host", "").lower()):
            raise RefusedError(
                f"a page of {origin} may not write here", hint="only pages of this server may"
            )
    if headers.get("sec-fetch-site", "none") not in {"none", "same-origin"}:
        raise RefusedError("a page of another site may not write here")


def check_csrf(session: Session, shown: str) -> None:
    """Compares the CSRF token of a form with the session's.

    Raises:
        RefusedError: it is missing or another one.
    """
    if not hmac.compare_digest(session.csrf, shown):
        raise RefusedError(
            "the form's CSRF token is missing or old", hint="load the page again and repeat"
        )


def session_key(headers: Headers) -> str:
    """The value of the login cookie, or ""."""
    try:
        morsel = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    return morsel.value if morsel else ""


def host_name(host: str) -> str:
    """The name of a Host header without its port, in lower case."""
    host = host.strip().lower()
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].rstrip(".")


def is_loopback(host: str) -> bool:
    """Whether an address to listen on is reachable from this machine alone."""
    name = host.strip("[]").lower()
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def check_exposure(host: str, *, tokens: TokenBook, tls: bool, insecure: bool) -> None:
    """Refuses to listen beyond loopback without tokens and TLS, unless told to.

    Raises:
        RefusedError: says which of the two is missing.
    """
    if is_loopback(host) or insecure:
        return
    missing = []
    if all(token.name == LOCAL_ADMIN for token in tokens.all()):
        missing.append("a token (seedance token create --role view)")
    if not tls:
        missing.append("TLS (--tls-cert FILE --tls-key FILE)")
    if missing:
        raise RefusedError(
            f"refusing to listen on {host}, which others reach, without {' and '.join(missing)}",
            hint="add what is missing, listen on 127.0.0.1, or say --insecure",
        )


def _shown_token(authorization: str) -> str | None:
    scheme, _, value = authorization.partition(" ")
    if scheme.lower() == "bearer":
        return value.strip()
    if scheme.lower() == "basic":  # Grafana and older Prometheus know only this
        try:
            return base64.b64decode(value, validate=True).decode().partition(":")[2]
        except ValueError:
            return ""
    return "" if authorization else None


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _denied(caller: Caller, role: Role, method: str, path: str) -> SeedanceError:
    if caller.token_id:
        return RefusedError(
            f"{method} {path} needs the role {role}; {caller.author} has "
            f"{', '.join(sorted(caller.roles))}",
            hint=f"create a token with it: seedance token create --role {role}",
        )
    return UnauthenticatedError(
        f"{method} {path} needs a token with the role {role}",
        hint=f"create one: seedance token create --role {role}",
    )
