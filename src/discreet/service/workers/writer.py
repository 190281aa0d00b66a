"""A ledger that many processes share through one writer: charges of all of them are grouped.

Trust: kernel (T4).

Changes to the ledger are sent to the process that writes, through a Unix socket of this user, as
JSON frames.  A request arrives as a tree, a scope and a key: the writer works out the price itself,
believes no amount that it is sent, and makes the step durable before it answers.  One thread serves
each connection, and all of them queue at the one writer, so that charges share commits.  Looking
needs no lock: each process follows the stored entries, which are all durable.  Its view may lag, so
what it says of a budget is a preview.

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
import socket
import stat
import struct
import threading
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
from discreet.ledger.connection import LedgerConnection
from discreet.ledger.entries import PARSE_ERRORS, DescriptionEntry
from discreet.ledger.failures import RETRY, closed_ledger_error
from discreet.ledger.ledger import Ledger
from discreet.ledger.requests import PricedRequest
from discreet.ledger.store import LedgerAddress, resolve_address, store_for
from discreet.ledger.table import EntryTable
from discreet.ledger.values import (
    Charged,
    OpeningTerms,
    Receipt,
    Started,
    StoredAnswer,
    checked_timeout,
)

Message = dict[str, Any]
Result = TypeVar("Result")
Observer = Callable[[str, str, str], None]
"""Hears the name of a connection, a verb that is done, and its key."""

_LENGTH: Final = struct.Struct(">I")
_LONGEST: Final = 1 << 30
_BACKLOG: Final = 256
_TIMEOUT: Final = 60.0
_PAUSE: Final = 0.1
_SHORT: Final = (OSError, RuntimeError, MemoryError)
"""Errors raised if descriptors, threads or memory are short."""
_VERBS: Final = frozenset({"charge", "begin", "start", "release", "fail", "describe"})
_STEPS: Final = {"begin": ("charge", "start")}
_RESULTS: Final[Mapping[str, type[Any]]] = {
    kind.__name__: kind for kind in (Charged, Started, StoredAnswer)
}

# --- messages ---------------------------------------------------------------------------------


def send_message(channel: socket.socket, message: Mapping[str, object]) -> None:
    """Send one frame."""
    text = json.dumps(message, separators=(",", ":"), allow_nan=False, default=_plain)
    data = text.encode("ascii")
    channel.sendall(_LENGTH.pack(len(data)) + data)


def _plain(value: object) -> object:
    """Write a message as JSON: an answer, a request, a description, or a receipt."""
    match value:
        case bytes():
            return base64.b64encode(value).decode("ascii")
        case PricedRequest():
            return value.asked
        case DescriptionEntry():
            return [value.what, value.text]
        case _:
            return str(value)


def receive_message(channel: socket.socket) -> Message | None:
    """Return the next frame; None if the other end has closed."""
    head = _exactly(channel, _LENGTH.size)
    length = _LONGEST + 1 if head is None else _LENGTH.unpack(head)[0]
    data = _exactly(channel, length) if length <= _LONGEST else None
    message = None if data is None else json.loads(data)
    return message if isinstance(message, dict) else None


def _exactly(channel: socket.socket, length: int) -> bytes | None:
    parts = bytearray()
    while len(parts) < length:
        part = channel.recv(min(length - len(parts), 1 << 20))
        if not part:
            return None
        parts += part
    return bytes(parts)


def _result_message(result: object) -> Message:
    """Return what a step has led to, field by field."""
    kind = type(result).__name__
    if kind not in _RESULTS:
        return {"kind": "done"}
    return {"kind": kind, **{each.name: getattr(result, each.name) for each in fields(result)}}  # type: ignore[arg-type]  # one of ours


def _read_result(message: Message) -> object:
    """Return what ``_result_message`` was made of, or raise the error that was sent."""
    if message["kind"] == "error":
        raise read_error(message)
    kind = _RESULTS.get(message["kind"])
    if kind is None:
        return None
    values = {each.name: message[each.name] for each in fields(kind)}
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


def _unavailable(what: str, why: str, do: str = RETRY) -> LedgerUnavailable:
    return LedgerUnavailable(what=what, why=why, do=do)


def _misunderstood() -> LedgerUnavailable:
    return _unavailable(
        "the processes that share the ledger do not understand each other.",
        "they run different versions of this package, and what was paid would be uncertain.",
        "run the same version everywhere.",
    )


# --- the processes that ask -------------------------------------------------------------------


@final
class RemoteWriter(LedgerConnection):
    """The requests of this process to the process that writes a ledger, and its own view of it."""

    def __init__(self, store: EntryTable, writer: Path, *, name: str, timeout: float) -> None:
        """Open a store, and connect to the socket of its writer, which will call us by a name."""
        self._writer, self._name = writer, name
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._gone = self._ready = False
        self._number = 0
        super().__init__(store, OpeningTerms(), timeout=timeout)
        try:
            self._taking_turns(self._connect)
        except BaseException:
            self.close()
            raise

    def call(self, step: Callable[..., Result], key: str | None, *given: object) -> Result:
        """Have a step taken: by the writer if it can, or else here."""
        if step.__name__ not in _VERBS:
            return super().call(step, key, *given)
        self.check_process()
        message = {"verb": step.__name__, "key": key, "given": given}
        return cast("Result", _read_result(self._taking_turns(lambda: self._asked(message))))

    def close(self) -> None:
        """Close the socket and the store; pending requests fail at once."""
        self._gone = True  # before the socket is looked at: _connect does it the other way round
        connected = self._socket
        if connected is not None:
            with suppress(OSError):
                connected.shutdown(socket.SHUT_RDWR)
            connected.close()
        super().close()

    def _taking_turns(self, work: Callable[[], Result]) -> Result:
        """Use the connection alone, and close it if it is not ready afterwards."""
        with self._lock:
            try:
                return work()
            except (OSError, ValueError):
                raise closed_ledger_error() if self._gone else _unanswered() from None
            finally:
                if not self._ready and self._socket is not None:
                    self._socket.close()

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
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        if self._gone:
            raise closed_ledger_error()
        self._socket.settimeout(self._timeout)
        self._socket.connect(str(self._writer))
        found = self._reply({"verb": "hello", "name": self._name})
        if found.get("ledger") != self.opening.ledger:
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
        """Return the reply to a request; raise ConnectionError if the writer has gone."""
        connected = self._socket
        if connected is None:
            raise ConnectionResetError
        self._number += 1
        send_message(connected, {**message, "number": self._number})
        reply = receive_message(connected)
        if reply is None:
            raise ConnectionResetError
        if reply.get("number") != self._number:
            raise _misunderstood()
        return reply


def _unanswered() -> LedgerUnavailable:
    return _unavailable(
        "the process that writes the ledger cannot be reached, or does not answer.",
        "it does not run, was stopped, or is too busy; what was recorded stays recorded.",
        f"start the server that writes it; then {RETRY}",
    )


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
    link = RemoteWriter(store_for(place, timeout=wait), writer, name=name, timeout=wait)
    return Ledger.over(link, place)


# --- the process that writes ------------------------------------------------------------------


@final
class WriterSocket:
    """Serves one ledger at one path until it is closed."""

    def __init__(self, ledger: Ledger, path: Path, *, observer: Observer = lambda *_: None) -> None:
        """Listen; the folder of the path should be this user's alone."""
        self._ledger, self._observer, self.path = ledger, observer, path
        self._connections: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._socket = _listen_at(path)
        self._file = path.lstat().st_ino
        threading.Thread(target=self._accept, name="discreet-shared-ledger", daemon=True).start()

    def close(self) -> None:
        """Stop serving; what was recorded stays.  Closing twice does nothing."""
        if self._closed.is_set():
            return
        self._closed.set()
        with suppress(OSError):
            if self.path.lstat().st_ino == self._file:  # not that of another server
                self.path.unlink()
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
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
            with self._lock:
                self._connections.add(connection)
            try:
                if self._closed.is_set():
                    raise OSError
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
                        reply: Message = {"kind": "done", "ledger": self._ledger.id}
                    else:
                        reply = self._reply(who, message)
                    send_message(connection, {**reply, "number": message.get("number")})
        finally:
            self._part(connection)
            self._observer(who, "gone", "")

    def _reply(self, who: str, message: Message) -> Message:
        try:
            result = _act(self._ledger, message)
        except DiscreetError as error:
            return error_message(error)
        except Exception:  # noqa: BLE001  the other end always waits for an answer
            return error_message(_misunderstood())
        verb = str(message["verb"])
        for step in _STEPS.get(verb, (verb,)):
            self._observer(who, step, message["key"] or "")
        return _result_message(result)


