"""Profiles: one priced release about all columns of a table.

Trust: kernel.

Rows and people, the share of NULL, how many different values there are, quartiles and a histogram
of numbers and dates, and the most frequent categories.  ``session.plan_profile`` says for free what
a profile costs and how exact it is; ``session.profile`` buys it.  docs/guide/profile.md shows both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.doors import open_door

if TYPE_CHECKING:  # each is loaded when first used
    from discreet.profile.planning import ProfilePlan, plan_profile, profile
    from discreet.profile.report import ColumnProfile, Profile

__all__, __getattr__, __dir__ = open_door(__name__, __file__)
