import json
from pathlib import Path
from typing import cast

import httpx2
import pytest

from seedance.store.store import Store
from seedance.web.app import create_app, reference
from seedance.web.context import AppContext

COMMITTED = Path(__file__).parents[2] / "docs" / "reference" / "openapi.json"


def test_the_committed_description_is_what_is_served() -> None:
    assert COMMITTED.read_text(encoding="utf-8") == reference(), "run: make docs"


def test_every_operation_says_what_it_does() -> None:
    paths = json.loads(reference())["paths"]
    assert "/api/v1/costs" in paths
    assert "/api/v1/write" in paths
    for path, operations in paths.items():
        for method, operation in operations.items():
            assert operation.get("summary"), f"{method} {path}"


def test_fastapis_own_pages_are_off(client: httpx2.Client) -> None:
    assert client.get("/docs").status_code == 404
    assert client.get("/redoc").status_code == 404
    assert client.get("/openapi.json").json()["info"]["title"] == "Seedance"


def test_telemetry_is_not_configured_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FASTAPI_OTEL_AUTO_CONFIGURE", "true")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    app = create_app(AppContext(store=cast("Store", None)))
    assert app._telemetry["auto_configure"] is False
    assert not any(app._telemetry[name] for name in ("tracing", "metrics", "logs"))
