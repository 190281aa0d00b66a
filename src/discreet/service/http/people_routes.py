"""Calls about people: who calls, tokens, log-in; and evidence.

Trust: kernel.
"""

from __future__ import annotations

from typing import Any

from fastapi import Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse
from pydantic import Field

from discreet.errors import OutOfRange
from discreet.service.http.query_routes import in_thread
from discreet.service.http.route_table import (
    COOKIE,
    Body,
    Calling,
    check_login_rate,
    counter_of,
    route,
    set_cookie,
)
from discreet.service.roles import Caller, Permission


class TokenBody(Body):
    """A token to be made."""

    scope: list[str] = Field(max_length=50)
    note: str = Field(default="", max_length=200)
    days: int = 90


class LoginBody(Body):
    """A name and a password."""

    name: str = Field(max_length=100)
    password: str = Field(max_length=600)


@route("GET", "/v1/health", public=True, limited=False)
async def health() -> Response:
    """Say that the server runs."""
    return JSONResponse({"status": "running"})


@route("GET", "/v1/ready", public=True, limited=False)
async def ready(request: Request) -> Response:
    """Say whether all datasets are served, and if not, why."""
    problems = counter_of(request).hindrances()
    good = not problems
    content = {"ready": good, "problems": list(problems)}
    return JSONResponse(content, status_code=200 if good else 503)


@route("GET", "/v1/metrics", Permission.AUDIT)
async def metrics(request: Request) -> Response:
    """Return counts of calls as Prometheus text; none of them depends on data."""
    text: str = request.app.state.metrics.text()
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4")


@route("GET", "/v1/log", Permission.AUDIT)
async def log(request: Request, caller: Calling) -> Response:
    """Return the security log."""
    lines = await in_thread(request, counter_of(request).security_log, caller)
    return JSONResponse({"lines": list(lines)})


# --- the caller -------------------------------------------------------------------------------


@route("GET", "/v1/me")
async def me(caller: Calling) -> Response:
    """Say who calls, and what this call may do."""
    return JSONResponse(_caller(caller))


def _caller(caller: Caller) -> dict[str, Any]:
    return {
        "person": caller.person,
        "grants": [
            {
                "roles": sorted(role.value for role in grant.roles),
                "datasets": None if grant.datasets is None else sorted(grant.datasets),
            }
            for grant in caller.grants
        ],
        "allowed": sorted(each.value for each in caller.allowed),
    }


@route("GET", "/v1/tokens")
async def tokens(request: Request, caller: Calling) -> Response:
    """List the tokens of the caller, without their secrets."""
    listed = [
        {
            "prefix": each.prefix,
            "scope": sorted(part.value for part in each.scope),
            "note": each.note,
            "created": each.created,
            "expires": each.expires,
            "revoked": each.revoked,
        }
        for each in counter_of(request).tokens.of(caller.person)
    ]
    return JSONResponse({"tokens": listed})


@route("POST", "/v1/tokens", status=201)
async def make_token(request: Request, caller: Calling, body: TokenBody) -> Response:
    """Make a token of the caller; its secret is shown this once."""
    known = {each.value: each for each in Permission}
    if not set(body.scope) <= set(known):
        raise OutOfRange(
            what="the scope holds an unknown permission.",
            why="a token does what its scope lists.",
            do=f"use some of: {', '.join(known)}.",
        )
    token = await in_thread(
        request,
        counter_of(request).tokens.make,
        caller,
        scope=[known[each] for each in body.scope],
        note=body.note,
        days=body.days,
    )
    return JSONResponse({"token": token}, status_code=201)


@route("DELETE", "/v1/tokens/{prefix}")
async def revoke_token(request: Request, caller: Calling, prefix: str) -> Response:
    """End a token: the caller's own, or any token for those who manage people."""
    await in_thread(request, counter_of(request).tokens.revoke, caller, prefix)
    return JSONResponse({"revoked": prefix})


# --- people -----------------------------------------------------------------------------------


@route("GET", "/v1/people", Permission.PEOPLE)
async def people(request: Request) -> Response:
    """List all people."""
    counter = counter_of(request)
    with_password = counter.directory.passwords.names
    listed = [
        {**_caller(each), "has_password": each.person in with_password}
        for each in counter.directory.people()
    ]
    return JSONResponse({"people": listed})


# --- log-in -----------------------------------------------------------------------------------


@route("POST", "/v1/login", public=True)
async def login(request: Request, body: LoginBody) -> Response:
    """Log in: sets a cookie, and returns the token that calls with it carry."""
    counter = counter_of(request)
    check_login_rate(request)
    caller = await in_thread(request, counter.directory.check_password, body.name, body.password)
    cookie = await in_thread(request, counter.logins.begin, caller.person)
    found = counter.logins.find(cookie)
    response = JSONResponse({"person": caller.person, "csrf": found.csrf if found else ""})
    set_cookie(request, response, cookie, counter.site)
    return response


@route("POST", "/v1/logout")
async def logout(request: Request) -> Response:
    """Log out."""
    cookie = request.cookies.get(COOKIE)
    if cookie is not None:
        await in_thread(request, counter_of(request).logins.end, cookie)
    response = JSONResponse({"status": "logged out"})
    response.delete_cookie(COOKIE)
    return response
