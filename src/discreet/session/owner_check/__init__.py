"""The owner's check: which promises and declarations of a policy hold in the data.

Trust: kernel.  It reads private tables and adds no noise: it is for the owner alone, and no
question, plan or answer may ever reach it.  It knows no ledger.

    exact_counts    exact counts, as plain SQL on the engine that answers questions
    checker         holds every promise and declaration against the data
    check_report    what was found, as text, HTML and JSON; how counts are distributed
    proposals       a table before it has a policy: what it holds, and what its owner may declare
"""

from discreet.session.owner_check.check_report import CheckReport, Finding
from discreet.session.owner_check.checker import check
from discreet.session.owner_check.exact_counts import open_tables
from discreet.session.owner_check.proposals import (
    ColumnProposal,
    FirstLook,
    Proposals,
    UnitGuess,
    csv_form,
    first_look,
    kind_of,
    propose_columns,
    unit_guesses,
)

__all__ = [
    "CheckReport",
    "ColumnProposal",
    "Finding",
    "FirstLook",
    "Proposals",
    "UnitGuess",
    "check",
    "csv_form",
    "first_look",
    "kind_of",
    "open_tables",
    "propose_columns",
    "unit_guesses",
]
