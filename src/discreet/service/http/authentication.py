"""Who calls: by a token, by a cookie, or the one person of a server without log-in.

Trust: kernel.

A browser sends cookies along with forms of other sites, so a call with a cookie that changes
something carries the token of its log-in in ``X-CSRF-Token``.  A server without log-in answers to
no other name than that of this machine, and to no page of another site: such a page can send calls
to it, and a name of its own could lead there (DNS rebinding).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from fastapi import Request

from discreet.service.people.caller import Caller

if TYPE_CHECKING:  # handed in
    from discreet.service.counter import ServiceCounter
    from discreet.service.site import TrustedProxy

COOKIE: Final = "discreet"
CSRF: Final = "x-csrf-token"
_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_HERE: Final = frozenset({"127.0.0.1", "localhost", "[::1]", "::1"})


class NobodyCalls(Exception):
    """Nobody has shown who they are."""

    def __init__(self, why: str) -> None:
        """Say what is missing."""
        super().__init__(why)
        self.why = why


def counter_of(request: Request) -> ServiceCounter:
    """Return the counter that the application serves."""
    counter: ServiceCounter = request.app.state.counter
    return counter


def address_of(request: Request, proxy: TrustedProxy | None) -> str:
    """Return where a call comes from: what a trusted proxy says of it, or the other end (T8)."""
    peer = request.client.host if request.client else ""
    if proxy is None or peer not in proxy.addresses:
        return peer
    return request.headers.get("x-forwarded-for", peer).rpartition(",")[2].strip()


def vouched_person(
    request: Request, proxy: TrustedProxy | None
) -> tuple[str, tuple[str, ...]] | None:
    """Return whom a trusted proxy has logged in, with their groups (T8)."""
    peer = request.client.host if request.client else ""
    if proxy is None or proxy.user is None or peer not in proxy.addresses:
        return None
    name = request.headers.get(proxy.user, "").strip()
    said = request.headers.get(proxy.groups, "") if proxy.groups else ""
    groups = tuple(each.strip() for each in said.split(",") if each.strip())
    return (name, groups) if name else None


def caller_of(request: Request) -> Caller:
    """Return who calls, or refuse."""
    counter = counter_of(request)
    alone = counter.loopback_caller()
    if alone is not None:
        _check_here(request)
        return alone
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if token:
        found = counter.tokens.find(token) if scheme.lower() == "bearer" else None
        if found is None:
            raise NobodyCalls("the token is unknown, ended or revoked.")
        return found
    cookie = request.cookies.get(COOKIE)
    login = None if cookie is None else counter.logins.find(cookie)
    if login is None:
        raise NobodyCalls("there is no token, and nobody is logged in.")
    if request.method not in _SAFE and not login.form_is_ours(request.headers.get(CSRF)):
        raise NobodyCalls(f"a call with a cookie carries the token of its log-in in {CSRF}.")
    return login.caller


def _check_here(request: Request) -> None:
    """Refuse calls by another name, and those that pages of other sites make."""
    host = request.headers.get("host", "")
    name = urlsplit(f"//{host}").hostname or ""
    origin = request.headers.get("origin")
    other = origin is not None and urlsplit(origin).netloc != host
    site = request.headers.get("sec-fetch-site", "none")
    if name not in _HERE or other or site not in {"none", "same-origin"}:
        raise NobodyCalls("this server without log-in answers to this machine's own pages alone.")
