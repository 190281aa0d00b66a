"""How the command ends: one number for each kind of end.

Trust: public.

    0   done
    1   something failed that is nobody's decision: data that cannot be computed, a ledger that
        cannot be reached, no random bits; or whoever read the output has left, which is not
        worth a word
    2   the command was not understood, or names data, a policy or a ledger that is not there
    3   the budget does not allow it
    4   the policy does not allow it, or the question cannot be answered
    5   the ledger is damaged, was changed, or belongs to something else
    6   an audit found a violation, or a check a broken promise
"""

from __future__ import annotations

from typing import Final

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

__all__ = ["BUDGET", "DONE", "FAILED", "LEDGER", "REFUSED", "USAGE", "VIOLATION", "code_of"]

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
    """Return the exit status for an error.

    >>> from discreet.errors import OverBudget
    >>> code_of(OverBudget(what="a.", why="b.", do="c."))
    3
    """
    return next((code for kind, code in _CODES if isinstance(error, kind)), FAILED)
