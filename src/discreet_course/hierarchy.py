"""A hierarchy of histograms, and from it the number of rows up to each cell.

Trust: public.

Definition.  Each row is in exactly one cell of a public, ordered list.  Cells are grouped by
``branching``, groups again, and so on up to one group of all rows; the counts of all nodes are
released with independent noise.  Where the number of rows is public (replace), the last one is that
number, exactly.
Theorem (key ``hierarchy-levels``).  A row is in one node of each level.  Under add/remove it costs
as many answers at distance 1 as there are levels.  Under replace, one row leaves its path and
another comes to its own: two answers for each level below the root, fewer where the paths meet.
Both are attained by rows whose cells share no group but the root, so it is enough to account for
two such cells.

Definition.  ``NoisyThresholds`` releases a ``Hierarchy``, and estimates the count up to each cell
by least squares (see ``tree_estimates``).  A distribution function is these counts divided by the
last one.
The loss is that of the hierarchy; estimates are post-processing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.accounting import (
    Leaf,
    Node,
    Parallel,
    Repeat,
    Sequential,
    account,
    between,
    exact_size,
)
from discreet.arrays import saturating_add
from discreet.continual.counter import MOST_LISTED, Noise, too_long
from discreet.continual.sum_tails import Law, sum_half_width
from discreet.errors import OutOfRange, WrongKind
from discreet.exact import Interval, whole
from discreet.local.tree_estimates import Consistency, sizes_of, steps_of, variances_of
from discreet.loss import PrivacyLoss, Pure
from discreet.mechanisms import Mechanism
from discreet.mechanisms.additive import checked_integer_noise, integers
from discreet.mechanisms.mechanism import Number, ReferenceLaw, at_confidence, steps_at
from discreet.noise import SYSTEM, Entropy
from discreet.units import Relation
from discreet_course.refined_tree import weighted_sum_half_width

Counts = Sequence[int] | NDArray[np.integer[Any]]

_MOST_CELLS: Final = 1 << 16


@final
@dataclass(frozen=True, slots=True, init=False)
class Hierarchy(Mechanism[Counts, NDArray[np.int64]]):
    """Release the counts of all nodes, the cells first and the root last.

    >>> from discreet.mechanisms import Laplace
    >>> ages = Hierarchy(cells=8, noise=Laplace(scale=4), relation="add_remove")
    >>> ages.sizes, ages.loss().epsilon(delta=0)
    ((8, 4, 2, 1), 1.0)
    >>> swapped = Hierarchy(cells=8, noise=Laplace(scale=4), relation="replace")
    >>> swapped.loss().epsilon(delta=0)  # two nodes on each of three levels
    1.5
    >>> int(swapped.run([1, 0, 0, 2, 0, 0, 0, 4])[-1])
    7
    """

    cells: int
    branching: int
    noise: Noise
    relation: Relation

    def __init__(
        self, *, cells: int, noise: Noise, relation: Relation | str, branching: int = 2
    ) -> None:
        """Take the number of cells, the noise of one count, and who counts as a neighbor."""
        kind = Relation.read(relation)
        if kind not in {Relation.ADD_REMOVE, Relation.REPLACE}:
            raise OutOfRange(
                what=f"the relation of a hierarchy is {kind.value}.",
                why="its price is known for rows that are added or removed, and replaced.",
                do="give relation='add_remove' or relation='replace'.",
            )
        object.__setattr__(self, "cells", whole(cells, name="cells", low=1, high=_MOST_CELLS))
        object.__setattr__(self, "branching", whole(branching, name="branching", low=2))
        object.__setattr__(self, "noise", checked_integer_noise(noise))
        object.__setattr__(self, "relation", kind)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many nodes each level has, the cells first and the root last."""
        return sizes_of(self.cells, self.branching)

    @property
    def noisy(self) -> int:
        """How many counts have noise: all, or all but the root."""
        return sum(self.sizes) - self.relation.size_is_public

    def tree(self, *, distance: int = 1) -> Node:
        """Return one leaf for each node; nodes of one level are adjacent."""
        moved = whole(distance, name="distance", low=1)
        if self.cells > MOST_LISTED:
            raise too_long()
        leaf, levels = Leaf(self.noise, added=moved, replaced=0), list[Node]()
        for level, nodes in enumerate(self.sizes[:-1]):
            width = self.branching**level
            firsts = range(0, nodes * width, width)
            parts = {between(a, min(a + width, self.cells) - 1): leaf for a in firsts}
            levels.append(Parallel("cell", parts))
        levels.append(exact_size() if self.relation.size_is_public else leaf)
        return Sequential(*levels)

    def loss(self, *, distance: Number = 1) -> PrivacyLoss:
        """Return the loss between tables that are ``distance`` steps of the relation apart."""
        steps = steps_at(distance)
        if steps == 0:
            return Pure(epsilon=0)
        return account(self._paths(steps), relation=self.relation).loss

    def _paths(self, distance: int) -> Node:
        """Return what two cells meet that share no group but the root."""
        leaf = Leaf(self.noise, added=distance, replaced=0)
        below = Repeat(Parallel("cell", {0: leaf, 1: leaf}), len(self.sizes) - 1)
        return Sequential(below, exact_size() if self.relation.size_is_public else leaf)

    def error(self, *, confidence: Number) -> int | Fraction:
        """Return the smallest r such that all counts are within r, with this probability."""
        return self.noise.error(confidence=confidence, coordinates=max(1, self.noisy))

    def run(self, value: Counts, *, entropy: Entropy = SYSTEM) -> NDArray[np.int64]:
        """Return the counts of all nodes plus noise."""
        nodes = self._nodes(value)
        noise = np.zeros(nodes.size, np.int64)
        noise[: self.noisy] = self.noise.law.sample(self.noisy, entropy)
        return saturating_add(nodes, noise)

    def reference_pmf(self, value: Counts) -> ReferenceLaw:
        """Return the distribution of the counts, as a function of a tuple of counts."""
        nodes, law = self._nodes(value).tolist(), self.noise.law

        def chance(outcome: Sequence[int]) -> Interval:
            if list(outcome)[self.noisy :] != nodes[self.noisy :]:
                return Interval(Fraction(0), Fraction(0))
            pairs = zip(outcome[: self.noisy], nodes[: self.noisy], strict=True)
            return Interval.product(law.pmf_bounds(y - x) for y, x in pairs)

        return chance

    def _nodes(self, value: Counts) -> NDArray[np.int64]:
        """Return the exact counts of all nodes."""
        counts = integers(value, name="count")
        if isinstance(counts, int) or counts.shape != (self.cells,):
            raise OutOfRange(
                what=f"the counts are not a list of {self.cells}.",
                why="the cells are public, and each has a count, zero or not.",
                do="give one count for each cell, in order.",
            )
        levels = [counts]
        for below in self.sizes[:-1]:
            levels.append(np.add.reduceat(levels[-1], np.arange(0, below, self.branching)))
        return np.concatenate(levels)


