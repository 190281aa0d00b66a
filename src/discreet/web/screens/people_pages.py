"""People: log-in, one-time links, roles, and requests to the steward.

Trust: kernel.  A cookie is sent to this site alone, and no script can read it.
"""

from __future__ import annotations

from typing import Any, Final

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from discreet.errors import DiscreetError
from discreet.service.people.roles import Role
from discreet.web.refusals import Refusal
from discreet.web.rendering import see_other
from discreet.web.visits import (
    COOKIE,
    Fields,
    Form,
    Numbered,
    Visiting,
    dataset_of,
    desk_of,
    field,
    need,
    ours,
    visited,
)

router = APIRouter()
ROLES: Final = tuple(role.value for role in Role)


@router.get("/login")
def log_in_form(request: Request) -> Response:
    """Ask for a name and a password."""
    return visited("login.html", request, None, refusal=None)


@router.post("/login")
def log_in(request: Request, fields: Fields) -> Response:
    """Log somebody in, with a new cookie."""
    try:
        counter = desk_of(request).open
        person = counter.directory.check_password(
            field(fields, "name").strip(), field(fields, "password")
        )
        cookie = counter.logins.begin(person)
    except DiscreetError as error:
        return visited("login.html", request, None, refusal=Refusal.of(error), status=403)
    return _with_cookie(request, cookie)


@router.post("/logout", dependencies=[Depends(ours)])
def log_out(request: Request) -> Response:
    """End a log-in."""
    desk_of(request).open.logins.end(request.cookies.get(COOKIE, ""))
    gone = see_other("/login")
    gone.delete_cookie(COOKIE)
    return gone


@router.get("/welcome/{secret}")
def welcome(request: Request, secret: str) -> Response:
    """Ask whoever has a one-time link for a password."""
    name = desk_of(request).open.directory.invited(secret)
    return visited("welcome.html", request, None, name=name, secret=secret, refusal=None)


@router.post("/welcome/{secret}")
def accept(request: Request, fields: Fields, secret: str) -> Response:
    """Set the password, and log in."""
    counter = desk_of(request).open
    try:
        person = counter.directory.accept(secret, field(fields, "password"))
        cookie = counter.logins.begin(person)
    except DiscreetError as error:
        refusal, name = Refusal.of(error), counter.directory.invited(secret)
        shown: dict[str, Any] = {"name": name, "secret": secret, "refusal": refusal}
        return visited("welcome.html", request, None, status=403, **shown)
    return _with_cookie(request, cookie)


@router.get("/people")
def people(request: Request, visitor: Visiting) -> Response:
    """List people and their roles."""
    need(visitor, "people")
    found = desk_of(request).open.directory.people()
    return visited("people.html", request, visitor, people=found, roles=ROLES, link="", invited="")


@router.post("/people")
def invite(request: Request, visitor: Visiting, form: Form) -> Response:
    """Give somebody roles, and show their one-time link once."""
    need(visitor, "people")
    desk, name = desk_of(request), field(form, "name").strip()
    held = [Role(role) for role in ROLES if role in form.get("roles", ())]
    directory = desk.open.directory
    directory.put(name, held, by=visitor.person)
    secret = directory.invite(name, by=visitor.person)
    shown: dict[str, Any] = {"people": directory.people(), "roles": ROLES, "invited": name}
    return visited("people.html", request, visitor, link=f"{desk.url}/welcome/{secret}", **shown)


@router.post("/data/{dataset}/requests")
def request_limit(request: Request, visitor: Visiting, form: Form, dataset: str) -> Response:
    """Ask the steward for a higher limit."""
    need(visitor, "request")
    dataset_of(request, visitor, dataset)
    names = ("epsilon", "delta", "rho")
    budget = {name: field(form, name).strip() for name in names if field(form, name).strip()}
    desk_of(request).open.request(
        visitor.caller,
        dataset,
        account=field(form, "account").strip(),
        budget=budget,
        reason=field(form, "reason").strip(),
    )
    return see_other(f"/data/{dataset}/budget#request", request)


@router.post("/data/{dataset}/requests/{number}")
def decide(
    request: Request, visitor: Visiting, form: Form, dataset: str, number: Numbered
) -> Response:
    """Approve or decline a request."""
    need(visitor, "decide")
    dataset_of(request, visitor, dataset)
    approve = field(form, "decision") == "approve"
    desk_of(request).open.decide(visitor.caller, number, approve=approve)
    return see_other(f"/data/{dataset}/budget")


def _with_cookie(request: Request, cookie: str) -> Response:
    sent = see_other("/")
    safe = desk_of(request).url.startswith("https://")
    sent.set_cookie(COOKIE, cookie, httponly=True, samesite="strict", secure=safe, path="/")
    return sent
