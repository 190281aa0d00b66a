"""Calls to a server over HTTP, by the standard library alone.

Trust: public.  A token travels over TLS, or within this machine.
"""

from __future__ import annotations

import http.client
import ipaddress
import json
import ssl
import threading
from collections.abc import Mapping
from typing import Any, Final, final
from urllib.parse import quote, urlsplit

from discreet import errors
from discreet.errors import DiscreetError, NotAllowed, OverBudget, TryAgain, WrongKind

_LARGEST: Final = 1 << 30
_SHORTAGE: Final = ("scope", "account", "needed", "left", "ways_out")


@final
class Transport:
    """One connection, which is opened when it is needed, and again when it was lost."""

    __slots__ = ("_connection", "_context", "_host", "_lock", "_port", "_timeout", "_token", "url")

    def __init__(
        self, url: str, *, token: str | None, timeout: float, context: ssl.SSLContext | None
    ) -> None:
        """Take the address and the token; nothing is sent yet."""
        parts = urlsplit(url)
        host = parts.hostname or ""
        if parts.scheme not in {"http", "https"} or not host or parts.path not in {"", "/"}:
            raise WrongKind(
                what="this is not the address of a server.",
                why="it is a scheme, a host and perhaps a port.",
                do="give 'https://clinic.example', say.",
            )
        if parts.scheme == "http" and not _is_here(host):
            raise NotAllowed(
                what="the address of another machine begins with http://.",
                why="everybody on the way could read the token and the answers.",
                do="use https://.",
            )
        self.url, self._host, self._port = url.rstrip("/"), host, parts.port
        self._token, self._timeout = token, timeout
        self._context = None
        if parts.scheme == "https":
            self._context = context or ssl.create_default_context()
        self._lock = threading.Lock()
        self._connection: http.client.HTTPConnection | None = None

    def call(
        self,
        method: str,
        *path: str,
        body: Mapping[str, object] | None = None,
        headers: Mapping[str, str] | None = None,
        query: str = "",
    ) -> Any:
        """Make a call, and return what its JSON says; raise what a problem says."""
        where = "/" + "/".join(quote(part, safe="") for part in path) + query
        sent = {"Accept": "application/json", **(headers or {})}
        if self._token is not None:
            sent["Authorization"] = f"Bearer {self._token}"
        data = None
        if body is not None:
            data = json.dumps(body, allow_nan=False).encode("ascii")
            sent["Content-Type"] = "application/json"
        with self._lock:
            status, received = self._exchange(method, where, data, sent)
        try:
            document = json.loads(received)
        except ValueError:
            raise _unreachable("what it answers is not JSON") from None
        if status >= 400:
            raise problem_error(document)
        return document

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._drop()

    def _exchange(
        self, method: str, path: str, data: bytes | None, headers: Mapping[str, str]
    ) -> tuple[int, bytes]:
        """Send a call; one that was cut off is sent again, which costs nothing more."""
        for last in (False, True):
            fresh = self._connection is None
            try:
                connection = self._connection or self._connected()
                self._connection = connection
                connection.request(method, path, body=data, headers=dict(headers))
                answer = connection.getresponse()
                return answer.status, answer.read(_LARGEST)
            except ssl.SSLError:
                self._drop()
                raise _unreachable("its certificate is not trusted") from None
            except (OSError, http.client.HTTPException):
                self._drop()
                if last or fresh:
                    raise _unreachable("nobody answers at its address") from None
        raise AssertionError  # the loop returns or raises

    def _connected(self) -> http.client.HTTPConnection:
        if self._context is None:
            return http.client.HTTPConnection(self._host, self._port, timeout=self._timeout)
        return http.client.HTTPSConnection(
            self._host, self._port, timeout=self._timeout, context=self._context
        )

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def problem_error(document: object) -> DiscreetError:
    """Return the error that a problem stands for.

    >>> print(problem_error({"name": "OverBudget", "detail": "a.", "why": "b.", "do": "c."}))
    OverBudget[E301]: a.
      Why: b.
      Do:  c.
    """
    said = document if isinstance(document, dict) else {}
    name = str(said.get("name", ""))
    status = said.get("status")
    kind: Any = TryAgain if status in {408, 429, 500} else NotAllowed
    kind = getattr(errors, name) if name in errors.__all__ else kind
    if not issubclass(kind, DiscreetError) or kind.code is None:
        kind = NotAllowed
    sentences = {
        "what": str(said.get("detail", "the server refuses the call.")),
        "why": str(said.get("why", "the server does not say more.")),
        "do": str(said.get("do", "ask the owner of the server.")),
    }
    if kind is OverBudget and set(_SHORTAGE) <= set(said):
        return OverBudget(**sentences, shortage={name: said[name] for name in _SHORTAGE})
    error: DiscreetError = kind(**sentences)
    return error


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _unreachable(what: str) -> TryAgain:
    return TryAgain(
        what=f"the server cannot be reached: {what}.",
        why="whether something was charged is on record there.",
        do="ask again: what was charged is not charged twice.",
    )
