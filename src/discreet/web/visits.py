"""A visit: the visitor of a page, the accepted forms, and the top of every page.

Trust: kernel.  A form without the token of the visitor, or from another site, does nothing.
"""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, Mapping
from functools import partial, wraps
from typing import Annotated, Any, Final
from urllib.parse import urlsplit

from anyio import CapacityLimiter, to_thread
from fastapi import Depends, Path, Request
from fastapi.responses import HTMLResponse, Response

from discreet.errors import NotAllowed, UnknownName, WrongKind
from discreet.units import describe_unit
from discreet.web.desk import DatasetFacts, Desk, Visitor
from discreet.web.rendering import page

COOKIE: Final = "discreet"
_LARGEST: Final = 256 * 1024
_WAITING: Final = 200
"""How many pages may wait for workers at once."""
_DIGITS: Final = 15
RAIL: Final = (
    ("Budget", "budget", "budget"),
    ("Query", "query", "plan"),
    ("Releases", "releases", "releases"),
    ("Ledger", "ledger", "ledger"),
)
"""The left navigation of a page about a dataset: a word, a path, and the required permission."""


class NotLoggedIn(Exception):
    """No visitor is logged in, so the log-in is shown."""


def desk_of(request: Request) -> Desk:
    """Return the desk that this application serves."""
    desk: Desk = request.app.state.desk
    return desk


def waiting(handler: Callable[..., Response]) -> Callable[..., Awaitable[Response]]:
    """Have a page that waits for a worker wait in threads of its own, and stop no other (T1)."""

    @wraps(handler)
    async def answered(request: Request, **given: Any) -> Response:
        state = request.app.state
        if not hasattr(state, "waiting"):
            state.waiting = CapacityLimiter(_WAITING)
        work = partial(handler, request, **given)
        return await to_thread.run_sync(work, limiter=state.waiting)

    return answered


def visitor_of(request: Request) -> Visitor:
    """Return who visits, or send them to the log-in."""
    found = desk_of(request).visitor(request.cookies.get(COOKIE))
    if found is None:
        raise NotLoggedIn
    return found


Visiting = Annotated[Visitor, Depends(visitor_of)]
Numbered = Annotated[int, Path(ge=0, lt=10**15)]
"""The number of an entry, in a path."""


async def fields_of(request: Request) -> dict[str, list[str]]:
    """Return the fields of a form from one of our own pages; refuse others."""
    length = request.headers.get("content-length", "")
    size = whole_of(length)
    if size is None or size > _LARGEST:
        raise WrongKind(
            what="a form is too large.",
            why="a question is a few lines long.",
            do="shorten it.",
        )
    _check_origin(request)
    form = await request.form(max_files=0, max_fields=2000)
    fields: dict[str, list[str]] = {}
    for name, value in form.multi_items():
        fields.setdefault(name, []).append(str(value))
    return fields


Fields = Annotated[dict[str, list[str]], Depends(fields_of)]


def ours(visitor: Visiting, fields: Fields) -> dict[str, list[str]]:
    """Return the fields of a form that carries the token of its visitor."""
    token = fields.get("csrf", [""])[0]
    if not hmac.compare_digest(token.encode(), visitor.csrf.encode()):
        raise NotAllowed(
            what="a form does not come from one of our own pages.",
            why="another site could send a form in your name, and spend the budget.",
            do="open the page again, and send the form from there.",
        )
    return fields


Form = Annotated[dict[str, list[str]], Depends(ours)]


def _check_origin(request: Request) -> None:
    """Refuse forms that a browser says come from elsewhere."""
    origin = request.headers.get("origin")
    site = request.headers.get("sec-fetch-site", "same-origin")
    other = origin is not None and urlsplit(origin).netloc != request.headers.get("host", "")
    if other or site not in {"same-origin", "none"}:
        raise NotAllowed(
            what="a form comes from another site.",
            why="it could spend the budget in your name.",
            do="send it from a page of this workbench.",
        )


def field(form: Mapping[str, list[str]], name: str, default: str = "") -> str:
    """Return the one value of a field.

    >>> field({"sql": ["SELECT 1"]}, "sql"), field({}, "sql", "none")
    ('SELECT 1', 'none')
    """
    return form.get(name, [default])[0].replace("\r\n", "\n")


def whole_of(typed: str) -> int | None:
    """Return a typed integer; None for other text, and for more than 15 digits.

    >>> whole_of(" 12 "), whole_of("-1"), whole_of("9" * 5000)
    (12, None, None)
    """
    digits = typed.strip()
    return int(digits) if digits.isdecimal() and len(digits) <= _DIGITS else None


def dataset_of(request: Request, visitor: Visitor, dataset: str) -> DatasetFacts:
    """Return a dataset that the visitor may see."""
    if dataset not in desk_of(request).datasets(visitor):
        raise UnknownName(
            what="there is no such dataset here.",
            why="it does not exist, or is not yours to see.",
            do="choose one from the list of datasets.",
        )
    return desk_of(request).facts(visitor, dataset)


def need(visitor: Visitor, permission: str, dataset: str | None = None) -> None:
    """Refuse what a visitor may not do, before anything else happens."""
    known = dataset is not None and visitor.caller.sees(dataset)  # others are not there at all
    if not visitor.may(permission, dataset if known else None):
        raise NotAllowed(
            what="this page is not yours to see.",
            why=f"it needs the permission '{permission}', and your role does not have it.",
            do="ask the owner of the data for a role that has it.",
        )


def visited(
    template: str,
    request: Request,
    visitor: Visitor | None,
    facts: DatasetFacts | None = None,
    **values: Any,
) -> HTMLResponse:
    """Return a page with the frame around it."""
    desk = desk_of(request)
    frame: dict[str, Any] = {"visitor": visitor, "facts": facts}
    frame["datasets"] = () if visitor is None else desk.datasets(visitor)
    frame["rail"], frame["left"], frame["unit"] = [], None, ""
    name = facts.name if facts is not None else next(iter(frame["datasets"]), None)
    if visitor is not None and name is not None:
        frame["rail"] = [
            (word, f"/data/{name}/{path}") for word, path, can in RAIL if visitor.may(can, name)
        ]
    here = request.url.path.split("/")
    known = {path for _, path, _ in RAIL}
    frame["place_in"] = here[3] if len(here) > 3 and here[3] in known else "releases"
    if facts is not None:
        frame["left"] = int(100 * facts.ledger.left().share)
        period = facts.policy.about.period
        frame["unit"] = describe_unit(facts.unit) + (f" · {period}" if period else "")
    return page(template, request, **{**frame, **values})
