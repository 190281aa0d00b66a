"""The owner's check: which promises and declarations of a policy hold in the data.

Trust: kernel.  It reads private tables and adds no noise: it is for the owner alone, and no
question, plan or answer may ever reach it.  It knows no ledger.

    checker         opens the tables, makes every check, and puts the report together
    exact_counts    exact counts, computed by the engine that answers questions
    unit_findings   whose rows there are: constant columns, links, keys
    check_report    what was found, as text, HTML and JSON; how counts are distributed
    cell_shares     a table before it has a policy: how its cells can be read
    proposals       what its owner may declare, proposed from the rows
"""

from discreet.session.owner_check.cell_shares import FirstLook, first_look
from discreet.session.owner_check.check_report import CheckReport, Finding
from discreet.session.owner_check.checker import check
from discreet.session.owner_check.proposals import (
    ColumnProposal,
    Proposals,
    UnitGuess,
    csv_form,
    people_by_key,
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
    "people_by_key",
    "propose_columns",
    "unit_guesses",
]
