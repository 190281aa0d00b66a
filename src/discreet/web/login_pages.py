"""Log-in, tokens, and requests to the steward.

Trust: kernel.  A cookie is sent to this site alone, and no script can read it (T8).  A token is on
one page, which no cache keeps, and afterwards its hash alone is kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from discreet.errors import DiscreetError, NotAllowed, TryAgain
from discreet.service.http.route_table import address_of, is_secure, set_cookie, vouched_person
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
    waiting,
)

router = APIRouter()
CALLBACK: Final = "/login/callback"
_BEGUN: Final = "discreet-login"
"""The cookie of a log-in that a provider has still to end."""


@router.get("/login")
def log_in_form(request: Request) -> Response:
    """Ask for a name and a password, unless a trusted proxy has done that."""
    desk = desk_of(request)
    proxy = None if desk.counter is None else desk.counter.site.proxy
    vouched = vouched_person(request, proxy)
    if vouched is None:
        return _login_page(request)
    try:
        return _logged_in(request, _vouched_login(request, *vouched))
    except DiscreetError as error:
        return _login_page(request, error)


def _vouched_login(request: Request, name: str, groups: Iterable[str]) -> str:
    """Begin a log-in of a person whom a proxy or a provider has let in; return its cookie."""
    counter = desk_of(request).open
    caller = counter.directory.vouched(name, groups)
    return counter.logins.begin(caller.person, caller.groups)


def _login_page(
    request: Request, error: DiscreetError | None = None, *, entered: bool = False
) -> Response:
    desk = desk_of(request)
    site = None if desk.counter is None else desk.counter.site
    provider = None if site is None or site.provider is None else site.provider.issuer
    refusal = None if error is None else Refusal.of(error)
    return visited(
        "login.html",
        request,
        None,
        refusal=refusal,
        entered=entered,
        provider=provider and urlsplit(provider).hostname,
        passwords=provider is None or bool(desk.open.directory.passwords.names),
        status=200 if error is None else 429 if isinstance(error, TryAgain) else 403,
    )


@router.get("/login/provider")
@waiting
def log_in_by_provider(request: Request) -> Response:
    """Send a browser to the identity provider, with a cookie that ties the log-in to it (T8)."""
    desk = desk_of(request)
    if desk.counter is None or desk.counter.openid is None:
        return see_other("/login")
    try:
        desk.count_login(address_of(request, desk.counter.site.proxy))
        address, browser = desk.counter.openid.begin()
    except DiscreetError as error:
        return _login_page(request, error)
    sent = see_other(address)
    # the provider sends the browser back from another site, with which a strict cookie stays away
    secure = is_secure(request, desk.counter.site)
    sent.set_cookie(
        _BEGUN, browser, httponly=True, samesite="lax", secure=secure, path=CALLBACK, max_age=600
    )
    return sent


@router.get("/login/callback")
@waiting
def log_in_by_code(request: Request) -> Response:
    """Take what the identity provider says, and begin a log-in."""
    desk = desk_of(request)
    if desk.counter is None or desk.counter.openid is None:
        return see_other("/login")
    try:
        said, browser = dict(request.query_params), request.cookies.get(_BEGUN, "")
        found = desk.counter.openid.end(said, browser)
        cookie = _vouched_login(request, found.name, found.groups)
    except DiscreetError as error:
        return _login_page(request, error)
    entered = _login_page(request, entered=True)  # our page leads on, and strict cookies come along
    entered.delete_cookie(_BEGUN, path=CALLBACK)
    set_cookie(request, entered, cookie, desk.counter.site)
    return entered


@router.post("/login")
def log_in(request: Request, fields: Fields) -> Response:
    """Log a person in, with a new cookie."""
    desk = desk_of(request)
    try:
        desk.count_login(address_of(request, desk.open.site.proxy))
        name, password = field(fields, "name").strip(), field(fields, "password")
        caller = desk.open.directory.check_password(name, password)
        cookie = desk.open.logins.begin(caller.person)
    except DiscreetError as error:
        return _login_page(request, error)
    return _logged_in(request, cookie)


def _logged_in(request: Request, cookie: str) -> Response:
    sent = see_other("/")
    set_cookie(request, sent, cookie, desk_of(request).open.site)
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
    """List the tokens of the visitor; those who manage people see all tokens."""
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
