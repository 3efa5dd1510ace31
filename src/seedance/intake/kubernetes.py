"""The connection to one cluster's API server: GET as JSON, as text, as a stream of lines.

The flow: credentials are read when first needed, when they expire and once more when the server
answers 401; each answer becomes a body or one error of our tree. Nothing here retries: whoever
asks knows how long it can wait.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any

import httpx2

from seedance.facts.errors import (
    BusyError,
    NotFoundError,
    RefusedError,
    SeedanceError,
    TooLargeError,
    UnauthenticatedError,
    UnreachableError,
)
from seedance.intake.access import Access, Source, open_access

_TIMEOUT = 30.0
_LONGEST_WAIT = 300
_TEXT_MAX = 64 << 20
_AGENT = "seedance"


class FaultError(UnreachableError):
    """The server answers, but not what was asked: 5xx, or a status that makes no sense."""

    code = "fault"


Params = Mapping[str, str]


class GoneError(UnreachableError):
    """410: the version or page that was asked for is no longer known; list anew."""

    code = "gone"


class Connection:
    """One API server. Safe to use by many tasks of one event loop.

    `doing` in the calls below is for messages and names verb and kind: `list pods`; without it
    they name the path.
    """

    def __init__(self, source: Source, *, timeout: float = _TIMEOUT) -> None:
        self.source = source
        self._timeout = timeout
        self._access: Access | None = None
        self._client: httpx2.AsyncClient | None = None
        self._opening = asyncio.Lock()

    @property
    def server(self) -> str:
        """The server's address, or the source while it is not known."""
        return self._access.server if self._access else str(self.source)

    async def get_json(self, path: str, params: Params | None = None, *, doing: str = "") -> Any:
        """The JSON that a GET answers.

        Raises:
            UsageError: if the credentials are not usable.
            RefusedError: 401 after the credentials were read anew (UnauthenticatedError), 403.
            GoneError: 410.  NotFoundError: 404.  BusyError: 429, and 503 that says how long.
            UnreachableError: no answer; FaultError, one of its kinds: one that makes no sense.
        """
        async with self._answer(path, params, doing=doing) as response:
            body = await response.aread()
        try:
            return json.loads(body)
        except ValueError:
            raise FaultError(f"{self.server} answered no JSON to {doing}") from None

    async def get_text(
        self, path: str, *, doing: str = "", read_timeout: float | None = None
    ) -> bytes:
        """The body of a GET as it is, at most 64 MiB.

        Raises:
            TooLargeError: if it is larger.
            SeedanceError: as `get_json`.
        """
        body = bytearray()
        async with self._answer(path, None, doing=doing, read_timeout=read_timeout) as response:
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > _TEXT_MAX:
                    raise TooLargeError(f"{self.server} answered more than 64 MiB to {doing}")
        return bytes(body)

    async def stream_lines(
        self, path: str, params: Params, *, read_timeout: float, doing: str = ""
    ) -> AsyncGenerator[list[bytes], None]:
        """Complete lines as they arrive, in batches; first an empty batch once the server says 200.

        Ends when the server ends it. Close it (`contextlib.aclosing`) to hang up.

        Raises:
            UnreachableError: also if nothing arrives for `read_timeout` seconds.
            SeedanceError: as `get_json`.
        """
        rest = b""
        async with self._answer(path, params, doing=doing, read_timeout=read_timeout) as response:
            yield []
            async for chunk in response.aiter_bytes():
                lines = (rest + chunk).split(b"\n")
                rest = lines.pop()
                if lines:
                    yield [line for line in lines if line.strip()]

    async def close(self) -> None:
        """Hang up; the connection opens again when it is used again."""
        client, self._client, self._access = self._client, None, None
        if client:
            await client.aclose()

    @asynccontextmanager
    async def _answer(
        self,
        path: str,
        params: Params | None,
        *,
        doing: str,
        read_timeout: float | None = None,
    ) -> AsyncIterator[httpx2.Response]:
        """A response with status 2xx whose body is still to be read."""
        doing = doing or f"GET {path}"
        try:
            response = await self._send(path, params, read_timeout)
            try:
                if not response.is_success:
                    raise _error(self.server, doing, response, await response.aread())
                yield response
            finally:
                await response.aclose()
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, OSError) as error:
            words = str(error) or type(error).__name__
            raise UnreachableError(f"{self.server} does not answer to {doing}: {words}") from None

    async def _send(
        self, path: str, params: Params | None, read_timeout: float | None
    ) -> httpx2.Response:
        client, access = await self._open(None)
        response = await self._request(client, access, path, params, read_timeout)
        if response.status_code != HTTPStatus.UNAUTHORIZED:
            return response
        await response.aclose()
        client, access = await self._open(access)
        return await self._request(client, access, path, params, read_timeout)

    async def _request(
        self,
        client: httpx2.AsyncClient,
        access: Access,
        path: str,
        params: Params | None,
        read_timeout: float | None,
    ) -> httpx2.Response:
        timeout = httpx2.Timeout(self._timeout, read=read_timeout or self._timeout, pool=None)
        extensions: dict[str, Any] = {"timeout": timeout.as_dict()}
        if access.server_name:
            extensions["sni_hostname"] = access.server_name
        request = client.build_request(
            "GET",
            access.server + path,
            params=dict(params) if params else None,
            headers=dict(access.headers),
            extensions=extensions,
        )
        return await client.send(request, stream=True)

    async def _open(self, refused: Access | None) -> tuple[httpx2.AsyncClient, Access]:
        """A client and credentials that are neither expired nor `refused`."""
        async with self._opening:
            access, client = self._access, self._client
            if access is None or access is refused or _is_over(access):
                access = await open_access(self.source)
            if client is None or self._access is None or access.transport != self._access.transport:
                if client:
                    await client.aclose()
                client = _client(access)
            self._access, self._client = access, client
            return client, access


