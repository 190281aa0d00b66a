"""Sessions: the counter where questions are asked, paid for, answered and recorded.

Trust: kernel.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:  # each is loaded when first used, because most sessions need two of them
    from discreet.session.describing import describe
    from discreet.session.inquiry import Inquiry
    from discreet.session.opening import open  # noqa: A004  called discreet.open
    from discreet.session.owner_check import CheckReport, check
    from discreet.session.record import NoLedger, Rehearsal
    from discreet.session.session import Session
    from discreet.session.written_release import WrittenRelease

__all__ = [
    "CheckReport",
    "Inquiry",
    "NoLedger",
    "Rehearsal",
    "Session",
    "WrittenRelease",
    "check",
    "describe",
    "open",
]

_FILES: Final = {
    "CheckReport": "owner_check.report",
    "Inquiry": "inquiry",
    "NoLedger": "record",
    "Rehearsal": "record",
    "Session": "session",
    "WrittenRelease": "written_release",
    "check": "owner_check.checking",
    "describe": "describing",
    "open": "opening",
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
