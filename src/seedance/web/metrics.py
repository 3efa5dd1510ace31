"""Every name under `/metrics`: the one list, and where each value comes from."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

from seedance.web.context import AppContext

CONTENT_TYPE = CONTENT_TYPE_LATEST


def exporter(context: AppContext) -> Callable[[], bytes]:  # noqa: ARG001
    """A function that makes the exposition text of this server, anew at each call."""
    registry = CollectorRegistry(auto_describe=True)

    def scrape() -> bytes:
        return generate_latest(registry)

    return scrape
