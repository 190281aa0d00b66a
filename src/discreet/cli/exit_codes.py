"""How commands end: one exit code for each kind of ending, and errors without a traceback.

Trust: kernel.  A traceback, or the text of an unknown error, could quote the data: errors are
reported in three sentences.

    0   done
    1   something failed by nobody's decision: data that cannot be computed, a ledger that cannot
        be reached, no random bits; or whoever read the output has left, which needs no message
    2   the command was not understood, or names data, a policy or a ledger that does not exist
    3   the budget does not allow it
    4   the policy does not allow it, or the question cannot be answered
    5   the ledger is damaged, was changed, or belongs to something else
    6   an audit found a violation, or a check a broken promise
"""

from __future__ import annotations

import errno
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import typer

from discreet.errors import (
    BudgetError,
    DiscreetError,
    InputError,
    LedgerError,
    LedgerUnavailable,
    NotALedger,
    PolicyError,
    QuestionError,
    UnreadableSource,
)

__all__ = [
    "BUDGET",
    "DONE",
    "FAILED",
    "LEDGER",
    "REFUSED",
    "USAGE",
    "VIOLATION",
    "code_of",
    "errors_reported",
    "write_json",
    "write_result",
]

DONE: Final = 0
FAILED: Final = 1
USAGE: Final = 2
BUDGET: Final = 3
REFUSED: Final = 4
LEDGER: Final = 5
VIOLATION: Final = 6

_CODES: Final[tuple[tuple[type[DiscreetError], int], ...]] = (
    (NotALedger, USAGE),
    (LedgerUnavailable, FAILED),
    (LedgerError, LEDGER),
    (BudgetError, BUDGET),
    (PolicyError, REFUSED),
    (QuestionError, REFUSED),
    (UnreadableSource, USAGE),
    (InputError, USAGE),
)


def code_of(error: DiscreetError) -> int:
    """Return the exit status for an error."""
    return next((code for kind, code in _CODES if isinstance(error, kind)), FAILED)


_NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


@contextmanager
def errors_reported(*, as_json: bool = False) -> Iterator[None]:
    """Turn errors into words on stderr, and into the exit status that belongs to them."""
    try:
        yield
        sys.stdout.flush()  # so that a reader who has left is noticed here, and not at the exit
    except DiscreetError as error:
        _say(error, as_json=as_json)
        raise typer.Exit(code_of(error)) from None
    except (typer.Exit, typer.Abort, KeyboardInterrupt, BrokenPipeError):
        raise  # a closed pipe ends the command without a word
    except Exception as error:  # noqa: BLE001 (its text may quote the data)
        sys.stderr.write(_stopped(error))
        raise typer.Exit(FAILED) from None


def _stopped(error: Exception) -> str:
    """Report an error that is not ours, without its text."""
    what = f"stopped by an unexpected {type(error).__name__}."
    why = "its text is not shown, since it may hold values of the data."
    do = "try again"
    if isinstance(error, OSError) and error.errno in _NO_ROOM:
        what = "the output could not be written."
        why = "the disk that it goes to is full."
        do = "make room, or send the output elsewhere, and try again"
    return (
        f"discreet: {what}\n  Why: {why}\n"
        f"  Do:  {do}; what was charged stays charged, and a retry costs nothing more.\n"
    )


def _say(error: DiscreetError, *, as_json: bool) -> None:
    sys.stderr.write(f"{error}\n")
    if as_json:
        write_json(
            "error",
            {
                "code": error.code,
                "name": type(error).__name__,
                "what": error.what,
                "why": error.why,
                "do": error.do,
            },
        )


def write_result(kind: str, content: dict[str, object], text: object, *, as_json: bool) -> None:
    """Write the result of a command, as JSON or as text."""
    if as_json:
        write_json(kind, content)
    else:
        sys.stdout.write(f"{text}\n")


def write_json(kind: str, content: dict[str, object]) -> None:
    """Write one JSON object to stdout; its first fields say what it is."""
    text = json.dumps({"format": 1, "kind": kind, **content}, ensure_ascii=False, allow_nan=False)
    sys.stdout.write(f"{text}\n")
