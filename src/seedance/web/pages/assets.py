"""Static files: read once, named with their checksum, cached for ever, compressed when asked.

Everything under `static/` is served and nothing else: a name is looked up in a table made at the
start, so no path of a request ever reaches the file system.
"""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from fastapi import Request, Response

from seedance.facts.errors import NotFoundError

STATIC = Path(__file__).parents[1] / "static"
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".json": "application/json",
}
_FOREVER = "public, max-age=31536000, immutable"
_SMALL = 1024


@dataclass(frozen=True)
class Asset:
    """One static file in memory."""

    data: bytes
    media_type: str
    tag: str

    @cached_property
    def compressed(self) -> bytes:
        """The file as gzip, made when first asked for."""
        return gzip.compress(self.data, 6, mtime=0)


class Assets:
    """All static files by name (`app.css`, `vendor/htmx.min.js`)."""

    def __init__(self, folder: Path = STATIC) -> None:
        files = (path for path in sorted(folder.rglob("*")) if path.is_file())
        self._files = {path.relative_to(folder).as_posix(): _load(path) for path in files}

    def url(self, name: str) -> str:
        """The URL of a file; changes with its content."""
        return f"/static/{name}?v={self._files[name].tag[:10]}"

    def respond(self, request: Request, name: str) -> Response:
        """The file, compressed where the reader takes it, or 304 where the reader has it.

        Raises:
            NotFoundError: if there is no such file.
        """
        found = self._files.get(name)
        if found is None:
            raise NotFoundError(f"there is no static file {name!r}")
        dated = request.query_params.get("v") == found.tag[:10]
        headers = {
            "ETag": f'"{found.tag}"',
            "Cache-Control": _FOREVER if dated else "no-cache",
            "Vary": "Accept-Encoding",
            "X-Content-Type-Options": "nosniff",
        }
        if f'"{found.tag}"' in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        if len(found.data) > _SMALL and "gzip" in request.headers.get("accept-encoding", ""):
            headers["Content-Encoding"] = "gzip"
            return Response(found.compressed, headers=headers, media_type=found.media_type)
        return Response(found.data, headers=headers, media_type=found.media_type)


def _load(path: Path) -> Asset:
    data = path.read_bytes()
    media_type = _TYPES.get(path.suffix, "text/plain; charset=utf-8")
    return Asset(data, media_type, hashlib.sha256(data).hexdigest())
