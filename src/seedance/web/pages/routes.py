"""The pages' routes: read the URL, ask the desk, fill the template.

    /  overview · /costs · /costs/computed · /inventory · /status · /login /logout · /look · /static

Handlers are plain functions: the server runs them in threads, where the store may be asked.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Annotated, Any
from urllib.parse import quote
from zoneinfo import ZoneInfo

from fastapi import APIRouter, Form, Request, Response
from fastapi.responses import RedirectResponse

from seedance.facts import words
from seedance.facts.costquery import CostQuery
from seedance.facts.errors import NoDataError, SeedanceError, UnauthenticatedError, UsageError
from seedance.facts.window import format_instant
from seedance.facts.windowwords import parse_window
from seedance.flows.reporting.answers import CostAnswer
from seedance.web.auth import session_key
from seedance.web.context import AppContext
from seedance.web.pages import (
    asked,
    chart,
    computed,
    costs,
    figures,
    inventory,
    links,
    menus,
    overview,
)
from seedance.web.pages.desk import Desk, ServerDesk
from seedance.web.pages.render import DENSITIES, THEMES, renderer, tagged
from seedance.web.pages.shell import STATUS_PATH, Freshness, freshness_of, shell_of
from seedance.web.pages.status import status_page
from seedance.web.pages.table import context_of
from seedance.web.problems import Problem, problem_of

DeskOf = Callable[[Request], Desk]
_YEAR = 365 * 86400
_SEE_OTHER = 303


class Pages:
    """The handlers, with what they share."""

    def __init__(self, context: AppContext, desk_of: DeskOf) -> None:
        self.context = context
        self.desk_of = desk_of
        self.renderer = renderer()

    def overview(self, request: Request) -> Response:
        """`/`: the month, or the window of the URL."""
        return self._answered(request, "overview.html", overview.overview, overview.WINDOW, "team")

    def costs(self, request: Request) -> Response:
        """`/costs`: the table and its bars."""
        ask = partial(costs.costs_page, chosen="by" in request.query_params)
        return self._answered(request, "costs.html", ask, costs.WINDOW, "namespace")

    def bars(self, request: Request) -> Response:
        """`/costs/bars`: the values of a chart, as JSON for the page's own script."""
        params = request.query_params
        query = asked.query_of(params, window=costs.WINDOW, by=costs.BY, zone=self.context.zone)
        data = chart.bars(self.desk_of(request), query).data()
        return tagged(request, data.encode(), media_type="application/json")

    def computed(self, request: Request) -> Response:
        """`/costs/computed`: how a figure came about."""
        return self._answered(request, "computed.html", computed.computed, costs.WINDOW, "resource")

    def inventory(self, request: Request) -> Response:
        """`/inventory`: the tree at an instant."""
        desk, params = self.desk_of(request), request.query_params
        query = asked.query_of(params, window=costs.WINDOW, by=costs.BY, zone=self.context.zone)
        at = asked.instant_of(params, query.zone, desk.now())
        place = inventory.place_of(params, query.zone)
        page = inventory.inventory(desk, place, at, offset=query.offset)
        local = page.at.astimezone(ZoneInfo(query.zone))
        return self.renderer.page(
            request,
            "inventory.html",
            shell=shell_of(request, self.context, CostQuery(zone=query.zone)),
            page=page,
            at_words=f"{figures.instant(page.at, query.zone)} {query.zone}",
            at_local=f"{local:%Y-%m-%dT%H:%M}",
            at_choices=_instants(page.place, desk.now()),
        )

    def status(self, request: Request) -> Response:
        """`/status`: is everything reporting."""
        zone = request.query_params.get("zone") or self.context.zone
        page = status_page(self.desk_of(request).status(), zone)
        shell = shell_of(request, self.context)
        return self.renderer.page(
            request, "status.html", shell=shell, page=page, instant=figures.instant
        )

    def static(self, request: Request, name: str) -> Response:
        """`/static/…`."""
        return self.renderer.assets.respond(request, name)

    def look(self, request: Request, next: str = "/") -> Response:  # noqa: A002 - the URL's word
        """`/look`: remembers colours or density and goes back."""
        response = RedirectResponse(local(next), _SEE_OTHER)
        for name, known in (("theme", THEMES), ("density", DENSITIES)):
            value = request.query_params.get(name, "")
            if value in known:
                response.set_cookie(name, value, max_age=_YEAR, samesite="lax")
        return response

    def sign_in(self, request: Request, next: str = "/") -> Response:  # noqa: A002 - as above
        """`GET /login`: asks for a token."""
        return self._login(request, next, failed=False)

    def signed_in(
        self,
        request: Request,
        token: Annotated[str, Form()],
        next: Annotated[str, Form()] = "/",  # noqa: A002 - as above
    ) -> Response:
        """`POST /login`: exchanges a token for a cookie."""
        try:
            key, _ = self.context.access.login(token)
        except UnauthenticatedError:
            return self._login(request, next, failed=True)
        response = RedirectResponse(local(next), _SEE_OTHER)
        response.headers["Set-Cookie"] = self.context.access.cookie(key)
        return response

    def signed_out(self, request: Request) -> Response:
        """`POST /logout`: forgets the session."""
        self.context.access.logout(session_key(request.headers))
        response = RedirectResponse("/login", _SEE_OTHER)
        response.headers["Set-Cookie"] = self.context.access.cookie("")
        return response

    def problem(self, request: Request, problem: Problem) -> Response:
        """A failure as a page: what happened, what still works, what to do."""
        if problem.status == Problem(401, "", "").status:
            return RedirectResponse(f"/login?next={quote(request.url.path)}", _SEE_OTHER)
        return self.renderer.page(
            request,
            "problem.html",
            status=problem.status,
            shell=shell_of(request, self.context),
            problem=problem,
            heading=words.name("error:page"),
        )

    def _login(self, request: Request, target: str, *, failed: bool) -> Response:
        return self.renderer.page(
            request,
            "login.html",
            status=401 if failed else 200,
            failed=failed,
            next=local(target),
        )

    def _answered(
        self,
        request: Request,
        template: str,
        ask: Callable[[Desk, CostQuery], tuple[Any, CostAnswer]],
        window: str,
        by: str,
    ) -> Response:
        """A page made of cost answers: canonical URL first, then the answer or its calm failure."""
        params, path = request.query_params, request.url.path
        query = asked.query_of(params, window=window, by=(by,), zone=self.context.zone)
        clean = asked.canonical(params, query)
        if clean is not None:
            return RedirectResponse(clean.url(path), _SEE_OTHER)
        desk = self.desk_of(request)
        try:
            page, answer = ask(desk, query)
        except (NoDataError, UsageError) as error:
            return self._stuck(request, query, error)
        query = getattr(page, "query", query)
        step = chart.step_of(query, desk.now()) if hasattr(page, "bars") else ""
        shared = self._shared(request, query, answer, step=step)
        fresh = freshness_of(answer, desk.now())
        return self.renderer.page(request, template, page=page, freshness=fresh, **shared)

    def _shared(
        self, request: Request, query: CostQuery, answer: CostAnswer | None, *, step: str = ""
    ) -> dict[str, Any]:
        path = request.url.path
        origin = f"{request.url.scheme}://{request.url.netloc}"
        edges = (answer.window.start, answer.window.end) if answer else None
        return {
            "shell": shell_of(request, self.context, query),
            "query": query,
            "picker": menus.picker(query, path, edges),
            "groups": menus.groups(query),
            "idle_modes": menus.idle_modes(query),
            "chips": links.chips(query),
            "take": menus.take(query, answer, origin, path, step=step) if answer else None,
            "context": context_of(answer) if answer else "",
        }

    def _stuck(self, request: Request, query: CostQuery, error: SeedanceError) -> Response:
        """The page's head with its pickers, and why there is nothing below them."""
        empty = isinstance(error, NoDataError)
        try:
            window = parse_window(query.window, now=self.context.now(), zone=query.zone)
            edges = (window.start, window.end)
        except UsageError:
            edges = None
        shared = self._shared(request, query, None)
        shared["picker"] = menus.picker(query, request.url.path, edges)
        return self.renderer.page(
            request,
            "stuck.html",
            status=200 if empty else problem_of(error).status,
            empty=empty,
            error=error,
            freshness=Freshness(stale=False, at=""),
            heading=words.name("error:page"),
            **shared,
        )


