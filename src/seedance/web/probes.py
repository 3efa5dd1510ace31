"""`/healthz`, `/readyz` and `/metrics`: what machines ask about this server."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field

from seedance.flows.reporting.answers import Health
from seedance.flows.reporting.status import health
from seedance.web import metrics
from seedance.web.context import AppContext


class Readiness(BaseModel):
    """Whether traffic should come here, and every part that is not well."""

    ready: bool
    reasons: list[str] = Field(description="One sentence per part that is not well.")
    parts: list[Health]


def router(context: AppContext) -> APIRouter:
    """The three doors for probes and scrapers."""
    routes = APIRouter(tags=["server"])
    exporter = metrics.exporter(context)

    @routes.get("/healthz", response_class=Response, summary="The process answers")
    def healthz() -> Response:
        return Response("ok\n", media_type="text/plain")

    @routes.get("/readyz", responses={503: {"model": Readiness}}, summary="All parts are well")
    def readyz(response: Response) -> Readiness:
        parts = health(context.parts)
        reasons = [f"{part.name}: {part.reason}" for part in parts if not part.healthy]
        response.status_code = 503 if reasons else 200
        return Readiness(ready=not reasons, reasons=reasons, parts=parts)

    @routes.get("/metrics", response_class=Response, summary="Prometheus exposition text")
    def scrape(request: Request) -> Response:
        text = exporter(request.state.caller.cluster)
        return Response(text, media_type=metrics.CONTENT_TYPE)

    return routes
