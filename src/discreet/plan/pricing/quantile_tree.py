"""Several quantiles of one histogram, bought together: one tree of noisy counts, or single choices.

Trust: kernel.  The counts that are priced here are the ones that are drawn: a composition has one
leaf for each tree (:func:`discreet.plan.pricing.group_sensitivity.trees_of`), and a release draws
each tree once, with this very object.

Definition.  A *tree* over k leaves has h levels and arity b, b**h >= k: on level l the leaves stand
in blocks of b**(h - l), and the rows of every block are counted with noise of its own.  Each leaf
is in one block of every level; the block of all leaves is not counted.  The choice at any
level of a quantile, and both ends of its interval, follows from these noisy counts
(:mod:`discreet.release.choices`).
Theorem (key ``quantile-tree``; hierarchical histograms (Hay, Rastogi, Miklau and Suciu 2010)).
Let a unit count with at most r rows in each of at most g groups. Added or removed, it moves all
counts by at most g r h in L1 and by g r**2 h in the square of L2; if it is replaced by another,
as ``plan-distances`` says, with r h and r**2 h for what one unit adds to a group, and 2 r h and 2
r**2 h for the difference of two in a group that they share.  So all quantiles together cost what
noise for these distances costs, however many there are.
Proof.  ``linear-strategy``, for the sums that
are blocks: a leaf is in h of them, and two leaves of different blocks in 2 h.  All else is
post-processing. Noise that is never read need not be drawn.

Theorem (key ``tree-reach``).  A value that is read from a tree misses its level by at most M ranks,
but for a chance of m, where M bounds the error of one estimate but for m / (2 h b), whatever way it
goes; an end that allows for an error of T misses it by at most M + T + 1.
Proof.  Let w be the leaf that holds rank q n + M, if there is one.  If no estimate inside of the
blocks that hold w errs by more than M, which has a chance of at least 1 - m / 2, then no boundary
from the end of the part that holds w on has an estimate below 0: nothing that is read is above
w.  The same holds below.  Ends look for - q - T and 1 - q + T in place of 0.

Definition.  How a list is bought is decided by the *predicted error*, the mean over all levels q of
how many ranks a value misses if rows are spread evenly over the leaves: for a choice its scale,
which is that of a two-sided exponential law; and for a tree sqrt(2 / pi) times the deviation of the
noise between a rank and the start of a leaf, whose variance is about b (q (1 - q) + (h - 1) / 6)
times that of one count.  Both are in proportion to the price, so that it does not matter.
Of all trees the one with the least h**3 b is taken for Laplace noise, and h**2 b for Gaussian.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, final

import numpy as np

from discreet.mechanisms import Gaussian, Laplace
from discreet.plan.noise_errors import error_bound
from discreet.plan.pricing.group_sensitivity import (
    GroupSensitivity,
    LeafChoice,
    LeafUse,
    steps_up,
)
from discreet.plan.pricing.release_parts import LEVELS, LeafPart, QuantileLevel, dyadic_up
from discreet.units import Relation

_WIDEST: Final = Fraction(1 << 1000)
_MEAN: Final = math.sqrt(2 / math.pi)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TreeSensitivity(GroupSensitivity):
    """How far a unit moves the counts of a tree; ``high`` is the most rows of it in a group.

    >>> far = TreeSensitivity(low=0, high=5, groups=2, available=None, leaves=100, arity=10)
    >>> far.levels, far.added, far.added_squared, far.replaced, far.replaced_squared
    (2, 20, 100, 40, 200)
    """

    leaves: int
    arity: int

    @property
    def levels(self) -> int:
        """The number of levels: the least with a leaf for each of so many."""
        levels = 1
        while self.arity**levels < self.leaves:
            levels += 1
        return levels

    @property
    def most(self) -> int:
        return self.high * self.levels

    @property
    def most_squared(self) -> int:
        return self.high**2 * self.levels

    @property
    def width(self) -> int:
        return 2 * self.most

    @property
    def width_squared(self) -> int:
        return 2 * self.most_squared

    def places(self, relation: Relation) -> int:
        return relation.sides * self.groups * self.most


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class QuantileTree:
    """Noise on the counts of all blocks of a tree.

    ``better`` is its predicted error over that of single choices, if these were a way to buy it.
    """

    measure: str
    mechanism: Laplace | Gaussian
    distances: TreeSensitivity
    better: float | None = None

    @property
    def deviation(self) -> float:
        """The deviation of the noise of one count."""
        if isinstance(self.mechanism, Gaussian):
            return math.sqrt(min(self.mechanism.variance, _WIDEST))
        return math.sqrt(2) * float(min(self.mechanism.scale, _WIDEST))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TreeChoice(LeafChoice):
    """A quantile, or an end of its interval, that is read from a tree.

    ``offset`` is the side of the quantile that it is on; ends miss with a chance of ``missed``.
    """

    level: Fraction
    tree: QuantileTree
    missed: Fraction

    @property
    def use(self) -> LeafUse:
        return self.measure, self.level

    @property
    def drawn_from(self) -> QuantileTree:
        return self.tree

    @property
    def is_value(self) -> bool:
        return self.side == 0 or not 0 < self.level < 1

    @property
    def spread(self) -> float:
        """About how many ranks it misses."""
        far, level = self.tree.distances, float(self.level)
        variance = far.arity * (level * (1 - level) + (far.levels - 1) / 6)
        return _MEAN * self.tree.deviation * math.sqrt(max(variance, 1.0))

    def farthest(self, missed: Fraction) -> Fraction:
        """Return how many ranks it is from its level, but for some chance (key ``tree-reach``)."""
        far, level = self.tree.distances, max(self.level, 1 - self.level)
        squares = np.array([far.arity * float(level**2 + Fraction(far.levels - 1, 4))])
        below = missed / (2 * far.levels * far.arity)
        reach = float(error_bound(self.tree.mechanism, squares, below)[0])
        if self.side:
            aside = self.missed / far.levels
            reach += 1 + float(error_bound(self.tree.mechanism, squares, aside)[0])
        return Fraction(reach)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class QuantileLevels(LeafPart):
    """Values at several levels of one histogram, with their intervals.

    ``as_tree`` says that it must be a tree, if the number of leaves is still to be found and
    the way to buy must not follow from it.

    >>> part = QuantileLevels(measure="age", leaves=111, rows=1, groups=1, available=None,
    ...     levels=tuple(Fraction(k, 20) for k in range(21)))
    >>> from discreet.plan.pricing.group_sensitivity import trees_of
    >>> len(trees_of(part.within_epsilon(Fraction(1), Relation.ADD_REMOVE)))
    1
    >>> part = replace(part, leaves=4096, levels=(Fraction(1, 4), Fraction(3, 4)))
    >>> len(trees_of(part.within_epsilon(Fraction(1), Relation.ADD_REMOVE)))
    0
    """

    levels: tuple[Fraction, ...]
    as_tree: bool = False

    @property
    def use(self) -> LeafUse:
        return self.measure, LEVELS

    def within_epsilon(self, epsilon: Fraction, relation: Relation) -> tuple[LeafChoice, ...]:
        far = self._distances(squared=False)
        scale = steps_up(far.moved(relation)) / epsilon
        share = epsilon / len(self.levels)
        single = [part.within_epsilon(share, relation) for part in self.single()]
        return self._better(single, Laplace(scale=scale), far)

    def within_rho(self, rho: Fraction, relation: Relation) -> tuple[LeafChoice, ...]:
        far = self._distances(squared=True)
        variance = dyadic_up(far.moved_squared(relation) / (2 * rho))
        share = rho / len(self.levels)
        single = [part.within_rho(share, relation) for part in self.single()]
        return self._better(single, Gaussian(variance=variance), far)

    def error_by_epsilon(self, epsilon: float, relation: Relation, miss: float) -> float:
        del miss
        return _mean(self.within_epsilon(Fraction(epsilon), relation))

    def error_by_rho(self, rho: float, relation: Relation, miss: float) -> float:
        del miss
        return _mean(self.within_rho(Fraction(rho), relation))

    def single(self) -> Sequence[QuantileLevel]:
        """Return the levels as parts of their own."""
        return [
            QuantileLevel(
                level=level,
                leaves=self.leaves,
                confidence=self.confidence,
                intervals=self.intervals,
                **self.claims,
            )
            for level in self.levels
        ]

    def _distances(self, *, squared: bool) -> TreeSensitivity:
        return TreeSensitivity(
            low=0,
            high=self.rows,
            groups=self.groups,
            available=self.available,
            leaves=self.leaves,
            arity=best_arity(self.leaves, squared=squared),
        )

    def _better(
        self,
        single: Sequence[tuple[LeafChoice, ...]],
        noise: Laplace | Gaussian,
        far: TreeSensitivity,
    ) -> tuple[LeafChoice, ...]:
        """Return what is predicted to err less; extreme values alone are single choices."""
        tree = QuantileTree(measure=self.measure, mechanism=noise, distances=far)
        alone = tuple(choice for choices in single for choice in choices)
        if self.as_tree:
            return self._read(tree)
        mine, theirs = _mean(self._read(tree)), _mean(alone)
        if mine >= theirs or not any(0 < level < 1 for level in self.levels):
            return alone
        return self._read(replace(tree, better=float(f"{mine / theirs:.2g}")))

    def _read(self, tree: QuantileTree) -> tuple[TreeChoice, ...]:
        missed = 1 - self.confidence
        return tuple(
            TreeChoice(
                offset=side,
                level=level,
                tree=tree,
                missed=missed / (2 if 0 < level < 1 else 1),
                **self.claims,
            )
            for level in self.levels
            for side in _sides(level)
        )


def _sides(level: Fraction) -> tuple[int, ...]:
    """Return what is chosen at a level: the value and both ends, or the one end that there is."""
    return (0, -1, 1) if 0 < level < 1 else (1,) if level == 0 else (-1,)


def _mean(choices: Sequence[LeafChoice]) -> float:
    """Return the predicted error of some choices."""
    values = [choice.spread for choice in choices if choice.side == 0]
    values = values or [choice.spread for choice in choices]
    return sum(float(min(value, _WIDEST)) for value in values) / len(values)


def best_arity(leaves: int, *, squared: bool) -> int:
    """Return the arity of the tree with the smallest predicted error for so many leaves.

    >>> best_arity(4096, squared=False), best_arity(4096, squared=True), best_arity(3, squared=True)
    (16, 8, 3)
    """
    found: dict[int, int] = {}
    for levels in range(1, max(leaves - 1, 1).bit_length() + 1):
        arity = 2
        while arity**levels < leaves:
            arity += 1
        found.setdefault(arity, levels)
    power = 2 if squared else 3
    return min(found, key=lambda arity: (found[arity] ** power * arity, arity))
