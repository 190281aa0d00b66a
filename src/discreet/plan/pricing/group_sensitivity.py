"""Sensitivity: what is released of each measure, and how far one unit moves it.

Trust: kernel.  Noise is scaled to these distances.

Definition.  A unit adds something to at most g groups, in each a whole number from ``low`` to
``high``, or nothing.  Let D = max(|low|, |high|), W = high - low, and N the number of groups that
there can be at all.
Theorem (key ``plan-distances``).  If one unit is added or removed, totals move in at most g
places, by at most g D in L1 and by g D**2 in the square of L2.  If one unit is replaced by
another, they move in at most min(2 g, N) places, by at most the largest, in L1, of

    s D + a W    over s = min(2 g, N), a = 0;  s = 0, a = g;  and, if N < 2 g, a = 2 g - N,
                 s = 2 (N - g)

and in the square of L2 the same with D**2 and W**2.
Proof.  The first is ``bounded-contribution``.  For the second let a groups be those to which both
units add, where the total moves by at most W, and s those to which one of them does, where it moves
by at most D.  Then 2 a + s <= 2 g and a + s <= N, and a linear function is largest at a corner of
what these allow.  As g <= N, the corners other than zero are those above, all of them whole.
For a count of different values low = 0: units that are replaced hide and show at most ``high``.

Definition.  Units are *always there* if each of them adds to every one of g = N groups.
Theorem (key ``always-there``).  If such a unit is replaced, totals move by at most g W in L1 and
by g W**2 in the square of L2.  In particular the number of all rows, 1 for each, does not move.
Proof.  Both units add to all groups, so s = 0 and a = g above.

Definition.  ``Noise`` is added to the totals of a measure, drawn anew in every group.  A
``ScoredChoice`` selects one leaf of a histogram in every group.  With n rows in the leaves of a
group, of which b(i) are below leaf i and u(i) up to it, leaf i has a score that follows from b(i),
u(i) and n, and is chosen with a probability proportional to exp(score / scale).  The *weight* of a
choice bounds by how much one row more or less moves every score; one row that is replaced moves
every score by at most 1, and by at most twice the weight.  The score of a ``QuantileChoice`` is

    min(t - b(i), u(i) - t),    t = level n + offset:

how deep the rank t lies among those of leaf i, or minus how far beside them.

If the offset is not zero, as many rows more are counted: in the first leaf if it is negative,
which moves all ranks up and t with them, and in the last leaf if it is positive.  So t is never
outside of all ranks.
Theorem (key ``leaf-scores``; Smith 2011, in its discrete form).  One row more or less moves every
score by at most max(level, 1 - level), and one row that is replaced by at most 1.
Proof.  A row
below leaf i moves b(i) - t by 1 - level and t - u(i) by level - 1; one in it moves them by -level
and level - 1, one above it by -level and level.  A replaced row leaves t alone. What is counted
besides is the same in all tables.
"""

from __future__ import annotations

import functools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, cast, final

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms import Gaussian, Laplace
from discreet.units import Relation

if TYPE_CHECKING:  # loaded when first used, because a plain question needs none of it
    from discreet.mechanisms import Exponential, NoisyKeys, OptimalKeys, SumKeys
    from discreet.plan.pricing.linear_strategy import CellStrategy
    from discreet.plan.pricing.quantile_tree import QuantileTree, TreeChoice

