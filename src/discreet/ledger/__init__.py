"""The ledger: charges and answers on record, for good.

Trust: kernel.
"""

from discreet.ledger.ledger import Ledger
from discreet.ledger.values import Account, Charged, Receipt, Release, Started
from discreet.ledger.verify import Problem, Report, Standing

__all__ = [
    "Account",
    "Charged",
    "Ledger",
    "Problem",
    "Receipt",
    "Release",
    "Report",
    "Standing",
    "Started",
]
