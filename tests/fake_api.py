"""A small API server over real HTTP: lists in pages, watches, bookmarks, and every way to fail.

It holds objects by list path, gives each change a version and keeps a history, so that a watch from
an old version is told what it missed, or 410 where the history is forgotten.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import uuid
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

import yaml

Json = dict[str, Any]
PODS = "/api/v1/pods"
NODES = "/api/v1/nodes"
NAMESPACES = "/api/v1/namespaces"
_WORDS = {200: "OK", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 410: "Gone"}


@dataclass
class Request:
    """A request that came in."""

    path: str
    query: dict[str, str]
    headers: dict[str, str]

    @property
    def watch(self) -> bool:
        return "watch" in self.query


@dataclass
class FakeApi:
    """Switches are plain attributes; tests flip them while it runs."""

    tokens: set[str] = field(default_factory=lambda: {"good"})
    forbidden: set[str] = field(default_factory=set)  # list paths that answer 403
    missing: set[str] = field(default_factory=set)  # list paths that answer 404
    busy: int = 0  # how many requests answer 429 with Retry-After: 1
    broken: int = 0  # how many requests answer 500
    torn: int = 0  # how many continued lists answer 410
    silent: bool = False  # watches are open but say nothing
    bookmark_every: float = 0.1
    longest_watch: float = 60.0
    tls: ssl.SSLContext | None = None
    texts: dict[str, bytes] = field(default_factory=dict)  # by path: what a kubelet says

    def __post_init__(self) -> None:
        self.objects: dict[str, dict[str, Json]] = {}
        self.history: list[tuple[int, str, str, Json]] = []
        self.version = 1000
        self.forgotten = 0  # versions up to this are no longer known to watches
        self.requests: list[Request] = []
        self.at_once = self.most_at_once = 0
        self.port = 0
        self._server: asyncio.Server | None = None
        self._handlers: set[asyncio.Task[None]] = set()
        self.cluster = self.new_cluster()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self) -> None:
        self._server = await asyncio.start_server(
            self._accept, "127.0.0.1", self.port, ssl=self.tls
        )
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        if self._server:
            self._server.close()
        await self.drop()
        if self._server:
            await self._server.wait_closed()

    async def drop(self) -> None:
        """Cut every connection."""
        for handler in self._handlers:
            handler.cancel()
        await asyncio.gather(*self._handlers, return_exceptions=True)
        self._handlers.clear()

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    def kubeconfig(
        self, folder: Path, *, user: Json | None = None, cluster: Json | None = None
    ) -> Path:
        path = folder / f"kubeconfig-{uuid.uuid4().hex[:6]}"
        path.write_text(
            yaml.safe_dump(
                {
                    "current-context": "fake",
                    "clusters": [{"name": "c", "cluster": {"server": self.url, **(cluster or {})}}],
                    "users": [{"name": "u", "user": user or {"token": "good"}}],
                    "contexts": [{"name": "fake", "context": {"cluster": "c", "user": "u"}}],
                }
            )
        )
        return path

    def new_cluster(self) -> str:
        """Forget everything and be another cluster at the same address; its identity."""
        self.objects = {}
        self.forgotten = self.version
        self.history = []
        namespace = self.document("kube-system")
        self.version += 1
        namespace["metadata"]["resourceVersion"] = str(self.version)
        uid: str = namespace["metadata"]["uid"]
        self.objects[NAMESPACES] = {uid: namespace}
        return uid

    @staticmethod
    def document(name: str, namespace: str = "", **parts: Any) -> Json:
        metadata = {
            "name": name,
            "uid": str(uuid.uuid4()),
            "creationTimestamp": "2026-11-30T10:00:00Z",
            **({"namespace": namespace} if namespace else {}),
            **parts.pop("metadata", {}),
        }
        return {"metadata": metadata, **parts}

    async def put(self, path: str, document: Json) -> Json:
        """Create or change an object."""
        uid = document["metadata"]["uid"]
        kind = "MODIFIED" if uid in self.objects.get(path, {}) else "ADDED"
        return await self._change(path, kind, document)

    async def delete(self, path: str, document: Json) -> Json:
        return await self._change(path, "DELETED", document)

    async def _change(self, path: str, kind: str, document: Json) -> Json:
        self.version += 1
        document = deepcopy(document)
        document["metadata"]["resourceVersion"] = str(self.version)
        uid = document["metadata"]["uid"]
        if kind == "DELETED":
            del self.objects[path][uid]
        else:
            self.objects.setdefault(path, {})[uid] = document
        self.history.append((self.version, path, kind, document))
        await asyncio.sleep(0)
        return document

    def forget(self) -> None:
        """Compact: a watch from any version before now answers 410."""
        self.version += 1
        self.forgotten = self.version
        self.history = []

    def asked(self, path: str, *, watch: bool) -> int:
        """How often a path was listed or watched."""
        return sum(1 for r in self.requests if r.path == path and r.watch == watch)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._handlers.add(task)
        try:
            while await self._serve(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._handlers.discard(task)
            writer.close()
            with suppress(Exception, asyncio.CancelledError):
                await writer.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        first, *lines = head.strip().split("\r\n")
        headers = {k.lower(): v for k, v in (line.split(": ", 1) for line in lines)}
        url = urlsplit(first.split(" ")[1])
        query = {key: values[0] for key, values in parse_qs(url.query).items()}
        request = Request(url.path, query, headers)
        self.requests.append(request)
        status, extra, body = self._answer(request)
        if status == 200 and request.watch:
            await self._watch(request, writer)
            return False
        if request.path in self.texts:
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
            await asyncio.sleep(0.01)
            self.at_once -= 1
        head = f"HTTP/1.1 {status} {_WORDS.get(status, 'Odd')}\r\nContent-Length: {len(body)}\r\n"
        writer.write((head + "".join(f"{k}: {v}\r\n" for k, v in extra.items()) + "\r\n").encode())
        writer.write(body)
        await writer.drain()
        return True

    def _answer(self, request: Request) -> tuple[int, dict[str, str], bytes]:
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        if token not in self.tokens:
            return self._status(401, "Unauthorized")
        trouble = self._trouble(request)
        if trouble:
            return trouble
        if request.path in self.texts:
            return 200, {}, self.texts[request.path]
        if request.path == f"{NAMESPACES}/kube-system":
            namespaces = self.objects[NAMESPACES].values()
            found = next(n for n in namespaces if n["metadata"]["name"] == "kube-system")
            return 200, {}, json.dumps(found).encode()
        if request.watch:
            if int(request.query["resourceVersion"]) < self.forgotten:
                return self._status(410, "too old resource version")
            return 200, {}, b""
        return self._list(request)

    def _trouble(self, request: Request) -> tuple[int, dict[str, str], bytes] | None:
        if self.busy > 0:
            self.busy -= 1
            return self._status(429, "too many requests", {"Retry-After": "1"})
        if self.broken > 0:
            self.broken -= 1
            return self._status(500, "etcdserver: leader changed")
        if request.path in self.forbidden:
            verb = "watch" if request.watch else "list"
            resource = request.path.rpartition("/")[2]
            return self._status(403, f'{resource} is forbidden: User "x" cannot {verb} it')
        if request.path in self.missing:
            return self._status(404, "the server could not find the requested resource")
        return None

    def _list(self, request: Request) -> tuple[int, dict[str, str], bytes]:
        if "continue" in request.query and self.torn > 0:
            self.torn -= 1
            return self._status(410, "The provided continue parameter is too old")
        items = list(self.objects.get(request.path, {}).values())
        start = int(request.query.get("continue", "0"))
        end = start + int(request.query.get("limit", "1000"))
        more = {"continue": str(end)} if end < len(items) else {}
        metadata = {"resourceVersion": str(self.version), **more}
        body = {"kind": "List", "metadata": metadata, "items": items[start:end]}
        return 200, {}, json.dumps(body).encode()

    @staticmethod
    def _status(
        code: int, message: str, extra: dict[str, str] | None = None
    ) -> tuple[int, dict[str, str], bytes]:
        status = {"kind": "Status", "code": code, "message": message}
        return code, extra or {}, json.dumps(status).encode()

    async def _watch(self, request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        await writer.drain()
        loop = asyncio.get_running_loop()
        ends = loop.time() + min(int(request.query["timeoutSeconds"]), self.longest_watch)
        after = int(request.query["resourceVersion"])
        beat = loop.time() + self.bookmark_every
        while loop.time() < ends:
            if not self.silent:
                if after < self.forgotten:
                    gone = {"kind": "Status", "code": 410, "message": "too old"}
                    await self._tell(writer, "ERROR", gone)
                    break
                now, ahead = self.version, after > self.version
                for version, path, kind, document in list(self.history):
                    if after < version <= now and path == request.path:
                        await self._tell(writer, kind, document)
                after = max(after, now)
                if loop.time() >= beat and not ahead:  # who is ahead is told nothing
                    mark = {"kind": "Bookmark", "metadata": {"resourceVersion": str(after)}}
                    await self._tell(writer, "BOOKMARK", mark)
                    beat = loop.time() + self.bookmark_every
            await asyncio.sleep(0.01)
        writer.write(b"0\r\n\r\n")
        await writer.drain()

    @staticmethod
    async def _tell(writer: asyncio.StreamWriter, kind: str, document: Json) -> None:
        line = json.dumps({"type": kind, "object": document}).encode() + b"\n"
        writer.write(f"{len(line):x}\r\n".encode() + line + b"\r\n")
        await writer.drain()
