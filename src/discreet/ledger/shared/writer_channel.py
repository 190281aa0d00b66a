"""The way to the writer of a ledger: every request gets its own reply, or none.

Trust: kernel.  Whoever takes the reply to another request for its own believes that something was
paid which was not.

Definition.  A connection is ready if a writer of the right ledger has answered every request that
was sent through it.  It stops being ready before a request is sent, and is ready again once a reply
with the number of that request is there.  Only a ready connection is used.
Consequence.  What ends a request early (a signal, a timeout, a writer that dies) leaves a
connection that is never used again, so that a late reply is never read.  The next request makes a
new connection.

A connection that was ready and turns out to have ended is made anew at once, and the request is
sent again, since each step of a ledger can be repeated under its key.  After a timeout or a signal
nothing is sent again by itself.
"""

from __future__ import annotations

import functools
import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeVar, final

from discreet.errors import LedgerUnavailable, OtherLedger
from discreet.ledger.connection import closed_ledger_error
from discreet.ledger.shared.messages import Message, receive_message, send_message

Result = TypeVar("Result")


@final
class WriterChannel:
    """The requests of this process to the process that writes a ledger, one at a time."""

    __slots__ = (
        "_closed",
        "_ledger",
        "_lock",
        "_name",
        "_number",
        "_path",
        "_ready",
        "_socket",
        "_timeout",
    )

    def __init__(self, path: Path, *, name: str, timeout: float) -> None:
        """Take the path of the socket, and how the writer will call us; nothing is opened yet."""
        self._path, self._name, self._timeout = path, name, timeout
        self._lock = threading.Lock()
        self._closed = False
        self._ledger = ""
        self._number = 0
        self._socket: socket.socket | None = None
        self._ready = False

    def open(self, ledger: str) -> None:
        """Connect to the writer of the ledger with this name, and of no other from now on."""
        self._ledger = ledger
        self._taking_turns(self._connect)

    def ask(self, message: Mapping[str, object]) -> Message:
        """Send a request, and return its reply."""
        return self._taking_turns(functools.partial(self._asked, message))

    def _taking_turns(self, work: Callable[[], Result]) -> Result:
        """Use the connection alone, and close it if it is not ready afterwards."""
        with self._lock:
            try:
                return work()
            except (OSError, ValueError):
                raise closed_ledger_error() if self._closed else unanswered_error() from None
            finally:
                if not self._ready and self._socket is not None:
                    self._socket.close()

    def close(self) -> None:
        """Close the connection; whoever waits for a reply is told at once."""
        self._closed = True  # before the socket is looked at: _connect does it the other way round
        connected = self._socket
        if connected is not None:
            with suppress(OSError):
                connected.shutdown(socket.SHUT_RDWR)
            connected.close()

    def _asked(self, message: Mapping[str, object]) -> Message:
        if self._ready:
            with suppress(ConnectionError):  # the writer was started anew since
                return self._exchange(message)
        self._connect()
        return self._exchange(message)

    def _connect(self) -> None:
        """Make a new connection in place of the last one, to a writer of the right ledger."""
        self._ready = False
        if self._socket is not None:
            self._socket.close()
        try:
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            if self._closed:
                raise closed_ledger_error()
            self._socket.settimeout(self._timeout)
            self._socket.connect(str(self._path))
        except OSError:
            raise closed_ledger_error() if self._closed else unreachable_error() from None
        found = self._reply({"verb": "hello", "name": self._name})
        if found.get("ledger") != self._ledger:
            raise OtherLedger(
                what="the process behind the socket writes another ledger.",
                why="what is charged there is not charged to the ledger that is read here.",
                do="give the socket of the server that writes this ledger.",
            )
        self._ready = True

    def _exchange(self, message: Mapping[str, object]) -> Message:
        """Use a ready connection; it is ready again afterwards, or never."""
        self._ready = False
        reply = self._reply(message)
        self._ready = True
        return reply

    def _reply(self, message: Mapping[str, object]) -> Message:
        """Return the reply to a request; raise ConnectionError where the writer has gone."""
        connected = self._socket
        if connected is None:
            raise ConnectionResetError
        self._number += 1
        send_message(connected, {**message, "number": self._number})
        reply = receive_message(connected)
        if reply is None:
            raise ConnectionResetError
        if reply.get("number") != self._number:
            raise other_version_error()
        return reply


def unreachable_error() -> LedgerUnavailable:
    """Return the error for a socket that nobody listens at, or that cannot be made here."""
    return LedgerUnavailable(
        what="no process writes the ledger.",
        why="its socket cannot be reached, or this process can open no more files.",
        do="start the server that writes it, and ask again with the same key.",
    )


def unanswered_error() -> LedgerUnavailable:
    """Return the error for a request whose reply did not come."""
    return LedgerUnavailable(
        what="the process that writes the ledger does not answer.",
        why="it was stopped, or is too busy; what was recorded stays recorded.",
        do="ask again with the same key once it runs: nothing is paid twice.",
    )


def other_version_error() -> LedgerUnavailable:
    """Return the error for a reply that does not say which request it answers."""
    return LedgerUnavailable(
        what="the process that writes the ledger does not say which request it answers.",
        why="it runs another version of this package, and what was paid would be uncertain.",
        do="run the same version everywhere.",
    )
