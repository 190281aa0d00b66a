"""A multiset of dominating pairs, and its profile by the smallest bound that holds.

Trust: kernel.

Definition.  A composition stands for the product of its pairs, each as often as its count, in one
direction; its loss is the sum of independent losses.  If a part is known only by a Rényi curve,
the profile is the largest that the curve allows, and only upper ends mean anything.  Losses beyond
``LARGEST_LOSS``, which promise nothing, count as infinite.

Definition.  A leak is a pair whose loss is infinite with probability delta and zero otherwise; some
pairs are products themselves and name their factors.  Let k be the probability that no leak occurs,
and D the finite part of the others, E_P[(1 - e**(eps - L))+ ; L < inf].  The profile is
P[L = inf] + k D(eps), since a leak that does not occur adds a loss of zero.

D is enclosed by a closed form, else by lists of few losses, else by the contour, and if that is
wide by the lattice.  Which one answers affects time and width, never validity.  If a part is
known by a curve alone, moments give the upper end, or the curve joins the lattice.

If pairs know a curve of the same releases, products in which curves take the place of some
pairs bound the composition too, so the smallest answer is returned (key ``two-bounds``).  From
below, each such pair is replaced by one that its two bounds allow, and a curve by a Gaussian.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Self, final

import numpy as np

from discreet.errors import OutOfRange
from discreet.exact import exact_sum, float_down, float_up
from discreet.loss.dots import Floats
from discreet.loss.finite import Enumeration, enumeration
from discreet.loss.gaussian import GaussianPair, SmoothedGaussianPair
from discreet.loss.moments import MomentBound, RenyiCurve, largest_epsilon_above, smallest_epsilon
from discreet.loss.pair import Counted, Pair, transforms
from discreet.loss.pure_pairs import ResponsePair
from discreet.loss.rounding import PRODUCT_MARGIN, SUM_MARGIN, TINIEST, UNIT, Bracket

if TYPE_CHECKING:  # loaded when first used, because closed forms are enough for most questions
    from discreet.loss.contour import Contour
    from discreet.loss.lattice import LatticeSearch

End = Callable[[float], float]
"""A bound on a profile, from one side."""

_CLEAR: Final = 1e-7  # of a delta: a bracket this narrow needs no second engine
_GOOD_ENOUGH: Final = 1e-6  # the same of an epsilon, and in tables
_CLOSE: Final = 1e-12  # of an epsilon, if a closed form or a list answers
_FAINT: Final = 1e-25  # not worth a second engine
_RARE: Final = 1e-9
_FEW: Final = 16  # pairs whose infinite losses are counted exactly


@final
class Product:
    """The profile of one product of pairs, and of what a curve allows with it.

    Cached values depend only on its pairs and its curve.
    """

    def __init__(self, pairs: Counted, renyi: RenyiCurve | None) -> None:
        self._pairs, leaks = split_product(pairs)
        self._renyi = renyi
        every = (*self._pairs, *leaks)
        self.infinite, self._lost = infinite_mass(every), _exactly_lost(every)
        lost = infinite_mass(leaks)
        self._kept = (
            Bracket.within(1 - lost.high - 2 * UNIT, 1 - lost.low + 2 * UNIT, ceil=1.0)
            if leaks
            else Bracket(1.0, 1.0)
        )
        self.largest = math.inf if renyi is not None else _largest(self._pairs)
        alone = renyi is None and len(self._pairs) == 1 and self._pairs[0][1] == 1
        self._closed = self._pairs[0][0].closed_form() if alone else None

    @property
    def is_simple(self) -> bool:
        """Whether no engine is needed: nothing is lost, or a closed form or a list is known."""
        return self.largest <= 0 or self._closed is not None or self._few is not None

    def largest_below(self) -> float:
        """Bound the largest finite loss from below; it is below 0 only beside infinite losses."""
        if self._renyi is not None:
            return 0.0
        total = Fraction(0)
        for pair, count in reversed(self._pairs):
            reached = pair.largest_below()
            if math.isinf(reached):
                return math.inf
            total += Fraction(reached) * count
        return min(float_down(total), self.largest)

    def order_at(self, eps: float) -> float:
        """Return the order whose moment reveals most about the profile at eps."""
        return (self._line or self._moments()).order_at(eps)

    def order_for(self, delta: float) -> float:
        """Return the order whose moment reveals most about the epsilon at delta > 0."""
        return (self._line or self._moments()).order_for(delta)

    def delta(self, eps: float, *, lattice: bool = True) -> Bracket:
        """Enclose the profile at eps >= 0; without ``lattice``, from moments beside a curve."""
        if self._lost == 1:
            return Bracket(1.0, 1.0)
        return self._with_infinite(self._finite_delta(eps, lattice=lattice))

    def deltas(self, eps: Floats, scale: float) -> Iterator[Bracket]:
        """Enclose the profile at many points, by few sums and lattices of one scale."""
        inside = eps[eps < self.largest]
        known = itertools.repeat(Bracket(0.0, 1.0))
        on_contour = iter(known if self._line is None else self._line.deltas(inside))
        for each in eps.tolist():
            finite = next(on_contour) if each < self.largest else Bracket(0.0, 0.0)
            if finite.width > _GOOD_ENOUGH * finite.high and finite.high > _FAINT:
                other = self._lattice.delta(each, scale)
                finite = finite if other is None else finite.meet(other)
            yield self._with_infinite(finite)

    def _with_infinite(self, finite: Bracket) -> Bracket:
        least = self.infinite.low + finite.low * self._kept.low * (1 - 2 * PRODUCT_MARGIN)
        most = self.infinite.high + finite.high * self._kept.high * (1 + 2 * PRODUCT_MARGIN)
        return Bracket.within(least * (1 - PRODUCT_MARGIN), most * (1 + PRODUCT_MARGIN), ceil=1.0)

    def epsilon(self, delta: Fraction, *, lattice: bool = True) -> Bracket:
        """Enclose the smallest epsilon >= 0 with a profile of at most delta < 1.

        Without ``lattice``, on none: beside a curve it takes long.
        """
        ends = Fraction(self.infinite.high), Fraction(self.infinite.low)
        most_lost, least_lost = ends if self._lost is None else (self._lost, self._lost)
        least, most = float_down(delta - most_lost), float_up(delta - least_lost)
        if most < 0:
            return Bracket(math.inf, math.inf)
        if 0 < least == most and self._kept.low == 1.0:
            return self._finite_epsilon(least, lattice=lattice)
        bottom = self._least_epsilon(most)
        if least <= 0:
            known = least == 0 and most_lost == least_lost
            return Bracket(bottom, self.largest if known else math.inf)
        share = least if self._kept.high == 1.0 else least / self._kept.high * (1 - 4 * UNIT)
        top = self._finite_epsilon(share, lattice=lattice).high
        return Bracket(bottom, max(bottom, top))

    def _least_epsilon(self, delta: float) -> float:
        """Bound epsilon from below, if that much is left to the finite part."""
        if self._renyi is not None:
            return 0.0
        if delta == 0.0:
            return max(0.0, self.largest_below())
        if self._kept.low == 1.0:
            return self._finite_epsilon(delta).low
        share = delta / self._kept.low * (1 + 4 * UNIT) if self._kept.low else math.inf
        return self._finite_epsilon(share).low

    def _finite_delta(self, eps: float, *, lattice: bool = True) -> Bracket:
        if eps >= self.largest or math.isinf(eps):
            return Bracket(0.0, 0.0)
        if self._closed is not None:
            return self._closed(eps)
        curved = self._renyi is not None
        if self._few is not None:
            known = self._few.delta(eps)
            if self._few.complete(known.high):
                return known
        line = self._line
        best = Bracket(0.0, self._moments().delta(eps)) if line is None else line.delta(eps)
        if best.width > _CLEAR * best.high and lattice and (self._pairs or not curved):
            other = self._lattice.delta(eps, 2 * max(eps, 1.0))
            best = best if other is None else best.meet(other)
        return Bracket(best.low, max(best.high, TINIEST))  # what underflows is above zero

    def _finite_epsilon(self, delta: float, *, lattice: bool = True) -> Bracket:
        """Enclose the epsilon at which the finite part is delta > 0."""
        curved = self._renyi is not None
        if delta >= 1.0 or not (curved or (self._pairs and self.largest)):
            return Bracket(0.0, 0.0)
        closed, few, line = self._closed, self._few if self._closed is None else None, None
        if closed is not None:
            return self._invert(lambda eps: closed(eps).high, lambda eps: closed(eps).low, delta)
        if few is not None and few.complete(delta):
            known = self._invert(few.upper, few.lower, delta)
            if math.isfinite(known.high):
                return known
        line = self._line
        ceiling = self._moments().epsilon(delta) if line is None else line.ceiling(delta)
        best = Bracket(0.0, min(ceiling, self.largest))
        if line is not None:
            best = line.epsilon(delta, best.high)
        wide = best.width > _GOOD_ENOUGH * best.high
        if wide and lattice and (self._pairs or not curved):
            scale = 2 * (min(best.high, _FAR) if curved else best.high)
            other = self._lattice.epsilon(delta, best.high, scale)
            best = best if other is None else best.meet(other)
        return best

    def _invert(self, upper: End, lower: End, delta: float) -> Bracket:
        """Invert bounds that are known everywhere; small answers as accurately as large ones."""
        high = min(math.sqrt(-2 * math.log(delta)), self.largest)
        while high < self.largest and upper(high) > delta:
            high = min(2 * high, self.largest)
        if math.isinf(high):  # a bound that does not fall so low
            return Bracket(0.0, high)
        tolerance = _CLOSE * max(1.0, high)
        top, guess = high, 0.7 * high
        for _ in range(2):
            top = smallest_epsilon(upper, delta, high=top, guess=guess, tolerance=tolerance)
            if top >= 1.0:
                break
            guess, tolerance = top, _CLOSE * top
        return Bracket(largest_epsilon_above(lower, delta, high=top, tolerance=tolerance), top)

    def _moments(self) -> MomentBound:
        limit = None if self._renyi is None else self._renyi.limit
        return MomentBound(self._cumulant, math.inf if limit is None else float_down(limit - 1))

    def _cumulant(self, t: float) -> float:
        total = math.fsum(n * pair.cumulant(t) for pair, n in self._pairs)
        if self._renyi is not None:
            total += self._renyi.log_moment(t)
        return total + abs(total) * SUM_MARGIN

    @cached_property
    def _few(self) -> Enumeration | None:
        return enumeration(self._pairs) if self._renyi is None else None

    @cached_property
    def _line(self) -> Contour | None:
        """The contour engine, if every family has a transform."""
        from discreet.loss.contour import Contour

        parts = transforms(self._pairs) if self._renyi is None else None
        return None if parts is None else Contour(parts)

    @cached_property
    def _lattice(self) -> LatticeSearch:
        from discreet.loss.lattice import LatticeSearch
        from discreet.loss.polygon import RenyiPart

        gaussian = [p.mu_squared for p, _ in self._pairs if isinstance(p, GaussianPair)]
        square = sum(gaussian, Fraction(0))
        rest: list[tuple[Pair, int]] = [
            (p, n) for p, n in self._pairs if not isinstance(p, GaussianPair)
        ]
        if self._renyi is not None:
            rest.append((RenyiPart(self._renyi), 1))
        near = float(square) or float_up(square)  # not zero if there is a Gaussian
        return LatticeSearch(rest, near, infinite_mass(self._pairs).low)


def split_product(pairs: Iterable[tuple[Pair, int]]) -> tuple[Counted, Counted]:
    """Take a product apart as engines want it: at most one Gaussian, the last, and leaks."""
    rest: list[tuple[Pair, int]] = []
    leaks: list[tuple[Pair, int]] = []
    square = Fraction(0)
    for pair, count in pairs:
        for part in pair.factors():
            if isinstance(part, GaussianPair):
                square += part.mu_squared * count
            elif isinstance(part, ResponsePair) and not part.epsilon:
                leaks.append((part, count))
            else:
                rest.append((part, count))
    gaussian = ((GaussianPair(square), 1),) if square else ()
    return (*rest, *gaussian), tuple(leaks)


def infinite_mass(pairs: Counted) -> Bracket:
    """Enclose the probability that one of the losses is infinite."""
    low = high = 0.0  # logarithms of the probability that all losses are finite, negated
    for pair, count in pairs:
        mass = pair.infinity()
        if mass.high:
            low -= count * math.log1p(-mass.low) if mass.low < 1 else -math.inf
            high -= count * math.log1p(-mass.high) if mass.high < 1 else -math.inf
    slack = 8 * UNIT * (len(pairs) + 4)
    ends = -math.expm1(-low), -math.expm1(-high)
    return Bracket.within(ends[0] * (1 - slack), ends[1] * (1 + slack), ceil=1.0)


def _largest(pairs: Counted) -> float:
    total = Fraction(0)
    for pair, count in reversed(pairs):  # a Gaussian comes last, and decides
        largest = pair.largest()
        if math.isinf(largest):
            return math.inf
        total += Fraction(largest) * count
    return max(0.0, float_up(total))


def _exactly_lost(pairs: Counted) -> Fraction | None:
    """Return the probability of an infinite loss if few pairs have one, and all know it exactly.

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