_CORNERS: Final = 1 << 14
_SIDES: Final = {0: "", -1: ", from below", 1: ", from above"}


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSensitivity:
    """What a unit adds to a group, and to how many groups, of how many.

    ``available`` is None if nobody knows how many groups there are.  ``always`` is claimed for
    the number of all rows of a table alone, of which a request can say that nothing hides one
    (:func:`discreet.plan.pricing.release_composition.check_claims`).

    >>> visits = GroupSensitivity(low=0, high=5, groups=2, available=None)
    >>> visits.added, visits.replaced, visits.added_squared
    (10, 20, 50)
    >>> GroupSensitivity(low=0, high=5, groups=1, available=1).replaced
    5
    >>> GroupSensitivity(low=1, high=1, groups=1, available=1, always=True).replaced
    0
    """

    low: int
    high: int
    groups: int
    available: int | None
    always: bool = False

    @property
    def most(self) -> int:
        """How far one unit moves the total of one group."""
        return max(abs(self.low), abs(self.high))

    @property
    def most_squared(self) -> int:
        return self.most**2

    @property
    def width(self) -> int:
        """How far two units may be apart in one group."""
        return self.high - self.low

    @property
    def width_squared(self) -> int:
        return self.width**2

    @property
    def strategy(self) -> CellStrategy | None:
        """The sums of cells that are measured in place of the totals, if they are."""
        return None

    @property
    def added(self) -> int:
        """The L1 distance if a unit is added or removed."""
        return self.groups * self.most

    @property
    def added_squared(self) -> int:
        """The square of the L2 distance if a unit is added or removed."""
        return self.groups * self.most_squared

    @property
    def replaced(self) -> int:
        """The L1 distance if a unit is replaced."""
        return self._largest(self.most, self.width)

    @property
    def replaced_squared(self) -> int:
        """The square of the L2 distance if a unit is replaced."""
        return self._largest(self.most_squared, self.width_squared)

    def places(self, relation: Relation) -> int:
        """Return in how many places totals can move."""
        return self._single if relation.replaces else self.groups

    def moved(self, relation: Relation) -> int:
        """Return the L1 distance of one step of a relation."""
        if not relation.replaces:
            return self.added
        return max(self.replaced, self.added) if relation.adds else self.replaced

    def moved_squared(self, relation: Relation) -> int:
        """Return the square of the L2 distance of one step of a relation."""
        if not relation.replaces:
            return self.added_squared
        far = self.replaced_squared
        return max(far, self.added_squared) if relation.adds else far

    @property
    def _single(self) -> int:
        """The most groups to which one of two units adds and the other does not."""
        twice = 2 * self.groups
        return twice if self.available is None else min(twice, self.available)

    def _largest(self, alone: int, both: int) -> int:
        if self.always and self.groups == self.available:
            return self.groups * both
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


@functools.lru_cache(maxsize=256)
def spans_of(leaves: int) -> tuple[int, ...]:
    """Return how many leaves to both sides of a value an interval may go; they double in two steps.

    >>> spans_of(20)
    (0, 1, 2, 3, 4, 6, 8, 12, 16, 24)
    """
    edges, more = [0], 1
    while edges[-1] < leaves - 1:
        edges.append(edges[-1] + more)
        if len(edges) > 4 and len(edges) % 2:
            more *= 2
    return tuple(edges)


LeafUse = tuple[str, Fraction | str]
"""A histogram, and what is chosen from it: a level, or a word."""
ReleaseInput = tuple[str, Fraction | str | None]
"""A measure, and what is chosen from it if it is a histogram: a level, or a word."""


def scores_moved(
    weight: Fraction, *, rows: int, available: int | None, two_sided: bool
) -> Fraction:
    """Return how far one step of a relation moves the scores of one of the groups of a unit.

    >>> scores_moved(Fraction(1, 2), rows=3, available=None, two_sided=False)
    Fraction(3, 2)
    """
    if not two_sided:
        return rows * weight
    return Fraction(rows) if available == 1 else 2 * rows * weight


