"""Log-in, and requests to the steward.

Trust: kernel.  A cookie is sent to this site alone, and no script can read it.
"""

from __future__ import annotations

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from discreet.errors import DiscreetError, TryAgain
from discreet.service.http.authentication import address_of, vouched_person
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


@router.get("/login")
def log_in_form(request: Request) -> Response:
    """Ask for a name and a password, unless a trusted proxy has done that."""
    desk = desk_of(request)
    proxy = None if desk.counter is None else desk.counter.site.proxy
    vouched = vouched_person(request, proxy)
    if vouched is None:
        return visited("login.html", request, None, refusal=None)
    name, groups = vouched
    try:
        caller = desk.open.directory.vouched(name, groups)
        return _logged_in(request, desk.open.logins.begin(caller.person, caller.groups))
    except DiscreetError as error:
        return visited("login.html", request, None, refusal=Refusal.of(error), status=403)


@router.post("/login")
def log_in(request: Request, fields: Fields) -> Response:
    """Log somebody in, with a new cookie."""
    desk = desk_of(request)
    try:
        desk.count_login(address_of(request, desk.open.site.proxy))
        name, password = field(fields, "name").strip(), field(fields, "password")
        caller = desk.open.directory.check_password(name, password)
        cookie = desk.open.logins.begin(caller.person)
    except DiscreetError as error:
        status = 429 if isinstance(error, TryAgain) else 403
        return visited("login.html", request, None, refusal=Refusal.of(error), status=status)
    return _logged_in(request, cookie)


def _logged_in(request: Request, cookie: str) -> Response:
    sent = see_other("/")
    safe = desk_of(request).url.startswith("https://")
    sent.set_cookie(COOKIE, cookie, httponly=True, samesite="strict", secure=safe, path="/")
    return sent


@router.post("/logout", dependencies=[Depends(ours)])
def log_out(request: Request) -> Response:
    """End a log-in."""
    desk_of(request).open.logins.end(request.cookies.get(COOKIE, ""))
    gone = see_other("/login")
    gone.delete_cookie(COOKIE)
    return gone


@router.post("/data/{dataset}/requests")
def request_limit(request: Request, visitor: Visiting, form: Form, dataset: str) -> Response:
    """Ask the steward for a higher limit."""
    need(visitor, "request", dataset)
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
    need(visitor, "decide", dataset)
    dataset_of(request, visitor, dataset)
    approve = field(form, "decision") == "approve"
    desk_of(request).open.decide(visitor.caller, number, approve=approve)
    return see_other(f"/data/{dataset}/budget")
