"""The smallest client of a Kubernetes API server: JSON in, JSON out, and a raw watch.

Deliberately not the product's: the tests must not see the cluster through the eyes they test.
"""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator
from http.client import HTTPException, HTTPResponse, HTTPSConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

Json = dict[str, Any]


class ApiError(Exception):
    """An answer that is no success; `status` is its code."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"{status}: {text[:500]}")
        self.status = status


class Api:
    """Calls one API server as one user; safe for threads, a connection each."""

    def __init__(self, url: str, *, authority: Path, token: str) -> None:
        self.url = url
        self._host = urlsplit(url).netloc
        self._context = ssl.create_default_context(cafile=str(authority))
        self._headers = {"Authorization": f"Bearer {token}", "Accept": "application/json, */*"}
        self._local = threading.local()
        self._opened: list[HTTPSConnection] = []

    def close(self) -> None:
        """Close the connections of all threads."""
        for connection in self._opened:
            connection.close()

    def get(self, path: str, **query: str) -> Json:
        """GET as JSON."""
        parsed: Json = json.loads(self.text("GET", _with(path, query)))
        return parsed

    def create(self, path: str, body: Json) -> Json:
        """POST an object to its collection."""
        parsed: Json = json.loads(self.text("POST", path, body))
        return parsed

    def patch(self, path: str, body: Json) -> Json:
        """Merge-patch an object."""
        kind = "application/merge-patch+json"
        parsed: Json = json.loads(self.text("PATCH", path, body, kind=kind))
        return parsed

    def delete(self, path: str, **options: Any) -> None:
        """DELETE an object with `DeleteOptions` fields."""
        self.text("DELETE", path, {"kind": "DeleteOptions", "apiVersion": "v1", **options})

    def text(
        self, method: str, path: str, body: Json | None = None, *, kind: str = "application/json"
    ) -> str:
        """One call; a connection that the server closed in the meantime is made anew.

        Raises:
            ApiError: if the answer is no success.
            OSError: if the server does not answer.
        """
        payload = None if body is None else json.dumps(body).encode()
        headers = {**self._headers, "Content-Type": kind}
        try:
            status, text = self._once(method, path, payload, headers)
        except OSError:
            status, text = self._once(method, path, payload, headers)
        if status >= 300:
            raise ApiError(status, text)
        return text

    def _once(
        self, method: str, path: str, payload: bytes | None, headers: dict[str, str]
    ) -> tuple[int, str]:
        connection = self._connection()
        try:
            connection.request(method, path, body=payload, headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        except (HTTPException, OSError) as error:
            connection.close()
            self._local.connection = None
            raise OSError(f"{method} {self.url}{path}: {error}") from error

    def watch(self, path: str, *, version: str, seconds: int = 300) -> Iterator[Json]:
        """Raw watch events from `version` on, until the server ends the watch.

        Raises:
            ApiError: if the server refuses it (410 where the version is too old).
            OSError: if the connection breaks.
        """
        query = {"watch": "1", "resourceVersion": version, "timeoutSeconds": str(seconds)}
        connection = HTTPSConnection(self._host, context=self._context, timeout=seconds + 30)
        try:
            target = _with(path, {**query, "allowWatchBookmarks": "true"})
            connection.request("GET", target, headers=self._headers)
            answer = connection.getresponse()
            if answer.status >= 300:
                raise ApiError(answer.status, answer.read().decode())
            yield from _lines(answer)
        except HTTPException as error:
            raise OSError(str(error)) from error
        finally:
            connection.close()

    def _connection(self) -> HTTPSConnection:
        connection: HTTPSConnection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = HTTPSConnection(self._host, context=self._context, timeout=60)
            self._local.connection = connection
            self._opened.append(connection)
        return connection


def _lines(answer: HTTPResponse) -> Iterator[Json]:
    while line := answer.readline():
        event: Json = json.loads(line)
        if event["type"] == "ERROR":
            raise ApiError(int(event["object"].get("code", 500)), line.decode())
        yield event


def _with(path: str, query: dict[str, str]) -> str:
    return f"{path}?{urlencode(query)}" if query else path
