"""The finite part of a profile: closed forms, then lists of few losses, then contour, then lattice.

Trust: kernel.

Definition.  The finite part of a product is E_P[(1 - e**(eps - L))+ ; L < inf].  Every engine
encloses it.  Where a part is known by a Rényi curve alone, moments give the upper end, or the curve
joins the lattice, and the lower end is zero.  All but closed forms are loaded when first used:
they are enough for most questions.

Theorem keys: ``few-losses``, ``contour-aliasing``, ``tilted-lattice``, ``renyi-to-approximate``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Final, final

from discreet.exact import float_down, float_up
from discreet.loss import engine
from discreet.loss.bracket import Bracket
from discreet.loss.engine.line_search import MomentBound, largest_epsilon_above, smallest_epsilon
from discreet.loss.engine.rounding import SUM_MARGIN, UNIT
from discreet.loss.pairs.pair import Counted, ProfileCurve, is_normal, transforms

if TYPE_CHECKING:  # for annotations alone: a curve arrives with its methods
    from discreet.loss.renyi.curve import RenyiCurve

End = Callable[[float], float]
"""A bound on a profile, from one side."""

_GOOD: Final = 1e-7  # a bracket this narrow needs no second engine
_CLOSE: Final = 1e-12  # of an epsilon, where lists answer
_FEW: Final = 8
_UNKNOWN: Final = object()


@final
class FinitePart:
    """The finite losses of one product; state is a cache."""

    __slots__ = (
        "_closed",
        "_contour",
        "_few",
        "_largest",
        "_pairs",
        "_renyi",
        "_search",
        "_slope",
        "_through",
    )

    def __init__(self, pairs: Counted, renyi: RenyiCurve | None) -> None:
        """Work nothing out yet."""
        self._pairs, self._renyi = pairs, renyi
        self._closed: ProfileCurve | object | None = _UNKNOWN
        self._contour: engine.contour.Contour | object | None = _UNKNOWN
        self._few: engine.enumeration.Enumeration | object | None = _UNKNOWN
        self._search: engine.lattice_search.LatticeSearch | None = None
        self._largest: float | None = None
        self._through: MomentBound | None = None
        self._slope = None if renyi is None or renyi.orders else float_up(renyi.rho)

    @property
    def largest(self) -> float:
        """A bound on the largest finite loss."""
        if self._largest is None:
            self._largest = math.inf if self._renyi is not None else _largest(self._pairs)
        return self._largest

    @property
    def one_sided(self) -> bool:
        """Whether the lower end says nothing about the upper: Gaussian noise, or few losses."""
        gaussian = all(pair.gaussian_noise for pair, _ in self._pairs)
        closed = self._renyi is None and self._curve() is not None
        return gaussian or (not closed and self._listed() is not None)

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
        """Return the order whose moment tells most about the profile at eps."""
        contour = self._line() if self._renyi is None else None
        return self._moments().order_at(eps) if contour is None else contour.order_at(eps)

    def order_for(self, delta: float) -> float:
        """Return the order whose moment tells most about the epsilon at delta > 0."""
        contour = self._line() if self._renyi is None else None
        return self._moments().order_for(delta) if contour is None else contour.order_for(delta)

    def epsilon(
        self, delta: float, *, low: bool = True, lattice: bool = True, finer: bool = True
    ) -> Bracket:
        """Enclose the epsilon at which the finite part is delta > 0; without ``low``, from above.

        Beside a curve the lattice takes long; without ``lattice`` moments have to do.  Without
        ``finer`` one lattice has to do.
        """
        curved = self._renyi is not None
        if delta >= 1.0 or not (curved or (self._pairs and self.largest)):
            return Bracket(0.0, 0.0)
        curve = None if curved else self._curve()
        if curve is not None:
            return self._invert(lambda eps: curve(eps).high, lambda eps: curve(eps).low, delta)
        few = self._listed()
        if few is not None and few.complete(delta):
            lower = few.lower if low and not curved else None
            known = self._invert(few.upper, lower, delta, _CLOSE)
            if math.isfinite(known.high):
                return known
        if curved:
            return self._curved_epsilon(delta, lattice=lattice)
        return self._epsilon(delta, low=low, finer=finer)

    def _curved_epsilon(self, delta: float, *, lattice: bool) -> Bracket:
        """Bound the same beside a curve, through moments and the lattice."""
        contour, rho = self._beside_curve()
        moments = self._moments
        ceiling = moments().epsilon(delta) if contour is None else contour.ceiling(delta, rho)
        if not (lattice and self._pairs):
            return Bracket(0.0, ceiling)
        on_lattice = self._lattice().epsilon(delta, ceiling, 2 * min(ceiling, 60.0), low=False)
        return Bracket(0.0, ceiling if on_lattice is None else min(ceiling, on_lattice.high))

    def _epsilon(self, delta: float, *, low: bool, finer: bool) -> Bracket:
        """Enclose the same on the contour and the lattice."""
        contour = self._line()
        ceiling = self._moments().epsilon(delta) if contour is None else contour.ceiling(delta)
        best = Bracket(0.0, min(ceiling, self.largest))
        if contour is not None:
            best = contour.epsilon(delta, best.high)
        if best.width > _GOOD * max(1.0, best.high):
            on_lattice = self._lattice().epsilon(
                delta, best.high, 2 * best.high, low=low, finer=finer
            )
            best = best if on_lattice is None else best.meet(on_lattice)
        return best

    def _invert(self, upper: End, lower: End | None, delta: float, close: float = 1e-10) -> Bracket:
        """Invert bounds that are known everywhere; small answers as accurately as large ones."""
        high = min(math.sqrt(-2 * math.log(delta)), self.largest)
        while high < self.largest and upper(high) > delta:
            high = min(2 * high, self.largest)
        if math.isinf(high):  # a bound that does not fall so low
            return Bracket(0.0, high)
        tolerance = close * max(1.0, high)
        top, guess = high, 0.7 * high
        for _ in range(2):
            top = smallest_epsilon(upper, delta, high=top, guess=guess, tolerance=tolerance)
            if top >= 1.0:
                break
            guess, tolerance = top, close * top
        if lower is None:
            return Bracket(0.0, top)
        return Bracket(largest_epsilon_above(lower, delta, high=top, tolerance=tolerance), top)

    def delta(self, eps: float, *, low: bool = True, lattice: bool = True) -> Bracket:
        """Enclose the finite part at eps >= 0; without ``low``, from above."""
        if eps >= self.largest or math.isinf(eps):
            return Bracket(0.0, 0.0)
        curved = self._renyi is not None
        curve = None if curved else self._curve()
        if curve is not None:
            return curve(eps)
        few = self._listed()
        if few is not None:
            known = few.delta(eps, low=low and not curved)
            if curved or few.complete(known.high):
                return known
        return self._curved_delta(eps, lattice=lattice) if curved else self._delta(eps, low=low)

    def _curved_delta(self, eps: float, *, lattice: bool) -> Bracket:
        contour, rho = self._beside_curve()
        moments = self._moments
        ceiling = moments().delta(eps) if contour is None else contour.delta_ceiling(eps, rho)
        if not (lattice and self._pairs):
            return Bracket(0.0, ceiling)
        on_lattice = self._lattice().delta(eps, 2 * max(eps, 1.0), low=False)
        return Bracket(0.0, ceiling if on_lattice is None else min(ceiling, on_lattice.high))

    def _delta(self, eps: float, *, low: bool) -> Bracket:
        contour = self._line()
        best = Bracket(0.0, self._moments().delta(eps)) if contour is None else contour.delta(eps)
        if best.width > _GOOD * best.high:
            on_lattice = self._lattice().delta(eps, 2 * max(eps, 1.0), low=low)
            best = best if on_lattice is None else best.meet(on_lattice)
        return best

    def _beside_curve(self) -> tuple[engine.contour.Contour | None, float]:
        """Real orders of many pairs at once, and the rho beside them; a few pairs do without."""
        if self._slope is None or len(self._pairs) <= _FEW:
            return None, 0.0
        return self._line(), self._slope

    def _moments(self) -> MomentBound:
        """The bound through cumulants, which always applies."""
        if self._through is None:
            limit = None if self._renyi is None else self._renyi.limit
            most = math.inf if limit is None else float(limit - 1)
            self._through = MomentBound(self._cumulant, most)
        return self._through

    def _cumulant(self, t: float) -> float:
        total = math.fsum(n * pair.cumulant(t) for pair, n in self._pairs)
        if self._slope is not None:
            total += self._slope * t * (1 + t)
        elif self._renyi is not None:
            total += self._renyi.log_moment(t)
        return total + abs(total) * SUM_MARGIN

    def _curve(self) -> ProfileCurve | None:
        """The closed form, where there is one."""
        if self._closed is _UNKNOWN:
            single = len(self._pairs) == 1
            self._closed = self._pairs[0][0].closed_form(self._pairs[0][1]) if single else None
        return self._closed  # type: ignore[return-value]

    def _listed(self) -> engine.enumeration.Enumeration | None:
        """The losses one by one, where they are few."""
        if self._few is _UNKNOWN:
            if self._renyi is None or not self._pairs:
                self._few = engine.enumeration.enumeration(self._pairs)
            else:
                curve = engine.connect_the_dots.RenyiPart(self._renyi)
                self._few = engine.enumeration.beside_curve(self._pairs, curve.finite_parts)
        return self._few  # type: ignore[return-value]

    def _line(self) -> engine.contour.Contour | None:
        """The contour engine, where every family has a transform."""
        if self._contour is _UNKNOWN:
            parts = transforms(self._pairs)
            self._contour = None if parts is None else engine.contour.Contour(parts)
        return self._contour  # type: ignore[return-value]

    def _lattice(self) -> engine.lattice_search.LatticeSearch:
        """The lattice engine, Gaussians beside the lattice."""
        if self._search is None:
            square = sum((p.mu_squared for p, _ in self._pairs if is_normal(p)), Fraction(0))
            rest: list[tuple[engine.lattice_search.OnLattice, int]] = [
                (p, n) for p, n in self._pairs if not is_normal(p)
            ]
            if self._renyi is not None:
                rest.append((engine.connect_the_dots.RenyiPart(self._renyi), 1))
            known = infinite_mass(self._pairs).low
            near = float(square) or float_up(square)  # not zero where there is a Gaussian
            self._search = engine.lattice_search.LatticeSearch(rest, near, known)
        return self._search


def infinite_mass(pairs: Counted) -> Bracket:
    """Enclose the chance that one of the losses is infinite.

    >>> from discreet.loss.pairs.gaussian import GaussianPair
    >>> infinite_mass(((GaussianPair(Fraction(1)), 1),))
    Bracket(low=0.0, high=0.0)
    """
    low = high = 0.0  # logarithms of the chance that all losses are finite, negated
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
