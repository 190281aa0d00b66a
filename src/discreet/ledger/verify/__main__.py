"""Check a ledger from the command line: ``python -m discreet.ledger.verify FILE``.

Trust: public.

The exit status is 0 if everything follows from the entries, and 5 otherwise.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Final

from discreet.errors import DiscreetError
from discreet.ledger.verify.readers import verify_file

__all__ = ["main"]

_BAD: Final = 5


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
    given = parser.parse_args(arguments)
    try:
        report = verify_file(given.file, receipts=given.receipt)
    except DiscreetError as error:
        sys.stderr.write(f"{error}\n")
        return _BAD
    sys.stdout.write(f"{report}\n")
    return 0 if report.ok else _BAD


if __name__ == "__main__":
    sys.exit(main())
