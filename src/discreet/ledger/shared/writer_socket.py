"""The writing process: it serves a ledger to others through a Unix socket.

Trust: kernel.

One thread serves each connection, and all of them queue at the one writer of the ledger, so the
charges of many processes share commits.  Only processes of the same user are served.  The price of
a charge is worked out here, from its tree.  A reply bears the number of its request
(:mod:`.writer_channel`).

A process that is short of descriptors, threads or memory for a moment goes on serving: whoever
comes meanwhile waits to be accepted, or is turned away, and may come again.
"""

from __future__ import annotations

import base64
import functools
import json
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, final

from discreet.accounting.box import Box
from discreet.accounting.codec import decode
from discreet.accounting.nodes import Node
from discreet.errors import DiscreetError, LedgerUnavailable
from discreet.ledger import Ledger
from discreet.ledger.entry_kinds import PARSE_ERRORS
from discreet.ledger.shared.messages import (
    Message,
    error_message,
    receive_message,
    result_message,
    send_message,
)
from discreet.ledger.shared.socket_file import file_at, is_same_user, listen_at

Observer = Callable[[str, str, str], None]
"""Hears the name of a connection, a verb that is done, and its key."""

_STEPS: Final = {"begin": ("charge", "start")}
_SHORT: Final = (OSError, RuntimeError, MemoryError)
"""What is raised where descriptors, threads or memory are short."""
_PAUSE: Final = 0.1


def _nobody(who: str, verb: str, key: str) -> None:
    """Hear nothing."""


@final
class WriterSocket:
    """Serves one ledger at one path until it is closed."""

    __slots__ = (
        "_closed",
        "_connections",
        "_file",
        "_ledger",
        "_lock",
        "_name",
        "_observer",
        "_socket",
        "path",
    )

    def __init__(self, ledger: Ledger, path: Path, *, observer: Observer = _nobody) -> None:
        """Listen; the folder of the path should be this user's alone."""
        self._ledger, self._observer, self.path = ledger, observer, path
        self._name = ledger.id
        self._connections: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._file: tuple[int, int] | None = None
        self._socket = listen_at(path)
        try:
            self._file = file_at(path)
            threading.Thread(
                target=self._accept, name="discreet-shared-ledger", daemon=True
            ).start()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Stop serving; what was recorded stays.  Closing twice does nothing."""
        if self._closed.is_set():
            return
        self._closed.set()
        if self._file is not None and file_at(self.path) == self._file:
            self.path.unlink(missing_ok=True)  # it is not that of another server
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()  # from here on, the number of its file may be that of another
        with self._lock:
            for connection in self._connections:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while not self._closed.is_set():
            try:
                connection, _ = self._socket.accept()
            except _SHORT:  # or closed
                self._closed.wait(_PAUSE)
                continue
            self._welcome(connection)

    def _welcome(self, connection: socket.socket) -> None:
        """Begin to serve a connection, or turn it away."""
        with self._lock:
            self._connections.add(connection)
        try:
            if self._closed.is_set() or not is_same_user(connection):
                raise PermissionError
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()
        except _SHORT:
            self._part(connection)

    def _part(self, connection: socket.socket) -> None:
        with self._lock:
            self._connections.discard(connection)
        connection.close()

    def _serve(self, connection: socket.socket) -> None:
        who = ""
        try:
            with suppress(OSError, ValueError):
                while (message := receive_message(connection)) is not None:
                    if message.get("verb") == "hello":
                        who = str(message.get("name", ""))
                        reply: Message = {"kind": "done", "ledger": self._name}
                    else:
                        reply = self._reply(who, message)
                    send_message(connection, {**reply, "number": message.get("number")})
        finally:
            self._part(connection)
            self._observer(who, "gone", "")

    def _reply(self, who: str, message: Message) -> Message:
        try:
            result = self._act(message)
        except DiscreetError as error:
            return error_message(error)
        except Exception:  # noqa: BLE001  the other end waits for an answer, whatever happened
            return error_message(unreadable_request_error())
        verb = str(message["verb"])
        for step in _STEPS.get(verb, (verb,)):
            self._observer(who, step, str(message.get("key", "")))
        return result_message(result)

    def _act(self, message: Message) -> object:
        ledger = self._ledger
        match message:
            case {
                "verb": "charge" | "begin" as verb,
                "key": str(key),
                "question": str(question),
                "asked": asked,
            }:
                account, tree, scope, delta = _read_request(asked)
                pay = ledger.charge if verb == "charge" else ledger.begin
                return pay(
                    tree, key=key, question=question, scope=scope, delta=delta, account=account
                )
            case {"verb": "start", "key": str(key)}:
                return ledger.start(key)
            case {"verb": "release", "key": str(key), "answer": str(answer)}:
                return ledger.release(key, base64.b64decode(answer))
            case {"verb": "fail", "key": str(key)}:
                ledger.fail(key)
                return None
            case {"verb": "describe", "what": str(what), "content": dict(content)}:
                return ledger.describe(what, content)
            case _:
                raise unreadable_request_error()


@functools.lru_cache(512)
def _read_request(asked: str) -> tuple[str, Node, Box, str | None]:
    """Read what a charge asks for: an account, a tree, a scope and a delta."""
    try:
        account, tree, scope, delta, _ = json.loads(f'{asked}""]')
        return account, decode(tree), Box.read(scope), delta
    except PARSE_ERRORS:
        raise unreadable_request_error() from None


def unreadable_request_error() -> LedgerUnavailable:
    """Return the error for what no process of ours sends."""
    return LedgerUnavailable(
        what="the writer of the ledger does not understand a request.",
        why="it comes from another version, or not from this package.",
        do="run the same version everywhere.",
    )
