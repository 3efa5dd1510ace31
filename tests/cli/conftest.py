"""The client's test language: a server of canned answers, and command lines run in process."""

import json
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from seedance.cli.main import run

GOLDEN = Path(__file__).parent.parent / "golden"


@dataclass
class Asked:
    """A request that the stub saw."""

    path: str
    params: list[tuple[str, str]]
    headers: dict[str, str]


@dataclass
class Stub:
    """Answers by path: status, body and media type, or a function of the request."""

    url: str = ""
    answers: dict[str, Any] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)

    def give(
        self, path: str, body: Any, *, status: int = 200, media: str = "application/json"
    ) -> None:
        text = body if isinstance(body, str) else json.dumps(body)
        self.answers[path] = (status, text.encode(), media)

    def give_each(self, path: str, make: Callable[[Asked], Any]) -> None:
        self.answers[path] = make

    def refuse(self, path: str, status: int, code: str, detail: str, hint: str = "") -> None:
        problem = {"type": f"urn:seedance:problem:{code}", "status": status, "detail": detail}
        self.give(
            path,
            problem | {"code": code, "hint": hint},
            status=status,
            media="application/problem+json",
        )


@pytest.fixture
def stub() -> Iterator[Stub]:
    canned = Stub()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            asked = Asked(parts.path, parse_qsl(parts.query), dict(self.headers))
            canned.asked.append(asked)
            found = canned.answers.get(parts.path, (404, b"nothing here", "text/plain"))
            if callable(found):
                made = found(asked)
                found = (
                    (200, made.encode(), "text/csv")
                    if isinstance(made, str)
                    else (200, json.dumps(made).encode(), "application/json")
                )
            status, body, media = found
            self.send_response(status)
            self.send_header("content-type", media)
            if 300 <= status < 400:
                self.send_header("location", "http://127.0.0.1:1/elsewhere")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    canned.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield canned
    server.shutdown()
    thread.join()
    server.server_close()


@dataclass(frozen=True)
class Ended:
    """How a command line ended."""

    code: int
    out: str
    err: str


Run = Callable[..., Ended]


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A home of its own: no configuration, no tokens, no settings of whoever runs the tests."""
    for name in [name for name in os.environ if name.startswith("SEEDANCE_")]:
        monkeypatch.delenv(name)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path


@pytest.fixture
def ctl(alone: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs `seedancectl` with these arguments."""

    def call(*arguments: str, started_as: str = "seedancectl") -> Ended:
        code = run(arguments, started_as=started_as)
        out, err = capsys.readouterr()
        return Ended(code, out, err)

    return call


@pytest.fixture
def asking(ctl: Run, stub: Stub, monkeypatch: pytest.MonkeyPatch) -> Run:
    """`ctl` that talks to the stub."""
    monkeypatch.setenv("SEEDANCE_SERVER", stub.url)
    return ctl


def golden(name: str, text: str) -> None:
    """Compare with a golden file; `UPDATE_GOLDEN=1 pytest` writes it anew."""
    path = GOLDEN / name
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), f"{path.name} differs"