def _is_over(access: Access) -> bool:
    return access.expires is not None and access.expires <= datetime.now(UTC)


def _client(access: Access) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(
        verify=access.tls,
        proxy=access.proxy,
        trust_env=access.trust_env,
        headers={"User-Agent": _AGENT, "Accept": "application/json, */*;q=0.1"},
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=32),
    )


def _error(server: str, doing: str, response: httpx2.Response, body: bytes) -> SeedanceError:
    """The error of our tree that an answer stands for."""
    status = response.status_code
    return error_of(
        status,
        f"{server} answers {status} to {doing}: {_message(body)}",
        retry_after=response.headers.get("Retry-After"),
    )


def error_of(status: int, text: str, *, retry_after: str | None = None) -> SeedanceError:
    """The error for an HTTP status, also one that came inside a watch."""
    if status == HTTPStatus.UNAUTHORIZED:
        return UnauthenticatedError(text, hint="the credentials are not accepted; renew them")
    if status == HTTPStatus.FORBIDDEN:
        return RefusedError(text, hint="grant it: deploy/rbac.yaml lists all rights that are used")
    if status == HTTPStatus.NOT_FOUND:
        return NotFoundError(text)
    if status == HTTPStatus.GONE:
        return GoneError(text)
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return BusyError(text, retry_after=_seconds(retry_after, default=5))
    if status == HTTPStatus.SERVICE_UNAVAILABLE and retry_after:
        return BusyError(text, retry_after=_seconds(retry_after, default=5))
    return FaultError(text)


def _seconds(retry_after: str | None, *, default: int) -> int:
    """A Retry-After in seconds, kept sane; Kubernetes never sends the date form."""
    try:
        return min(max(int(retry_after or default), 1), _LONGEST_WAIT)
    except ValueError:
        return default


def _message(body: bytes) -> str:
    """The message of a Status, else the beginning of the body."""
    try:
        status = json.loads(body)
    except ValueError:
        status = None
    text = status.get("message") if isinstance(status, dict) else None
    return str(text or body[:200].decode(errors="replace") or "(no text)").strip()
