"""A strategy for a histogram of cells: which sums get noise, and how far a unit moves them.

Trust: kernel.  The sums that are priced here are the ones that are measured: a release computes
them with this very object (:meth:`CellStrategy.measured`).

Definition.  Of a histogram x over cells, a strategy measures y(j), the sum of x over some cells,
for each of its *sums* j.  Noise is added to every y(j), and every answer is a sum of whole
multiples of noisy y(j), which is post-processing.  Let b(c) be the vector of zeros and ones that
says which sums hold cell c, w the most ones of any b(c), and f the most places in which two of the
vectors b(c) and the zero vector differ.
Theorem (key ``cell-sums``).  Let a unit count with at most k rows in each of at most g groups, each
row in one cell.  Added or removed, it moves all y by at most g k w in L1 and g k**2 w in the square
of L2.  Where it is replaced by another, they move as ``plan-distances`` says, with k w for what one
of the units adds to a group and k f for the difference of the two in a group that they share; in
the square of L2, with k**2 w and k**2 f.
Proof.  What a unit adds to a group is a sum of at most k vectors b(c): a point of the polytope
whose corners are zero and all k b(c).  Norms are convex, so the longest point is a corner, with
norm k w, and square k**2 w since entries are zeros and ones.  The difference of two points is
longest between two corners: k times the number of places, or k**2 times it for the square.
The histogram itself is enforced by the engine (``bounded-contribution``): one expression names the
cell of a row, and of a unit's rows in a group at most k stay.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final, final

import numpy as np

from discreet.plan.pricing.group_sensitivity import GroupSensitivity
from discreet.units import Relation

if TYPE_CHECKING:  # planning knows no arrays of an engine
    from discreet.requests.raw_totals import Integers, SparseLeaves

__all__ = ["CellSensitivity", "CellStrategy", "Weights"]

Weights = tuple[tuple[int, int], ...]
"""The places of sums, and by what whole numbers they are multiplied."""

_BLOCK: Final = 512


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CellStrategy:
    """Sums of cells that get noise, and answers as sums of multiples of these.

    ``words`` says which strategy it is, and why.

    >>> halves = CellStrategy(words="", cells=2, sums=((0,), (0, 1)),
    ...     answers=(("first", ((0, 1),)), ("rest", ((1, 1), (0, -1)))))
    >>> halves.heaviest, halves.farthest, halves.expanded({"rest": Fraction(2)})
    (2, 2, {1: Fraction(2, 1), 0: Fraction(-2, 1)})
    """

    words: str
    cells: int
    sums: tuple[tuple[int, ...], ...]
    answers: tuple[tuple[str, Weights], ...]

    @property
    def heaviest(self) -> int:
        """The most sums that hold one cell."""
        return _distances(self.sums, self.cells)[0]

    @property
    def farthest(self) -> int:
        """The most sums that hold one of two cells and not the other, or a cell at all."""
        return _distances(self.sums, self.cells)[1]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the answers."""
        return tuple(name for name, _ in self.answers)

    def measured(self, sparse: SparseLeaves, groups: int) -> Integers:
        """Return all sums of each group, as a matrix with a row for each group.

        >>> tree = CellStrategy(words="", cells=2, sums=((0,), (0, 1)), answers=())
        >>> tree.measured((np.array([0, 0]), np.array([0, 1]), np.array([5, 2])), 1).tolist()
        [[5, 7]]
        """
        group, cell, count = sparse
        found = np.zeros((groups, len(self.sums)), np.int64)
        for place, cells in enumerate(self.sums):
            held = np.zeros(self.cells, np.bool_)
            held[list(cells)] = True
            inside = held[cell]
            np.add.at(found[:, place], group[inside], count[inside])
        return found

    def expanded(self, terms: Mapping[str, Fraction]) -> dict[int, Fraction]:
        """Return a sum of multiples of answers as one of multiples of sums."""
        weights = dict(self.answers)
        found: dict[int, Fraction] = {}
        for name, factor in terms.items():
            for place, weight in weights.get(name, ()):
                found[place] = found.get(place, Fraction(0)) + factor * weight
        return found


@functools.lru_cache(maxsize=64)
def _distances(sums: tuple[tuple[int, ...], ...], cells: int) -> tuple[int, int]:
    """Return the most ones of a vector b(c), and the most places in which two of them differ."""
    holds = np.zeros((cells, len(sums)), np.float32)
    for place, inside in enumerate(sums):
        holds[list(inside), place] = 1
    ones = holds.sum(axis=1)
    heaviest = farthest = int(ones.max(initial=0))
    for start in range(0, cells, _BLOCK):  # whole numbers below 2**24 are exact
        part = slice(start, start + _BLOCK)
        apart = ones[part, np.newaxis] + ones - 2 * (holds[part] @ holds.T)
        farthest = max(farthest, int(apart.max(initial=0)))
        if farthest == 2 * heaviest:  # there is no more
            break
    return heaviest, farthest


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CellSensitivity(GroupSensitivity):
    """What a unit adds to the sums of a strategy; ``high`` is the most rows of it in a group.

    >>> bars = CellStrategy(words="", cells=3, sums=((0,), (1,), (2,)), answers=())
    >>> far = CellSensitivity(low=0, high=5, groups=1, available=1, cells=bars)
    >>> far.added, far.added_squared, far.replaced, far.replaced_squared
    (5, 25, 10, 50)
    """

    cells: CellStrategy

    @property
    def strategy(self) -> CellStrategy:
        """The sums that are measured."""
        return self.cells

    @property
    def most(self) -> int:
        """How far one unit moves the sums of one group, in L1."""
        return self.high * self.cells.heaviest

    @property
    def most_squared(self) -> int:
        """The square of how far one unit moves the sums of one group, in L2."""
        return self.high**2 * self.cells.heaviest

    @property
    def width(self) -> int:
        """How far apart two units are in one group, in L1."""
        return self.high * self.cells.farthest

    @property
    def width_squared(self) -> int:
        """The square of how far apart two units are in one group, in L2."""
        return self.high**2 * self.cells.farthest

    def places(self, relation: Relation) -> int:
        """Return in how many places sums can move."""
        inside = GroupSensitivity.places(self, relation) * len(self.cells.sums)
        return min(inside, relation.sides * self.groups * self.most)
