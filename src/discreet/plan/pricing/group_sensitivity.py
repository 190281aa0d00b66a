"""Sensitivity: what is released of each measure, and how far one unit moves it.

Trust: kernel.  Noise is scaled to these distances.

Definition.  A unit adds something to at most g groups, in each a whole number from ``low`` to
``high``, or nothing.  Let D = max(|low|, |high|), W = high - low, and N the number of groups that
there can be at all.
Theorem (key ``plan-distances``).  Where one unit is added or removed, totals move in at most g
places, by at most g D in L1 and by g D**2 in the square of L2.  Where one unit is replaced by
another, they move in at most min(2 g, N) places, by at most the largest, in L1, of

    s D + a W    over s = min(2 g, N), a = 0;  s = 0, a = g;  and, if N < 2 g, a = 2 g - N,
                 s = 2 (N - g)

and in the square of L2 the same with D**2 and W**2.
Proof.  The first is ``bounded-contribution``.  For the second let a groups be those to which both
units add, where the total moves by at most W, and s those to which one of them does, where it moves
by at most D.  Then 2 a + s <= 2 g and a + s <= N, and a linear function is largest at a corner of
what these allow.  As g <= N, the corners other than zero are those above, all of them whole.
For a count of different values low = 0: units that are replaced hide and show at most ``high``.

Definition.  ``Noise`` is added to the totals of a measure, drawn anew in every group.  A
``QuantileChoice`` selects one leaf of a histogram in every group: with n rows in the leaves of a
group, of which b(i) lie below leaf i and u(i) up to it, leaf i has the score

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

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final, final

from discreet.mechanisms import Gaussian, Laplace
from discreet.units import Relation

if TYPE_CHECKING:  # loaded when first used, because a plain question needs none of it
    from discreet.mechanisms import Exponential, NoisyKeys, OptimalKeys

__all__ = [
    "UNITS",
    "GroupSensitivity",
    "Noise",
    "QuantileChoice",
    "Releases",
    "root_up",
    "steps_up",
]

_CORNERS: Final = 1 << 14


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSensitivity:
    """What a unit adds to a group, and to how many groups, of how many.

    ``available`` is None where nobody knows how many groups there are.

    >>> visits = GroupSensitivity(low=0, high=5, groups=2, available=None)
    >>> visits.added, visits.replaced, visits.added_squared
    (10, 20, 50)
    >>> GroupSensitivity(low=0, high=5, groups=1, available=1).replaced
    5
    """

    low: int
    high: int
    groups: int
    available: int | None

    @property
    def most(self) -> int:
        """How far one unit moves the total of one group."""
        return max(abs(self.low), abs(self.high))

    @property
    def added(self) -> int:
        """The L1 distance where a unit is added or removed."""
        return self.groups * self.most

    @property
    def added_squared(self) -> int:
        """The square of the L2 distance where a unit is added or removed."""
        return self.groups * self.most**2

    @property
    def replaced(self) -> int:
        """The L1 distance where a unit is replaced."""
        return self._largest(self.most, self.high - self.low)

    @property
    def replaced_squared(self) -> int:
        """The square of the L2 distance where a unit is replaced."""
        return self._largest(self.most**2, (self.high - self.low) ** 2)

    def places(self, relation: Relation) -> int:
        """Return in how many places totals can move."""
        return self._single if relation.replaces else self.groups

    def moved(self, relation: Relation) -> int:
        """Return the L1 distance of one step of a relation."""
        return self.replaced if relation.replaces else self.added

    def moved_squared(self, relation: Relation) -> int:
        """Return the square of the L2 distance of one step of a relation."""
        return self.replaced_squared if relation.replaces else self.added_squared

    @property
    def _single(self) -> int:
        """The most groups to which one of two units adds and the other does not."""
        twice = 2 * self.groups
        return twice if self.available is None else min(twice, self.available)

    def _largest(self, alone: int, both: int) -> int:
        corners = [self._single * alone, self.groups * both]
        if self.available is not None and self.available < 2 * self.groups:
            rest = self.available - self.groups
            corners.append((self.groups - rest) * both + 2 * rest * alone)
        return max(corners)


def steps_up(distance: int) -> int:
    """Round a distance up to one that is priced quickly: a multiple with at most 2**14 parts.

    It grows by less than one part in 2**13; a larger distance is never cheaper.

    >>> steps_up(10), steps_up(2**20 + 1)
    (10, 1048580)
    """
    part = -(-distance // _CORNERS)
    return part * -(-distance // part) if part else 0


def root_up(square: int) -> Fraction:
    """Return a number whose square is at least an integer, and below the next one.

    >>> root_up(9), math.floor(root_up(2) ** 2), root_up(2) ** 2 >= 2
    (Fraction(3, 1), 2, True)
    """
    root = math.isqrt(square)
    if root * root == square:
        return Fraction(root)
    bits = square.bit_length() // 2 + 3
    return Fraction(math.isqrt(square << 2 * bits) + 1, 1 << bits)


UNITS: Final = "units"
"""The name of the number of units, which no measure has."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """Noise on the totals of a measure, or on the number of units.

    >>> far = GroupSensitivity(low=0, high=1, groups=1, available=None)
    >>> Noise(measure=UNITS, mechanism=Laplace(scale=2), distances=far).measure
    'units'
    """

    measure: str
    mechanism: Laplace | Gaussian
    distances: GroupSensitivity


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class QuantileChoice:
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


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Releases:
    """Everything that is released: which keys are shown, noisy totals, chosen values.

    ``chosen_by`` names the count that chooses keys, and is released with them if it has noise.
    """

    selection: OptimalKeys | NoisyKeys | None = None
    chosen_by: str = UNITS
    noises: tuple[Noise, ...] = ()
    choices: tuple[QuantileChoice, ...] = ()
