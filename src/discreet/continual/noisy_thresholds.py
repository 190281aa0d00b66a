"""How many rows lie up to each cell, from a hierarchy of noisy counts that is made to add up.

Trust: kernel.

Definition.  Release a ``Hierarchy``, and estimate the count up to each cell by least squares (see
``consistency``).  A distribution function is these counts divided by the last one.
The loss is that of the hierarchy; estimates are post-processing.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from discreet.accounting import Node
from discreet.continual.consistency import Consistency
from discreet.continual.counter import Law, law_of
from discreet.continual.hierarchy import Counts, Hierarchy
from discreet.continual.stream import Noise
from discreet.continual.tails import reach_of_blend, reach_of_sum
from discreet.errors import WrongKind
from discreet.exact import Interval, whole
from discreet.loss import PrivacyLoss
from discreet.mechanisms import Mechanism
from discreet.mechanisms.arguments import Number, at_confidence
from discreet.noise import SYSTEM, Entropy
from discreet.units import Relation

__all__ = ["NoisyThresholds"]


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
        """Return the loss between tables so many steps of the relation apart."""
        return self.hierarchy.loss(distance=distance)

    def spread(self, *, threshold: int) -> Fraction:
        """Return the variance of the count up to a cell, in multiples of that of one draw."""
        return self._consistency().spread(self._checked(threshold))

    def variance(self, *, threshold: int) -> Interval:
        """Enclose the variance of the count up to a cell."""
        one = law_of(self.hierarchy.noise).moments().variance
        times = self.spread(threshold=threshold)
        return Interval(times * one.low, times * one.high)

    def error(self, *, confidence: Number, threshold: int | None = None) -> Fraction:
        """Return how far all counts, or the count up to one cell, are off at most."""
        tail, tree = 1 - at_confidence(confidence), self._consistency()
        law, draws = law_of(self.hierarchy.noise), self.hierarchy.noisy
        if draws == 0:
            return Fraction(0)
        if threshold is not None:
            weights = tree.weights(self._checked(threshold))[:draws]
            return _reach_of_one(law, weights, tail)
        reach = reach_of_sum(
            law,
            spread=Fraction(tree.largest_spread()),
            draws=draws,
            tail=tail / tree.cells,
            most=tree.largest_weight(),
        )
        return Fraction(reach)

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


def _reach_of_one(law: Law, weights: NDArray[np.float64], tail: Fraction) -> Fraction:
    sizes, counts = np.unique(np.abs(weights).round(15), return_counts=True)
    used = [
        (size, count)
        for size, count in zip(sizes.tolist(), counts.tolist(), strict=True)
        if size > 0
    ]
    return Fraction(reach_of_blend(law, weights=used, tail=tail)) if used else Fraction(0)
