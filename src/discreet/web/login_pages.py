"""Log-in, tokens, and requests to the steward.

Trust: kernel.  A cookie is sent to this site alone, and no script can read it (T8).  A token is on
one page, which no cache keeps, and afterwards its hash alone is kept.
"""

from __future__ import annotations

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from discreet.errors import DiscreetError, NotAllowed, TryAgain
from discreet.service.http.route_table import address_of, vouched_person
from discreet.service.roles import Permission
from discreet.web.desk import Visitor
from discreet.web.rendering import Refusal, see_other
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


@router.get("/tokens")
def tokens(request: Request, visitor: Visiting) -> Response:
    """List the tokens of the visitor; those who manage people see everybody's."""
    return _token_page(request, visitor)


@router.post("/tokens")
def make_token(request: Request, visitor: Visiting, form: Form) -> Response:
    """Make a token, and show it this once."""
    _check_logged_in(visitor)
    days = field(form, "days", "90").strip()
    scope = [each for each in Permission if each.value in form.get("scope", ())]
    try:
        made = desk_of(request).open.tokens.make(
            visitor.caller,
            scope=scope,
            note=field(form, "note").strip(),
            days=int(days) if days.isdecimal() and len(days) < 5 else 0,
        )
    except DiscreetError as error:
        return _token_page(request, visitor, refusal=Refusal.of(error))
    return _token_page(request, visitor, made=made)


@router.post("/tokens/revoke")
def revoke_token(request: Request, visitor: Visiting, form: Form) -> Response:
    """End a token."""
    _check_logged_in(visitor)
    desk_of(request).open.tokens.revoke(visitor.caller, field(form, "prefix"))
    return see_other("/tokens")


def _token_page(
    request: Request, visitor: Visitor, *, made: str = "", refusal: Refusal | None = None
) -> Response:
    _check_logged_in(visitor)
    counter = desk_of(request).open
    people = (
        [each.person for each in counter.directory.people()]
        if visitor.may("people")
        else [visitor.person]
    )
    found = [token for name in people for token in counter.tokens.of(name)]
    return visited(
        "tokens.html",
        request,
        visitor,
        tokens=sorted(found, key=lambda token: -token.created),
        scopes=[each.value for each in Permission if visitor.caller.may(each)],
        made=made,
        refusal=refusal,
        status=200 if refusal is None else 422,
    )


def _check_logged_in(visitor: Visitor) -> None:
    if visitor.alone:
        raise NotAllowed(
            what="there are no tokens in a workbench without log-in.",
            why="a token stands for a person who has logged in.",
            do="serve the data with `discreet serve`, or use the files themselves.",
        )
