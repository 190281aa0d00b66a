"""A pair that is known by bounds on its profile, in both directions.

Trust: kernel.

Definition.  A shape bounds h_PQ(a) for ratios a >= 1, and its reverse bounds h_QP(a); together
they bound the profile at every ratio.  Where the bounds enclose a profile, the pair is the one with
that profile.  Where they are known from above only, the pair is the one whose profile joins them.

Theorem (key ``dots``).  Every function that is convex, falls from 1 at 0 and is nowhere below
(1 - a)+ is the profile of a pair.  Upper bounds of a convex function stay bounds when they are
joined by chords, so the pair dominates whatever the bounds are true of.

What defines a pair is its shape; the table is worked out when it is needed, and kept.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, Final, Protocol, final

import numpy as np

from discreet.loss.bracket import Bracket
from discreet.loss.composition import Composition
from discreet.loss.engine.line_search import log_constant
from discreet.loss.engine.rounding import LOG_MARGIN, MOMENT_MARGIN, NODE_MARGIN
from discreet.loss.pairs.distribution import Floats, PrivacyLossDistribution
from discreet.loss.pairs.pair import PairFamily, ProfileCurve
from discreet.loss.pairs.polygon import HalfProfile
from discreet.loss.pairs.profile_table import ProfileTable
from discreet.loss.renyi.moment_growth import MomentGrowth

_LOW: Final = 0.01  # an order at which a moment is known if it is at any


@final
@dataclass(frozen=True, slots=True)
class LossEnds:
    """The infinite losses of a shape, bounds on its largest finite one, and its grain."""

    infinite: Bracket
    largest_below: float
    largest: float
    grain: Fraction | None = None


class Shape(Hashable, Protocol):
    """What defines a curved pair, seen in one direction; equal shapes have equal profiles."""

    def reverse(self) -> Shape:
        """Swap the two laws."""
        ...

    def half_profile(self) -> HalfProfile:
        """Draw the profile at ratios from 1 on."""
        ...

    def profile(self, eps: float) -> Bracket | None:
        """Enclose the profile at eps >= 0 without the table; None where the table defines it."""
        ...

    def ends(self) -> LossEnds:
        """Say where the losses end."""
        ...

    def cumulant(self, t: float) -> float:
        """Bound ln E_P[e**(tL); L < inf] from above for t > 0; perhaps by infinity."""
        ...

    def growth(self) -> MomentGrowth | None:
        """Bound how fast the cumulants grow; None where that is not known."""
        ...


class TableShape:
    """A shape whose table defines the pair."""

    __slots__ = ()

    def profile(self, eps: float) -> Bracket | None:  # noqa: ARG002
        """The table defines the pair."""
        return None


@final
@dataclass(frozen=True, slots=True)
class CurvedPair(PairFamily):
    """The pair of a shape."""

    shape: Shape
    _hash: int = field(init=False, repr=False, compare=False)

    rare_losses: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Keep the hash: tables are looked up by it often."""
        object.__setattr__(self, "_hash", hash(self.shape))

    def __hash__(self) -> int:
        return self._hash

    def reverse(self) -> CurvedPair:
        """Swap the two laws."""
        return CurvedPair(self.shape.reverse())

    def group(self, k: int) -> CurvedPair | None:
        """Only the trivial group is known exactly."""
        return self if k == 1 else None

    def table(self) -> ProfileTable:
        """The polygons around the profile."""
        return _table(self)

    def cumulant(self, t: float) -> float:
        """Add up the table, and bound what lies beyond it by higher moments."""
        return _cumulant(self, t)

    def infinity(self) -> Bracket:
        """Ask the shape."""
        return _ends(self).infinite

    def largest(self) -> float:
        """Ask the shape."""
        return _ends(self).largest

    def largest_below(self) -> float:
        """Ask the shape."""
        return _ends(self).largest_below

    def growth(self) -> MomentGrowth | None:
        """A loss that ends grows no faster; otherwise ask the shape."""
        largest = self.largest()
        return MomentGrowth(linear=largest) if math.isfinite(largest) else self.shape.growth()

    def closed_form(self, count: int) -> ProfileCurve | None:
        """Ask the shape, or read the table, for one run."""
        return self._finite if count == 1 else None

    def _finite(self, eps: float) -> Bracket:
        whole = self.shape.profile(eps)
        if whole is None:
            table, here = self.table(), np.array([eps])
            high = float(table.upper(here)[0])
            whole = Bracket.within(min(float(table.lower(here)[0]), high), high, ceil=1.0)
        return self._without_infinity(whole)

    def grain(self) -> Fraction | None:
        """Ask the shape."""
        return _ends(self).grain

    def finite_parts(self, eps: Floats) -> tuple[Floats, Floats]:
        """Read the table."""
        return self.table().finite_parts(eps, self.infinity())

    def above(self, step: Fraction) -> PrivacyLossDistribution | None:
        """Connect the dots of the table."""
        return self.table().above(step, self.infinity())

    def below(self, step: Fraction) -> PrivacyLossDistribution | None:
        """Connect lowered dots of the table."""
        return self.table().below(step, self.infinity())


def curved_composition(shape: Shape) -> Composition:
    """Return the composition of one curved pair."""
    return Composition(((CurvedPair(shape), 1),))


@functools.lru_cache(maxsize=256)
def _side(shape: Shape) -> HalfProfile:
    return shape.half_profile()


@functools.lru_cache(maxsize=128)
def _table(pair: CurvedPair) -> ProfileTable:
    return ProfileTable.of(_side(pair.shape), _side(pair.shape.reverse()))


@functools.lru_cache(maxsize=256)
def _ends(pair: CurvedPair) -> LossEnds:
    """Ask the shape; where it cannot say, let all that the table leaves at its end be infinite."""
    ends = pair.shape.ends()
    cut = ends.infinite.high > 0 and _side(pair.shape).upper_only
    if not cut and (math.isfinite(ends.largest) or math.isfinite(pair.shape.cumulant(_LOW))):
        return ends
    outer = pair.table().forward
    last, left = float(outer.x[-1]), float(outer.value[-1])
    low = left * (1 - NODE_MARGIN) if cut else ends.infinite.low
    infinite = Bracket.within(low, max(left, low), ceil=1.0)
    return LossEnds(infinite, last * (1 - NODE_MARGIN), last, ends.grain)


@functools.lru_cache(maxsize=1 << 14)
def _cumulant(pair: CurvedPair, t: float) -> float:
    ends = _ends(pair)
    value, last = pair.table().cumulant(t, ends.infinite.low)
    if last >= ends.largest:
        return value
    left = float(pair.table().forward.value[-1]) - ends.infinite.low
    value = float(
        np.logaddexp(value, beyond_table(pair.shape.cumulant, t, last, (left, ends.largest)))
    )
    return min(value + LOG_MARGIN * (1 + abs(value)), pair.shape.cumulant(t))


def beyond_table(
    moment: Callable[[float], float], t: float, last: float, end: tuple[float, float]
) -> float:
    """Bound ln of t (t+1) times the integral of a**(t-1) D(a) from e**last on, K by ``moment``.

    D(a) <= C(s) e**(K(s)) a**-s for every s > 0; and it is at most ``left``, and ends somewhere.
    Where the two bounds meet, the second takes over from the first.
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
