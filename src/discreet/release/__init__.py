"""Releases: totals get their noise here, and become answers with intervals.

Trust: kernel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.doors import late_names

if TYPE_CHECKING:  # each is loaded when first used, because a plan needs none of them
    from discreet.release.answer import noised
    from discreet.release.frames import ReleasedColumn
    from discreet.release.odds import Odds, odds_of
    from discreet.release.release import Release

__all__ = ["Odds", "Release", "ReleasedColumn", "noised", "odds_of"]

if not TYPE_CHECKING:  # to which every name would be one of this room
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "answer": ("noised",),
            "frames": ("ReleasedColumn",),
            "odds": ("Odds", "odds_of"),
            "release": ("Release",),
        },
    )
