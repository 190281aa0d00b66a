"""The profile of a composition at many points, by the fastest engine, and its table.

Trust: kernel.  Every engine encloses the same profile; which one answers affects time and width.

Theorem keys: ``contour-aliasing``, ``tilted-lattice``.

A composition that is sampled, chosen or grouped is asked for its profile thousands of times; the
table asks once at each of its knots.  Theorem key: ``dots``.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final, final

import numpy as np

from discreet.loss.bracket import Bracket
from discreet.loss.composition import Composition
from discreet.loss.engine.closed_forms import gaussian_deltas
from discreet.loss.engine.connect_the_dots import RenyiPart, above_knots, below_knots, knots
from discreet.loss.engine.contour import Contour
from discreet.loss.engine.enumeration import enumeration
from discreet.loss.engine.lattice_search import LatticeSearch, OnLattice
from discreet.loss.engine.rounding import MOMENT_MARGIN, PRODUCT_MARGIN, SUM_MARGIN, TINIEST, UNIT
from discreet.loss.pairs.curved_pair import CurvedPair, LossEnds
from discreet.loss.pairs.distribution import Floats, PrivacyLossDistribution
from discreet.loss.pairs.gaussian import GaussianPair
from discreet.loss.pairs.pair import Pair, ProfileCurve, knows_curve, transforms
from discreet.loss.pairs.polygon import Bounds, HalfProfile, tabulated_profile
from discreet.loss.pairs.products import finite_profile
from discreet.loss.pairs.profile_table import ProfileTable
from discreet.loss.renyi.moment_growth import MomentGrowth, growth

_GOOD: Final = 1e-6
_FAINT: Final = 1e-25  # not worth a second engine
_RARE: Final = 1e-9
_DEVIATIONS: Final = 14.0  # of a Gaussian on a lattice
_MOST_KNOTS: Final = 1 << 20


def profiles_at(composition: Composition, eps: Floats) -> tuple[Floats, Floats]:
    """Bound the profile at many eps >= 0 from both sides.

    >>> one = Composition(((GaussianPair(Fraction(1)), 1),))
    >>> low, high = profiles_at(one, np.array([0.0, 1.0]))
    >>> bool((low <= high).all()), round(float(high[1]), 9)
    (True, 0.126936738)
    """
    match composition.pairs:
        case ((GaussianPair(mu_squared=square), 1),) if composition.renyi is None:
            value, error = gaussian_deltas(float(square), eps)
            return np.maximum(value - error, 0.0), np.minimum(value + error, 1.0)
        case () if composition.renyi is not None:
            return RenyiPart(composition.renyi).finite_parts(eps)
    known = has_closed_form(composition) or _leaks(composition) or enumeration(composition.pairs)
    ask = _closed_form(composition) or (composition.delta if known else None)
    read = _reader(composition).deltas(eps) if ask is None else map(ask, eps.tolist())
    brackets = list(read)
    return np.array([b.low for b in brackets]), np.array([b.high for b in brackets])


def _closed_form(composition: Composition) -> ProfileCurve | None:
    """The closed form of one run without infinite losses: the composition, for less work."""
    match composition.pairs:
        case ((pair, 1),) if composition.renyi is None and not pair.infinity().high:
            return pair.closed_form(1)
    return None


def has_closed_form(composition: Composition) -> bool:
    """Say whether the composition has a closed form."""
    if composition.renyi is not None:
        return False
    if composition.largest() <= 0:
        return True
    if len(composition.pairs) == 1:
        pair, count = composition.pairs[0]
        if pair.closed_form(count) is not None:
            return True
    return finite_profile(composition.pairs) is not None


def _leaks(composition: Composition) -> bool:
    """Say whether the composition knows more than its pairs do."""
    return composition.renyi is not None or any(knows_curve(pair) for pair, _ in composition.pairs)


@final
class _Reader:
    """A contour where one is good, and a lattice with everything on it, Gaussians too."""

    __slots__ = ("_contour", "_infinite", "_largest", "_scale", "_search")

    def __init__(self, composition: Composition) -> None:
        """Plan both."""
        self._infinite, self._largest = composition.infinity(), composition.largest()
        parts = transforms(composition.pairs)
        self._contour = None if parts is None else Contour(parts)
        least = Fraction(self._infinite.high) + Fraction(_RARE)
        self._scale = 2 * composition.epsilon(min(least, Fraction(1))).high
        laws: list[tuple[OnLattice, int]] = [
            (_OnLattice(pair.mu_squared) if isinstance(pair, GaussianPair) else pair, count)
            for pair, count in composition.pairs
        ]
        self._search = LatticeSearch(laws, 0.0, self._infinite.low)

    def deltas(self, eps: Floats) -> Iterator[Bracket]:
        """Enclose the profile at many points."""
        inside = eps[eps < self._largest]
        known = itertools.repeat(Bracket(0.0, 1.0))
        on_contour = iter(known if self._contour is None else self._contour.deltas(inside))
        for each in eps.tolist():
            infinite = each >= self._largest
            yield self._infinite if infinite else self._delta(each, next(on_contour))

    def _delta(self, eps: float, bracket: Bracket) -> Bracket:
        infinite = self._infinite
        if bracket.width > _GOOD * bracket.high and bracket.high > _FAINT:
            other = self._search.delta(eps, self._scale)
            bracket = bracket if other is None else bracket.meet(other)
        low, high = infinite.low + bracket.low, infinite.high + bracket.high
        return Bracket.within(low * (1 - PRODUCT_MARGIN), high * (1 + PRODUCT_MARGIN), ceil=1.0)


@functools.lru_cache(maxsize=64)
def _reader(composition: Composition) -> _Reader:
    return _Reader(composition)


@final
@dataclass(frozen=True, slots=True)
class _OnLattice:
    """A Gaussian pair with laws on a lattice."""

    square: Fraction

    spread: ClassVar[bool] = True

    def grain(self) -> Fraction | None:
        """There are no atoms."""
        return Fraction(0)

    def largest(self) -> float:
        """Dots end there."""
        return float(self.square) / 2 + _DEVIATIONS * math.sqrt(self.square)

    def above(self, step: Fraction) -> PrivacyLossDistribution | None:
        """Connect the dots of the profile."""
        start, x, value, error = self._knots(step)
        return above_knots(start, x, np.minimum(value + error, 1.0), step) if len(x) else None

    def below(self, step: Fraction) -> PrivacyLossDistribution | None:
        """Connect lowered dots of the profile."""
        start, x, value, error = self._knots(step)
        ends = np.maximum(value - error, 0.0), np.minimum(value + error, 1.0)
        return below_knots(start, x, ends, 1 - UNIT, step) if len(x) else None

    def _knots(self, step: Fraction) -> tuple[int, Floats, Floats, Floats]:
        reach = self.largest()
        if 2 * reach > _MOST_KNOTS * step:
            return 0, np.zeros(0), np.zeros(0), np.zeros(0)
        start, x = knots(-reach, reach, step)
        return start, x, *gaussian_deltas(float(self.square), x)


_FINE: Final = 6e-6
_COARSE: Final = 1.2e-5


def tabulated_shape(bounds: Bounds, ends: LossEnds, parts: Iterable[Composition]) -> HalfProfile:
    """Tabulate a profile that is made of compositions: coarsely, where one has no closed form."""
    closed = all(has_closed_form(part) for part in parts)
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


def cumulant(composition: Composition, t: float) -> float:
    """Bound ln E_P[e**(tL); L < inf] from above, for t > 0."""
    if not composition.infinity().high:
        return composition.log_moment(t)
    total = math.fsum(count * pair.cumulant(t) for pair, count in composition.pairs)
    if composition.renyi is not None:
        total += composition.renyi.log_moment(t)
    return total + abs(total) * SUM_MARGIN


def summed_moments(compositions: Iterable[tuple[Composition, int]], t: float) -> float:
    """Bound ln of the moment of a profile whose excess over (1 - a)+ is at most the sum of all.

    Without infinite losses it is ln(1 + sum of n (e**m - 1)) for the moments e**m; with them, the
    sum of the moments of all finite parts bounds that of the finite part.

    >>> from discreet.loss.pairs.gaussian import GaussianPair
    >>> one = Composition(((GaussianPair(Fraction(1)), 1),))
    >>> abs(summed_moments([(one, 2)], 1.0) - math.log(2 * math.e - 1)) < 1e-9
    True
    """
    known = [(part, count, cumulant(part, t)) for part, count in compositions]
    top = max(value for _, _, value in known)
    if math.isinf(top):
        return top
    kept = not any(part.infinity().high for part, _, _ in known)
    total = math.fsum(count * math.exp(value - top) for _, count, value in known)
    whole = sum(count for _, count, _ in known)
    if kept and top < 1:
        excess = math.fsum(count * math.expm1(max(value, 0.0)) for _, count, value in known)
        return math.log1p(excess) * (1 + MOMENT_MARGIN) + TINIEST
    return (
        top + math.log(total - (whole - 1) * math.exp(-top) * kept) + MOMENT_MARGIN * (1 + abs(top))
    )


@final
@dataclass(frozen=True, slots=True)
class CompositionShape:
    """The shape of a composition: its own profile."""

    composition: Composition

    def reverse(self) -> CompositionShape:
        """Swap the two neighbors."""
        return CompositionShape(self.composition.reverse())

    def half_profile(self) -> HalfProfile:
        """Evaluate the profile."""
        own = self.composition
        return tabulated_shape(lambda eps: profiles_at(own, eps), self.ends(), [own])

    def profile(self, eps: float) -> Bracket:
        """Ask the composition."""
        return self.composition.delta(eps)

    def ends(self) -> LossEnds:
        """Ask the composition."""
        whole = self.composition
        return LossEnds(whole.infinity(), whole.largest_below(), whole.largest(), grain_of(whole))

    def cumulant(self, t: float) -> float:
        """Add up the cumulants of the pairs."""
        return cumulant(self.composition, t)

    def growth(self) -> MomentGrowth | None:
        """Ask the composition."""
        return growth(self.composition)


def as_one_pair(composition: Composition) -> Pair:
    """Return the pair of a composition of one, or a curved pair for the whole.

    >>> from discreet.loss.pairs.gaussian import GaussianPair
    >>> as_one_pair(Composition(((GaussianPair(Fraction(1)), 1),)))
    GaussianPair(mu_squared=Fraction(1, 1))
    """
    match composition.pairs:
        case ((pair, 1),) if composition.renyi is None:
            return pair
    return CurvedPair(CompositionShape(composition))


@functools.lru_cache(maxsize=128)
def table_of_composition(composition: Composition) -> ProfileTable:
    """Return the polygons around the profile of a composition."""
    pair = as_one_pair(composition)
    return (
        pair.table()
        if isinstance(pair, CurvedPair)
        else CurvedPair(CompositionShape(composition)).table()
    )