@final
@dataclass(frozen=True, slots=True, init=False)
class NoisyThresholds(Mechanism[Counts, NDArray[np.float64]]):
    """Release the counts up to each of an ordered list of cells.

    >>> from discreet.mechanisms import Laplace
    >>> ages = NoisyThresholds(cells=8, noise=Laplace(scale=4), relation="add_remove")
    >>> ages.loss().epsilon(delta=0), ages.spread(threshold=6)
    (1.0, Fraction(106, 105))
    >>> ages.run([1, 0, 0, 2, 0, 0, 0, 4]).shape
    (8,)
    """

    hierarchy: Hierarchy

    def __init__(
        self, *, cells: int, noise: Noise, relation: Relation | str, branching: int = 2
    ) -> None:
        """Take the number of cells, the noise of one count, and who counts as a neighbor."""
        nodes = Hierarchy(cells=cells, noise=noise, relation=relation, branching=branching)
        object.__setattr__(self, "hierarchy", nodes)

    def tree(self, *, distance: int = 1) -> Node:
        """Return the composition of the hierarchy."""
        return self.hierarchy.tree(distance=distance)

    def loss(self, *, distance: Number = 1) -> PrivacyLoss:
        """Return the loss between tables that are ``distance`` steps of the relation apart."""
        return self.hierarchy.loss(distance=distance)

    def spread(self, *, threshold: int) -> Fraction:
        """Return the variance of the count up to a cell, in multiples of that of one draw."""
        return spread_of(self._consistency(), self._checked(threshold))

    def variance(self, *, threshold: int) -> Interval:
        """Enclose the variance of the count up to a cell."""
        one = self.hierarchy.noise.law.moments().variance
        times = self.spread(threshold=threshold)
        return Interval(times * one.low, times * one.high)

    def error(self, *, confidence: Number, threshold: int | None = None) -> Fraction:
        """Return how far all counts, or the count up to one cell, are off at most."""
        tail, tree = 1 - at_confidence(confidence), self._consistency()
        law, draws = self.hierarchy.noise.law, self.hierarchy.noisy
        if draws == 0:
            return Fraction(0)
        if threshold is not None:
            weights = tree.weights(self._checked(threshold))[:draws]
            return _half_width_of_one(law, weights, tail)
        spread, most = Fraction(largest_spread(tree)), largest_weight(tree)
        share = tail / tree.cells
        return Fraction(sum_half_width(law, spread=spread, draws=draws, tail=share, most=most))

    def run(self, value: Counts, *, entropy: Entropy = SYSTEM) -> NDArray[np.float64]:
        """Return the estimated count up to each cell."""
        return self._consistency().thresholds(self.hierarchy.run(value, entropy=entropy))

    def reference_pmf(self, value: Counts) -> Any:  # noqa: ARG002
        """Refuse: estimates blend the counts of all nodes."""
        raise WrongKind(
            what="the law of these counts has no simple form.",
            why="each is a blend of more noisy counts than there are cells.",
            do="ask for the law of the hierarchy, which they are computed from.",
        )

    def _checked(self, threshold: object) -> int:
        return whole(threshold, name="threshold", low=0, high=self.hierarchy.cells - 1)

    def _consistency(self) -> Consistency:
        nodes = self.hierarchy
        return Consistency(nodes.cells, nodes.branching, nodes.relation.size_is_public)


