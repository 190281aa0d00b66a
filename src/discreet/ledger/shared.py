"""A ledger that many processes share through one writer: charges of all of them are grouped.

Trust: kernel (T4).

What changes the ledger is sent to the process that writes, through a Unix socket, as JSON frames.
A request arrives as a tree, a scope and a key: the writer works out the price itself, believes no
amount that it is sent, and makes the step durable before it answers.  One thread serves each
connection, and all of them queue at the one writer, so that charges share commits.  Only processes
of the same user are served.  Looking needs no lock: each process follows the entries that are
stored, all of which are durable.  Its view may lag, so what it says of a budget is a preview.

Definition.  A connection is ready if a writer of the right ledger has answered every request that
was sent through it.  It stops being ready before a request is sent, and is ready again once a reply
with the number of that request is there.  Only a ready connection is used.
Consequence.  What ends a request early (a signal, a timeout, a writer that dies) leaves a
connection that is never used again, so that a late reply, which belongs to another request, is
never read.  The next request makes a new connection.

A connection that was ready and turns out to have ended is made anew at once, and the request is
sent again, since each step of a ledger can be repeated under its key.  After a timeout or a signal
nothing is sent again by itself.  A writer that is short of descriptors, threads or memory for a
moment goes on serving: new connections wait, or are turned away and may try again.
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
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any, Final, TypeVar, cast, final

from discreet import errors
from discreet.accounting.box import Box
from discreet.accounting.codec import decode
from discreet.accounting.nodes import Node
from discreet.errors import DiscreetError, LedgerUnavailable, OtherLedger
from discreet.ledger import Ledger
from discreet.ledger.connection import LedgerConnection, LedgerRequest, closed_ledger_error
from discreet.ledger.entries import PARSE_ERRORS
from discreet.ledger.requests import (
    BeginRequest,
    ChargeRequest,
    DescribeRequest,
    FailRequest,
    ReleaseRequest,
    StartRequest,
)
from discreet.ledger.store import LedgerAddress, LedgerStore, resolve_address, store_for
from discreet.ledger.values import (
    Charged,
    OpeningTerms,
    Receipt,
    Started,
    StoredAnswer,
    checked_timeout,
)

Message = dict[str, Any]

_LENGTH: Final = struct.Struct(">I")
_LONGEST: Final = 1 << 30


def send_message(channel: socket.socket, message: Mapping[str, object]) -> None:
    """Send one frame."""
    data = json.dumps(message, separators=(",", ":"), allow_nan=False).encode("ascii")
    channel.sendall(_LENGTH.pack(len(data)) + data)


def receive_message(channel: socket.socket) -> Message | None:
    """Return the next frame; None where the other end has closed."""
    head = _exactly(channel, _LENGTH.size)
    if head is None:
        return None
    (length,) = _LENGTH.unpack(head)
    data = _exactly(channel, length) if length <= _LONGEST else None
    if data is None:
        return None
    message = json.loads(data)
    return message if isinstance(message, dict) else None


def _exactly(channel: socket.socket, length: int) -> bytes | None:
    parts = bytearray()
    while len(parts) < length:
        part = channel.recv(min(length - len(parts), 1 << 20))
        if not part:
            return None
        parts += part
    return bytes(parts)


def request_message(request: LedgerRequest[object]) -> Message | None:
    """Return a request that changes the ledger; None for one that only looks."""
    match request:
        case ChargeRequest(charge, priced):
            verb = "charge"
        case BeginRequest(ChargeRequest(charge, priced)):
            verb = "begin"
        case StartRequest(key):
            return {"verb": "start", "key": key}
        case ReleaseRequest(key, answer):
            written = base64.b64encode(answer).decode("ascii")
            return {"verb": "release", "key": key, "answer": written}
        case FailRequest(key):
            return {"verb": "fail", "key": key}
        case DescribeRequest(entry):
            return {"verb": "describe", "what": entry.what, "content": entry.content()}
        case _:
            return None
    return {"verb": verb, "key": charge.key, "question": charge.question, "asked": priced.asked}


_RESULTS: Final[Mapping[str, type[Any]]] = {
    kind.__name__: kind for kind in (Charged, Started, StoredAnswer)
}


def result_message(result: object) -> Message:
    """Return what a request has led to, field by field."""
    if type(result).__name__ not in _RESULTS:
        return {"kind": "done"}
    message: Message = {"kind": type(result).__name__}
    for field in fields(result):  # type: ignore[arg-type]  # one of ours
        value = getattr(result, field.name)
        if isinstance(value, bytes):
            value = base64.b64encode(value).decode("ascii")
        message[field.name] = str(value) if isinstance(value, Receipt) else value
    return message


def read_result(message: Message) -> object:
    """Return what ``result_message`` was made of, or raise the error that was sent."""
    if message["kind"] == "error":
        raise read_error(message)
    kind = _RESULTS.get(message["kind"])
    if kind is None:
        return None
    values = {field.name: message[field.name] for field in fields(kind)}
    if "receipt" in values:
        values["receipt"] = Receipt.read(values["receipt"])
    if "answer" in values:
        values["answer"] = base64.b64decode(values["answer"])
    if "amounts" in values:
        values["amounts"] = tuple((path, tuple(each)) for path, each in values["amounts"])
    return kind(**values)


def error_message(error: DiscreetError) -> Message:
    """Return an error by its name and its sentences.

    >>> error_message(errors.OutOfRange(what="a.", why="b.", do="c."))["name"]
    'OutOfRange'
    """
    name = type(error).__name__
    return {"kind": "error", "name": name, "what": error.what, "why": error.why, "do": error.do}


def read_error(message: Mapping[str, Any]) -> DiscreetError:
    """Return the error that ``error_message`` was made of."""
    name = message["name"]
    kind = getattr(errors, name) if name in errors.__all__ else LedgerUnavailable
    error: DiscreetError = kind(what=message["what"], why=message["why"], do=message["do"])
    return error


_CREDENTIALS: Final = struct.Struct("3i")
_BACKLOG: Final = 256


def listen_at(path: Path) -> socket.socket:
    """Return a socket that listens at a path, which only this user can connect to."""
    try:
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            _remove_socket(path)
            listening.bind(str(path))
            path.chmod(0o600)
            listening.listen(_BACKLOG)
        except BaseException:
            listening.close()
            raise
    except OSError:
        raise LedgerUnavailable(
            what="the socket of the ledger's writer cannot be made.",
            why="its path is too long for a socket, the folder that it is in cannot be written, or "
            "this process can open no more files.",
            do="choose a shorter path for the state folder, or let this user write there.",
        ) from None
    return listening


def file_at(path: Path) -> tuple[int, int] | None:
    """Return the device and inode of what lies at a path, if anything does."""
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


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


def is_same_user(connection: socket.socket) -> bool:
    """Say whether the process at the other end is one of this user."""
    data = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    _, user, _ = _CREDENTIALS.unpack(data)
    return bool(user == os.getuid())


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


_TIMEOUT: Final = 60.0


@final
class RemoteWriter(LedgerConnection):
    """The connection of this process to the writer, and its own view of the entries."""

    def __init__(self, store: LedgerStore, channel: WriterChannel, *, timeout: float) -> None:
        """Take a store and a channel, and open both; or neither, if anything goes wrong."""
        self._channel = channel
        super().__init__(store, OpeningTerms(), timeout=timeout)
        try:
            channel.open(self.opening.ledger)
        except BaseException:
            self.close()
            raise

    def call(self, request: LedgerRequest[Result]) -> Result:
        """Have a request served: by the writer if it changes anything, or else here."""
        message = request_message(request)
        if message is None:
            return super().call(request)
        self.check_process()
        return cast("Result", read_result(self._channel.ask(message)))

    def close(self) -> None:
        """Let go of the socket and the store; closing twice does nothing."""
        self._channel.close()
        super().close()

    def _keep(self) -> None:
        """Leave checkpoints to the writer."""


def shared_ledger(
    address: LedgerAddress, writer: Path, *, name: str = "", timeout: float = _TIMEOUT
) -> Ledger:
    """Open a ledger whose writer is the process behind a socket.

    Args:
        address: the ledger, which exists already; it is only read here.
        writer: the path of the socket.
        name: how the writer calls this process.
        timeout: how many seconds a call may wait.
    """
    wait = checked_timeout(timeout)
    place = resolve_address(address)
    channel = WriterChannel(writer, name=name, timeout=wait)
    link = RemoteWriter(store_for(place, timeout=wait), channel, timeout=wait)
    ledger = object.__new__(Ledger)
    weakref.finalize(ledger, link.close)
    ledger._place, ledger._link = place, link
    return ledger
