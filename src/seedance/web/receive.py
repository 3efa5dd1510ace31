"""The door for samples: Prometheus remote write 1.0 at `POST /api/v1/write`.

Headers are judged before anything is read (415), the body's size while it is read (413), and
whether there is room for it at all (503 with Retry-After); then the recorder takes it. Answers
are plain text whose first line says what matters, since senders log that line and nothing else.
Every answer after the headers says in `X-Prometheus-Remote-Write-*-Written` what was stored.

A sender drops what is answered with 4xx and repeats what is answered with 5xx. So whatever will
not get better is never 5xx, and whatever will is 503 and not 429, which Prometheus drops unless
it was told otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

import anyio
from fastapi import APIRouter, Request, Response
from starlette.requests import ClientDisconnect

from seedance.facts import words
from seedance.facts.errors import (
    BusyError,
    MediaTypeError,
    RefusedError,
    SeedanceError,
    TooLargeError,
    UnauthenticatedError,
)
from seedance.facts.limits import Limits
from seedance.facts.rejections import Accepted, Example, Rejected
from seedance.facts.window import format_instant
from seedance.flows.recording.judging import from_ms
from seedance.flows.recording.record import Recorder
from seedance.intake.remotewrite import check_headers
from seedance.web.context import AppContext

PATH = "/api/v1/write"

_WRITTEN = "X-Prometheus-Remote-Write-{}-Written"
_AT_ONCE = 4
"""Bodies being decoded at one time: more would only wait for each other."""
_SANE_MS = 253_402_300_800_000
"""The year 10000: larger numbers are shown as they are."""
_STATUS: tuple[tuple[type[SeedanceError], int], ...] = (
    (UnauthenticatedError, 401),
    (RefusedError, 403),
    (MediaTypeError, 415),
    (TooLargeError, 413),
    (BusyError, 503),
    (SeedanceError, 400),
)
_ANSWERS: dict[int | str, dict[str, object]] = {
    204: {"description": "Everything is stored (exact resends count as stored)."},
    400: {
        "description": "Not a remote-write message, or samples were rejected; the rest is stored."
    },
    413: {"description": "Larger than the limit."},
    415: {"description": "Not `application/x-protobuf` of remote write 1.0 in a snappy block."},
    503: {"description": "Cannot store now; send again after `Retry-After` seconds."},
}


@dataclass(slots=True)
class _Flight:
    """Bytes of bodies that are being received or decoded right now."""

    limits: Limits
    bytes: int = 0

    @contextmanager
    def room(self, size: int) -> Iterator[None]:
        if self.bytes + size > self.limits.flight_bytes:
            raise BusyError("too many bodies at one time; send again later", retry_after=1)
        self.bytes += size
        try:
            yield
        finally:
            self.bytes -= size


def router(context: AppContext) -> APIRouter:
    """The route over the server's context; the caller's token says for which cluster it writes."""
    return write_router(
        context.recorder, lambda request: str(request.state.caller.cluster), now=context.now
    )


def write_router(
    recorder: Recorder | None,
    authenticate: Callable[[Request], str],
    *,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> APIRouter:
    """The route over a recorder; without one it only says so (and is described all the same).

    `authenticate` gives the cluster that the caller is bound to ("" for none) or raises
    `UnauthenticatedError` or `RefusedError`.
    """
    routes = APIRouter()
    limits = recorder.limits if recorder else Limits()
    flight, at_once = _Flight(limits), anyio.CapacityLimiter(_AT_ONCE)

    @routes.post(
        PATH,
        status_code=204,
        responses=_ANSWERS,
        tags=["samples"],
        summary="Prometheus remote write 1.0",
        openapi_extra={
            "requestBody": {
                "required": True,
                "content": {"application/x-protobuf": {"schema": {"type": "string"}}},
            }
        },
    )
    async def write(request: Request) -> Response:
        """Takes a snappy-compressed `prometheus.WriteRequest`; see docs/reference."""
        try:
            cluster = authenticate(request)
            check_headers(
                content_type=request.headers.get("content-type", ""),
                content_encoding=request.headers.get("content-encoding", ""),
            )
            if recorder is None:
                raise BusyError("this server takes no samples", retry_after=60)
            with flight.room(_declared(request, limits)):
                body = await _read(request, limits)
                accepted = await anyio.to_thread.run_sync(
                    lambda: recorder.accept(body, door="remote-write", cluster=cluster, now=now()),
                    limiter=at_once,
                )
        except SeedanceError as error:
            return _refusal(error)
        except ClientDisconnect:
            return Response(status_code=400)
        return _answer(accepted)

    return routes


def _declared(request: Request, limits: Limits) -> int:
    """The size that the sender announces; the limit where it does not."""
    text = request.headers.get("content-length", "")
    size = int(text) if text.isdecimal() else limits.body_bytes
    if size > limits.body_bytes:
        raise _too_large(limits)
    return size


async def _read(request: Request, limits: Limits) -> bytes:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > limits.body_bytes:
            raise _too_large(limits)
    return bytes(body)


def _too_large(limits: Limits) -> TooLargeError:
    return TooLargeError(
        f"the body is larger than {limits.body_bytes} bytes; lower max_samples_per_send"
    )


def _refusal(error: SeedanceError) -> Response:
    status = next(status for kind, status in _STATUS if isinstance(error, kind))
    headers = _written(0)
    if isinstance(error, BusyError):
        headers["Retry-After"] = str(error.retry_after)
    if isinstance(error, UnauthenticatedError):
        headers["WWW-Authenticate"] = "Bearer"
    return Response(f"{error}\n", status, headers=headers, media_type="text/plain")


def _answer(accepted: Accepted) -> Response:
    headers = _written(accepted.written)
    if not accepted.rejected:
        return Response(status_code=204, headers=headers)
    return Response(rejection_text(accepted), 400, headers=headers, media_type="text/plain")


def _written(samples: int) -> dict[str, str]:
    counts = {"Samples": samples, "Histograms": 0, "Exemplars": 0}
    return {_WRITTEN.format(kind): str(count) for kind, count in counts.items()}


def rejection_text(accepted: Accepted) -> str:
    """What a sender is told of rejected samples: the sum and one example, then each reason."""
    count = sum(each.count for each in accepted.rejected)
    first = accepted.rejected[0]
    example = _example_text(first, first.examples[0])
    summary = f"{count} of {accepted.samples} samples rejected, {accepted.written} stored"
    lines = [f"{summary}: {example}"]
    for each in accepted.rejected:
        phrase = words.phrase(f"rejection:{each.reason}")
        lines.append(f"{each.count} × {phrase.name}. {phrase.step}")
        lines += [f"  {_example_text(each, example)}" for example in each.examples]
    return "\n".join(lines) + "\n"


def _example_text(rejected: Rejected, example: Example) -> str:
    phrase = words.phrase(f"rejection:{rejected.reason}")
    when = "" if example.ts is None else f" at {_instant_text(example.ts)}"
    sentence = phrase.sentence.format(detail=example.detail)
    return f"{example.series}{when}: {phrase.name}. {sentence}"


def _instant_text(ts: int) -> str:
    return f"{ts} ({format_instant(from_ms(ts))})" if 0 <= ts < _SANE_MS else str(ts)
