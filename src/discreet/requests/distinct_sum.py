"""Sums of different values: each value that somebody shows is added once.

Trust: kernel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from discreet.arrays import int64_range
from discreet.exact import whole
from discreet.query.expressions import Expression


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class DistinctSum:
    """The sum of the different values among the kept units of a group.

    Definition.  Every value is clamped to [``low``, ``high``]; NULL counts nowhere.  Each unit
    shows at most ``most`` of its different values after that, those that come first in the order
    of hashes.  Values that several units show are added once.
    Theorem (key ``distinct-sum``).  Add one unit: the sum moves by a number within ``ends``, the
    least and the largest sum of at most ``most`` different whole numbers from ``low`` to ``high``.
    Proof.  The values that are shown are the union of what units show, and each unit decides by its
    own rows.  So the sum grows by the values that this unit shows and no other does: at most
    ``most`` different whole numbers between the bounds.  The largest sum of so many takes the
    largest ones above zero, the least sum the smallest ones below it.

    >>> from discreet.query.expressions import Column
    >>> DistinctSum(name="beds", row=Column("beds"), low=0, high=5, most=3).ends
    (0, 12)
    """

    name: str
    row: Expression
    low: int
    high: int
    most: int

    def __post_init__(self) -> None:
        """Refuse bounds that bound nothing."""
        int64_range(whole(self.low, name="low"), name="low")
        int64_range(whole(self.high, name="high", low=self.low), name="high")
        whole(self.most, name="most", low=1)
        low, high = self.ends
        int64_range(low, name="the least sum")
        int64_range(high, name="the largest sum")

    @property
    def ends(self) -> tuple[int, int]:
        """Between which numbers one unit moves the sum of one group."""
        lowest = -_largest_sum(-self.high, -self.low, self.most)
        return lowest, _largest_sum(self.low, self.high, self.most)


def _largest_sum(low: int, high: int, most: int) -> int:
    """Return the largest sum of so many different whole numbers between two, or of fewer."""
    count = max(0, min(most, high - max(low, 1) + 1))
    return count * high - count * (count - 1) // 2
