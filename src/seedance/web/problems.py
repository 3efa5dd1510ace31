"""Errors on the wire: every one is an RFC 9457 problem document, whatever raised it.

`type` is `urn:seedance:problem:CODE` (stable, for programs), `title` the kind of failure, `detail`
what happened, where and what to do, `hint` the next step. Pages get the same facts as HTML through
`app.state.problem_page`, where the pages set one. A bug answers 500 with an id that is also in the
log, and never shows a traceback.
"""

from __future__ import annotations

import http
import json
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import structlog
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from seedance.facts.errors import (
    BugError,
    BusyError,
    IntakeError,
    ManifestError,
    MediaTypeError,
    NoDataError,
    NotFoundError,
    RefusedError,
    SeedanceError,
    TooLargeError,
    UnauthenticatedError,
    UnreachableError,
    UsageError,
)

MEDIA_TYPE = "application/problem+json"

# The first class that fits counts, so the leaves of the tree stand before their parents.
STATUSES: tuple[tuple[type[SeedanceError], int], ...] = (
    (ManifestError, 422),
    (UsageError, 400),
    (NotFoundError, 404),
    (NoDataError, 404),
    (UnreachableError, 502),
    (UnauthenticatedError, 401),
    (RefusedError, 403),
    (BusyError, 503),
    (MediaTypeError, 415),
    (TooLargeError, 413),
    (IntakeError, 400),
)
"""Which expected failure becomes which HTTP status."""

_CODES = {404: "no-such-path", 405: "method-not-allowed", 422: "invalid-parameter"}
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Problem:
    """One failure, as RFC 9457 words it."""

    status: int
    code: str
    detail: str
    hint: str = ""
    extra: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The kind of failure, the same for all of its code."""
        return http.HTTPStatus(self.status).phrase

    def document(self, instance: str = "") -> dict[str, Any]:
        """The JSON document."""
        doc = {
            "type": f"urn:seedance:problem:{self.code}",
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
            "code": self.code,
            "hint": self.hint,
            "instance": instance,
        }
        return {key: value for key, value in (doc | self.extra).items() if value != ""}

    def response(self, instance: str = "") -> Response:
        """The document as a response."""
        return Response(
            json.dumps(self.document(instance), ensure_ascii=False),
            status_code=self.status,
            media_type=MEDIA_TYPE,
            headers={"cache-control": "no-store", **self.headers},
        )


def problem_of(error: SeedanceError) -> Problem:
    """What an expected failure looks like at this door."""
    status = next((code for kind, code in STATUSES if isinstance(error, kind)), 500)
    extra: dict[str, Any] = {}
    headers: dict[str, str] = {}
    if isinstance(error, BugError):
        extra["id"] = error.id
    if isinstance(error, BusyError):
        headers["retry-after"] = str(error.retry_after)
        extra["retryAfter"] = error.retry_after
    if isinstance(error, UnauthenticatedError):
        headers["www-authenticate"] = 'Bearer realm="seedance"'
    if isinstance(error, ManifestError):
        extra |= {"file": error.file, "line": error.line, "path": error.path}
    return Problem(status, error.code, str(error), error.hint, extra, headers)


def install(app: FastAPI) -> None:
    """Makes every error of `app` a problem document."""
    app.add_exception_handler(SeedanceError, _on(_expected))
    app.add_exception_handler(HTTPException, _on(_routing))
    app.add_exception_handler(RequestValidationError, _on(_invalid))
    app.add_exception_handler(Exception, _on(_bug))


def answer(request: Request, problem: Problem) -> Response:
    """The problem as HTML where a page was asked for and pages are there, else as JSON."""
    page: Callable[[Request, Problem], Response] | None = getattr(
        request.app.state, "problem_page", None
    )
    wants_page = "text/html" in request.headers.get("accept", "")
    if page is not None and wants_page and not is_api(request.url.path):
        return page(request, problem)
    return problem.response(request.url.path)


def is_api(path: str) -> bool:
    """Whether programs, not people, ask at this path."""
    return path.startswith(("/api/", "/v1/", "/allocation", "/metrics", "/healthz", "/readyz"))


def _on(
    make: Callable[[Request, Exception], Problem],
) -> Callable[[Request, Exception], Awaitable[Response]]:
    async def handle(request: Request, error: Exception) -> Response:
        return await run_in_threadpool(answer, request, make(request, error))

    return handle


def _expected(request: Request, error: Exception) -> Problem:
    if isinstance(error, BugError):
        _log.error("bug", path=request.url.path, **error.account(), exc_info=error)
    return problem_of(error) if isinstance(error, SeedanceError) else _unknown(error)


def _routing(request: Request, error: Exception) -> Problem:
    if not isinstance(error, HTTPException):
        return _unknown(error)
    detail = str(error.detail)
    if error.status_code == http.HTTPStatus.NOT_FOUND:
        detail = f"there is nothing at {request.url.path}"
    if error.status_code == http.HTTPStatus.METHOD_NOT_ALLOWED:
        detail = f"{request.url.path} does not take {request.method}"
    code = _CODES.get(error.status_code, "http")
    return Problem(error.status_code, code, detail, headers=dict(error.headers or {}))


def _invalid(_: Request, error: Exception) -> Problem:
    if not isinstance(error, RequestValidationError):
        return _unknown(error)
    errors = [
        {"parameter": ".".join(str(part) for part in item["loc"][1:]), "detail": item["msg"]}
        for item in error.errors()
    ]
    detail = "; ".join(f"{item['parameter']}: {item['detail']}" for item in errors)
    return Problem(422, "invalid-parameter", detail, extra={"errors": errors})


def _bug(request: Request, error: Exception) -> Problem:
    ident = secrets.token_hex(4)
    _log.error("bug", id=ident, path=request.url.path, exc_info=error)
    return _unknown(error, ident)


def _unknown(error: Exception, ident: str = "") -> Problem:
    return Problem(
        500,
        "bug",
        f"an unexpected {type(error).__name__} stopped this request; the server goes on",
        f"look for id {ident} in the server's log and report it" if ident else "",
        {"id": ident} if ident else {},
    )
