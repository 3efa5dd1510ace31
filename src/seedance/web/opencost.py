"""`/allocation`: OpenCost's question and answer over our cost rows."""

from __future__ import annotations

from fastapi import APIRouter

from seedance.web.context import AppContext


def router(context: AppContext) -> APIRouter:  # noqa: ARG001
    """The compatible door."""
    return APIRouter(tags=["opencost"])
