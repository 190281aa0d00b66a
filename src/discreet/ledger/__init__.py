"""The ledger: charges and answers on record, for good.

Trust: kernel.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

from discreet.ledger.ledger import Ledger
from discreet.ledger.values import Account, Charged, Receipt, Release, Started

if TYPE_CHECKING:  # the auditor is loaded when first used
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

_FILES: Final = {
    "Problem": "verify",
    "Report": "verify",
    "Standing": "verify",
}

if not TYPE_CHECKING:  # to which every name would be one of this room

    def __getattr__(name: str) -> Any:
        """Load the file of a name the first time that it is asked for."""
        if name not in _FILES:
            message = f"module {__name__!r} has no attribute {name!r}"
            raise AttributeError(message)
        found = getattr(importlib.import_module(f"{__name__}.{_FILES[name]}"), name)
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    """List what can be asked for, loaded or not."""
    return sorted(__all__)
