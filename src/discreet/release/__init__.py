"""Releases: totals get their noise here, and become answers with intervals.

Trust: kernel.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:  # each is loaded when first used, because a plan needs none of them
    from discreet.release.answer import noised
    from discreet.release.columns import ReleasedColumn
    from discreet.release.odds import Odds, odds_of
    from discreet.release.release import Release

__all__ = [
    "Odds",
    "Release",
    "ReleasedColumn",
    "noised",
    "odds_of",
]

_FILES: Final = {
    "Odds": "odds",
    "Release": "release",
    "ReleasedColumn": "columns",
    "noised": "answer",
    "odds_of": "odds",
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
