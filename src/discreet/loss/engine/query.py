"""Answer delta(eps) and eps(delta) for a composition, by the smallest bound that holds.

Trust: kernel.

Finite laws have corners, which know everything.  Otherwise the pairs of a composition form one
product; and where pairs know a Renyi curve of their releases as well, so do other products, in
which curves take the place of some pairs.  Every such product bounds the composition, so the
smallest answer from above is returned, whichever products are asked (key ``two-bounds``).  From
below, each such pair is replaced by one that its two bounds allow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Final, final

from discreet.loss.bracket import Bracket
from discreet.loss.engine.whole import Whole
from discreet.loss.pairs.bounded_range import BoundedRangePair
from discreet.loss.pairs.corners import Corners, corners
from discreet.loss.pairs.pair import Pair
from discreet.loss.pairs.two_bounds import knows_curve
from discreet.loss.renyi_curve import RenyiCurve

__all__ = ["Account"]

_UNKNOWN: Final = object()
_WORTH: Final = 0.5  # of ln delta: a smaller gain of curves is lost again by converting them
_MANY: Final = 16  # pairs that take seconds on a lattice

Counted = tuple[tuple[Pair, int], ...]


@final
class Account:
    """What has been worked out about one composition; it only ever caches."""

    __slots__ = ("_doubled", "_exact", "_least", "_others", "_pairs", "_renyi", "_whole")

    def __init__(self, pairs: Counted, renyi: RenyiCurve | None) -> None:
        """Work nothing out yet."""
        self._pairs, self._renyi = pairs, renyi
        self._exact: Corners | object | None = _UNKNOWN
        self._whole: Whole | None = None
        self._least: Whole | None = None
        self._others: dict[frozenset[Pair], Whole] = {}
        self._doubled: frozenset[Pair] | None = None

    @property
    def infinite(self) -> Bracket:
        """The mass of infinite losses."""
        return self._product().infinite

    @property
    def largest(self) -> float:
        """A bound on the largest finite loss."""
        return self._product().part.largest

    def reached(self) -> float:
        """Bound the largest finite loss from below; it is below 0 only beside infinite losses."""
        return self._product().part.reached()

    def delta(self, eps: float) -> Bracket:
        """Enclose the profile at eps >= 0."""
        exact = self._corners()
        if exact is not None:
            return exact.delta(eps)
        if not self._two_bounds():
            return self._product().delta(eps)
        high = self.upper(eps)
        return Bracket(min(self._attained().delta(eps).low, high), high)

    def upper(self, eps: float) -> float:
        """Bound the profile at eps >= 0 from above: the upper end of ``delta``, for less work."""
        exact = self._corners()
        if exact is not None:
            return exact.delta(eps).high
        high = self._product().delta(eps, low=False).high
        if self._two_bounds() and not math.isinf(eps):
            part = self._product().part
            for other, lattice in self._beside(lambda: part.order_at(eps)):
                high = min(high, other.delta(eps, low=False, lattice=lattice).high)
        return high

    def delta_below_zero(self, reverse: Account, eps: float) -> Bracket:
        """Use h_PQ(a) = 1 - a + a h_QP(1/a) at a = e**eps < 1."""
        if math.isinf(eps):
            return Bracket(1.0, 1.0)
        other = reverse.delta(-eps)
        flat, scale = -math.expm1(eps), math.exp(eps)
        low, high = flat + scale * other.low, flat + scale * other.high
        return Bracket.within(low * (1 - 4e-15), high * (1 + 4e-15), ceil=1.0)

    def epsilon(self, delta: Fraction) -> Bracket:
        """Enclose the smallest epsilon >= 0 with a profile of at most delta."""
        if delta >= 1:
            return Bracket(0.0, 0.0)
        exact = self._corners()
        if exact is not None:
            return exact.epsilon(delta)
        found = self._product().epsilon(delta)
        if not self._two_bounds() or delta == 0:
            return found
        high = self._beside_epsilon(delta, found.high)
        return Bracket(min(self._attained().epsilon(delta).low, high), high)

    def upper_epsilon(self, delta: Fraction) -> float:
        """Bound that epsilon from above: the upper end of ``epsilon``, for less work.

        Beside Gaussian noise, continuous or discrete, the lower end says nothing about the upper.
        """
        if delta >= 1 or self._corners() is not None or not self._product().part.gaussian:
            return self.epsilon(delta).high
        found = self._product().epsilon(delta, low=False).high
        return self._beside_epsilon(delta, found) if self._two_bounds() and delta else found

    def _beside_epsilon(self, delta: Fraction, high: float) -> float:
        """Lower a bound on epsilon to that of products in which curves take the place of pairs."""
        part, chance = self._product().part, max(float(delta), 1e-300)
        for other, lattice in self._beside(lambda: part.order_for(chance)):
            high = min(high, other.epsilon(delta, low=False, lattice=lattice).high)
        return high

    def _product(self) -> Whole:
        """The product of all pairs."""
        if self._whole is None:
            self._whole = Whole(self._pairs, self._renyi)
        return self._whole

    def _corners(self) -> Corners | None:
        """The exact profile, for finite laws."""
        if self._exact is _UNKNOWN:
            self._exact = corners(self._pairs) if self._renyi is None else None
        return self._exact  # type: ignore[return-value]

    def _two_bounds(self) -> frozenset[Pair]:
        """The pairs that know a curve; one run of bounded range has no use for it."""
        if self._doubled is None:
            found = [pair for pair, _ in self._pairs if knows_curve(pair)]
            alone = self._renyi is None and sum(count for _, count in self._pairs) == 1
            exact = alone and isinstance(self._pairs[0][0], BoundedRangePair)
            self._doubled = frozenset() if exact else frozenset(found)
        return self._doubled

    def _beside(self, order: Callable[[], float]) -> Iterator[tuple[Whole, bool]]:
        """Products in which curves take the place of pairs: of all, and of those where it pays.

        With each comes whether the gain is worth a lattice.
        """
        doubled = self._two_bounds()
        if len(doubled) == len(self._pairs):
            yield self._replaced(doubled), False
        if len(self._pairs) > 1:
            t, total, chosen = order(), 0.0, []
            for pair, count in self._pairs:
                gain = pair.gain(t) if knows_curve(pair) else 0.0
                if gain > 0.0:
                    total += count * gain
                    chosen.append(pair)
            if 0 < len(chosen) < len(self._pairs):
                worth = total > _WORTH and len(self._pairs) <= _MANY
                yield self._replaced(frozenset(chosen)), worth

    def _replaced(self, chosen: frozenset[Pair]) -> Whole:
        """Add the curves of some pairs to what is known by curves."""
        if chosen not in self._others:
            total = self._renyi
            for pair, count in self._pairs:
                if pair in chosen and knows_curve(pair):
                    curve = pair.curve().times(count)
                    total = curve if total is None else total + curve
            rest = tuple((pair, count) for pair, count in self._pairs if pair not in chosen)
            self._others[chosen] = Whole(rest, total)
        return self._others[chosen]

    def _attained(self) -> Whole:
        """A product that satisfies both bounds of every pair."""
        if self._least is None:
            least = tuple(
                (pair.attained() if knows_curve(pair) else pair, count)
                for pair, count in self._pairs
            )
            self._least = Whole(least, self._renyi)
        return self._least
