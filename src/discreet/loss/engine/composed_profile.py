"""Answer delta(eps) and eps(delta) for a composition, by the smallest bound that holds.

Trust: kernel.

Let a product hold leaks and other pairs, let k be the chance that no leak occurs, and D the finite
part of the others.  The profile is P[L = inf] + k D(eps), since a leak that does not occur adds a
loss of zero.  So delta(eps) and eps(delta) of the product are those of the others, moved by two
known numbers.

Finite laws have corners, which know everything.  Otherwise the pairs of a composition form one
product; and where pairs know a Rényi curve of their releases as well, so do other products, in
which curves take the place of some pairs.  Every such product bounds the composition, so the
smallest answer from above is returned, whichever products are asked (key ``two-bounds``).  From
below, each such pair is replaced by one that its two bounds allow, and a curve beside pairs by a
Gaussian below it; independent releases attain that product.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Final, final

from discreet.exact import exact_sum, float_down, float_up
from discreet.loss.bracket import Bracket
from discreet.loss.engine.closed_forms import gaussian_delta
from discreet.loss.engine.finite_part import FinitePart, infinite_mass
from discreet.loss.engine.rounding import PRODUCT_MARGIN, TINIEST, UNIT
from discreet.loss.pairs.gaussian import GaussianPair
from discreet.loss.pairs.pair import Counted, Pair, knows_curve
from discreet.loss.pairs.products import FiniteProfile, finite_profile, split_product

if TYPE_CHECKING:  # for annotations alone: a curve arrives with its methods
    from discreet.loss.renyi.curve import RenyiCurve

_FEW: Final = 16


@final
class ProductProfile:
    """The profile of one product of pairs, and of what a curve allows beside it."""

    __slots__ = ("_curved", "_kept", "_lost", "infinite", "part")

    def __init__(self, pairs: Counted, renyi: RenyiCurve | None) -> None:
        """Take the product apart."""
        apart = split_product(pairs)
        self._curved = renyi is not None
        self.part = FinitePart(apart.pairs, renyi)
        self.infinite = infinite_mass((*apart.pairs, *apart.leaks))
        self._lost = _exactly_lost((*apart.pairs, *apart.leaks))
        self._kept = _kept(apart.leaks)

    def delta(self, eps: float, *, low: bool = True, lattice: bool = True) -> Bracket:
        """Enclose the profile at eps >= 0; without ``low``, from above."""
        finite = self.part.delta(eps, low=low, lattice=lattice)
        least = self.infinite.low + finite.low * self._kept.low * (1 - 2 * PRODUCT_MARGIN)
        most = self.infinite.high + finite.high * self._kept.high * (1 + 2 * PRODUCT_MARGIN)
        return Bracket.within(least * (1 - PRODUCT_MARGIN), most * (1 + PRODUCT_MARGIN), ceil=1.0)

    def epsilon(
        self, delta: Fraction, *, low: bool = True, lattice: bool = True, finer: bool = True
    ) -> Bracket:
        """Enclose the smallest epsilon >= 0 with a profile of at most delta < 1.

        Without ``low``, from above; without ``finer``, on one lattice.
        """
        ends = Fraction(self.infinite.high), Fraction(self.infinite.low)
        most_lost, least_lost = ends if self._lost is None else (self._lost, self._lost)
        least, most = float_down(delta - most_lost), float_up(delta - least_lost)
        if most < 0:
            return Bracket(math.inf, math.inf)
        if 0 < least == most and self._kept.low == 1.0:
            return self.part.epsilon(least, low=low, lattice=lattice, finer=finer)
        bottom = self._least_epsilon(most) if low else 0.0
        if least <= 0:
            known = least == 0 and most_lost == least_lost
            return Bracket(bottom, self.part.largest if known else math.inf)
        share = least if self._kept.high == 1.0 else least / self._kept.high * (1 - 4 * UNIT)
        top = self.part.epsilon(share, low=low, lattice=lattice, finer=finer).high
        return Bracket(bottom, max(bottom, top))

    def _least_epsilon(self, delta: float) -> float:
        """Bound epsilon from below, where that much is left to the finite part."""
        if self._curved:
            return 0.0
        if delta == 0.0:
            return max(0.0, self.part.largest_below())
        if self._kept.low == 1.0:
            return self.part.epsilon(delta).low
        share = delta / self._kept.low * (1 + 4 * UNIT) if self._kept.low else math.inf
        return self.part.epsilon(share).low


def _kept(leaks: Counted) -> Bracket:
    """Enclose the chance that no leak occurs."""
    if not leaks:
        return Bracket(1.0, 1.0)
    lost = infinite_mass(leaks)
    return Bracket.within(1 - lost.high - 2 * UNIT, 1 - lost.low + 2 * UNIT, ceil=1.0)


def _exactly_lost(pairs: Counted) -> Fraction | None:
    """Return the chance of an infinite loss where few pairs have one, and all know it exactly.

    Without it a promise (epsilon, delta) would not be kept at just its own delta.
    """
    lossy = [(pair, count) for pair, count in pairs if pair.infinity().high]
    kept = Fraction(1)
    for pair, count in lossy:
        own = pair.exact_infinity()
        if own is None or len(lossy) * count > _FEW:
            return None
        kept *= (1 - own) ** count
    return 1 - kept


_LEAK_SHARE: Final = 14  # bits of a delta: less of it moves delta as little as rounding rho does
_WORTH: Final = 0.5  # of ln delta: a smaller gain of curves is lost again by converting them
_MANY: Final = 16  # pairs that take seconds on a lattice


@final
class CompositionProfile:
    """The profile of one composition; state is a cache."""

    __slots__ = ("_doubled", "_exact", "_least", "_others", "_pairs", "_renyi", "_whole")

    def __init__(self, pairs: Counted, renyi: RenyiCurve | None) -> None:
        """Work nothing out yet."""
        self._pairs, self._renyi = pairs, renyi
        self._exact: FiniteProfile | object | None = _UNKNOWN
        self._whole: ProductProfile | None = None
        self._least: ProductProfile | None = None
        self._others: dict[frozenset[Pair], ProductProfile] = {}
        self._doubled: frozenset[Pair] | None = None

    @property
    def infinite(self) -> Bracket:
        """The mass of infinite losses."""
        return self._product().infinite

    @property
    def largest(self) -> float:
        """A bound on the largest finite loss."""
        return self._product().part.largest

    def largest_below(self) -> float:
        """Bound the largest finite loss from below; it is below 0 only beside infinite losses."""
        return self._product().part.largest_below()

    def delta(self, eps: float) -> Bracket:
        """Enclose the profile at eps >= 0."""
        exact = self._corners()
        if exact is not None:
            return exact.delta(eps)
        if not self._two_bounds():
            return self._product().delta(eps)
        high = self.upper(eps)
        return Bracket(min(self._attained().delta(eps).low, high), high)

    def upper(self, eps: float, *, enough: float = 0.0) -> float:
        """Bound the profile at eps >= 0 from above: the upper end of ``delta``, for less work.

        A bound of at most ``enough`` is returned as it is, though others may be smaller.
        """
        if enough and math.isfinite(eps) and (rough := self._rough(eps, enough)) <= enough:
            return rough
        exact = self._corners()
        if exact is not None:
            return exact.delta(eps).high
        high = self._product().delta(eps, low=False).high
        if high > enough and self._two_bounds() and not math.isinf(eps):
            part = self._product().part
            for other, lattice in self._beside(lambda: part.order_at(eps)):
                high = min(high, other.delta(eps, low=False, lattice=lattice).high)
        return high

    def _rough(self, eps: float, enough: float) -> float:
        """Bound the profile by one continuous Gaussian and a leak above all pairs, if there is one.

        Theorem key ``gaussian-smoothing``.  A leak of a small share of ``enough`` takes the least
        noise away.  This takes a tenth of the time of lists and lattices, and is often enough.
        """
        bits, leak, squares = _LEAK_SHARE - math.frexp(enough)[1], Fraction(0), []
        for pair, count in self._pairs:
            smooth = pair.smoothed(max(bits, 0)) if self._renyi is None else None
            if smooth is None:
                return math.inf
            squares.append(smooth[0] * count)
            leak += smooth[1] * count
        high = gaussian_delta(exact_sum(squares), eps).high + float_up(leak)
        return min(high * (1 + PRODUCT_MARGIN), 1.0)

    def delta_below_zero(self, reverse: CompositionProfile, eps: float) -> Bracket:
        """Use h_PQ(a) = 1 - a + a h_QP(1/a) at a = e**eps < 1."""
        if math.isinf(eps):
            return Bracket(1.0, 1.0)
        other = reverse.delta(-eps)
        flat, scale = -math.expm1(eps), math.exp(eps)
        low, high = flat + scale * other.low, flat + scale * other.high
        return Bracket.within(
            low * (1 - 4 * PRODUCT_MARGIN), high * (1 + 4 * PRODUCT_MARGIN), ceil=1.0
        )

    def epsilon(self, delta: Fraction) -> Bracket:
        """Enclose the smallest epsilon >= 0 with a profile of at most delta."""
        if delta >= 1:
            return Bracket(0.0, 0.0)
        exact = self._corners()
        if exact is not None:
            return exact.epsilon(delta)
        bracket = self._product().epsilon(delta)
        curved = self._renyi is not None and self._pairs
        if delta == 0 or not (self._two_bounds() or curved):
            return bracket
        high = self._beside_epsilon(delta, bracket.high) if self._two_bounds() else bracket.high
        return Bracket(min(self._attained().epsilon(delta).low, high), high)

    def upper_epsilon(self, delta: Fraction, *, finer: bool = True) -> float:
        """Bound that epsilon from above: the upper end of ``epsilon``, for less work.

        Beside Gaussian noise, and where losses are few, the lower end says nothing about the upper.
        Without ``finer`` it is not asked for, and one lattice has to do.
        """
        if delta >= 1 or self._corners() is not None:
            return self.epsilon(delta).high
        if finer and not self._product().part.one_sided:
            return self.epsilon(delta).high
        high = self._product().epsilon(delta, low=False, finer=finer).high
        return self._beside_epsilon(delta, high) if self._two_bounds() and delta else high

    def _beside_epsilon(self, delta: Fraction, high: float) -> float:
        """Lower a bound on epsilon to that of products in which curves take the place of pairs."""
        part, chance = self._product().part, max(float(delta), TINIEST)
        for other, lattice in self._beside(lambda: part.order_for(chance)):
            high = min(high, other.epsilon(delta, low=False, lattice=lattice).high)
        return high

    def _product(self) -> ProductProfile:
        """The product of all pairs."""
        if self._whole is None:
            self._whole = ProductProfile(self._pairs, self._renyi)
        return self._whole

    def _corners(self) -> FiniteProfile | None:
        """The exact profile, for finite laws."""
        if self._exact is _UNKNOWN:
            self._exact = finite_profile(self._pairs) if self._renyi is None else None
        return self._exact  # type: ignore[return-value]

    def _two_bounds(self) -> frozenset[Pair]:
        """The pairs that know a curve; one run with a closed form has no use for it."""
        if self._doubled is None:
            doubled = frozenset(pair for pair, _ in self._pairs if knows_curve(pair))
            alone = self._renyi is None and sum(count for _, count in self._pairs) == 1
            exact = alone and all(pair.closed_form(1) is not None for pair in doubled)
            self._doubled = frozenset() if exact else doubled
        return self._doubled

    def _beside(self, order: Callable[[], float]) -> Iterator[tuple[ProductProfile, bool]]:
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

    def _replaced(self, chosen: frozenset[Pair]) -> ProductProfile:
        """Add the curves of some pairs to what is known by curves."""
        if chosen not in self._others:
            total = self._renyi
            for pair, count in self._pairs:
                if pair in chosen and knows_curve(pair):
                    curve = pair.curve().times(count)
                    total = curve if total is None else total + curve
            rest = tuple((pair, count) for pair, count in self._pairs if pair not in chosen)
            self._others[chosen] = ProductProfile(rest, total)
        return self._others[chosen]

    def _attained(self) -> ProductProfile:
        """A product that satisfies both bounds of every pair."""
        if self._least is None:
            least = tuple(
                (pair.attained() if knows_curve(pair) else pair, count)
                for pair, count in self._pairs
            )
            square = _attained_rho(self._renyi) * 2 if self._renyi is not None else Fraction(0)
            gaussian = ((GaussianPair(square), 1),) if square else ()
            self._least = ProductProfile((*least, *gaussian), None)
        return self._least


def _attained_rho(curve: RenyiCurve) -> Fraction:
    """Return the largest rho whose Gaussian stays below a curve: its D_a is a rho, both ways.

    At the orders at which a curve is known it may be asked for; in between it follows from them.
    """
    known = zip(curve.orders, curve.values, strict=True)
    return curve.rho + min((value / order for order, value in known), default=Fraction(0))
