"""The table of calls: each with the permission that it needs, in one list that tests go through.

Trust: kernel.  A call that is not in this list does not exist, and one that is in it is refused
without its permission before anything else happens.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, TypeVar, final

from fastapi import Depends, FastAPI, Request, Response
from fastapi.routing import APIRoute

from discreet.service.http.authentication import (
    NobodyCalls,
    address_of,
    caller_of,
    counter_of,
)
from discreet.service.http.problems import MEDIA, OVER_BUDGET, PROBLEM
from discreet.service.people.caller import Caller
from discreet.service.people.roles import Permission


class TooManyCalls(Exception):
    """Somebody has used up their calls."""

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
    """None for calls that everybody who is logged in may make."""
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
            "content": {MEDIA: {"schema": OVER_BUDGET if status == 402 else PROBLEM}},
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
    """Limit how often somebody tries to log in: each try takes 64 MiB and a while (T1)."""
    counter = counter_of(request)
    wait = counter.login_rates.wait(address_of(request, counter.site.proxy))
    if wait:
        raise TooManyCalls(wait)


def _check(request: Request, each: ServedRoute) -> None:
    """Refuse unknown callers, those in a hurry, and those without the permission."""
    if each.public:
        if each.limited:
            _anybody(request)
        return
    try:
        caller = caller_of(request)
    except NobodyCalls:
        _anybody(request)
        raise
    _limited(request, f"person {caller.person}")
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
