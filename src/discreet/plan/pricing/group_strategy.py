"""A strategy over the groups of an answer: which sums of groups get noise, and how far they move.

Trust: kernel.  The sums that are priced here are the ones that are measured: a release computes
them with this very object (:meth:`GroupStrategy.measured`).

Definition.  Groups are public and stand in the order of their keys.  Of the totals x of all groups
a strategy measures y = B x, each group being a cell of :mod:`discreet.plan.pricing.cell_strategy`,
with the norms w, f, W and F of the columns of B and of their differences.  Noise is added to every
y(j).  Running sums, and totals themselves, are sums of multiples of noisy y(j): post-processing.
Theorem (key ``group-sums``; the sensitivity of the matrix mechanism (Li, Miklau, Hay, McGregor and
Rastogi 2015)).  Let a unit add a whole number from ``low`` to ``high`` to each of at most g
groups, D = max(|low|, |high|).  Added or removed, it moves all y by at most g D w in L1, and g**2
D**2 W in the square of L2.  Replaced by another, it moves them by at most g D f and g**2 D**2 F if
low >= 0, and else by twice and four times the former.
Proof.  Such a unit adds t(c) b(c) for at
most g cells c, |t(c)| <= D, so the first is the triangle inequality.  If low >= 0 it adds a point
of the polytope whose corners are zero and all g D b(c), since t(c) >= 0 and they add up to at most
g D; the difference of two points is longest between two corners.  Else one unit goes and another
comes. That a unit adds to at most g groups, and what, is enforced by the engine
(``bounded-contribution``); which groups there are is the same for all neighbors.  Totals are
clamped to 2**40 in size, so that no sum leaves 64 bits, which moves every total by no more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from discreet.plan.pricing.cell_strategy import CellStrategy
from discreet.plan.pricing.group_sensitivity import GroupSensitivity
from discreet.units import Relation

if TYPE_CHECKING:  # planning knows no arrays of an engine
    from discreet.requests.raw_totals import Integers

_LARGEST: Final = 1 << 40


def key_order(keys: Sequence[tuple[Any, ...]]) -> list[int]:
    """Return the places of groups in the order of their keys, NULL first.

    >>> key_order([(2,), (None,), (1,)])
    [1, 2, 0]
    """
    return sorted(range(len(keys)), key=lambda at: [(part is not None, part) for part in keys[at]])


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class GroupStrategy:
    """Sums of groups that get noise.

    Cell c is the group at place ``order[c]`` in the order of keys.  ``frames`` names what is
    computed, a measure or a window, and says for each group, in the order of keys, which answer of
    ``cells`` it is.
    """

    cells: CellStrategy
    order: tuple[int, ...]
    frames: tuple[tuple[str, tuple[int, ...]], ...]

    def __hash__(self) -> int:
        """Do not look at all places."""
        return hash((self.cells, len(self.frames)))

    def measured(self, totals: Integers, keys: Sequence[tuple[Any, ...]]) -> Integers:
        """Return all sums, of totals of groups with these keys.

        >>> cells = CellStrategy(words="", cells=2, sums=((0,), (0, 1)), answers=())
        >>> upto = GroupStrategy(cells=cells, order=(1, 0), frames=())
        >>> upto.measured(np.array([5, 2]), [("b",), ("a",)]).tolist()
        [5, 7]
        """
        sorted_totals = totals[key_order(keys)][list(self.order)]
        held = np.clip(sorted_totals, -_LARGEST, _LARGEST)
        cells = np.arange(len(self.order))
        found: Integers = self.cells.measured((np.zeros_like(cells), cells, held), 1)[0]
        return found


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSumSensitivity(GroupSensitivity):
    """What a unit adds to sums of groups; the rest is as for the totals themselves.

    >>> cells = CellStrategy(words="", cells=3, sums=((0,), (0, 1), (2,)), answers=())
    >>> far = GroupSumSensitivity(low=0, high=5, groups=1, available=3,
    ...     sums=GroupStrategy(cells=cells, order=(0, 1, 2), frames=()))
    >>> far.added, far.added_squared, far.replaced, far.replaced_squared
    (10, 50, 15, 75)
    """

    sums: GroupStrategy

    @property
    def group_strategy(self) -> GroupStrategy:
        """The sums that are measured."""
        return self.sums

    @property
    def added(self) -> int:
        """The L1 distance where a unit is added or removed."""
        return self.groups * self.most * self.sums.cells.lengths[0]

    @property
    def added_squared(self) -> int:
        """The square of the L2 distance where a unit is added or removed."""
        return self.groups**2 * self.most_squared * self.sums.cells.lengths[1]

    @property
    def replaced(self) -> int:
        """The L1 distance where a unit is replaced."""
        if self.low < 0:
            return 2 * self.added
        return self.groups * self.most * self.sums.cells.norms[1]

    @property
    def replaced_squared(self) -> int:
        """The square of the L2 distance where a unit is replaced."""
        if self.low < 0:
            return 4 * self.added_squared
        return self.groups**2 * self.most_squared * self.sums.cells.norms[3]

    def places(self, relation: Relation) -> int:  # noqa: ARG002
        """Return in how many places sums can move."""
        return len(self.sums.cells.sums)