def largest_weight(tree: Consistency) -> float:
    """Bound the weight of any noisy count in any threshold: the largest variance of a node."""
    steps = steps_of(tree)
    after, most = steps.spreads[-1], [steps.spreads[-1].max()]
    for level in reversed(range(len(steps.own))):
        before, part = steps.spreads[level], steps.parts[level]
        after = before - before * part + part**2 * after[steps.above[level]]
        most.append(after.max())
    return float(max(most)) * (1 + 1e-12)


def spread_of(tree: Consistency, threshold: int) -> Fraction:
    """Return the variance of one threshold, in multiples of that of one count."""
    variance, place = variances_of(tree), threshold
    own = variance[0][threshold]
    spread = shared = own
    for level in range(1, len(variance)):
        first = place // tree.branching * tree.branching
        group = variance[level - 1][first : first + tree.branching]
        before = sum(group[: place - first], Fraction(0))
        spread, shared, total = spread + before, shared + before, sum(group, Fraction(0))
        noise = Fraction(0 if tree.exact(level) else 1)
        spread -= shared * shared / (total + noise)
        shared *= noise / (total + noise)
        place //= tree.branching
    return spread


def largest_spread(tree: Consistency) -> float:
    """Bound the largest spread of all thresholds."""
    steps, place = steps_of(tree), np.arange(tree.cells)
    spread = shared = steps.spreads[0]
    for level, own in enumerate(steps.own):
        group = steps.above[level][place]
        sums = np.concatenate([[0.0], steps.spreads[level].cumsum()])
        before = sums[place] - sums[steps.firsts[level][group]]
        spread, shared = spread + before, shared + before
        total = np.add.reduceat(steps.spreads[level], steps.firsts[level])[group]
        spread = spread - shared**2 * own[group] / total  # own is T / (T + s)
        shared, place = shared * (1 - own[group]), group
    return float(spread.max()) * (1 + 1e-9)


def _half_width_of_one(law: Law, weights: NDArray[np.float64], tail: Fraction) -> Fraction:
    sizes, counts = np.unique(np.abs(weights).round(15), return_counts=True)
    used = [
        (size, count)
        for size, count in zip(sizes.tolist(), counts.tolist(), strict=True)
        if size > 0
    ]
    return Fraction(weighted_sum_half_width(law, weights=used, tail=tail)) if used else Fraction(0)
