"""The guard before all calls: sizes, slow senders, headers, and one line of log for each call.

Trust: kernel.

A line of log holds the time, the method, the template of the route, the role, the outcome and a
bucket of the duration in which the tick has put it: these names, and no others.  Neither paths nor
queries, bodies, addresses or texts of errors are written.  An error that is not ours is told as a
number by which its line is found, which names its class.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable, MutableMapping
from datetime import UTC, datetime
from typing import Any, Final, final

from discreet.service.http.metrics import Metrics, outcome_of
from discreet.service.http.problems import problem
from discreet.service.people.credentials import new_secret

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

_HEADERS: Final = (
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_CSP: Final = (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'")
_BODY_SECONDS: Final = 15.0
_BUCKETS: Final = (0.25, 1.0, 4.0, 16.0, 64.0)


@final
class Guard:
    """Wraps an application."""

    __slots__ = ("_app", "_largest", "_metrics", "_quiet")

    def __init__(
        self, app: Application, *, largest: int, metrics: Metrics, quiet: bool = False
    ) -> None:
        """Take the application, and how large a body may be."""
        self._app, self._largest, self._metrics, self._quiet = app, largest, metrics, quiet

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one call."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun, status = time.monotonic(), 500
        sent = False

        async def guarded_send(message: MutableMapping[str, Any]) -> None:
            nonlocal status, sent
            if message["type"] == "http.response.start":
                status, sent = message["status"], True
                message["headers"] = _with_headers(message.get("headers", []))
            await send(message)

        failed = ""
        try:
            length = _length_of(scope)
            if length is not None and (length < 0 or length > self._largest):
                await _too_large(scope, receive, guarded_send)
            else:
                limited = _LimitedBody(receive, self._largest)
                await self._app(scope, limited, guarded_send)
        except _TooLarge:
            await _too_large(scope, receive, guarded_send)
        except TimeoutError:
            status = 408
            if not sent:
                late = problem(408, detail="the body came too slowly.", do="send it at once.")
                await late(scope, receive, guarded_send)
        except Exception as error:  # noqa: BLE001  its text may quote anything
            failed = type(error).__name__
            number = new_secret()[:12]
            failed = f"{failed} {number}"
            if not sent:
                broken = problem(
                    500,
                    title="something broke",
                    detail=f"an unexpected error; its number is {number}.",
                    do="tell the owner of the server this number.",
                )
                await broken(scope, receive, guarded_send)
        self._note(scope, status, time.monotonic() - begun, failed)

    def _note(self, scope: Scope, status: int, seconds: float, failed: str) -> None:
        route = getattr(scope.get("route"), "path", "unknown")
        self._metrics.count(scope["method"], route, status)
        if self._quiet:
            return
        line: dict[str, Any] = {
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "method": scope["method"] if scope["method"].isalpha() else "other",
            "route": route,
            "roles": scope.get("state", {}).get("roles", ""),
            "outcome": outcome_of(status),
            "within_seconds": next((each for each in _BUCKETS if seconds <= each), None),
        }
        if failed:
            line["error"] = failed
        sys.stderr.write(json.dumps(line) + "\n")
        sys.stderr.flush()


class _TooLarge(Exception):
    """A body is larger than allowed."""


class _LimitedBody:
    """Receives a body within a size and a time."""

    __slots__ = ("_end", "_left", "_over", "_receive")

    def __init__(self, receive: Receive, largest: int) -> None:
        self._receive, self._left, self._over = receive, largest, False
        self._end = time.monotonic() + _BODY_SECONDS

    async def __call__(self) -> MutableMapping[str, Any]:
        if self._over:  # from here on, only the end of the connection is waited for
            return await self._receive()
        async with asyncio.timeout(max(0.0, self._end - time.monotonic())):
            message = await self._receive()
        if message["type"] == "http.request":
            self._left -= len(message.get("body", b""))
            self._over = not message.get("more_body", False)
            if self._left < 0:
                raise _TooLarge
        return message


def _length_of(scope: Scope) -> int | None:
    for name, value in scope["headers"]:
        if name == b"content-length":
            return int(value) if value.isdigit() else -1
    return None


async def _too_large(scope: Scope, receive: Receive, send: Send) -> None:
    answer = problem(413, detail="the body is too large.", do="shorten the question.")
    await answer(scope, receive, send)


def _with_headers(given: Any) -> list[tuple[bytes, bytes]]:
    """Add the headers of every answer; pages bring a content policy of their own."""
    names = {name.lower() for name, _ in given}
    more = [each for each in (*_HEADERS, _CSP) if each[0] not in names]
    return [*given, *more]
