"""A whole profile: the finite part of a product, its leaks, and the mass of infinite losses.

Trust: kernel.

Let a product hold leaks, of which none occurs with chance k, and other pairs.  With D the finite
part of the others, the profile is P[L = inf] + k D(eps), since a leak that does not occur adds a
loss of zero.  So delta(eps) and eps(delta) of the product are those of the others, moved by two
known numbers.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final, final

from discreet.exact import float_down, float_up
from discreet.loss.bracket import Bracket
from discreet.loss.engine.finite_part import FinitePart, infinite_mass
from discreet.loss.engine.rounding import UNIT
from discreet.loss.pairs.pair import Pair
from discreet.loss.pairs.product import opened
from discreet.loss.pairs.response import ResponsePair
from discreet.loss.renyi_curve import RenyiCurve

__all__ = ["Whole"]

_FEW: Final = 16


@final
class Whole:
    """The profile of one product of pairs, and of what a curve allows beside it."""

    __slots__ = ("_curved", "_kept", "_lost", "infinite", "part")

    def __init__(self, pairs: tuple[tuple[Pair, int], ...], renyi: RenyiCurve | None) -> None:
        """Take the product apart."""
        apart = opened(pairs)
        self._curved = renyi is not None
        self.part = FinitePart(apart.pairs, renyi)
        self.infinite = infinite_mass((*apart.pairs, *apart.leaks))
        self._lost = _exactly_lost((*apart.pairs, *apart.leaks))
        self._kept = _kept(apart.leaks)

    def delta(self, eps: float, *, low: bool = True, lattice: bool = True) -> Bracket:
        """Enclose the profile at eps >= 0; without ``low``, from above."""
        finite = self.part.delta(eps, low=low, lattice=lattice)
        least = self.infinite.low + finite.low * self._kept.low * (1 - 2e-15)
        most = self.infinite.high + finite.high * self._kept.high * (1 + 2e-15)
        return Bracket.within(least * (1 - 1e-15), most * (1 + 1e-15), ceil=1.0)

    def epsilon(self, delta: Fraction, *, low: bool = True, lattice: bool = True) -> Bracket:
        """Enclose the smallest epsilon >= 0 with a profile of at most delta < 1.

        Without ``low``, from above.
        """
        ends = Fraction(self.infinite.high), Fraction(self.infinite.low)
        most_lost, least_lost = ends if self._lost is None else (self._lost, self._lost)
        least, most = float_down(delta - most_lost), float_up(delta - least_lost)
        if most < 0:
            return Bracket(math.inf, math.inf)
        bottom = self._least_epsilon(most) if low else 0.0
        if least <= 0:
            known = least == 0 and most_lost == least_lost
            return Bracket(bottom, self.part.largest if known else math.inf)
        share = least if self._kept.high == 1.0 else least / self._kept.high * (1 - 4 * UNIT)
        top = self.part.epsilon(share, low=low, lattice=lattice).high
        return Bracket(bottom, max(bottom, top))

    def _least_epsilon(self, delta: float) -> float:
        """Bound epsilon from below, where that much is left to the finite part."""
        if self._curved:
            return 0.0
        if delta == 0.0:
            return max(0.0, self.part.reached())
        if self._kept.low == 1.0:
            return self.part.epsilon(delta).low
        share = delta / self._kept.low * (1 + 4 * UNIT) if self._kept.low else math.inf
        return self.part.epsilon(share).low


def _kept(leaks: tuple[tuple[Pair, int], ...]) -> Bracket:
    """Enclose the chance that no leak occurs."""
    if not leaks:
        return Bracket(1.0, 1.0)
    lost = infinite_mass(leaks)
    return Bracket.within(1 - lost.high - 2 * UNIT, 1 - lost.low + 2 * UNIT, ceil=1.0)


def _exactly_lost(pairs: tuple[tuple[Pair, int], ...]) -> Fraction | None:
    """Return the chance of an infinite loss where it is known exactly: of few randomized responses.

    Without it a promise (epsilon, delta) would not be kept at just its own delta.
    """
    lossy = [(pair, count) for pair, count in pairs if pair.infinity().high]
    kept = Fraction(1)
    for pair, count in lossy:
        if not isinstance(pair, ResponsePair) or len(lossy) * count > _FEW:
            return None
        kept *= (1 - pair.delta) ** count
    return 1 - kept
