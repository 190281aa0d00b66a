"""The guard before all calls: sizes, slow senders, headers, a line of log and a count for each.

Trust: kernel.

A line of log holds the time, the method, the template of the route, the role, the outcome and the
bucket of the duration that the tick determines: these names, and no others.  Neither paths nor
queries, bodies, addresses or texts of errors are written.  For a foreign error the caller gets a
number that identifies its log line, which names its class.

Metrics are counts of calls alone, as Prometheus text, and no number that data could move: there are
no durations, sizes or memory, and answers and retries after a charge count as one kind, since which
of the two it was can depend on the data.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections import Counter as Tally
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final, TextIO, final

from fastapi.responses import JSONResponse

from discreet.service.credentials import new_secret
from discreet.service.http.problems import problem

_WORDS: Final = {1: "done", 2: "done", 3: "done", 4: "refused", 5: "broken"}


@final
class Metrics:
    """Counts of calls, by route and outcome.

    >>> metrics = Metrics()
    >>> metrics.count("POST", "/v1/datasets/{dataset}/queries", 503)
    >>> 'outcome="done"} 1' in metrics.text()
    True
    """

    __slots__ = ("_calls", "_lock", "_since")

    def __init__(self) -> None:
        """Begin with nothing."""
        self._lock = threading.Lock()
        self._calls: Tally[tuple[str, str, str]] = Tally()
        self._since = time.time()

    def count(self, method: str, route: str, status: int) -> None:
        """Count one call."""
        with self._lock:
            self._calls[(method, route, outcome_of(status))] += 1

    def text(self) -> str:
        """Return all counts."""
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        yield "# HELP discreet_start_time_seconds When the server was started."
        yield "# TYPE discreet_start_time_seconds gauge"
        yield f"discreet_start_time_seconds {self._since:.0f}"
        yield "# HELP discreet_calls_total Calls by route and outcome."
        yield "# TYPE discreet_calls_total counter"
        with self._lock:
            known = sorted(self._calls.items())
        for (method, route, outcome), count in known:
            labels = f'method="{method}",route="{route}",outcome="{outcome}"'
            yield f"discreet_calls_total{{{labels}}} {count}"


def outcome_of(status: int) -> str:
    """Return what a status is counted as: 503 is what a charge may end in, as an answer is.

    >>> outcome_of(200), outcome_of(503), outcome_of(402), outcome_of(500)
    ('done', 'done', 'refused', 'broken')
    """
    return "done" if status == 503 else _WORDS.get(status // 100, "broken")


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
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"})
_BODY_SECONDS: Final = 15.0
_BUCKETS: Final = (0.25, 1.0, 4.0, 16.0, 64.0)


@final
class CallGuard:
    """Wraps an application."""

    __slots__ = ("_app", "_largest", "_log", "_metrics")

    def __init__(
        self, app: Application, *, largest: int, metrics: Metrics, log: TextIO | None
    ) -> None:
        """Take the application, how large a body may be, and where lines of log go."""
        self._app, self._largest, self._metrics, self._log = app, largest, metrics, log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one call."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = time.monotonic()
        answer = _GuardedAnswer(send)
        body = _LimitedBody(receive, self._largest, answer)
        failed = ""
        try:
            if _fits(scope, self._largest):
                await self._app(scope, body, answer)
            else:
                answer.refused = 413
        except asyncio.CancelledError:  # the server stops, and waits no longer (T3)
            if not answer.begun:
                await _stopping()(scope, receive, answer.send)
            self._note(scope, answer.status, time.monotonic() - begun, failed)
            raise
        except Exception as error:  # noqa: BLE001  its text may quote anything
            failed = f"{type(error).__name__} {new_secret()[:12]}"
        if not answer.begun:
            await _problem_for(answer.refused, failed)(scope, receive, answer.send)
        self._note(scope, answer.status, time.monotonic() - begun, failed)

    def _note(self, scope: Scope, status: int, seconds: float, failed: str) -> None:
        route = getattr(scope.get("route"), "path", "unknown")
        method = scope["method"] if scope["method"] in _METHODS else "other"
        self._metrics.count(method, route, status)
        if self._log is None:
            return
        line: dict[str, Any] = {
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "method": method,
            "route": route,
            "roles": scope.get("state", {}).get("roles", ""),
            "outcome": outcome_of(status),
            "within_seconds": next((each for each in _BUCKETS if seconds <= each), None),
        }
        if failed:
            line["error"] = failed
        with suppress(OSError):  # a full disk loses lines, and never an answer
            self._log.write(json.dumps(line) + "\n")
            self._log.flush()


class _GuardedAnswer:
    """Sends an answer with our headers; one to a body that was refused is not sent."""

    __slots__ = ("_send", "begun", "refused", "status")

    def __init__(self, send: Send) -> None:
        self._send, self.begun, self.refused, self.status = send, False, 0, 500

    async def __call__(self, message: MutableMapping[str, Any]) -> None:
        if not self.refused or self.begun:
            await self.send(message)

    async def send(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.status, self.begun = message["status"], True
            message["headers"] = _with_headers(message.get("headers", []))
        await self._send(message)


class _LimitedBody:
    """Receives a body within a size and a time."""

    __slots__ = ("_answer", "_end", "_left", "_over", "_receive")

    def __init__(self, receive: Receive, largest: int, answer: _GuardedAnswer) -> None:
        self._receive, self._left, self._over = receive, largest, False
        self._answer, self._end = answer, time.monotonic() + _BODY_SECONDS

    async def __call__(self) -> MutableMapping[str, Any]:
        if self._over:  # from here on, only the end of the connection is waited for
            return await self._receive()
        try:
            async with asyncio.timeout(max(0.0, self._end - time.monotonic())):
                message = await self._receive()
        except TimeoutError:
            self._answer.refused = 408
            raise
        if message["type"] == "http.request":
            self._left -= len(message.get("body", b""))
            self._over = not message.get("more_body", False)
            if self._left < 0:
                self._answer.refused = 413
                raise ValueError
        return message


def _fits(scope: Scope, largest: int) -> bool:
    """Say whether a body is not too large, as far as its headers tell."""
    lengths = [value for name, value in scope["headers"] if name == b"content-length"]
    return all(value.isdigit() and int(value) <= largest for value in lengths)


def _problem_for(refused: int, failed: str) -> JSONResponse:
    match refused:
        case 413:
            return problem(413, detail="the body is too large.", do="shorten the question.")
        case 408:
            return problem(408, detail="the body came too slowly.", do="send it at once.")
        case _:
            return problem(
                500,
                title="something broke",
                detail=f"an unexpected error; its number is {failed.rpartition(' ')[2]}.",
                do="tell the owner of the server this number.",
            )


def _stopping() -> JSONResponse:
    return problem(
        503,
        title="the server stops",
        detail="the server stopped before the answer was there.",
        do="try again: what was charged is not charged twice.",
    )


def _with_headers(given: Any) -> list[tuple[bytes, bytes]]:
    """Add the headers of every answer; pages bring a content policy of their own."""
    names = {name.lower() for name, _ in given}
    more = [each for each in (*_HEADERS, _CSP) if each[0] not in names]
    return [*given, *more]
