"""Templates to responses: Jinja2 with escaping on, a strict policy, an ETag on every page.

The policy allows scripts, styles and connections of this server only, nothing inline, no frames.
Colour scheme and density come from cookies, so the first paint is right without any script.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from fastapi import Request, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from seedance.facts import words
from seedance.web.pages import figures
from seedance.web.pages.assets import Assets

TEMPLATES = Path(__file__).parents[1] / "templates"

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""Content-Security-Policy of every page."""

HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "private, no-cache",
    "Vary": "Cookie",
}

THEMES = ("auto", "light", "dark")
DENSITIES = ("normal", "compact")


@dataclass(frozen=True, slots=True)
class Look:
    """How this reader wants pages to look, from cookies."""

    theme: str
    density: str

    @classmethod
    def of(cls, request: Request) -> Look:
        """The reader's choice; anything unknown counts as the default."""
        theme = request.cookies.get("theme", "")
        density = request.cookies.get("density", "")
        return cls(
            theme if theme in THEMES else THEMES[0],
            density if density in DENSITIES else DENSITIES[0],
        )


class Renderer:
    """Fills templates; one for the life of the server."""

    def __init__(self, assets: Assets) -> None:
        self.assets = assets
        self.env = Environment(
            loader=FileSystemLoader(TEMPLATES),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        self.env.globals.update(asset=assets.url, words=words)
        self.env.filters.update(
            quantity=figures.quantity,
            percent=figures.percent,
            bytes=figures.byte_size,
            span=figures.span,
        )
        # All of them now: an upgrade of the package must not mix with what runs.
        for name in self.env.list_templates():
            self.env.get_template(name)

    def page(
        self, request: Request, template: str, *, status: int = 200, **values: Any
    ) -> Response:
        """The page as HTML; 304 where the reader has this very page already."""
        look = Look.of(request)
        body = self.env.get_template(template).render(look=look, path=request.url.path, **values)
        return tagged(request, body.encode(), status=status)


@cache
def renderer() -> Renderer:
    """The renderer over the files that came with the program: read once, never changed."""
    return Renderer(Assets())


def tagged(
    request: Request,
    data: bytes,
    *,
    status: int = 200,
    media_type: str = "text/html; charset=utf-8",
) -> Response:
    """`data` with the pages' headers and its ETag, or 304 where the reader has it already."""
    tag = f'"{hashlib.blake2b(data, digest_size=12).hexdigest()}"'
    headers = {**HEADERS, "ETag": tag}
    if status == Response().status_code and tag in _tags(request):
        return Response(status_code=304, headers=headers)
    return Response(data, status, headers, media_type=media_type)


def _tags(request: Request) -> list[str]:
    given = request.headers.get("if-none-match", "")
    return [tag.strip().removeprefix("W/") for tag in given.split(",")]
