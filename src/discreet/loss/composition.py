"""A multiset of dominating pairs, and what is known only through Rényi orders.

Trust: kernel.

Definition.  A composition stands for the product of its pairs, each as often as its count, in one
direction; its loss is the sum of independent losses.  Where a part is known only by a Rényi curve,
the profile is the largest that the curve allows, and only upper ends mean anything.  Where pairs
know a curve of the same releases as well, the smaller bound is the answer.  Losses beyond
``LARGEST_LOSS``, which promise nothing, count as infinite.

Theorem keys: ``dominating-pair``, ``gaussian-profile``, ``renyi-to-approximate``, ``two-bounds``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, final

from discreet.errors import OutOfRange
from discreet.exact import exact_sum
from discreet.loss.bracket import Bracket
from discreet.loss.engine.composed_profile import CompositionProfile
from discreet.loss.engine.rounding import SUM_MARGIN
from discreet.loss.pairs.gaussian import GaussianPair, SmoothedGaussianPair
from discreet.loss.pairs.pair import LARGEST_LOSS, Pair, knows_curve
from discreet.loss.pairs.randomized_response import ResponsePair
from discreet.loss.renyi.curve import RenyiCurve

_MOST_COUNTED: Final = 10**50
_EVERYTHING: Final = ResponsePair(Fraction(0), Fraction(1))
"""The pair that dominates all others: every loss is infinite."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Composition:
    """The product of pairs with counts, and the sum of Rényi curves.

    >>> once = Composition(((GaussianPair(Fraction(1)), 1),))
    >>> once.power(4).pairs
    ((GaussianPair(mu_squared=Fraction(4, 1)), 1),)
    >>> round(once.delta(1.0).high, 10)
    0.1269367375
    """

    pairs: tuple[tuple[Pair, int], ...] = ()
    renyi: RenyiCurve | None = None
    _merged: _Merged = field(init=False, repr=False)
    _account: CompositionProfile = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Merge equal pairs, all Gaussians into one, and all smoothed ones into one."""
        self._fill(_Merged.of(self.pairs), self.renyi)

    def _fill(self, merged: _Merged, renyi: RenyiCurve | None) -> None:
        """Set the fields."""
        pairs = merged.pairs()
        fields = (pairs, renyi, merged, CompositionProfile(pairs, renyi))
        for name, value in zip(self.__slots__, fields, strict=True):
            object.__setattr__(self, name, value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Composition):
            return NotImplemented
        return self.renyi == other.renyi and dict(self.pairs) == dict(other.pairs)

    def __hash__(self) -> int:
        return hash((frozenset(self.pairs), self.renyi))

    def compose(self, other: Composition) -> Composition:
        """Run both."""
        curves = [curve for curve in (self.renyi, other.renyi) if curve is not None]
        renyi = curves[0] + curves[1] if len(curves) == 2 else curves[0] if curves else None
        both = object.__new__(Composition)
        both._fill(self._merged.with_(other._merged), renyi)
        return both

    def power(self, count: int) -> Composition:
        """Run it count times."""
        renyi = self.renyi.times(count) if self.renyi is not None and count else None
        return Composition(tuple((pair, n * count) for pair, n in self.pairs), renyi)

    def reverse(self) -> Composition:
        """Swap the two neighbors; a Rényi curve is a bound in both directions."""
        return Composition(tuple((pair.reverse(), n) for pair, n in self.pairs), self.renyi)

    def group(self, k: int) -> Composition | None:
        """Move every pair k times as far apart; None where a family does not know how."""
        moved = tuple((pair.group(k), n) for pair, n in self.pairs)
        known = tuple((pair, n) for pair, n in moved if pair is not None)
        if len(known) < len(moved) or (self.renyi is not None and k != 1):
            return None
        return Composition(known, self.renyi)

    def log_moment(self, t: float) -> float:
        """Bound ln E_P[e**(tL)] from above; the Rényi divergence of order 1 + t is this over t."""
        return self.log_moments((t,))[0]

    def log_moments(self, orders: Sequence[float]) -> tuple[float, ...]:
        """Bound the same at several orders, and look every pair up once."""
        bounds = [_log_moments(pair, n, orders) for pair, n in self.pairs]
        totals = [math.fsum(parts) for parts in zip(*bounds, strict=True)] or [0.0] * len(orders)
        if self.renyi is not None:
            known = zip(totals, orders, strict=True)
            totals = [total + self.renyi.log_moment(t) for total, t in known]
        return tuple(total + abs(total) * SUM_MARGIN for total in totals)

    def without_leak(self) -> tuple[Composition, Fraction]:
        """Return what is lost if no smoothed Gaussian leaks, and the chance that one does.

        The product of the two, one with pairs only and one a leak, dominates the composition.
        """
        smooth = self._merged.smooth
        if smooth is None:
            return self, Fraction(0)
        square = self._merged.square + smooth.mu_squared
        rest = object.__new__(Composition)
        rest._fill(_Merged(self._merged.counts, square, None), self.renyi)
        return rest, smooth.leak

    def infinity(self) -> Bracket:
        """Enclose the mass of infinite losses."""
        return self._account.infinite

    def largest(self) -> float:
        """Bound the largest finite loss: epsilon at delta zero, where no loss is infinite."""
        return self._account.largest

    def largest_below(self) -> float:
        """Bound the largest loss from below; finite losses come as close to it as they like."""
        return self._account.largest_below()

    def delta(self, epsilon: float) -> Bracket:
        """Enclose the profile at any real epsilon."""
        if math.isnan(epsilon):
            raise OutOfRange("epsilon is not a number; give a real epsilon.")
        if epsilon < 0:  # h_PQ(a) = 1 - a + a h_QP(1/a)
            return self._account.delta_below_zero(self.reverse()._account, epsilon)  # noqa: SLF001
        return self._account.delta(epsilon)

    def delta_above(self, epsilon: float, *, enough: float = 0.0) -> float:
        """Bound the profile at any real epsilon from above, for less work than both ends.

        A bound of at most ``enough`` is not lowered any further.
        """
        if epsilon < 0:
            return self.delta(epsilon).high
        return self._account.upper(epsilon, enough=enough)

    def epsilon(self, delta: float | Fraction) -> Bracket:
        """Enclose the smallest epsilon >= 0 at which the profile is at most delta."""
        return self._account.epsilon(_chance(delta))

    def epsilon_above(self, delta: float | Fraction, *, finer: bool = True) -> float:
        """Bound the smallest epsilon >= 0 from above, for less work than both ends.

        Without ``finer`` it may lie about a thousandth higher, and takes a tenth of the time.
        """
        return self._account.upper_epsilon(_chance(delta), finer=finer)


def _chance(delta: float | Fraction) -> Fraction:
    if not 0 <= delta <= 1:
        raise OutOfRange("delta is not between 0 and 1; give a delta from 0 to 1.")
    return Fraction(delta)


def _log_moments(pair: Pair, count: int, orders: Sequence[float]) -> list[float]:
    """Bound the moments of one release, so many times, by its pair or by its curve."""
    if not knows_curve(pair):
        bounds = list(map(pair.log_moment, orders))
    elif pair.infinity().high:  # the pair bounds no moment
        bounds = list(map(pair.curve().log_moment, orders))
    else:
        bounds = list(map(min, map(pair.log_moment, orders), map(pair.curve().log_moment, orders)))
    return [count * bound for bound in bounds]


@final
@dataclass(frozen=True, slots=True)
class _Merged:
    """Pairs with counts, beside the two families that are closed under products."""

    counts: dict[Pair, int]
    square: Fraction
    smooth: SmoothedGaussianPair | None

    @classmethod
    def of(cls, pairs: Iterable[tuple[Pair, int]]) -> _Merged:
        counts: dict[Pair, int] = {}
        squares: list[Fraction] = []
        smooth: list[tuple[SmoothedGaussianPair, int]] = []
        for pair, count in pairs:
            if count < 0:
                raise OutOfRange(
                    "a pair is counted fewer than zero times; give counts of at least zero."
                )
            if count and pair.boundless():
                counts[_EVERYTHING] = 1
            elif isinstance(pair, GaussianPair):
                squares.append(pair.mu_squared * count)
            elif count and isinstance(pair, SmoothedGaussianPair):
                smooth.append((pair, count))
            elif count:
                counts[pair] = counts.get(pair, 0) + count
        return cls.within_reach(
            counts, exact_sum(squares), SmoothedGaussianPair.product(smooth) if smooth else None
        )

    def with_(self, other: _Merged) -> _Merged:
        counts = self.counts.copy()  # the pairs keep their hashes
        for pair, count in other.counts.items():
            counts[pair] = counts.get(pair, 0) + count
        both = self.square + other.square, _both(self.smooth, other.smooth)
        return _Merged.within_reach(counts, *both)

    @classmethod
    def within_reach(
        cls, counts: dict[Pair, int], square: Fraction, smooth: SmoothedGaussianPair | None
    ) -> _Merged:
        """Let a sum that grew boundless count as one that tells everything; refuse huge counts."""
        if max(counts.values(), default=0) > _MOST_COUNTED:
            raise OutOfRange(
                f"a release is counted more than {_MOST_COUNTED:.0e} times; count fewer releases."
            )
        far, smooth_far = square > LARGEST_LOSS, smooth is not None and smooth.boundless()
        if not (far or smooth_far):
            return cls(counts, square, smooth)
        counts = {**counts, _EVERYTHING: 1}
        return cls(counts, Fraction(0) if far else square, None if smooth_far else smooth)

    def pairs(self) -> tuple[tuple[Pair, int], ...]:
        smooth = () if self.smooth is None else ((self.smooth, 1),)
        gaussian = ((GaussianPair(self.square), 1),) if self.square else ()
        return (*self.counts.items(), *smooth, *gaussian)


def _both(
    one: SmoothedGaussianPair | None, two: SmoothedGaussianPair | None
) -> SmoothedGaussianPair | None:
    if one is None or two is None:
        return one or two
    return SmoothedGaussianPair.product([(one, 1), (two, 1)])
