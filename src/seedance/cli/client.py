"""One HTTP request to the server, and its answer or an error that says what, where, what to do.

A command asks `Client.get`; the address, the token and the time limit come from the session.
Problem documents (RFC 9457) become the errors of `facts/errors.py`, so that every command exits
alike; a server that does not answer is `UnreachableError`. Redirects are not followed: the token
goes to the named server alone.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from seedance.cli.contexts import is_local
from seedance.cli.exits import error_of_problem
from seedance.facts.errors import SeedanceError, UnreachableError, UsageError

if TYPE_CHECKING:
    import httpx2

Primitive = str | int | float | bool | None
Params = Mapping[str, str | int | Sequence[str] | None]

_TROUBLE = 400
_REDIRECT = 300
_UNAUTHENTICATED = 401


@dataclass(frozen=True, slots=True)
class Answer:
    """Body of a good answer: the bytes as they came, and its media type."""

    body: bytes
    media: str

    def json(self) -> Any:
        """The body as plain values.

        Raises:
            UnreachableError: if it is no JSON, so whoever answered is no Seedance server.
        """
        try:
            return json.loads(self.body)
        except ValueError:
            raise UnreachableError(
                f"the answer is {self.media or 'of an unknown type'}, not JSON: "
                "this is no Seedance server, or a proxy stands before it",
                hint="look at the address: seedancectl config view",
            ) from None


@dataclass(frozen=True, slots=True)
class Client:
    """Talks to one server.

    `timeout` is in seconds for the whole of connecting and each read, None for no limit;
    `found` says that nobody named the token: it lay where a local server leaves it, and may be
    an earlier server's, so a refusal is tried again without it. `log` gets one line a request.
    """

    server: str
    token: str = ""
    found: bool = False
    timeout: float | None = 30.0
    certificate_authority: str = ""
    log: Callable[[str], None] | None = None

    def get(self, path: str, params: Params | None = None, *, accept: str = "") -> Answer:
        """The answer to `GET path`.

        Raises:
            SeedanceError: as the server's problem document says.
            UnreachableError: if nobody answers, or somebody else does.
        """
        import httpx2  # noqa: PLC0415  # 120 ms that `--help` and `config` need not pay

        url = f"{self.server}{path}"
        try:
            with self._open() as http:
                reply = self._ask(http, url, params or {}, accept)
        except httpx2.TimeoutException:
            raise UnreachableError(
                f"{self.server} did not answer within {self.timeout:g} s",
                hint="give it longer with --request-timeout=2m, or ask for a shorter --window",
            ) from None
        except (httpx2.InvalidURL, httpx2.UnsupportedProtocol) as error:
            raise UsageError(f"{url} is no address: {error}") from None
        except httpx2.HTTPError as error:
            raise UnreachableError(
                f"no answer from {self.server}: {_reason(error)}", hint=_where_to_look(self.server)
            ) from None
        return self._checked(reply)

    def _ask(self, http: httpx2.Client, url: str, params: Params, accept: str) -> httpx2.Response:
        headers = {"Accept": accept or "application/json", "User-Agent": "seedancectl"}
        shown = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        began = time.monotonic()
        reply = http.get(url, params=_flat(params), headers=headers | shown)
        self._note(reply, time.monotonic() - began)
        if reply.status_code == _UNAUTHENTICATED and self.found and shown:
            reply = http.get(url, params=_flat(params), headers=headers)
            self._note(reply, time.monotonic() - began)
        return reply

    def _open(self) -> httpx2.Client:
        import httpx2  # noqa: PLC0415

        if is_local(self.server) and self.server.startswith("http:"):
            # Loading the certificates takes 60 ms, and a plain local address needs none.
            local = httpx2.HTTPTransport(verify=False)  # there is no TLS here
            return httpx2.Client(transport=local, timeout=self.timeout)
        if not self.certificate_authority:
            return httpx2.Client(timeout=self.timeout)
        import ssl  # noqa: PLC0415

        try:
            trusted = ssl.create_default_context(cafile=self.certificate_authority)
        except OSError as error:
            raise UsageError(
                f"{self.certificate_authority} holds no certificates: {error.strerror or error}",
                hint="--certificate-authority names a PEM file",
            ) from None
        return httpx2.Client(timeout=self.timeout, verify=trusted)

    def _note(self, reply: httpx2.Response, seconds: float) -> None:
        if self.log:
            size = len(reply.content)
            self.log(f"GET {reply.url} {reply.status_code} {seconds * 1000:.0f} ms {size} B")

    def _checked(self, reply: httpx2.Response) -> Answer:
        if reply.status_code >= _TROUBLE:
            raise _problem(reply, self.server)
        if reply.status_code >= _REDIRECT:
            target = reply.headers.get("location", "another address")
            raise UnreachableError(
                f"{self.server} sends the client on to {target}",
                hint="name that server with --server if you trust it",
            )
        return Answer(reply.content, reply.headers.get("content-type", ""))


def _flat(params: Params) -> list[tuple[str, Primitive]]:
    """Query parameters in order: lists repeated, what is None or "" left out."""
    flat: list[tuple[str, Primitive]] = []
    for key, value in params.items():
        if value is None or value == "":
            continue
        values = [str(value)] if isinstance(value, str | int) else [str(item) for item in value]
        flat += [(key, item) for item in values]
    return flat


def _problem(reply: httpx2.Response, server: str) -> SeedanceError:
    """The error that a problem document stands for."""
    try:
        document = reply.json()
        if not isinstance(document, dict):
            document = {}
    except ValueError:
        document = {}
    code = str(document.get("code") or document.get("type") or "").rpartition(":")[2]
    text = document.get("detail") or document.get("title") or reply.reason_phrase or "no reason"
    kind = error_of_problem(code, reply.status_code)
    hint = str(document.get("hint") or "")
    if kind is SeedanceError:
        text = f"{server} answered {reply.status_code}: {text}"
        hint = hint or "the server's log says more; please report it"
    if code == "unauthenticated" and not hint:
        hint = "give a token with --token-file FILE; an administrator makes one: seedance token"
    return kind(str(text), hint=hint)


def _reason(error: Exception) -> str:
    """The plain cause of a transport error, without the library's words around it."""
    text = str(error) or type(error).__name__
    return text.partition("] ")[2] if text.startswith("[Errno") else text


def _where_to_look(server: str) -> str:
    start = "start one with `seedance serve`, or " if is_local(server) else ""
    return f"{start}name another: --server URL, or seedancectl config set-server URL"
