"""The ledger: charges and answers on record, for good.

Trust: kernel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.doors import open_door

if TYPE_CHECKING:  # each is loaded when first used
    from discreet.ledger.ledger import Ledger
    from discreet.ledger.values import Account, Charged, Receipt, Started, StoredAnswer
    from discreet.ledger.verify import AccountBalance, Problem, Report


__all__, __getattr__, __dir__ = open_door(__name__, __file__)
