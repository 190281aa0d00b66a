"""Sessions: the counter where questions are asked, paid for, answered and recorded.

Trust: kernel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.doors import late_names

if TYPE_CHECKING:  # each is loaded when first used, because most sessions need two of them
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
        propose,
        unit_guesses,
    )
    from discreet.session.record import NoLedger, Rehearsal
    from discreet.session.session import Session

__all__ = [
    "CheckReport",
    "FirstLook",
    "Inquiry",
    "NoLedger",
    "Proposals",
    "Rehearsal",
    "Session",
    "UnitGuess",
    "check",
    "csv_form",
    "describe",
    "first_look",
    "open",
    "propose",
    "unit_guesses",
]

if not TYPE_CHECKING:  # to which every name would be one of this room
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "inquiry": ("Inquiry",),
            "opening": ("open",),
            "opening_arguments": ("describe",),
            "owner_check": (
                "CheckReport",
                "FirstLook",
                "Proposals",
                "UnitGuess",
                "check",
                "csv_form",
                "first_look",
                "propose",
                "unit_guesses",
            ),
            "record": ("NoLedger", "Rehearsal"),
            "session": ("Session",),
        },
    )
