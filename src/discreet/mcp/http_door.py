"""Agents on a server: the protocol's streamable HTTP at ``/mcp``, with the tokens of the server.

Trust: kernel.  A call of a tool becomes calls of the server's own table, with the caller's token:
permissions, limits, rates and ticks are those of everybody (T1, T8).  Nothing is kept between two
calls, so that no number of agents fills the memory.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

from mcp.server.transport_security import TransportSecuritySettings
from starlette.routing import Route

from discreet.mcp.desks import Desk, ServerDesk
from discreet.mcp.tools import AgentServer
from discreet.service.http.calls_within import calls_within
from discreet.service.http.route_table import counted_caller

if TYPE_CHECKING:  # handed in
    from fastapi import FastAPI
    from mcp.server.mcpserver import Context
    from starlette.requests import Request
    from starlette.types import ASGIApp, Receive, Scope, Send

_PASSED_ON: Final = ("authorization", "host", "origin", "sec-fetch-site", "x-forwarded-for")


def mount(app: FastAPI, *, ask_above: object) -> None:
    """Add ``/mcp`` to an application, which serves it as long as it runs."""

    def desk_of(ctx: Context[Any, Any]) -> Desk:
        request = ctx.request_context.request
        assert request is not None  # noqa: S101  this door is reached over HTTP alone
        return ServerDesk(_calls_of(app, request))

    server = AgentServer(desk_of, ask_above=ask_above)
    inner = server.streamable_http_app(
        streamable_http_path="/mcp",
        json_response=True,
        stateless_http=True,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    # a GET would open a stream that stays open, where nothing is ever told
    app.router.routes.insert(0, Route("/mcp", endpoint=_Checked(inner), methods=["POST"]))
    around = app.router.lifespan_context

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[Any]:
        async with around(app) as state, server.session_manager.run():
            yield state

    app.router.lifespan_context = lifespan


class _Checked:
    """Admits only callers of the server."""

    def __init__(self, inner: ASGIApp) -> None:
        self._inner = inner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        from starlette.requests import Request  # noqa: PLC0415  of each call

        counted_caller(Request(scope, receive))
        await self._inner(scope, receive, send)


def _calls_of(app: FastAPI, request: Request) -> Any:
    """Return calls of the application in the name of anyone who calls now."""
    return calls_within(
        app,
        headers={name: value for name, value in request.headers.items() if name in _PASSED_ON},
        peer=(request.client.host, request.client.port) if request.client else ("", 0),
        base=f"{request.url.scheme}://{request.url.netloc}",
    )
