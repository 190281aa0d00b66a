"""The shape of a composition on a sample of fixed size, where one record is replaced.

Trust: kernel.

Theorem (key ``amplification``; Balle, Barthe and Gaboardi 2018).  Let m of n records be drawn
without replacement, q = m/n, and let h be the largest profile of a replaced record, over both
directions.  Then the outer profile is at most q h(1 + (a - 1)/q) for a >= 1, in both directions.

Moments: this is the profile of a Poisson sample for a >= 1, and its reversal for a < 1, whose
excess weighs less; so the excess of the moment over 1 is at most twice that of the sample.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from discreet.exact import float_down, float_up
from discreet.loss.bracket import Bracket
from discreet.loss.composition import Composition
from discreet.loss.engine.rounding import UNIT
from discreet.loss.growth import Growth, growth
from discreet.loss.pairs.curved import Ends
from discreet.loss.pairs.pair import Floats
from discreet.loss.pairs.plain import patience, summed
from discreet.loss.pairs.reader import profiles
from discreet.loss.pairs.sampled_moments import between_orders, removed_loss, whole_moment
from discreet.loss.pairs.side import Side, tabulated

__all__ = ["FixedSize"]


@final
@dataclass(frozen=True, slots=True)
class FixedSize:
    """The largest profile of some compositions, on a sample; both directions are the same."""

    parts: tuple[Composition, ...]
    rate: Fraction

    def reverse(self) -> FixedSize:
        """Both directions have one bound."""
        return self

    def side(self) -> Side:
        """Evaluate the inner profiles."""
        ends = self.ends()
        return tabulated(
            self._bounds,
            largest=ends.largest,
            infinite=ends.infinite.low,
            tolerance=max(patience(part) for part in self.parts),
        )

    def _bounds(self, eps: Floats) -> tuple[Floats, Floats]:
        """Read the inner profiles at 1 + (a - 1)/q; its rounding moves the point a little."""
        q = float(self.rate)
        moved = np.expm1(np.minimum(eps, 600.0)) / q
        inner = np.log1p(moved)
        slack = 32 * UNIT * (1 + inner)
        low = np.max([profiles(part, inner + slack)[0] for part in self.parts], axis=0)
        high = np.max(
            [profiles(part, np.maximum(inner - slack, 0.0))[1] for part in self.parts], axis=0
        )
        return q * low * (1 - 8 * UNIT), np.minimum(q * high * (1 + 8 * UNIT), 1.0)

    def profile(self, eps: float) -> Bracket:
        """Ask the parts."""
        low, high = self._bounds(np.array([eps]))
        return Bracket(float(low[0]), float(high[0]))

    def ends(self) -> Ends:
        """Map the largest inner loss."""
        masses = [part.infinity() for part in self.parts]
        low, high = max(b.low for b in masses), max(b.high for b in masses)
        reached = max(0.0, *(part.reached() for part in self.parts))
        largest = max(part.largest() for part in self.parts)
        return Ends(
            Bracket(
                float_down(self.rate) * low * (1 - 2 * UNIT),
                min(float_up(self.rate) * high * (1 + 2 * UNIT), 1.0),
            ),
            removed_loss(self.rate, reached, up=False),
            removed_loss(self.rate, largest, up=True),
        )

    def cumulant(self, t: float) -> float:
        """Double the excess over 1 of the sample's moment."""
        value = between_orders(lambda whole: _whole_moment(self, whole), t)
        if self.ends().infinite.high:
            return value + math.log(2)
        if value > 30 or not math.isfinite(value):
            return value + math.log(2)
        return math.log1p(2 * math.expm1(max(value, 0.0))) * (1 + 1e-13)

    def growth(self) -> Growth | None:
        """Take the largest, and the logarithm of twice their number."""
        known = [found for part in self.parts if (found := growth(part)) is not None]
        return Growth.largest(known, 2 * len(known)) if len(known) == len(self.parts) else None


@functools.lru_cache(maxsize=1 << 12)
def _whole_moment(shape: FixedSize, t: int) -> float:
    return whole_moment(shape.rate, lambda s: summed([(part, 1) for part in shape.parts], s), t)
