"""Releases: totals get their noise here, and become answers with intervals.

Trust: kernel.
"""

from discreet.release.columns import ReleasedColumn
from discreet.release.odds import Odds, odds_of
from discreet.release.release import Release

__all__ = ["Odds", "Release", "ReleasedColumn", "odds_of"]
