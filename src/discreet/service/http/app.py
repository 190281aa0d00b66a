"""The application: all calls, problems for all errors, and optionally mounted pages.

Trust: kernel.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, TextIO

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from discreet import __version__
from discreet.errors import DiscreetError
from discreet.service.http import people_routes, query_routes, record_routes
from discreet.service.http.guard import CallGuard, Metrics
from discreet.service.http.problems import problem, problem_of
from discreet.service.http.route_table import NobodyCalls, TooManyCalls, add_routes

if TYPE_CHECKING:  # handed in
    from discreet.service.counter import ServiceCounter

__all__ = ["create_app"]

_THREADS: Final = 256
_TABLES: Final = (people_routes, query_routes, record_routes)
"""The files that add calls to the table when they are loaded."""

Mount = Callable[[FastAPI, "ServiceCounter"], None]
"""Adds pages to an application."""


def create_app(
    counter: ServiceCounter, *, mount: Mount | None = None, log: TextIO | None = None
) -> FastAPI:
    """Return the application of a counter; the caller who opened the counter closes it.

    Args:
        counter: the counter to serve.
        mount: adds pages to the application.
        log: receives a line for each call; no log unless given.
    """
    threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="discreet-call")

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        threads.shutdown(wait=False, cancel_futures=True)

    app = FastAPI(
        title="discreet",
        version=__version__,
        description="Answers about people that give none of them away.",
        openapi_url="/v1/openapi.json",
        docs_url=None,  # the pages of FastAPI load scripts from elsewhere
        redoc_url=None,
        lifespan=lifespan,
    )
    app.state.counter, app.state.metrics, app.state.threads = counter, Metrics(), threads
    add_routes(app)
    _add_problems(app)
    if mount is not None:
        mount(app, counter)
    app.add_middleware(
        CallGuard, largest=counter.site.limits.body_bytes, metrics=app.state.metrics, log=log
    )
    return app


def _add_problems(app: FastAPI) -> None:
    @app.exception_handler(DiscreetError)
    async def told(_: Request, error: DiscreetError) -> Response:
        return problem_of(error)

    @app.exception_handler(NobodyCalls)
    async def unauthenticated(_: Request, error: NobodyCalls) -> Response:
        return problem(
            401,
            detail=error.why,
            do="log in, or send a token: Authorization: Bearer dsc_...",
            headers={"WWW-Authenticate": "Bearer"},
        )

    @app.exception_handler(TooManyCalls)
    async def too_many(_: Request, error: TooManyCalls) -> Response:
        wait = str(max(1, math.ceil(error.seconds)))
        return problem(
            429,
            detail="this person has made too many calls.",
            do=f"wait {wait} s.",
            headers={"Retry-After": wait},
        )

    @app.exception_handler(RequestValidationError)
    async def unreadable(_: Request, error: RequestValidationError) -> Response:
        places = sorted({".".join(map(str, each["loc"])) for each in error.errors()})
        return problem(
            422,
            title="unreadable call",
            detail="the call does not have the form that is described.",
            do="compare it with /v1/openapi.json.",
            places=[place[:100] for place in places[:20]],
        )

    @app.exception_handler(HTTPException)
    async def other(_: Request, error: HTTPException) -> Response:
        headers: Any = error.headers
        words = {404: "there is no such call.", 405: "this call has other methods."}
        return problem(
            error.status_code,
            title="no such call",
            detail=words.get(error.status_code, "the call cannot be made."),
            do="compare it with /v1/openapi.json.",
            headers=headers,
        )
