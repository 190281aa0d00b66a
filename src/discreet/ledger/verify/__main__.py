"""Check a ledger from the command line: ``python -m discreet.ledger.verify FILE``.

Trust: public.

The exit status is 0 if everything follows from the entries, and 5 otherwise; 2 if the command was
not understood; and 1 if nothing is wrong with the ledger, and the report could not be written.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Final, TextIO

from discreet.errors import DiscreetError
from discreet.ledger.verify.readers import verify_file

__all__ = ["main"]

_BAD: Final = 5
_LOST: Final = 1
_TOLD: Final = """\
verify: the output could not be written.
  Why: stdout is closed, or the disk that it goes to is full.
  Do:  send it elsewhere, and verify again.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a report, and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m discreet.ledger.verify",
        description="Work out again, from its entries alone, what a ledger claims.",
    )
    parser.add_argument("file", help="a ledger in a SQLite file, or an export of one")
    parser.add_argument(
        "--receipt",
        action="append",
        default=[],
        help="a receipt that the ledger once gave, ledger:seq:head; may be given several times",
    )
    try:
        given = parser.parse_args(arguments)
    except SystemExit as ended:  # after help, or words about what was not understood
        if ended.code or _written("", sys.stdout):
            raise
        return _LOST
    try:
        report = verify_file(given.file, receipts=given.receipt)
    except DiscreetError as error:
        _written(f"{error}\n", sys.stderr)
        return _BAD
    status = 0 if report.ok else _BAD
    return status if _written(f"{report}\n", sys.stdout) else status or _LOST


def _written(text: str, stream: TextIO | None) -> bool:
    """Write a text, and return whether it arrived."""
    if stream is None:  # closed by the caller
        _tell_lost()
        return False
    try:
        stream.write(text)
        stream.flush()
    except OSError as error:
        with suppress(OSError, ValueError):  # or the interpreter would try again, and end with 120
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
        if not isinstance(error, BrokenPipeError):  # whoever has left hears no word
            _tell_lost()
        return False
    return True


def _tell_lost() -> None:
    if sys.stderr is not None:
        with suppress(OSError):
            sys.stderr.write(_TOLD)


if __name__ == "__main__":
    sys.exit(main())
