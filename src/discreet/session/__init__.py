"""Sessions: the counter where questions are asked, paid for, answered and recorded.

Trust: kernel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.doors import open_door

if TYPE_CHECKING:  # each is loaded when first used, because most sessions need two of them
    from discreet.session.first_run.policy_proposal import PolicyProposal, propose
    from discreet.session.inquiry import Inquiry
    from discreet.session.opening import open  # noqa: A004  called discreet.open
    from discreet.session.opening_arguments import describe
    from discreet.session.owner_check import (
        CheckReport,
        FirstLook,
        Proposals,
        UnitGuess,
        check,
        csv_form,
        first_look,
        kind_of,
        open_tables,
        propose_columns,
        unit_guesses,
    )
    from discreet.session.record import NoLedger, Rehearsal
    from discreet.session.session import Session


__all__, __getattr__, __dir__ = open_door(__name__, __file__)
