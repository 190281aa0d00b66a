"""What processes tell the writer of a ledger, as JSON: requests, results and errors.

Trust: kernel.  A request arrives as a tree, a scope and a key; the process that writes works out
the price itself, and believes no amount that it is sent.

A frame is four bytes of length and a JSON object.  Only what is listed here is understood.
"""

from __future__ import annotations

import base64
import json
import socket
import struct
from collections.abc import Mapping
from typing import Any, Final

from discreet import errors
from discreet.accounting.amounts import decode_amounts, encode_amounts
from discreet.errors import DiscreetError, LedgerUnavailable
from discreet.ledger.connection import LedgerRequest
from discreet.ledger.ledger_requests import DescribeRequest
from discreet.ledger.question_requests import (
    BeginRequest,
    ChargeRequest,
    FailRequest,
    ReleaseRequest,
    StartRequest,
)
from discreet.ledger.values import Charged, Receipt, Started, StoredAnswer

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


# --- requests ---------------------------------------------------------------------------------


def request_message(request: LedgerRequest[object]) -> Message | None:
    """Return a request that changes the ledger; None for one that only looks."""
    match request:
        case ChargeRequest() | BeginRequest():
            return _payment(request)
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


def _payment(request: ChargeRequest | BeginRequest) -> Message:
    verb, paid = (
        ("charge", request) if isinstance(request, ChargeRequest) else ("begin", request.paid)
    )
    charge, asked = paid.charge, paid.priced.asked
    return {"verb": verb, "key": charge.key, "question": charge.question, "asked": asked}


# --- results ----------------------------------------------------------------------------------


def result_message(result: object) -> Message:
    """Return what a request has led to."""
    match result:
        case Charged():
            amounts = [[path, encode_amounts(each)] for path, each in result.amounts]
            return {
                "kind": "charged",
                "key": result.key,
                "account": result.account,
                "receipt": str(result.receipt),
                "new": result.new,
                "amounts": amounts,
            }
        case Started():
            return {"kind": "started", "key": result.key, "attempt": result.attempt}
        case StoredAnswer():
            return {
                "kind": "stored",
                "key": result.key,
                "question": result.question,
                "answer": base64.b64encode(result.answer).decode("ascii"),
                "receipt": str(result.receipt),
                "replayed": result.replayed,
            }
        case _:
            return {"kind": "done"}


def read_result(message: Message) -> object:
    """Return what ``result_message`` was made of, or raise the error that was sent."""
    match message:
        case {"kind": "charged"}:
            return Charged(
                key=message["key"],
                account=message["account"],
                receipt=Receipt.read(message["receipt"]),
                new=message["new"],
                amounts=tuple(
                    (path, decode_amounts(texts, width=len(texts)))
                    for path, texts in message["amounts"]
                ),
            )
        case {"kind": "started"}:
            return Started(key=message["key"], attempt=message["attempt"])
        case {"kind": "stored"}:
            return StoredAnswer(
                key=message["key"],
                question=message["question"],
                answer=base64.b64decode(message["answer"]),
                receipt=Receipt.read(message["receipt"]),
                replayed=message["replayed"],
            )
        case {"kind": "error"}:
            raise read_error(message)
        case _:
            return None


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
