"""Pairs that are known by bounds on their profiles, in both directions.

Trust: kernel.

Definition.  ``half_profile`` bounds h_PQ(a) for ratios a >= 1, and that of the reversed pair bounds
h_QP(a); together they bound the profile at every ratio, by a table of polygons (key ``dots``) that
asks once at each of its knots.  If the bounds enclose a profile, the pair is the one with that
profile; if they are known from above only, the pair is the one whose profile joins them, which
dominates whatever the bounds are true of.
"""

from __future__ import annotations

import functools
import math
from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final, final

import numpy as np

from discreet.loss.composition import Composition
from discreet.loss.dots import Floats, PrivacyLossDistribution
from discreet.loss.moments import log_constant
from discreet.loss.pair import Pair, ProfileCurve
from discreet.loss.polygon import Bounds, HalfProfile, ProfileTable, tabulated_profile
from discreet.loss.rho import MomentGrowth, cumulant, growth
from discreet.loss.rounding import LOG_MARGIN, MOMENT_MARGIN, NODE_MARGIN, Bracket

_LOW: Final = 0.01  # an order at which a moment is known if it is at any


@final
@dataclass(frozen=True, slots=True)
class LossEnds:
    """The infinite losses of a pair, bounds on its largest finite one, and its grain."""

    infinite: Bracket
    largest_below: float
    largest: float
    grain: Fraction | None = None


class CurvedPair(Pair):
    """A pair that is defined by what its profile is made of; equal parts make equal pairs."""

    __slots__ = ()

    rare_losses: ClassVar[bool] = True

    @abstractmethod
    def reverse(self) -> CurvedPair:
        """Swap the two distributions."""

    @abstractmethod
    def half_profile(self) -> HalfProfile:
        """Draw the profile at ratios from 1 on."""

    @abstractmethod
    def ends(self) -> LossEnds:
        """Say where the losses end."""

    @abstractmethod
    def moment(self, t: float) -> float:
        """Bound ln E_P[e**(tL); L < inf] from above for t > 0; perhaps by infinity."""

    @abstractmethod
    def growth(self) -> MomentGrowth | None:
        """Bound how fast the cumulants grow; None if that is not known."""

    def whole(self, eps: float) -> Bracket | None:  # noqa: ARG002
        """Enclose the profile at eps >= 0 without the table; None if the table defines it."""
        return None

    def group(self, k: int) -> CurvedPair | None:
        return self if k == 1 else None

    def cumulant(self, t: float) -> float:
        """Add up the table, and bound what is beyond it by higher moments."""
        return _cumulant(self, t)

    def infinity(self) -> Bracket:
        return _ends(self).infinite

    def largest(self) -> float:
        return _ends(self).largest

    def largest_below(self) -> float:
        return _ends(self).largest_below

    def grain(self) -> Fraction | None:
        return _ends(self).grain

    def closed_form(self) -> ProfileCurve:
        return self._at_one_point

    def _at_one_point(self, eps: float) -> Bracket:
        whole = self.whole(eps)
        if whole is None:
            table, here = table_of(self), np.array([eps])
            high = float(table.upper(here)[0])
            whole = Bracket.within(min(float(table.lower(here)[0]), high), high, ceil=1.0)
        return self._without_infinity(whole)

    def finite_parts(self, eps: Floats) -> tuple[Floats, Floats]:
        return table_of(self).finite_parts(eps, self.infinity())

    def above(self, step: Fraction) -> PrivacyLossDistribution | None:
        return table_of(self).above(step, self.infinity())

    def below(self, step: Fraction) -> PrivacyLossDistribution | None:
        return table_of(self).below(step, self.infinity())


@functools.lru_cache(maxsize=256)
def _side(pair: CurvedPair) -> HalfProfile:
    return pair.half_profile()


@functools.lru_cache(maxsize=128)
def table_of(pair: CurvedPair) -> ProfileTable:
    """Return the polygons around the profile of a pair."""
    return ProfileTable.of(_side(pair), _side(pair.reverse()))


