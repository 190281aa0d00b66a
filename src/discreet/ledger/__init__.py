"""The ledger: charges and answers on record, for good.

Trust: kernel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.doors import late_names
from discreet.ledger.ledger import Ledger
from discreet.ledger.values import Account, Charged, Receipt, Release, Started

if TYPE_CHECKING:  # the auditor is loaded when first used
    from discreet.ledger.verify import AccountBalance, Problem, Report

__all__ = [
    "Account",
    "AccountBalance",
    "Charged",
    "Ledger",
    "Problem",
    "Receipt",
    "Release",
    "Report",
    "Started",
]

if not TYPE_CHECKING:  # to which every name would be one of this room
    __getattr__, __dir__ = late_names(
        __name__,
        {"verify": ("AccountBalance", "Problem", "Report")},
        renamed={"Standing": "AccountBalance"},
    )
