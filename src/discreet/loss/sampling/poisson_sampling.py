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
import functools
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
from discreet.loss.engine.closed_forms import FAINTEST, gaussian_deltas
from discreet.loss.engine.connect_the_dots import above_knots, below_knots, knots
from discreet.loss.engine.enumeration import listed_product, sampled_list
from discreet.loss.engine.rounding import LOG_MARGIN, UNIT
from discreet.loss.pairs.composition_curve import (
    as_one_pair,
    has_closed_form,
    table_of_composition,
)
from discreet.loss.pairs.curved_pair import beyond_table
from discreet.loss.pairs.distribution import (
    Floats,
    LossList,
    PrivacyLossDistribution,
    Transform,
)
from discreet.loss.pairs.envelope import grouped
from discreet.loss.pairs.gaussian import GaussianPair
from discreet.loss.pairs.pair import Pair, PairFamily, ProfileCurve
from discreet.loss.pairs.profile_table import ProfileTable
from discreet.loss.pairs.randomized_response import ResponsePair
from discreet.loss.renyi.moment_growth import MomentGrowth, growth
from discreet.loss.sampling.amplification import (
    NEARLY_ALL,
    added_loss,
    added_moment,
    added_profile,
    removed_loss,
    removed_moment,
    removed_profile,
    sampled_cumulant,
)
from discreet.loss.sampling.mixtures import sampled_group
from discreet.loss.sampling.sampled_gaussian import SampledGaussianTransform, sampled_gaussian

_UNCOUNTED: Final = 1e-40  # what lies beyond on the right counts as infinite (section 12)
_MOST_KNOTS: Final = 1 << 20
_SHALLOW: Final = 1e-20  # what lies beyond on the left moves up: hardly noticed
_FAR: Final = 300.0
_LARGEST_GROUP: Final = 1024  # whose parts are worked out one by one


class Direction(enum.Enum):
    """Which neighbor comes first: the one with the person, or the one without."""

    REMOVE = "remove"
    ADD = "add"