@functools.lru_cache(maxsize=256)
def _ends(pair: CurvedPair) -> LossEnds:
    """Ask the pair; if it cannot say, let all that the table leaves at its end be infinite."""
    ends = pair.ends()
    cut = ends.infinite.high > 0 and _side(pair).upper_only
    if not cut and (math.isfinite(ends.largest) or math.isfinite(pair.moment(_LOW))):
        return ends
    outer = table_of(pair).forward
    last, left = float(outer.x[-1]), float(outer.value[-1])
    low = left * (1 - NODE_MARGIN) if cut else ends.infinite.low
    infinite = Bracket.within(low, max(left, low), ceil=1.0)
    return LossEnds(infinite, last * (1 - NODE_MARGIN), last, ends.grain)


@functools.lru_cache(maxsize=1 << 14)
def _cumulant(pair: CurvedPair, t: float) -> float:
    ends = _ends(pair)
    value, last = table_of(pair).cumulant(t, ends.infinite.low)
    if last >= ends.largest:
        return value
    left = float(table_of(pair).forward.value[-1]) - ends.infinite.low
    rest = beyond_table(pair.moment, t, last, (left, ends.largest))
    value = float(np.logaddexp(value, rest))
    return min(value + LOG_MARGIN * (1 + abs(value)), pair.moment(t))


def beyond_table(
    moment: Callable[[float], float], t: float, last: float, end: tuple[float, float]
) -> float:
    """Bound ln of t (t+1) times the integral of a**(t-1) D(a) from e**last on, K by ``moment``.

    D(a) <= C(s) e**(K(s)) a**-s for every s > 0; and it is at most ``left``, and ends somewhere.
    If the two bounds meet, the second takes over from the first.
    """
    left, largest = end
    best = math.log(left * (t + 1)) + t * largest if left > 0 else -math.inf
    for s in (1.2 * t + 0.5, 1.5 * t + 1, 2.5 * t + 4, 4 * t + 32):
        top = log_constant(s) + moment(s)
        best = min(best, top - (s - t) * last + math.log(t * (t + 1) / (s - t)))
        if left > 0 and math.isfinite(top):
            meet = max((top - math.log(left)) / s, last)
            whole = math.log(left * (t + 1) * s / (s - t)) + t * meet
            best = min(best, whole + MOMENT_MARGIN * (1 + abs(top) + s * meet))
    return best + MOMENT_MARGIN * (1 + abs(best)) if math.isfinite(best) else best


_FINE: Final = 6e-6
_COARSE: Final = 1.2e-5


def tabulated(bounds: Bounds, ends: LossEnds, parts: Iterable[Composition]) -> HalfProfile:
    """Tabulate a profile that is made of compositions: coarsely, if one has no closed form."""
    closed = all(part.has_closed_form for part in parts)
    return tabulated_profile(
        bounds,
        largest=ends.largest,
        infinite=ends.infinite.low,
        tolerance=_FINE if closed else _COARSE,
    )


def grain_of(composition: Composition) -> Fraction | None:
    """Return the grain of a single pair, on which the corners of its profile lie."""
    if composition.renyi is None and len(composition.pairs) == 1:
        return composition.pairs[0][0].grain()
    return None


@final
@dataclass(frozen=True, slots=True)
class CompositionPair(CurvedPair):
    """A composition as one pair."""

    composition: Composition

    def reverse(self) -> CompositionPair:
        return CompositionPair(self.composition.reverse())

    def half_profile(self) -> HalfProfile:
        own = self.composition
        return tabulated(own.deltas, self.ends(), [own])

    def whole(self, eps: float) -> Bracket:
        return self.composition.delta(eps)

    def ends(self) -> LossEnds:
        whole = self.composition
        return LossEnds(whole.infinity(), whole.largest_below(), whole.largest(), grain_of(whole))

    def moment(self, t: float) -> float:
        return cumulant(self.composition, t)

    def growth(self) -> MomentGrowth | None:
        return growth(self.composition)


def as_one_pair(composition: Composition) -> Pair:
    """Return the pair of a composition of one, or one for the whole."""
    match composition.pairs:
        case ((pair, 1),) if composition.renyi is None:
            return pair
    return CompositionPair(composition)


def table_of_composition(composition: Composition) -> ProfileTable:
    """Return the polygons around the profile of a composition."""
    pair = as_one_pair(composition)
    return table_of(pair if isinstance(pair, CurvedPair) else CompositionPair(composition))