def _act(ledger: Ledger, message: Message) -> object:
    match message["verb"], message["key"], message["given"]:
        case ("charge" | "begin" as verb, str(key), [str(asked), str(question)]):
            account, tree, scope, delta = _read_request(asked)
            pay = ledger.charge if verb == "charge" else ledger.begin
            named = {"key": key, "question": question, "account": account}
            return pay(tree, scope=scope, delta=delta, **named)
        case ("start", str(key), []):
            return ledger.start(key)
        case ("release", str(key), [str(answer)]):
            return ledger.release(key, base64.b64decode(answer))
        case ("fail", str(key), []):
            ledger.fail(key)
            return None
        case ("describe", None, [[str(what), str(text)]]):
            return ledger.describe(what, json.loads(text))
        case _:
            raise _misunderstood()


@functools.lru_cache(512)
def _read_request(asked: str) -> tuple[str, Node, Box, str | None]:
    """Read what a charge asks for: an account, a tree, a scope and a delta."""
    try:
        account, tree, scope, delta = json.loads(f"{asked}]")
        return account, decode(tree), Box.read(scope), delta
    except PARSE_ERRORS:
        raise _misunderstood() from None


def _listen_at(path: Path) -> socket.socket:
    """Return a socket that listens at a path, in place of one that an earlier server has left."""
    try:
        with suppress(FileNotFoundError):
            if not stat.S_ISSOCK(path.lstat().st_mode):
                raise _unavailable(
                    f"{path.name}, where the socket of the ledger's writer goes, is not a socket.",
                    "a server removes nothing that it has not made.",
                    "move it away, or name another state folder.",
                )
            path.unlink()
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            listening.bind(str(path))
            path.chmod(0o600)  # no other user can connect
            listening.listen(_BACKLOG)
        except BaseException:
            listening.close()
            raise
    except OSError:
        raise _unavailable(
            "the socket of the ledger's writer cannot be made.",
            "its path is too long for a socket, the folder that it is in cannot be written, or "
            "this process can open no more files.",
            "choose a shorter path for the state folder, or let this user write there.",
        ) from None
    return listening
