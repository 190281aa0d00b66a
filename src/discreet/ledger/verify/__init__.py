"""Verification: everything that a ledger claims, worked out again from its entries alone.

Trust: kernel.  An auditor reads this, and it shares no code with what it checks: it builds on the
standard library, on :mod:`discreet.accounting` and the rooms below, and on no other file of the
ledger.

What is checked, for every entry:

    lines      canonical JSON in a known format, with exactly the fields of their kind, in order
    chain      each head follows from the line and the head before it
    columns    what is stored beside a line is what the line says
    accounts   exist before they are charged, and lie below others; the first entry is the only root
    requests   one charge and one release a key, release after start after charge; attempts count up
    closed     questions are neither started nor answered until they are reopened
    answers    are those whose digest and size were recorded
    prices     worked out again from tree, scope and delta; what was recorded is not below
    limits     follow from what they promise, and are raised by two people, never lowered
    sums       of every account within its limits at every moment
    receipts   name existing entries, with the same head, in the same ledger

and for a ledger in a SQLite file:

    tables     with their indexes and triggers are those that a ledger is made with
    index      every index agrees with its table, and no page is damaged
    card       is whole; neither card nor checkpoint names an entry that is missing

What cannot be seen from entries alone: that the last ones are missing (hold a receipt against it),
that data were read without a charge, and whether the names of people are true.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.doors import late_names

if TYPE_CHECKING:  # each is loaded when first used
    from discreet.ledger.verify.readers import is_database, verify, verify_file
    from discreet.ledger.verify.report import AccountBalance, Problem, Report

__all__ = ["AccountBalance", "Problem", "Report", "is_database", "verify", "verify_file"]

if not TYPE_CHECKING:  # to which every name would be one of this room
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "readers": ("is_database", "verify", "verify_file"),
            "report": ("AccountBalance", "Problem", "Report"),
        },
    )
