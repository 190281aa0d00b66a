"""The shape of two steps: from one law to a second, and from there to a third.

Trust: kernel.

Theorem (key ``group-profile``; Dong, Roth and Su 2022).  From (P, R) and (R, Q):
h_PQ(ab) <= h_PR(a) + a h_RQ(b), for all a, b > 0.
Proof.  P(S) - ab Q(S) = P(S) - a R(S) + a (R(S) - b Q(S)).

The bound is least where both terms have one test, so ratios are chosen to have tests of one chance
under R; then it is the power curve of (P, R) applied to that of (R, Q).
Moments: with 1/p + 1/q = 1 Hölder's inequality gives, for the moments K of the steps,
K(t) <= K_PR(p (t + 1) - 1) / p + K_RQ(q t) / q.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, final

import numpy as np

from discreet.loss.bracket import Bracket
from discreet.loss.composition import Composition
from discreet.loss.engine.rounding import UNIT
from discreet.loss.growth import Growth, growth
from discreet.loss.pairs.curved import Ends
from discreet.loss.pairs.outline import Outline, drawn, matched
from discreet.loss.pairs.pair import Floats
from discreet.loss.pairs.plain import cumulant, table_of
from discreet.loss.pairs.side import Side

__all__ = ["Linked", "linked"]

_SURE: Final = 1e-13
_EXPONENTS: Final = (1.1, 1.5, 2.0, 3.0, 11.0)


@final
@dataclass(frozen=True, slots=True)
class Linked:
    """(P, Q) from (P, R) and (R, Q)."""

    first: Composition
    second: Composition

    def reverse(self) -> Linked:
        """Go back, the second step first."""
        return Linked(self.second.reverse(), self.first.reverse())

    def side(self) -> Side:
        """Walk along both outlines."""
        return drawn(*linked(Outline.of(table_of(self.first)), Outline.of(table_of(self.second))))

    def profile(self, eps: float) -> Bracket | None:  # noqa: ARG002
        """The table defines the pair."""
        return None

    def ends(self) -> Ends:
        """Losses of the steps add up."""
        one, two = self.first, self.second
        lost = one.infinity().high or two.infinity().high
        reached, largest = one.reached() + two.reached(), one.largest() + two.largest()
        slack = UNIT * (1 + largest) if math.isfinite(largest) else 0.0
        return Ends(Bracket(0.0, 1.0 if lost else 0.0), reached - 64 * slack, largest + 64 * slack)

    def cumulant(self, t: float) -> float:
        """Try a few exponents; every one is sound."""
        if self.first.infinity().high or self.second.infinity().high:
            return math.inf
        limit = self.growth()
        best = math.inf if limit is None else limit.at(t)
        for p in _EXPONENTS:
            one = cumulant(self.first, (p * (t + 1) - 1) * (1 + _SURE)) / p
            two = cumulant(self.second, p * t / (p - 1) * (1 + _SURE)) * (p - 1) / p
            best = min(best, max(one, 0.0) + max(two, 0.0))
        return best + _SURE * (1 + best) if math.isfinite(best) else best

    def growth(self) -> Growth | None:
        """Go on from the first step to the second."""
        one, two = growth(self.first), growth(self.second)
        lost = self.first.infinity().high or self.second.infinity().high
        return None if one is None or two is None or lost else one.then(two)


def linked(one: Outline, two: Outline) -> tuple[Floats, Floats]:
    """Return ratios and bounds of the two steps, from the outlines of each."""
    i, j = matched(one.second, two.first)
    x = one.x[i] + two.x[j]
    value = one.value[i] + np.exp(np.minimum(one.x[i], 700.0)) * two.value[j]
    reach = float(np.abs(one.x).max() + np.abs(two.x).max())
    slack = UNIT * (64 + 4 * reach)
    return x + slack, np.minimum(value * (1 + slack), 1.0)