_FAR: Final = 60.0  # the scale of a lattice beside a curve, at most
_WORTH: Final = 0.5  # of ln delta: a smaller gain of curves is lost again by converting them
_MANY: Final = 16  # pairs that take seconds on a lattice
_MOST_COUNTED: Final = 10**50
_EVERYTHING: Final = ResponsePair(Fraction(0), Fraction(1))
"""The pair that dominates all others: every loss is infinite."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Composition:
    """The product of pairs with counts, and the sum of Rényi curves.

    >>> once = Composition.of(GaussianPair(Fraction(1)))
    >>> once.power(4).pairs
    ((GaussianPair(mu_squared=Fraction(4, 1)), 1),)
    >>> round(once.delta(1.0).high, 10)
    0.1269367375
    """

    pairs: Counted = ()
    renyi: RenyiCurve | None = None
    _known: dict[Any, Any] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        """Merge equal pairs, all Gaussians into one, and all smoothed ones into one."""
        object.__setattr__(self, "pairs", _merged(self.pairs))
        if self.renyi == RenyiCurve():
            object.__setattr__(self, "renyi", None)

    @classmethod
    def of(cls, pair: Pair, count: int = 1) -> Self:
        return cls(((pair, count),))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Composition):
            return NotImplemented
        return self.renyi == other.renyi and dict(self.pairs) == dict(other.pairs)

    def __hash__(self) -> int:  # kept: pairs are made of compositions
        if "hash" not in self._known:
            self._known["hash"] = hash((frozenset(self.pairs), self.renyi))
        return int(self._known["hash"])

    def compose(self, other: Composition) -> Composition:
        curves = [curve for curve in (self.renyi, other.renyi) if curve is not None]
        renyi = curves[0] + curves[1] if len(curves) == 2 else curves[0] if curves else None
        return Composition((*self.pairs, *other.pairs), renyi)

    def power(self, count: int) -> Composition:
        renyi = self.renyi.times(count) if self.renyi is not None and count else None
        return Composition(tuple((pair, n * count) for pair, n in self.pairs), renyi)

    def reverse(self) -> Composition:
        """Swap the two neighbors; a Rényi curve is a bound in both directions."""
        return Composition(tuple((pair.reverse(), n) for pair, n in self.pairs), self.renyi)

    def log_moment(self, t: float) -> float:
        """Bound ln E_P[e**(tL)] from above; the Rényi divergence of order 1 + t is this over t."""
        return self.log_moments((t,))[0]

    def log_moments(self, orders: Sequence[float]) -> tuple[float, ...]:
        """Bound the same at several orders, and look every pair up once."""
        bounds = []
        for pair, count in self.pairs:
            own = (
                [pair.log_moment, pair.curve().log_moment] if pair.two_bounds else [pair.log_moment]
            )
            bounds.append([count * min(moment(t) for moment in own) for t in orders])
        totals = [math.fsum(parts) for parts in zip(*bounds, strict=True)] or [0.0] * len(orders)
        if self.renyi is not None:
            known = zip(totals, orders, strict=True)
            totals = [total + self.renyi.log_moment(t) for total, t in known]
        return tuple(total + abs(total) * SUM_MARGIN for total in totals)

    def without_leak(self) -> tuple[Composition, Fraction]:
        """Return what is lost if no smoothed Gaussian leaks, and the probability that one does.

        The product of the two, one with pairs only and one a leak, dominates the composition.
        """
        leak = Fraction(0)
        pairs: list[tuple[Pair, int]] = []
        for pair, count in self.pairs:
            if isinstance(pair, SmoothedGaussianPair):
                leak = pair.leak
                pairs.append((GaussianPair(pair.mu_squared), 1))
            else:
                pairs.append((pair, count))
        return Composition(tuple(pairs), self.renyi) if leak else self, leak

    def _product(self, chosen: frozenset[Pair] = frozenset()) -> Product:
        """The product of all pairs, in which curves take the place of the chosen ones."""
        if chosen not in self._known:
            total = self.renyi
            for pair, count in self.pairs:
                if pair in chosen:
                    curve = pair.curve().times(count)
                    total = curve if total is None else total + curve
            rest = tuple((pair, count) for pair, count in self.pairs if pair not in chosen)
            self._known[chosen] = Product(rest, total)
        return self._known[chosen]  # type: ignore[no-any-return]

    def _attained(self) -> Product:
        if "attained" not in self._known:
            least = tuple(
                (pair.attained() if pair.two_bounds else pair, count) for pair, count in self.pairs
            )
            rho, curve = Fraction(0), self.renyi
            if curve is not None:  # the largest Gaussian below it: its D_a is a rho, both ways
                known = zip(curve.orders, curve.values, strict=True)
                rho = curve.rho + min((v / a for a, v in known), default=Fraction(0))
            gaussian = ((GaussianPair(2 * rho), 1),) if rho else ()
            self._known["attained"] = Product((*least, *gaussian), None)
        return self._known["attained"]  # type: ignore[no-any-return]

    def _two_bounds(self) -> frozenset[Pair]:
        """The pairs that know a curve; one run with a closed form has no use for it."""
        doubled = frozenset(pair for pair, _ in self.pairs if pair.two_bounds)
        alone = self.renyi is None and sum(count for _, count in self.pairs) == 1
        exact = alone and all(pair.closed_form() is not None for pair in doubled)
        return frozenset() if exact else doubled

    def _beside(
        self, doubled: frozenset[Pair], order: Callable[[], float]
    ) -> Iterator[tuple[Product, bool]]:
        """Products in which curves take the place of pairs: of all, and of those if it pays.

        With each comes whether the gain is worth a lattice.
        """
        if len(doubled) == len(self.pairs):
            yield self._product(doubled), False
        if len(self.pairs) > 1 and doubled:
            t = order()
            known = [(pair, count) for pair, count in self.pairs if pair in doubled]
            gains = {p: n * (p.cumulant(t) - p.curve().log_moment(t)) for p, n in known}
            chosen = frozenset(pair for pair, gain in gains.items() if gain > 0)
            if 0 < len(chosen) < len(self.pairs):
                total = sum(gains[pair] for pair in chosen)
                yield self._product(chosen), total > _WORTH and len(self.pairs) <= _MANY

    def infinity(self) -> Bracket:
        return self._product().infinite

    def largest(self) -> float:
        """Bound the largest finite loss: epsilon at delta zero, if no loss is infinite."""
        return self._product().largest

    def largest_below(self) -> float:
        """Bound the largest loss from below; finite losses come as close to it as they like."""
        return self._product().largest_below()

    def delta(self, epsilon: float) -> Bracket:
        if math.isnan(epsilon):
            raise OutOfRange("epsilon is not a number; give a real epsilon.")
        if epsilon < 0:
            return self._delta_below_zero(epsilon)
        if not self._two_bounds():
            return self._product().delta(epsilon)
        high = self.delta_above(epsilon)
        return Bracket(min(self._attained().delta(epsilon).low, high), high)

    @property
    def has_closed_form(self) -> bool:
        return self.renyi is None and self._product().is_simple

    def deltas(self, eps: Floats) -> tuple[Floats, Floats]:
        """Bound the profile at many eps >= 0 from both sides."""
        match self.pairs:
            case ((GaussianPair() as pair, 1),) if self.renyi is None:
                return pair.finite_parts(eps)
            case () if self.renyi is not None:
                from discreet.loss.polygon import RenyiPart

                return RenyiPart(self.renyi).finite_parts(eps)
        if self.has_closed_form or self.renyi is not None or self._two_bounds():
            brackets = [self.delta(each) for each in eps.tolist()]
        else:
            whole = self._product()
            least = Fraction(whole.infinite.high) + Fraction(_RARE)
            scale = 2 * self.epsilon(min(least, Fraction(1))).high
            brackets = list(whole.deltas(eps, scale))
        return np.array([b.low for b in brackets]), np.array([b.high for b in brackets])

    def _delta_below_zero(self, eps: float) -> Bracket:
        """Use h_PQ(a) = 1 - a + a h_QP(1/a) at a = e**eps < 1."""
        if math.isinf(eps):
            return Bracket(1.0, 1.0)
        other = self.reverse().delta(-eps)
        flat, scale = -math.expm1(eps), math.exp(eps)
        low, high = flat + scale * other.low, flat + scale * other.high
        return Bracket.within(
            low * (1 - 4 * PRODUCT_MARGIN), high * (1 + 4 * PRODUCT_MARGIN), ceil=1.0
        )

    def delta_above(self, epsilon: float) -> float:
        """Bound the profile at any real epsilon from above, for less work than both ends."""
        if epsilon < 0:
            return self.delta(epsilon).high
        whole = self._product()
        high = whole.delta(epsilon).high
        if math.isfinite(epsilon) and (doubled := self._two_bounds()):
            for other, lattice in self._beside(doubled, lambda: whole.order_at(epsilon)):
                high = min(high, other.delta(epsilon, lattice=lattice).high)
        return high

    def epsilon(self, delta: float | Fraction) -> Bracket:
        """Enclose the smallest epsilon >= 0 at which the profile is at most delta."""
        chance = _probability(delta)
        if chance >= 1:
            return Bracket(0.0, 0.0)
        bracket, doubled = self._product().epsilon(chance), self._two_bounds()
        if chance == 0 or not (doubled or (self.renyi is not None and self.pairs)):
            return bracket
        high = self._lowered(chance, bracket.high, doubled)
        return Bracket(min(self._attained().epsilon(chance).low, high), high)

    def epsilon_above(self, delta: float | Fraction) -> float:
        """Bound the smallest epsilon >= 0 from above, for less work than both ends."""
        chance, whole = _probability(delta), self._product()
        if chance >= 1:
            return 0.0
        high = whole.epsilon(chance).high
        return self._lowered(chance, high, self._two_bounds()) if chance else high

    def _lowered(self, delta: Fraction, high: float, doubled: frozenset[Pair]) -> float:
        """Lower a bound on epsilon to that of products in which curves take the place of pairs."""
        whole, chance = self._product(), max(float(delta), TINIEST)
        for other, lattice in self._beside(doubled, lambda: whole.order_for(chance)):
            high = min(high, other.epsilon(delta, lattice=lattice).high)
        return high


def _probability(delta: float | Fraction) -> Fraction:
    if not 0 <= delta <= 1:
        raise OutOfRange(f"delta must be between 0 and 1, got {delta}.")
    return Fraction(delta)


def _merged(pairs: Counted) -> Counted:
    """Count equal pairs, and multiply those of the two families that are closed under products.

    A sum that grew boundless reveals everything; huge counts are refused.
    """
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
    if max(counts.values(), default=0) > _MOST_COUNTED:
        raise OutOfRange(
            f"a release is counted more than {_MOST_COUNTED:.0e} times; count fewer releases."
        )
    wide: list[Pair] = [SmoothedGaussianPair.product(smooth)] if smooth else []
    if square := exact_sum(squares):
        wide.append(GaussianPair(square))
    if any(pair.boundless() for pair in wide):
        counts[_EVERYTHING] = 1
        wide = [pair for pair in wide if not pair.boundless()]
    return (*counts.items(), *((pair, 1) for pair in wide))
