"""Tokens: made, shown once, and revoked.

Trust: kernel.  A token is on one page, which no cache keeps, and afterwards its hash alone is kept.
"""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response

from discreet.errors import DiscreetError, NotAllowed
from discreet.service.people.roles import Permission
from discreet.web.desk import Visitor
from discreet.web.refusals import Refusal
from discreet.web.rendering import see_other
from discreet.web.visits import Form, Visiting, desk_of, field, visited

router = APIRouter()


@router.get("/tokens")
def tokens(request: Request, visitor: Visiting) -> Response:
    """List the tokens of the visitor; those who manage people see everybody's."""
    return _listed(request, visitor)


@router.post("/tokens")
def make(request: Request, visitor: Visiting, form: Form) -> Response:
    """Make a token, and show it this once."""
    _check(visitor)
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
        return _listed(request, visitor, refusal=Refusal.of(error))
    return _listed(request, visitor, made=made)


@router.post("/tokens/revoke")
def revoke(request: Request, visitor: Visiting, form: Form) -> Response:
    """End a token."""
    _check(visitor)
    desk_of(request).open.tokens.revoke(visitor.caller, field(form, "prefix"))
    return see_other("/tokens")


def _listed(
    request: Request, visitor: Visitor, *, made: str = "", refusal: Refusal | None = None
) -> Response:
    _check(visitor)
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


def _check(visitor: Visitor) -> None:
    if visitor.alone:
        raise NotAllowed(
            what="there are no tokens in a workbench without log-in.",
            why="a token stands for a person who has logged in.",
            do="serve the data with `discreet serve`, or use the files themselves.",
        )
