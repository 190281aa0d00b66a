"""All pages as one web application.

Trust: kernel.  Every response carries a strict content security policy; a name in the Host header
that is not ours is refused, so that no other site can pose as this one in a browser (rebinding).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import PlainTextResponse, Response
from starlette.exceptions import HTTPException

from discreet.errors import DiscreetError, NotAllowed, UnknownName
from discreet.service import ServiceCounter
from discreet.service.credentials import new_secret
from discreet.web import (
    answer_pages,
    budget_pages,
    dataset_pages,
    login_pages,
    query_pages,
    record_pages,
)
from discreet.web.dataset_pages import FirstRun
from discreet.web.desk import Desk
from discreet.web.rendering import HEADERS, Refusal, asset, see_other
from discreet.web.visits import COOKIE, NotLoggedIn, Visiting, desk_of, visited

_SCREENS: Final = (
    login_pages,
    dataset_pages,
    query_pages,
    answer_pages,
    budget_pages,
    record_pages,
)
_FIRST: Final = (("decide", "budget"), ("plan", "query"), ("ledger", "ledger"))


def web_application(
    desk: Desk, *, hosts: tuple[str, ...] = (), first_run: FirstRun | None = None
) -> FastAPI:
    """Return the pages of a desk.

    Args:
        desk: who visits, what they may see, and how they ask.
        hosts: the names under which browsers reach it; any name by default.
        first_run: the wizard, before there is a policy.
    """
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, title="discreet workbench")
    app.state.desk, app.state.first_run = desk, first_run
    for screen in _SCREENS:
        app.include_router(screen.router)
    app.add_api_route("/", home, methods=["GET"])
    app.add_api_route("/assets/{name}", load, methods=["GET"])
    app.add_exception_handler(NotLoggedIn, _to_login)
    app.add_exception_handler(DiscreetError, _refused)
    app.add_exception_handler(HTTPException, _missing)
    app.add_exception_handler(RequestValidationError, _missing)
    if hosts:
        app.middleware("http")(_known_hosts(frozenset(hosts)))
    return app


def mount(app: FastAPI, counter: ServiceCounter) -> None:
    """Add the pages to the application of a server, below all its calls."""
    desk = Desk(counter, secret=new_secret())
    app.mount("/", web_application(desk))


def home(request: Request, visitor: Visiting) -> Response:
    """Redirect to the visitor's usual page."""
    names = desk_of(request).datasets(visitor)
    if not names:
        return see_other("/datasets" if desk_of(request).counter is not None else "/wizard")
    for permission, path in _FIRST:
        if visitor.may(permission):
            return see_other(f"/data/{names[0]}/{path}")
    return see_other("/datasets")


def load(request: Request, name: str) -> Response:
    """Return a file that pages load."""
    return asset(name, request.headers.get("if-none-match"))


def _known_hosts(
    hosts: frozenset[str],
) -> Callable[[Request, Callable[[Request], Awaitable[Response]]], Awaitable[Response]]:
    async def check(request: Request, answer: Callable[[Request], Awaitable[Response]]) -> Response:
        if request.headers.get("host", "") not in hosts:
            return PlainTextResponse("Unknown host.", status_code=421, headers=dict(HEADERS))
        return await answer(request)

    return check


def _to_login(_request: Request, _error: Exception) -> Response:
    return see_other("/login")


def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, DiscreetError)  # noqa: S101  registered for these
    kinds = ((NotAllowed, 403), (UnknownName, 404))
    status = next((number for kind, number in kinds if isinstance(error, kind)), 422)
    visitor = desk_of(request).visitor(request.cookies.get(COOKIE))
    return visited("refused.html", request, visitor, refusal=Refusal.of(error), status=status)


def _missing(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 404
    nothing = UnknownName(
        what="there is no such page.",
        why="an address was mistyped, or a form was sent where none is expected.",
        do="begin with the list of datasets.",
    )
    visitor = desk_of(request).visitor(request.cookies.get(COOKIE))
    return visited("refused.html", request, visitor, refusal=Refusal.of(nothing), status=status)
