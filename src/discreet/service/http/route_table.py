"""The table of calls: each with the permission that it needs, and who makes it.

Trust: kernel.  A call that is not in this list does not exist, and one that is in it is refused
without its permission before anything else happens.

A browser sends cookies along with forms of other sites, so a call with a cookie that changes
something carries the token of its log-in in ``X-CSRF-Token``.  A server without log-in answers to
no other name than that of this machine, and to no page of another site: such a page can send calls
to it, and a name of its own could lead there (DNS rebinding).
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar, final
from urllib.parse import urlsplit

from fastapi import Depends, FastAPI, Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict

from discreet.service.http.problems import MEDIA, PROBLEM
from discreet.service.roles import Caller, Permission

if TYPE_CHECKING:  # handed in
    from discreet.service.counter import ServiceCounter
    from discreet.service.site import Site, TrustedProxy

COOKIE: Final = "discreet"
CSRF: Final = "x-csrf-token"
_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_HERE: Final = frozenset({"127.0.0.1", "localhost", "[::1]", "::1"})


class NobodyCalls(Exception):
    """The caller is not authenticated."""

    def __init__(self, why: str) -> None:
        """Name the missing credential."""
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


def is_secure(request: Request, site: Site) -> bool:
    """Say whether a browser reaches this server over TLS, perhaps through a trusted proxy (T8)."""
    peer = request.client.host if request.client else ""
    told = site.proxy is not None and peer in site.proxy.addresses
    scheme = request.headers.get("x-forwarded-proto", "") if told else request.url.scheme
    return scheme == "https" or bool(site.address.url.startswith("https://"))


def set_cookie(request: Request, response: Response, cookie: str, site: Site) -> None:
    """Give a browser the cookie of a log-in, for this site and no script (T8)."""
    secure = is_secure(request, site)
    response.set_cookie(COOKIE, cookie, httponly=True, samesite="strict", secure=secure, path="/")


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


class Body(BaseModel):
    """A body without unknown names."""

    model_config = ConfigDict(extra="forbid", strict=True)


class TooManyCalls(Exception):
    """The caller has exceeded the rate limit."""

    def __init__(self, seconds: float) -> None:
        """Take for how long to wait."""
        super().__init__()
        self.seconds = seconds


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ServedRoute:
    """One call."""

    method: str
    path: str
    permission: Permission | None
    """None for calls that every logged-in person may make."""
    public: bool = False
    limited: bool = True
    """Whether calls of those who are not known are limited by where they come from."""
    handler: Callable[..., Any] = field(repr=False)
    status: int = 200


ROUTES: Final[list[ServedRoute]] = []
"""All calls."""
_Handler = TypeVar("_Handler", bound=Callable[..., Any])


def route(  # noqa: PLR0913  what a call is
    method: str,
    path: str,
    permission: Permission | None = None,
    *,
    public: bool = False,
    limited: bool = True,
    status: int = 200,
) -> Callable[[_Handler], _Handler]:
    """Add a call to the table."""

    def add(handler: _Handler) -> _Handler:
        ROUTES.append(
            ServedRoute(
                method=method,
                path=path,
                permission=permission,
                public=public,
                limited=limited,
                handler=handler,
                status=status,
            )
        )
        return handler

    return add


def add_routes(app: FastAPI) -> None:
    """Add all calls to an application."""
    for each in ROUTES:
        app.router.add_api_route(
            each.path,
            each.handler,
            methods=[each.method],
            route_class_override=_checked_route(each),
            status_code=each.status,
            responses=_responses(each),
            response_model=None,
            summary=(each.handler.__doc__ or "").splitlines()[0],
            operation_id=each.handler.__name__,
        )


def _responses(each: ServedRoute) -> dict[int | str, dict[str, Any]]:
    statuses = [429, 422, 413, 408, 503]
    if not each.public:
        statuses += [401, 403]
    if "{" in each.path:
        statuses.append(404)
    if each.method == "POST":
        statuses += [402, 409, 400]
    told: dict[int | str, dict[str, Any]] = {
        status: {
            "description": "A charge that does not fit." if status == 402 else "A problem.",
            "content": {MEDIA: {"schema": PROBLEM}},
        }
        for status in sorted(statuses)
    }
    return told


def _limited(request: Request, name: str) -> None:
    wait = counter_of(request).rates.wait(name)
    if wait:
        raise TooManyCalls(wait)


def _anybody(request: Request) -> None:
    """Limit calls of those who are not known by where they come from."""
    _limited(request, f"address {address_of(request, counter_of(request).site.proxy)}")


def check_login_rate(request: Request) -> None:
    """Limit the rate of log-in attempts: each one takes 64 MiB and noticeable time (T1)."""
    counter = counter_of(request)
    wait = counter.login_rates.wait(address_of(request, counter.site.proxy))
    if wait:
        raise TooManyCalls(wait)


def counted_caller(request: Request) -> Caller:
    """Return who calls, or refuse unknown callers and those in a hurry (T1)."""
    try:
        caller = caller_of(request)
    except NobodyCalls:
        _anybody(request)
        raise
    _limited(request, f"person {caller.person}")
    return caller


def _check(request: Request, each: ServedRoute) -> None:
    """Refuse unknown callers, those in a hurry, and those without the permission."""
    if each.public:
        if each.limited:
            _anybody(request)
        return
    caller = counted_caller(request)
    request.state.caller = caller
    request.state.roles = " ".join(sorted(role.value for role in caller.roles))
    if each.permission is not None:
        caller.check(each.permission)


def _checked_route(each: ServedRoute) -> type[APIRoute]:
    """Return a class of routes that check before a body is even read."""

    class CheckedRoute(APIRoute):
        def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
            handle = super().get_route_handler()

            async def checked(request: Request) -> Response:
                _check(request, each)
                return await handle(request)

            return checked

    return CheckedRoute


async def _known_caller(request: Request) -> Caller:  # a plain function would run in a thread
    caller: Caller = request.state.caller
    return caller


Calling = Annotated[Caller, Depends(_known_caller)]
"""Who calls; the permission of the call was checked."""
