"""How commands end: one exit code for each kind of ending, and errors without a traceback.

Trust: kernel.  A traceback, or the text of an unknown error, could quote the data: errors are
reported in three sentences.

    0   done
    1   a failure that is not a refusal: data that cannot be computed, a ledger that cannot be
        reached, no random bits; or all was done, and the output could not be written: stdout is
        closed, the disk is full, or the reader of the pipe has left, which needs no message
    2   the command was not understood, or names data, a policy or a ledger that does not exist
    3   the budget does not allow it
    4   the policy does not allow it, or the question cannot be answered
    5   the ledger is damaged, was changed, or belongs to something else
    6   an audit found a violation, or a check a broken promise

A caller may close a stream, give it an encoding that lacks half of the characters, or send it to a
full disk.  None of this changes the charge, or a code other than 0: a closed stdout takes nothing,
and characters that an encoding lacks are written as escapes.  JSON is ASCII.
"""

from __future__ import annotations

import errno
import io
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TextIO, final

import typer

from discreet.errors import (
    BudgetError,
    DiscreetError,
    InputError,
    LedgerError,
    LedgerUnavailable,
    NotALedger,
    OverBudget,
    PolicyError,
    QuestionError,
    TooNoisy,
    UnreadableSource,
)

if TYPE_CHECKING:  # loaded for --json alone
    from discreet.documents import Document

_STREAMS: Final = 3
_FAILING: Final = frozenset({"strict", "surrogateescape"})


def prepare_streams() -> None:
    """Stand in for closed streams, and make every text one that stdout can write.

    A closed stream is None, and the next file that is opened would take its number.  So all three
    numbers are taken first, by something that cannot be written.
    """
    number = 0
    while number < _STREAMS:
        number = os.open(os.devnull, os.O_RDONLY)
    os.close(number)
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: PTH123, SIM115
    if sys.stdout is None:  # writing to it fails, as it should
        unwritable = os.open(os.devnull, os.O_RDONLY)
        sys.stdout = open(unwritable, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors in _FAILING:
        sys.stdout.reconfigure(errors="backslashreplace")


def tell(text: str) -> None:
    """Write to stderr; if that is lost too, the exit code has to say it."""
    with suppress(OSError):
        sys.stderr.write(text)
        sys.stderr.flush()


def flush_output() -> bool:
    """Write what waits for stdout and stderr, and return whether all of stdout arrived.

    Unwritable output is discarded: the interpreter would try again, and end with 120.
    """
    _flush(sys.stderr)
    return _flush(sys.stdout)


def _flush(stream: TextIO) -> bool:
    try:
        stream.flush()
    except (OSError, ValueError):
        with suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
        return False
    return True


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


_FULL: Final = "the disk that it goes to is full."
_UNWRITTEN: Final = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EFBIG: _FULL,
    errno.EBADF: "stdout is closed.",
}


@final
@dataclass(slots=True)
class Ending:
    """How a command will end; set before its output is written, which may fail."""

    code: int = DONE


_CHARGED: Final = "the charge stays, and a retry costs nothing more"


@contextmanager
def errors_reported(
    *, as_json: bool = False, verbose: bool = False, again: str = _CHARGED
) -> Iterator[Ending]:
    """Turn errors into words on stderr, and into the exit status that belongs to them.

    ``verbose`` prints all numbers of a refusal, and ``again`` says what a second try costs.
    """
    ending = Ending()
    try:
        try:
            yield ending
        except DiscreetError as error:
            ending.code = code_of(error)
            _say(error, as_json=as_json, verbose=verbose)
        sys.stdout.flush()  # so that output that is lost is noticed here, and not at the exit
    except (typer.Exit, typer.Abort, KeyboardInterrupt):
        raise
    except BrokenPipeError:
        ending.code = ending.code or FAILED  # no message to a reader who has left
    except Exception as error:  # noqa: BLE001 (its text may quote the data)
        tell(stopped_text(error, again=again))
        ending.code = ending.code or FAILED
    if ending.code != DONE:
        raise typer.Exit(ending.code) from None


def stopped_text(error: Exception, *, again: str = _CHARGED) -> str:
    """Report an error that is not ours, without its text."""
    what = f"stopped by an unexpected {type(error).__name__}."
    why = "its text is not shown, since it may hold values of the data."
    do = "try again"
    if isinstance(error, OSError) and error.errno in _UNWRITTEN:
        what = "the output could not be written."
        why = _UNWRITTEN[error.errno]
        do = "send the output elsewhere, or make room, and try again"
    return f"discreet: {what}\n  Why: {why}\n  Do:  {do}; {again}.\n"


def _say(error: DiscreetError, *, as_json: bool, verbose: bool) -> None:
    if isinstance(error, TooNoisy):
        do = (
            error.do.replace("epsilon ", "--epsilon ", 1)
            if error.do[:8] == "epsilon "
            else error.do
        )
        do = do.replace("confirm=True", "--confirm").replace("; --", ";  --")
        tell(f"Not asked, nothing spent: {error.what}\n  {do}\n")
    else:
        tell(f"{error}\n")
    if verbose and isinstance(error, OverBudget) and error.details:
        tell(f"  All: {error.details}\n")
    if as_json:
        from discreet.documents import ProblemDocument  # noqa: PLC0415  rare, and large

        write_document(ProblemDocument.of(error), "")


def write_result(kind: str, content: dict[str, object], text: object, *, as_json: bool) -> None:
    """Write the result of a command, as JSON or as text."""
    if as_json:
        write_json(kind, content)
    else:
        sys.stdout.write(f"{text}\n")


def write_document(document: Document | None, text: object) -> None:
    """Write a document as JSON, or else the text."""
    if document is None:
        sys.stdout.write(f"{text}\n")
    else:
        written = json.dumps(document.written(), ensure_ascii=True, allow_nan=False)
        sys.stdout.write(f"{written}\n")


def write_json(kind: str, content: dict[str, object]) -> None:
    """Write one JSON object to stdout, in ASCII; its first fields say what it is."""
    text = json.dumps({"format": 1, "kind": kind, **content}, ensure_ascii=True, allow_nan=False)
    sys.stdout.write(f"{text}\n")