@dataclass(frozen=True, slots=True, kw_only=True)
class LeafChoice(ABC):
    """A choice of one leaf of a histogram in every group.

    A unit has at most ``rows`` rows in each of at most ``groups`` groups, of so many in all.
    """

    measure: str
    rows: int
    groups: int
    available: int | None
    offset: int = 0

    @property
    @abstractmethod
    def use(self) -> LeafUse:
        """The histogram, and what is chosen from it."""

    @property
    @abstractmethod
    def spread(self) -> float | Fraction:
        """About how far it is off: of two choices of the same, the smaller one counts."""

    @property
    def drawn_from(self) -> QuantileTree | None:
        """The tree of noisy counts that it is read from, if it is read from one."""
        return None

    @property
    def name(self) -> str:
        """What a composition calls it."""
        measure, target = self.use
        return f"{measure} at {target}{_SIDES[self.side]}"

    @property
    def side(self) -> int:
        """Whether it aims at its target, 0, or below or above it, -1 or 1."""
        return (self.offset > 0) - (self.offset < 0)

    @property
    def is_value(self) -> bool:
        """Whether it chooses the value itself, and not an end of its interval."""
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredChoice(LeafChoice):
    """A choice by the scores of all leaves."""

    mechanism: Exponential

    @property
    @abstractmethod
    def weight(self) -> Fraction:
        """How far one row more or less moves every score."""

    @property
    @abstractmethod
    def words(self) -> str:
        """What it aims at, in words."""

    @abstractmethod
    def misses(self, below: NDArray[Any], upto: NDArray[Any], rows: NDArray[Any]) -> NDArray[Any]:
        """Return minus the scores, up to what all leaves of a group share, in parts of a row.

        Args:
            below: the rows below each leaf, those that are counted besides among them.
            upto: the rows up to each leaf, likewise.
            rows: the rows of its group, without those that are counted besides.
        """

    @property
    def parts(self) -> int:
        """Scores are whole multiples of one over this number."""
        return 1

    @property
    def spread(self) -> float | Fraction:
        """The scale, in ranks."""
        return self.mechanism.scale

    @property
    def added(self) -> Fraction:
        """How far a unit that is added or removed moves the scores of one of its groups."""
        return self.moved(two_sided=False)

    def moved(self, *, two_sided: bool) -> Fraction:
        """Return how far one step of a relation moves the scores of one of ``groups`` groups."""
        return scores_moved(
            self.weight, rows=self.rows, available=self.available, two_sided=two_sided
        )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class QuantileChoice(ScoredChoice):
    """A choice of a quantile, or of the one end of the lowest or the highest value."""

    level: Fraction

    @property
    def use(self) -> LeafUse:
        return self.measure, self.level

    @property
    def weight(self) -> Fraction:
        """How far one row more or less moves every score (key ``leaf-scores``)."""
        return max(self.level, 1 - self.level)

    @property
    def words(self) -> str:
        """The level, and how far beside it the choice aims."""
        if self.offset == 0:
            return f"{self.level}"
        ranks = "1 rank" if abs(self.offset) == 1 else f"{abs(self.offset)} ranks"
        return f"{self.level} and {ranks} {'higher' if self.offset > 0 else 'lower'}"

    @property
    def parts(self) -> int:
        """Ranks are multiples of one over the denominator of the level."""
        return self.level.denominator

    @property
    def is_value(self) -> bool:
        return self.side == 0 or not 0 < self.level < 1

    def misses(self, below: NDArray[Any], upto: NDArray[Any], rows: NDArray[Any]) -> NDArray[Any]:
        """Return how far ranks are from the one that is aimed at, below 0 inside a leaf."""
        target = rows * self.level.numerator + self.parts * max(self.offset, 0)
        misses: NDArray[Any] = np.maximum(below * self.parts - target, target - upto * self.parts)
        return misses


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class QuantileSpan(ScoredChoice):
    """A choice of how many leaves around the value of a quantile hold some ranks on both sides.

    There are ``leaves`` leaves; ``offset`` is how many ranks the span aims to hold on each side.
    How far its interval goes follows from it (:mod:`discreet.aggregates.quantile`).
    """

    level: Fraction
    leaves: int

    @property
    def use(self) -> LeafUse:
        return self.measure, self.level

    @property
    def weight(self) -> Fraction:
        """How far one row more or less moves every score (key ``span-scores``)."""
        return max(self.level, 1 - self.level)

    @property
    def name(self) -> str:
        return f"{self.measure} around {self.level}"

    @property
    def words(self) -> str:
        """The level, and how many ranks on both sides of it are looked for."""
        return f"{self.level} and {self.offset} ranks to both sides"

    @property
    def parts(self) -> int:
        """Depths are multiples of one over a level's denominator, or thirds of a row."""
        return 3 * self.level.denominator

    @property
    def is_value(self) -> bool:
        return False

    def misses(self, below: NDArray[Any], upto: NDArray[Any], rows: NDArray[Any]) -> NDArray[Any]:
        """Return how far from the aim the sizes of the span before and of its own are."""
        del rows
        target = self.parts * self.offset
        misses: NDArray[Any] = np.maximum(below - target, target - upto)
        return misses


def trees_of(choices: Iterable[LeafChoice]) -> dict[QuantileTree, tuple[TreeChoice, ...]]:
    """Return the trees behind some choices, each once, and what is read from it."""
    found: dict[QuantileTree, tuple[TreeChoice, ...]] = {}
    for choice in choices:
        tree = choice.drawn_from
        if tree is not None:
            found[tree] = (*found.get(tree, ()), cast("TreeChoice", choice))
    return found


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Releases:
    """Everything that is released: which keys are shown, noisy totals, chosen values.

    ``chosen_by`` names the count that chooses keys, and is released with them if it has noise of
    its own.
    """

    selection: OptimalKeys | NoisyKeys | SumKeys | None = None
    chosen_by: str = UNITS
    noises: tuple[Noise, ...] = ()
    choices: tuple[LeafChoice, ...] = ()
