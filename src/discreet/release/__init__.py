"""Releases: totals get their noise here, and become answers with intervals.

Trust: kernel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.doors import open_door

if TYPE_CHECKING:  # each is loaded when first used, because a plan needs none of them
    from discreet.release.answer import noised
    from discreet.release.frames import ReleasedColumn
    from discreet.release.odds import Odds, odds_of
    from discreet.release.release import Release

__all__, __getattr__, __dir__ = open_door(__name__, __file__)
