"""The writing process: it serves a ledger to others through a Unix socket.

Trust: kernel.

One thread serves each connection, and all of them queue at the one writer of the ledger, so the
charges of many processes share commits.  Only processes of the same user are served.  The price of
a charge is worked out here, from its tree.
"""

from __future__ import annotations

import base64
import functools
import json
import os
import socket
import stat
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, final

from discreet.accounting.scopes.box import Box
from discreet.accounting.storage.codec import decode
from discreet.accounting.tree.node import Node
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

Observer = Callable[[str, str, str], None]
"""Hears the name of a connection, a verb that is done, and its key."""

_CREDENTIALS: Final = struct.Struct("3i")
_BACKLOG: Final = 256


def _nobody(who: str, verb: str, key: str) -> None:
    """Hear nothing."""


@final
class WriterSocket:
    """Serves one ledger at one path until it is closed."""

    __slots__ = ("_connections", "_ledger", "_lock", "_observer", "_socket", "path")

    def __init__(self, ledger: Ledger, path: Path, *, observer: Observer = _nobody) -> None:
        """Listen; the folder of the path should be this user's alone."""
        self._ledger, self._observer, self.path = ledger, observer, path
        self._connections: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            _remove_socket(path)
            self._socket.bind(str(path))
        except LedgerUnavailable:
            self._socket.close()
            raise
        except OSError:
            self._socket.close()
            raise LedgerUnavailable(
                what="the socket of the ledger's writer cannot be made.",
                why="its path is too long for a socket, or the folder that it is in cannot be "
                "written.",
                do="choose a shorter path for the state folder, or let this user write there.",
            ) from None
        path.chmod(0o600)
        self._socket.listen(_BACKLOG)
        threading.Thread(target=self._accept, name="discreet-shared-ledger", daemon=True).start()

    def close(self) -> None:
        """Stop serving; what was recorded stays."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        with self._lock:
            for connection in self._connections:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
        self.path.unlink(missing_ok=True)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:  # closed
                return
            if not _same_user(connection):
                connection.close()
                continue
            with self._lock:
                self._connections.add(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        who = ""
        try:
            with suppress(OSError, ValueError):
                while (message := receive_message(connection)) is not None:
                    if message.get("verb") == "hello":
                        who = str(message.get("name", ""))
                        reply: Message = {"kind": "done"}
                    else:
                        reply = self._reply(who, message)
                    send_message(connection, reply)
        finally:
            with self._lock:
                self._connections.discard(connection)
            connection.close()
            self._observer(who, "gone", "")

    def _reply(self, who: str, message: Message) -> Message:
        try:
            result = self._act(message)
        except DiscreetError as error:
            return error_message(error)
        except Exception:  # noqa: BLE001  the other end waits for an answer, whatever happened
            return error_message(unreadable_request_error())
        self._observer(who, str(message["verb"]), str(message.get("key", "")))
        return result_message(result)

    def _act(self, message: Message) -> object:
        ledger = self._ledger
        match message:
            case {"verb": "charge", "key": str(key), "question": str(question), "asked": asked}:
                account, tree, scope, delta = _read_request(asked)
                return ledger.charge(
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


def _remove_socket(path: Path) -> None:
    """Remove a socket that an earlier server has left; refuse whatever else lies there."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode):
        raise LedgerUnavailable(
            what=f"something that is no socket lies where that of the ledger's writer goes: "
            f"{path.name}.",
            why="a server removes nothing that it has not made.",
            do="move it away, or name another state folder.",
        )
    path.unlink()


@functools.lru_cache(512)
def _read_request(asked: str) -> tuple[str, Node, Box, str | None]:
    """Read what a charge asks for: an account, a tree, a scope and a delta."""
    try:
        account, tree, scope, delta, _ = json.loads(f'{asked}""]')
        return account, decode(tree), Box.read(scope), delta
    except PARSE_ERRORS:
        raise unreadable_request_error() from None


def _same_user(connection: socket.socket) -> bool:
    """Say whether the process at the other end is one of this user."""
    data = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    _, user, _ = _CREDENTIALS.unpack(data)
    return bool(user == os.getuid())


def unreadable_request_error() -> LedgerUnavailable:
    """Return the error for what no process of ours sends."""
    return LedgerUnavailable(
        what="the writer of the ledger does not understand a request.",
        why="it comes from another version, or not from this package.",
        do="run the same version everywhere.",
    )
