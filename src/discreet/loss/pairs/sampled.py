"""The pair of a composition that runs on a Poisson sample.

Trust: kernel.

Definition.  Each person enters the sample with probability q, independently.  If (P, Q) dominates
the inner composition when a person is removed, the outer pair is ((1-q)Q + qP, Q) for REMOVE and
(Q, (1-q)Q + qP) for ADD.

Theorem (key ``poisson-sampling``).  h_REMOVE(a) = q h(1 + (a-1)/q) for a > 1-q, else 1-a, and
h_ADD(a) = 1 - a + a h_REMOVE(1/a) (Li, Qardaji and Su 2012; Balle, Barthe and Gaboardi 2018,
theorem 8; Zhu, Dong and Wang 2022, proposition 30 for dominating pairs at every a > 0).
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final, Self, final

import numpy as np

from discreet.errors import OutOfRange
from discreet.exact import float_down, float_up
from discreet.loss.bracket import Bracket
from discreet.loss.composition import Composition
from discreet.loss.engine.closed import gaussians
from discreet.loss.engine.knots import above_knots, below_knots, knots
from discreet.loss.engine.rounding import UNIT
from discreet.loss.pairs.gaussian import GaussianPair
from discreet.loss.pairs.pair import Curve, Floats, Law, Transform
from discreet.loss.pairs.sampled_gaussian import SampledGaussians, sampled_gaussian
from discreet.loss.pairs.sampled_moments import (
    added_loss,
    added_moment,
    removed_loss,
    removed_moment,
)

__all__ = ["Direction", "SampledPair"]

_DEEP: Final = 1e-40  # what lies beyond on the right counts as infinite
_MOST: Final = 1 << 20
_SHALLOW: Final = 1e-20  # what lies beyond on the left moves up: hardly noticed


class Direction(enum.Enum):
    """Which neighbor comes first: the one with the person, or the one without."""

    REMOVE = "remove"
    ADD = "add"


@final
@dataclass(frozen=True, slots=True)
class SampledPair:
    """A composition on a Poisson sample, seen from one direction.

    >>> inner = Composition(((GaussianPair(Fraction(1)), 1),))
    >>> pair = SampledPair(inner, Fraction(1, 10), Direction.REMOVE)
    >>> round(pair.profile(0.5).high, 12)
    0.00203253692
    """

    inner: Composition
    rate: Fraction
    direction: Direction

    spread: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Refuse a rate that is not a chance."""
        if not 0 < self.rate <= 1:
            raise OutOfRange(
                what="the rate of a sample is not above 0 and at most 1.",
                why="it is the chance that a person enters the sample.",
                do="give a rate above 0, at most 1.",
            )

    def reverse(self) -> SampledPair:
        """Swap the two neighbors."""
        other = Direction.ADD if self.direction is Direction.REMOVE else Direction.REMOVE
        return SampledPair(self.inner, self.rate, other)

    def group(self, k: int) -> SampledPair | None:
        """Only the trivial group is known."""
        return self if k == 1 else None

    @property
    def square(self) -> Fraction | None:
        """mu**2 if the inner composition is one Gaussian."""
        match self.inner.pairs:
            case ((GaussianPair(mu_squared=square), 1),) if self.inner.renyi is None:
                return square
        return None

    def profile(self, eps: float) -> Bracket:
        """Enclose the profile of one run at any real eps."""
        if eps > 600:  # the profile falls, and exponentials overflow
            return Bracket(0.0, self.profile(600.0).high)
        low, high = self._profiles(np.array([eps]))
        return Bracket.within(float(low[0]), float(high[0]), ceil=1.0)

    def cumulant(self, t: float) -> float:
        """Bound ln E e**(tL), by convexity in the rate and between whole orders."""
        if self.direction is Direction.ADD:
            return added_moment(self.rate, self.inner.reverse().log_moment, t)
        return removed_moment(self.rate, self.inner.log_moment, t)

    def log_moment(self, t: float) -> float:
        """Bound ln E e**(tL); infinite if a loss is."""
        return math.inf if self.infinity().high else self.cumulant(t)

    def infinity(self) -> Bracket:
        """Removing shows an infinite inner loss with chance q; adding never does."""
        if self.direction is Direction.ADD:
            reach = 0.0 if self.rate < 1 else self.inner.reverse().infinity().high
            return Bracket(0.0, reach)
        inner = self.inner.infinity()
        low, high = float_down(self.rate) * inner.low, float_up(self.rate) * inner.high
        return Bracket(low * (1 - 2 * UNIT), high * (1 + 2 * UNIT))

    def largest(self) -> float:
        """Apply the map of the rate to the largest inner loss; adding makes it finite."""
        if self.direction is Direction.ADD:
            other = self.inner.reverse()
            inner = math.inf if other.infinity().high else other.largest()
            return added_loss(self.rate, inner, up=True)
        return removed_loss(self.rate, self.inner.largest(), up=True)

    def reached(self) -> float:
        """Apply the map of the rate to an inner loss that is reached."""
        if self.direction is Direction.ADD:
            other = self.inner.reverse()
            inner = math.inf if other.infinity().low else other.reached()
            return added_loss(self.rate, max(inner, 0.0), up=False)
        inner = self.inner.reached()
        return removed_loss(self.rate, inner, up=False) if inner > 0 else inner

    def closed(self, count: int) -> Curve | None:
        """Map the inner profile, for one run."""
        return self._finite if count == 1 else None

    def _finite(self, eps: float) -> Bracket:
        """Take the mass of infinite losses off the profile."""
        whole, infinite = self.profile(eps), self.infinity()
        slack = UNIT * infinite.high
        return Bracket.within(whole.low - infinite.high - slack, whole.high - infinite.low + slack)

    def grain(self) -> Fraction | None:
        """The losses lie on no known lattice."""
        return Fraction(0) if self.square is not None else None

    def _profiles(self, eps: Floats) -> tuple[Floats, Floats]:
        """Bound the profile at many points from both sides."""
        if self.direction is Direction.REMOVE:
            return self._removed(eps)
        low, high = self._removed(-eps)
        flat, a = -np.expm1(eps), np.exp(eps)
        wrong = UNIT * (16 * np.abs(flat) + 16 * a * high) + 4 * UNIT * a
        return np.maximum(flat + a * low - wrong, 0.0), np.minimum(flat + a * high + wrong, 1.0)

    def _removed(self, eps: Floats) -> tuple[Floats, Floats]:
        q = float(self.rate)
        moved = np.expm1(eps) / q
        inside = moved > -1 + 1e-12
        with np.errstate(divide="ignore", invalid="ignore"):
            inner = np.where(inside, np.log1p(np.where(inside, moved, 0.0)), 0.0)
        slack = 32 * UNIT * (1 + np.abs(moved)) / (1 + np.where(inside, moved, 0.0))
        low, high = self._inner(inner, slack)
        flat = -np.expm1(eps)
        low = np.where(inside, q * low * (1 - 8 * UNIT), flat * (1 - 16 * UNIT))
        low = np.maximum(low, flat - 16 * UNIT)
        high = np.where(inside, q * high * (1 + 8 * UNIT), flat + 1e-12 * (1 + np.abs(flat)))
        return np.maximum(low, 0.0), np.minimum(high, 1.0)

    def _inner(self, eps: Floats, slack: Floats) -> tuple[Floats, Floats]:
        """Bound the inner profile between eps - slack and eps + slack."""
        square = self.square
        if square is not None:
            value, error = gaussians(float(square), eps - slack)
            lower, wrong = gaussians(float(square), eps + slack)
            return lower - wrong, value + error
        found = [
            (self.inner.delta(float(e + s)).low, self.inner.delta(float(e - s)).high)
            for e, s in zip(eps, slack, strict=True)
        ]
        both = np.array(found)
        return both[:, 0], both[:, 1]

    def _range(self) -> tuple[float, float]:
        high = self.largest()
        if math.isinf(high) or high > 300:
            floor = max(_DEEP, 1e-12 * self.infinity().high)
            high = next((x for x in _doubling() if self._finite(x).high <= floor), 300.0)
        low = self.reverse().largest()
        if math.isinf(low) or low > 300:
            other = self.reverse()
            low = next((x for x in _doubling() if other.profile(x).high <= _SHALLOW), 300.0)
        return -low, high

    def above(self, step: Fraction) -> Law | None:
        """Connect the dots of the profile."""
        low, high = self._range()
        if (high - low) > _MOST * step:
            return None
        start, x = knots(low, high, step)
        infinite = self.infinity()
        upper = np.maximum(self._profiles(x)[1] - infinite.low * (1 - UNIT), 0.0)
        law = above_knots(start, x, upper * (1 + UNIT), step)
        return Law(law.start, law.mass, (law.infinite + infinite.high) * (1 + UNIT), law.drift)

    def below(self, step: Fraction) -> Law | None:
        """Connect lowered dots of the profile."""
        low, high = self._range()
        if (high - low) > _MOST * step:
            return None
        start, x = knots(low, high, step)
        lower, upper = self._profiles(x)
        infinite = self.infinity()
        lower = np.maximum(lower - infinite.high, 0.0) * (1 - UNIT)
        upper = np.maximum(upper - infinite.low, 0.0) * (1 + UNIT)
        finite = (1 - infinite.high) * (1 - UNIT)
        law = below_knots(start, x, (lower, upper), finite, step)
        return Law(law.start, law.mass, infinite.low, law.drift)

    @classmethod
    def bundle(cls, pairs: Sequence[tuple[Self, int]]) -> Transform | None:
        """Gather sampled Gaussians; other samples go to the lattice."""
        items = []
        for pair, count in pairs:
            square = pair.square
            if square is None or pair.rate == 1:
                return None
            sign = 1 if pair.direction is Direction.REMOVE else -1
            items.append((sampled_gaussian(float(pair.rate), float(square), sign), count))
        return SampledGaussians(tuple(items))


def _doubling() -> list[float]:
    return [1.25**k / 64 for k in range(44)]
