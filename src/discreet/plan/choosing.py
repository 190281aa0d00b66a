"""Which count of a question can choose the groups that it shows.

Trust: kernel.  What one unit adds to the count is what its noise is scaled to.

Definition.  Where groups are private, a noisy count that an answer needs in any case can choose
them: a group is shown if it reaches a threshold (key ``threshold-keys``), and nothing else is paid
for the choice.  A count can do that if every unit of a group adds at least one to it and at most
``most``: then groups without units, of which nobody may learn, count nothing.  That is so for

    the number of units
    the rows of all units, at most so many of each

Theorem (key ``rows-are-units``).  A count of all rows of which a unit has at most one in a group
that counts, and at least one, is the number of units.
Proof.  A unit of the group has a row in it, so that its own count, clamped to one, is one.

Rows choose only where nothing else is said: a least number of units in a group, or a way to choose,
is about units.  And they choose only if no number of units is asked for, by which smaller groups
are shown, and if at most two rows of a unit count.  A choice apart takes about half of a price and
shows groups of twice as many units as one that has all of it; rows, so many of each unit, show
groups of as many times the rows, and units often have one row each.  An epsilon that is for the
choice alone is for a choice by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, final

from discreet.plan.groups import Groups
from discreet.plan.lowered import Measure, Total
from discreet.plan.noises import UNITS
from discreet.plan.rows_seen import ONE
from discreet.query.question import Clause

__all__ = ["UNIT_COUNTS", "Chooser", "Choosing"]

UNIT_COUNTS: Final = tuple(Total(name="", row=ONE, low=low, high=1) for low in (0, 1))
"""Counts that are the number of units."""

_OPTIMAL: Final = "OPTIMAL"
_MOST: Final = 2
"""Rows of a unit, at most, where rows choose."""

Chooser = tuple[str, int]
"""The name of a count, and how much a unit adds to it, at most."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Choosing:
    """Whether numbers of units may choose the groups of a question, and whether rows may.

    ``blind`` says that bounds on values are found later, and must not decide which count it is.

    >>> rows = Total(name="count", row=ONE, low=0, high=2)
    >>> both = Choosing(units=True, rows=True)
    >>> both.among({"count": rows}), both.among({"count": rows, UNITS: None})
    (('count', 2), ('units', 1))
    >>> Choosing(units=True).among({"count": rows}) is None
    True
    """

    units: bool = False
    rows: bool = False
    blind: bool = False

    @classmethod
    def of(cls, groups: Groups, clause: Clause, *, blind: bool = False) -> Choosing:
        """Read what a question says about the choice of its groups."""
        shared = groups.chosen and clause.group_selection_epsilon is None
        units = shared and groups.strategy != _OPTIMAL
        rows = units and groups.strategy is None and groups.fewest == 1
        return cls(units=units, rows=rows, blind=blind)

    def by(self, total: Total, *, units: bool) -> bool:
        """Say whether a total may choose; ``units`` says that the number of units could."""
        if total in UNIT_COUNTS:
            return self.units
        counts = total.row == ONE and total.rows is None and total.low >= 0
        return self.rows and not units and counts and 1 <= total.high <= _MOST

    def among(self, measured: Mapping[str, Measure | None]) -> Chooser | None:
        """Return which count of those that an answer needs chooses its groups, if one may.

        The number of units is none of the measures, and has None in place of one.
        """
        units = UNITS in measured
        if units and self.units:
            return UNITS, 1
        found = [
            (name, each.high)
            for name, each in measured.items()
            if isinstance(each, Total) and self.by(each, units=units)
        ]
        return min(found, key=lambda each: each[1], default=None)
