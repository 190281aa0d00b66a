"""What is released of each measure: noisy totals, and values chosen by their rank.

Trust: kernel.

Definition.  ``Noise`` is added to the totals of a measure, drawn anew in every group.  A ``Choice``
selects one leaf of a histogram in every group: with n rows in the leaves of a group, of which
b(i) lie below leaf i and u(i) up to it, leaf i has the score

    -max(0, b(i) - t, t - u(i)),    t = level n + offset,

and is chosen with a probability proportional to exp(score / scale).  Where the offset is not zero,
as many rows more are counted: in the first leaf if it is negative, which moves all ranks up and t
with them, and in the last leaf if it is positive.  So t is never outside of all ranks.
Theorem (key ``leaf-scores``).  One row more or less moves every score by at most
max(level, 1 - level), and one row that is replaced by at most 1.
Proof.  A row below leaf i moves b(i) - t by 1 - level and t - u(i) by level - 1; one in it moves
them by -level and level - 1, one above it by -level and level.  A replaced row leaves t alone.
What is counted besides is the same in all tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final, final

from discreet.mechanisms import Gaussian, Laplace
from discreet.plan.distances import Distances

if TYPE_CHECKING:  # loaded when first used, because a plain question needs none of it
    from discreet.mechanisms import Exponential

__all__ = ["UNITS", "Choice", "Noise"]

UNITS: Final = "units"
"""The name of the number of units, which no measure has."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """Noise on the totals of a measure, or on the number of units.

    >>> far = Distances(low=0, high=1, groups=1, available=None)
    >>> Noise(measure=UNITS, mechanism=Laplace(scale=2), distances=far).measure
    'units'
    """

    measure: str
    mechanism: Laplace | Gaussian
    distances: Distances


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A choice of one leaf in every group: a quantile, or an end of its interval.

    A unit has at most ``rows`` rows in each of at most ``groups`` groups, of so many in all.
    """

    measure: str
    level: Fraction
    offset: int
    mechanism: Exponential
    rows: int
    groups: int
    available: int | None

    @property
    def side(self) -> int:
        """Whether it aims at the level, 0, or below or above it, -1 or 1."""
        return (self.offset > 0) - (self.offset < 0)

    @property
    def added(self) -> Fraction:
        """How far a unit that is added or removed moves the scores of one of its groups."""
        return self.rows * max(self.level, 1 - self.level)

    def moved(self, *, two_sided: bool) -> Fraction:
        """Return how far one step of a relation moves the scores of one of ``groups`` groups."""
        if not two_sided:
            return self.added
        return Fraction(self.rows) if self.available == 1 else 2 * self.added
