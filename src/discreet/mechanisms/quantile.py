"""A private quantile: the exponential mechanism over a public list of candidates.

Trust: kernel.

Definition.  For a level p, the values equal to c take the ranks from #(x < c) to #(x <= c), and the
score of c is min(p n - #(x < c), #(x <= c) - p n): how deep the rank p n lies among them, and minus
the ranks by which it is missed where it does not.  Candidates whose score is not below 0 are
p-quantiles.  One is selected with probability proportional to exp(score / scale).
Theorem (key ``quantile-score``; Smith 2011, in its discrete form).  Adding or removing a value
moves every score by at most max(p, 1 - p), and replacing one by at most 1.  Proof.  Adding x moves
p n - #(x < c) by p - 1 or p, and #(x <= c) - p n by -p or 1 - p; replacing leaves n alone and moves
each count by at most 1; a minimum moves no more than its largest part.  The rest is the
``exponential-mechanism``.
Ties.  The score is the mid-rank score -|m - p n|, m = (#(x < c) + #(x <= c)) / 2, plus half of the
number of values equal to c.  Cut off at 0 it would say of a value that many people share no more
than that it is right; not cut off, at the same price, it is as far above its neighbors as these are
away from it: twice as far.  The mid-rank score alone prefers an empty place beside such a value to
the value itself, where p n is not near the middle of its ranks.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import int64_range, listed
from discreet.errors import OutOfRange
from discreet.exact import Interval, decimal, probability, whole
from discreet.loss import Profile, ZeroConcentrated
from discreet.mechanisms.additive import integers
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.mechanism import Mechanism, Number, ReferenceLaw, steps_at
from discreet.noise import SYSTEM, Entropy
from discreet.units import Relation

Values = Sequence[int] | NDArray[np.integer[Any]]


@final
@dataclass(frozen=True, slots=True, init=False)
class Quantile(Mechanism[Values, int]):
    """Select a value near the quantile of a level, among public candidates.

    >>> median = Quantile(level="1/2", candidates=range(100), scale=2, relation="add_remove")
    >>> median.loss(distance=1).epsilon(delta=0)
    0.5
    >>> median.run([50] * 1000 + [3] * 900)
    50
    """

    level: Fraction
    candidates: tuple[int, ...]
    scale: Fraction
    relation: Relation

    def __init__(
        self,
        *,
        level: Number,
        candidates: Sequence[int],
        scale: Number,
        relation: Relation | str,
    ) -> None:
        """Take a level, rising integer candidates, the scale in ranks, and the relation."""
        places = tuple(
            int64_range(whole(place, name="each candidate"), name="each candidate")
            for place in listed(candidates, name="candidates")
        )
        if not places or any(b <= a for a, b in itertools.pairwise(places)):
            raise OutOfRange(
                what="the candidates are empty or do not rise.",
                why="each place may be listed once only, or it is selected too often.",
                do="give at least one candidate, each larger than the one before.",
            )
        chance = probability(decimal(level, name="level"), name="level")
        object.__setattr__(self, "level", chance)
        object.__setattr__(self, "candidates", places)
        object.__setattr__(self, "relation", Relation.read(relation))
        object.__setattr__(self, "scale", Exponential(candidates=1, scale=scale).scale)

    def loss(self, *, distance: Number = 1) -> Profile:
        """Return the loss between tables ``distance`` steps of the relation apart."""
        return self._select().loss(distance=self._moved(distance))

    def concentrated(self, *, distance: Number = 1) -> ZeroConcentrated:
        """Return the zCDP loss alone; ``loss`` knows it too."""
        return self._select().concentrated(distance=self._moved(distance))

    def error(self, *, confidence: Number) -> Fraction:
        """Return how many more ranks than the best candidate the selected one misses, at most."""
        unit = self.level.denominator  # scores are whole multiples of 1 / unit
        select = Exponential(candidates=len(self.candidates), scale=self.scale * unit)
        return Fraction(select.error(confidence=confidence), unit)

    def run(self, value: Values, *, entropy: Entropy = SYSTEM) -> int:
        """Return the selected candidate."""
        return self.candidates[self._select().run(self._scores(value), entropy=entropy)]

    def reference_pmf(self, value: Values) -> ReferenceLaw:
        """Return the chance of each candidate."""
        law = self._select().reference_pmf(self._scores(value))
        chances: dict[int, Interval] = {}
        for index, place in enumerate(self.candidates):
            chances[place] = law[index] if not callable(law) else law(index)
        return chances

    def _select(self) -> Exponential:
        return Exponential(candidates=len(self.candidates), scale=self.scale)

    def _moved(self, distance: Number) -> Fraction:
        """Return by how much any score can move in this many steps."""
        steps = steps_at(distance)
        if not self.relation.replaces:
            return steps * max(self.level, 1 - self.level)
        return Fraction(min(steps, 1) if self.relation is Relation.LOCAL else steps)

    def _scores(self, value: Values) -> list[Fraction]:
        array = integers(value, name="value")
        if isinstance(array, int) or array.ndim != 1:
            raise OutOfRange(
                what="the values are not a list.",
                why="a quantile is taken of many values.",
                do="give a list, or a one-dimensional array, of integers.",
            )
        ordered = np.sort(array)
        below = np.searchsorted(ordered, self.candidates, side="left").tolist()
        upto = np.searchsorted(ordered, self.candidates, side="right").tolist()
        rank = self.level * array.size
        return [min(rank - less, least - rank) for less, least in zip(below, upto, strict=True)]