def router(context: AppContext, desk_of: DeskOf | None = None) -> APIRouter:
    """All pages. `desk_of` makes the desk of a request; tests give their own."""
    pages = Pages(context, desk_of or (lambda request: ServerDesk.of(context, request)))
    routes = APIRouter(include_in_schema=False)
    gets = {
        overview.PATH: pages.overview,
        costs.PATH: pages.costs,
        chart.PATH: pages.bars,
        computed.PATH: pages.computed,
        inventory.PATH: pages.inventory,
        STATUS_PATH: pages.status,
        "/look": pages.look,
        "/login": pages.sign_in,
    }
    for path, handler in gets.items():
        routes.add_api_route(path, handler, methods=["GET", "HEAD"], response_model=None)
    routes.add_api_route(
        "/static/{name:path}", pages.static, methods=["GET", "HEAD"], response_model=None
    )
    routes.add_api_route("/login", pages.signed_in, methods=["POST"], response_model=None)
    routes.add_api_route("/logout", pages.signed_out, methods=["POST"], response_model=None)
    return routes


def problem_page(request: Request, problem: Problem) -> Response:
    """Used by `web.problems` for whoever asked for HTML."""
    context: AppContext = request.app.state.context
    return Pages(context, lambda _: ServerDesk.of(context, request)).problem(request, problem)


def local(target: str) -> str:
    """`target` if it is a path of this server, else `/`: no redirect leads elsewhere."""
    plain = target.startswith("/") and not target.startswith("//") and "\\" not in target
    return target if plain and target.isprintable() else "/"


def _instants(place: inventory.Place, now: datetime) -> list[links.Link]:
    found = [links.Link(words.name("at:now"), place.url(at=""), not place.at)]
    for name, back in (("hour", 1), ("day", 24), ("week", 168)):
        at = (now - timedelta(hours=back)).replace(second=0, microsecond=0)
        found.append(links.Link(words.name(f"at:{name}"), place.url(at=format_instant(at))))
    return found