@final
@dataclass(frozen=True, slots=True)
class SampledPair(PairFamily):
    """A composition on a Poisson sample, seen from one direction.

    >>> inner = Composition(((GaussianPair(Fraction(1)), 1),))
    >>> pair = SampledPair(inner, Fraction(1, 10), Direction.REMOVE)
    >>> round(pair.profile(0.5).high, 12)
    0.00203253692
    """

    inner: Composition
    rate: Fraction
    direction: Direction

    rare_losses: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Refuse a rate that is not a chance."""
        if not 0 < self.rate <= 1:
            raise OutOfRange(
                "the rate of a sample is not above 0 and at most 1; give a rate above 0, at most 1."
            )

    def reverse(self) -> SampledPair:
        """Swap the two neighbors."""
        removed = self.direction is Direction.REMOVE
        return SampledPair(self.inner, self.rate, Direction.ADD if removed else Direction.REMOVE)

    def group(self, k: int) -> Pair:
        """Sample each of k units independently; all are removed, or all are added.

        With every a_j = a, key ``sampled-groups`` says that the mixture over how many are sampled
        is no larger than its part where all are: enough for groups that lose nearly everything.
        """
        if k == 1:
            return self
        if k > _LARGEST_GROUP:
            mixture = grouped(self.inner, k)
        else:
            mixture = sampled_group([grouped(self.inner, j) for j in range(1, k + 1)], self.rate)
        if self.direction is Direction.ADD:
            mixture = mixture.reverse()
        return as_one_pair(mixture)

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

    def factors(self) -> tuple[Pair, ...]:
        """Let a leak of the inner composition through, with chance q."""
        inner, leak = self.inner.without_leak()
        if not leak:
            return (self,)
        sampled = SampledPair(inner, self.rate, self.direction)
        return sampled, ResponsePair(Fraction(0), self.rate * leak)

    def cumulant(self, t: float) -> float:
        """Bound ln E[e**(tL); L < inf], by convexity in the rate and between whole orders.

        That is enough for the engines, which ask it where to look; ``log_moment`` is closer.
        """
        if self.direction is Direction.ADD:
            return added_moment(self.rate, self.inner.reverse().log_moment, t)
        value = sampled_cumulant(self.inner, self.rate, t)
        return min(value, t * self.largest() * (1 + 2 * UNIT))

    def log_moment(self, t: float) -> float:
        """Bound ln E e**(tL); infinite if a loss is, unless the inner one knows a curve.

        By quadrature, if the inner composition is a Gaussian; by the table, if it is another single
        release and whole orders do not tell as much.
        """
        removed = self.direction is Direction.REMOVE
        if self.infinity().high:
            return removed_moment(self.rate, self.inner.log_moment, t) if removed else math.inf
        value = self._quadrature(t)
        if math.isfinite(value):
            return value
        value = self.cumulant(t)
        alone = self.inner.renyi is None and sum(count for _, count in self.inner.pairs) == 1
        if not alone or self.rate >= NEARLY_ALL or (removed and t == int(t)):
            return value
        return min(value, self._from_table(t))

    def _from_table(self, t: float) -> float:
        """Add up the table, and bound what lies beyond it by whole orders; none does if added."""
        table, largest = self._table(), self.largest()
        value, last = table.cumulant(t, 0.0)
        if self.direction is Direction.ADD or last >= largest:
            return value
        end = float(table.forward.value[-1]), largest
        rest = beyond_table(lambda s: sampled_cumulant(self.inner, self.rate, s), t, last, end)
        value = float(np.logaddexp(value, rest))
        return value + LOG_MARGIN * (1 + abs(value))

    def _quadrature(self, t: float) -> float:
        """Bound the cumulant of a sampled Gaussian; it grows with the rate and with mu."""
        square, rate = self.square, float_up(self.rate)
        if square is None or square < FAINTEST or rate >= 1:
            return math.inf
        raised = float_up(square) * (1 + 4 * UNIT)  # so that the root is not below mu
        sign = 1 if self.direction is Direction.REMOVE else -1
        return sampled_gaussian(rate, raised, sign).above(t)

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

    def largest_below(self) -> float:
        """Apply the map of the rate to an inner loss that is reached."""
        if self.direction is Direction.ADD:
            other = self.inner.reverse()
            inner = math.inf if other.infinity().low else other.largest_below()
            return added_loss(self.rate, max(inner, 0.0), up=False)
        inner = self.inner.largest_below()
        return removed_loss(self.rate, inner, up=False) if inner > 0 else inner

    def growth(self) -> MomentGrowth | None:
        """A sample loses no more than what runs on it."""
        largest = self.largest()
        if math.isfinite(largest):
            return MomentGrowth(linear=largest)
        inner = self.inner if self.direction is Direction.REMOVE else self.inner.reverse()
        return growth(inner)

    def closed_form(self, count: int) -> ProfileCurve | None:
        """Map the inner profile, for one run; a list is quicker where that has no closed form."""
        simple = self.inner.largest() <= _FAR and has_closed_form(self.inner)
        if count > 1 or (not simple and self.listed() is not None):
            return None
        return lambda eps: self._without_infinity(self.profile(eps))

    def listed(self) -> LossList | None:
        """Map the inner losses, where they are few."""
        return _listed(self)

    def finite_parts(self, eps: Floats) -> tuple[Floats, Floats] | None:
        """Map the inner profile, or read the table of what runs on the sample."""
        if self.square is None:
            return self._table().finite_parts(eps, self.infinity())
        return self._profiles(eps)

    def grain(self) -> Fraction | None:
        """The losses lie on no known lattice."""
        return Fraction(0) if self.square is not None else None

    def _profiles(self, eps: Floats) -> tuple[Floats, Floats]:
        """Bound the profile at many points from both sides."""
        mapped = removed_profile if self.direction is Direction.REMOVE else added_profile
        return mapped(float(self.rate), eps, self._inner)

    def _inner(self, eps: Floats, slack: Floats) -> tuple[Floats, Floats]:
        """Bound the inner profile between eps - slack and eps + slack."""
        square = self.square
        if square is not None:
            value, error = gaussian_deltas(float(square), eps - slack)
            lower, wrong = gaussian_deltas(float(square), eps + slack)
            return lower - wrong, value + error
        ends = [
            (self.inner.delta(float(e + s)).low, self.inner.delta(float(e - s)).high)
            for e, s in zip(eps, slack, strict=True)
        ]
        both = np.array(ends)
        return both[:, 0], both[:, 1]

    def _table(self) -> ProfileTable:
        """Map the polygons around the inner profile; a rate of nearly 1 is taken for 1."""
        mapped = _sampled_table(self.inner, self.rate)
        return mapped if self.direction is Direction.REMOVE else mapped.reverse()

    def above(self, step: Fraction) -> PrivacyLossDistribution | None:
        """Connect the dots of the profile."""
        if self.square is None:
            return self._table().above(step, self.infinity())
        start, x = self._knots(step)
        return above_knots(start, x, self._profiles(x)[1], step) if len(x) else None

    def below(self, step: Fraction) -> PrivacyLossDistribution | None:
        """Connect lowered dots of the profile."""
        if self.square is None:
            return self._table().below(step, self.infinity()) if self.rate < NEARLY_ALL else None
        start, x = self._knots(step)
        return below_knots(start, x, self._profiles(x), 1 - UNIT, step) if len(x) else None

    def _knots(self, step: Fraction) -> tuple[int, Floats]:
        """Cover the losses of a sampled Gaussian that have a chance worth counting."""
        low = self._end(self.reverse(), _SHALLOW)
        high = self._end(self, _UNCOUNTED)
        return knots(-low, high, step) if low + high <= _MOST_KNOTS * step else (0, np.zeros(0))

    @staticmethod
    def _end(pair: SampledPair, floor: float) -> float:
        largest = pair.largest()
        if largest <= _FAR:
            return largest
        tries = (1.25**k / 64 for k in range(44))
        return next((x for x in tries if pair.profile(x).high <= floor), _FAR)

    @classmethod
    def transform_of(cls, pairs: Sequence[tuple[Self, int]]) -> Transform | None:
        """Gather sampled Gaussians; other samples go to the lattice."""
        items = []
        for pair, count in pairs:
            square = pair.square
            if square is None or square < FAINTEST or pair.rate == 1:
                return None
            sign = 1 if pair.direction is Direction.REMOVE else -1
            items.append((sampled_gaussian(float(pair.rate), float(square), sign), count))
        return SampledGaussianTransform(tuple(items))


@functools.lru_cache(maxsize=128)
def _sampled_table(inner: Composition, rate: Fraction) -> ProfileTable:
    table = table_of_composition(inner)
    return table.sampled(rate) if rate < NEARLY_ALL else table


@functools.lru_cache(maxsize=128)
def _listed(pair: SampledPair) -> LossList | None:
    other = pair.inner.reverse()
    removed = pair.direction is Direction.REMOVE
    if pair.inner.renyi is not None:
        return None
    forward = listed_product(pair.inner.pairs) if removed else None
    backward = listed_product(other.pairs) if forward is not None or not removed else None
    return backward and sampled_list(pair.rate, forward, backward, other.infinity())
