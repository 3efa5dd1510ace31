"""The application behind the one port: guard, routers, problems.

    request → Guard (host, origin, caller, role) → router → flow → answer or problem document

Routers are functions of the `AppContext`: `receive` (samples come in), `api` (JSON), `opencost`
(`/allocation`), `probes` (health and metrics), `pages` (HTML). FastAPI's own documentation pages
are off, because they load scripts from elsewhere; `/openapi.json` is ours.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, cast

from fastapi import FastAPI, Request, Response
from fastapi.telemetry import TelemetryConfig

from seedance.facts.limits import Limits
from seedance.web import api, opencost, pages, probes, problems, receive
from seedance.web.auth import Guard
from seedance.web.context import AppContext

if TYPE_CHECKING:
    from seedance.flows.recording.record import Recorder
    from seedance.store.store import Store

# FastAPI can configure OpenTelemetry from the environment of the process. A cost server that
# starts to export because of a variable meant for the workloads beside it would be a surprise,
# so every part of it is switched off by name.
_NO_TELEMETRY: TelemetryConfig = {
    "tracing": False,
    "metrics": False,
    "logs": False,
    "operation_spans": False,
    "auto_configure": False,
}


def create_app(context: AppContext) -> FastAPI:
    """The ASGI application over `context`; makes no connection and starts nothing."""
    app = FastAPI(
        title="Seedance",
        version=context.version,
        summary="What Kubernetes and GPU training cost.",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        telemetry=_NO_TELEMETRY,
        redirect_slashes=False,
    )
    app.state.context = context
    problems.install(app)
    for room in (probes, api, opencost, receive, pages):
        app.include_router(room.router(context))
    app.state.problem_page = pages.problem_page
    app.add_middleware(Guard, access=context.access)

    @app.get("/openapi.json", include_in_schema=False)
    def openapi(_: Request) -> Response:
        return Response(openapi_text(app), media_type="application/json")

    return app


def openapi_text(app: FastAPI) -> str:
    """The API's description, as committed under `docs/reference/openapi.json`."""
    return json.dumps(app.openapi(), indent=1, sort_keys=True, ensure_ascii=False) + "\n"


class _AnyRecorder:
    """Stands in where a description of all doors is wanted and nothing is recorded."""

    limits = Limits()


def reference() -> str:
    """The description of every door, made without a store: what is committed and checked."""
    context = AppContext(store=cast("Store", None), recorder=cast("Recorder", _AnyRecorder()))
    return openapi_text(create_app(context))
