"""Answer delta(eps) and eps(delta) for a composition: closed forms, then contour, then lattice.

Trust: kernel.

Every engine encloses the finite part E_P[(1 - e**(eps - L))+ ; L < inf]; the mass of infinite
losses is added here, except for finite laws, whose corners know the whole.  Where a part is known
by a Renyi curve alone, moments give the upper end and the lower end is zero.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final, final

from discreet.exact import float_down, float_up
from discreet.loss.bracket import Bracket
from discreet.loss.engine.contour import Contour
from discreet.loss.engine.invert import last_above, smallest
from discreet.loss.engine.moments import MomentBound
from discreet.loss.engine.renyi_part import RenyiPart
from discreet.loss.engine.rounding import UNIT
from discreet.loss.engine.search import LatticeSearch, OnLattice
from discreet.loss.pairs.corners import Corners, corners
from discreet.loss.pairs.gaussian import GaussianPair
from discreet.loss.pairs.pair import Curve, Pair, Transform
from discreet.loss.renyi_curve import RenyiCurve

__all__ = ["Account"]

_GOOD: Final = 1e-7  # a bracket this narrow needs no second engine
_UNKNOWN: Final = object()


@final
class Account:
    """What has been worked out about one composition; it only ever caches."""

    __slots__ = (
        "_closed",
        "_contour",
        "_exact",
        "_infinite",
        "_largest",
        "_pairs",
        "_renyi",
        "_search",
    )

    def __init__(self, pairs: tuple[tuple[Pair, int], ...], renyi: RenyiCurve | None) -> None:
        """Work nothing out yet."""
        self._pairs, self._renyi = pairs, renyi
        self._closed: Curve | object | None = _UNKNOWN
        self._contour: Contour | object | None = _UNKNOWN
        self._exact: Corners | object | None = _UNKNOWN
        self._search: LatticeSearch | None = None
        self._infinite: Bracket | None = None
        self._largest: float | None = None

    @property
    def infinite(self) -> Bracket:
        """The mass of infinite losses."""
        if self._infinite is None:
            self._infinite = _infinite(self._pairs)
        return self._infinite

    @property
    def largest(self) -> float:
        """A bound on the largest finite loss."""
        if self._largest is None:
            self._largest = math.inf if self._renyi is not None else _largest(self._pairs)
        return self._largest

    def delta(self, eps: float) -> Bracket:
        """Enclose the profile at eps >= 0."""
        exact = self._corners()
        return self._whole(self._finite(eps)) if exact is None else exact.delta(eps)

    def upper(self, eps: float) -> float:
        """Bound the profile at eps >= 0 from above: the upper end of ``delta``, for less work."""
        exact = self._corners()
        found = self._whole(self._finite(eps, low=False)) if exact is None else exact.delta(eps)
        return found.high

    def _whole(self, finite: Bracket) -> Bracket:
        """Add the mass of infinite losses."""
        low = self.infinite.low + finite.low * (1 - 1e-15)
        high = self.infinite.high + finite.high * (1 + 1e-15)
        return Bracket.within(low * (1 - 1e-15), high * (1 + 1e-15), ceil=1.0)

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
        least = float_down(delta - Fraction(self.infinite.high))
        most = float_up(delta - Fraction(self.infinite.low))
        if most < 0:
            return Bracket(math.inf, math.inf)
        low = 0.0
        if self._renyi is None:
            low = self._solve(most).low if most > 0 else max(0.0, self.reached())
        if least <= 0:
            known = least == 0 and not self.infinite.width
            return Bracket(low, self.largest if known else math.inf)
        return Bracket(low, max(low, self._solve(least).high))

    def reached(self) -> float:
        """Bound the largest finite loss from below; it is below 0 only beside infinite losses."""
        if self._renyi is not None:
            return 0.0
        total = Fraction(0)
        for pair, count in reversed(self._pairs):
            reached = pair.reached()
            if math.isinf(reached):
                return math.inf
            total += Fraction(reached) * count
        return min(float_down(total), self.largest)

    def _solve(self, delta: float) -> Bracket:
        """Enclose the epsilon of the finite part."""
        if self._renyi is not None:
            ceiling = self._moments().epsilon(delta)
            beside = (
                self._lattice(min(ceiling, 60.0)).epsilon(delta, ceiling) if self._pairs else None
            )
            return Bracket(0.0, ceiling if beside is None else min(ceiling, beside.high))
        if not self._pairs or self.largest == 0.0:
            return Bracket(0.0, 0.0)
        if self._curve() is not None:
            return self._invert(delta)
        contour = self._line()
        ceiling = self._moments().epsilon(delta) if contour is None else contour.ceiling(delta)
        best = Bracket(0.0, min(ceiling, self.largest))
        if contour is not None:
            best = contour.epsilon(delta, best.high)
        if best.width > _GOOD * max(1.0, best.high):
            found = self._lattice(best.high).epsilon(delta, best.high)
            best = best if found is None else best.meet(found)
        return best

    def _invert(self, delta: float) -> Bracket:
        """Invert the closed form."""
        curve = self._curve()
        assert curve is not None  # noqa: S101  (for the type checker: the caller asked first)
        guess = math.sqrt(-2 * math.log(delta))
        high = min(guess, self.largest)
        while high < self.largest and curve(high).high > delta:
            high = min(2 * high, self.largest)
        tolerance = 1e-10 * max(1.0, high)
        top = smallest(
            lambda eps: curve(eps).high, delta, high=high, guess=0.7 * high, tolerance=tolerance
        )
        bottom = last_above(lambda eps: curve(eps).low, delta, high=top, tolerance=tolerance)
        return Bracket(bottom, top)

    def _finite(self, eps: float, *, low: bool = True) -> Bracket:
        """Enclose the finite part of the profile at eps >= 0; without ``low``, from above."""
        if eps >= self.largest or math.isinf(eps):
            return Bracket(0.0, 0.0)
        if self._renyi is not None:
            ceiling = self._moments().delta(eps)
            beside = self._lattice(max(eps, 1.0)).delta(eps, low=False) if self._pairs else None
            return Bracket(0.0, ceiling if beside is None else min(ceiling, beside.high))
        curve = self._curve()
        if curve is not None:
            return curve(eps)
        contour = self._line()
        best = Bracket(0.0, self._moments().delta(eps)) if contour is None else contour.delta(eps)
        if best.width > _GOOD * best.high:
            found = self._lattice(max(eps, 1.0)).delta(eps, low=low)
            best = best if found is None else best.meet(found)
        return best

    def _moments(self) -> MomentBound:
        """The bound through cumulants, which always applies."""
        limit = None if self._renyi is None else self._renyi.limit
        return MomentBound(self._cumulant, math.inf if limit is None else float(limit - 1))

    def _cumulant(self, t: float) -> float:
        total = math.fsum(n * pair.cumulant(t) for pair, n in self._pairs)
        if self._renyi is not None:
            total += self._renyi.log_moment(t)
        return total + abs(total) * 2.0**-50

    def _corners(self) -> Corners | None:
        """The exact profile, for finite laws."""
        if self._exact is _UNKNOWN:
            self._exact = corners(self._pairs) if self._renyi is None else None
        return self._exact  # type: ignore[return-value]

    def _curve(self) -> Curve | None:
        """The closed form, where there is one."""
        if self._closed is _UNKNOWN:
            single = len(self._pairs) == 1
            self._closed = self._pairs[0][0].closed(self._pairs[0][1]) if single else None
        return self._closed  # type: ignore[return-value]

    def _line(self) -> Contour | None:
        """The contour engine, where every family has a transform."""
        if self._contour is _UNKNOWN:
            families: dict[type, list[tuple[Pair, int]]] = {}
            for pair, count in self._pairs:
                families.setdefault(type(pair), []).append((pair, count))
            found: list[Transform] = []
            for family, members in families.items():
                transform = family.bundle(members)  # type: ignore[attr-defined]
                if transform is not None:
                    found.append(transform)
            self._contour = Contour(found) if len(found) == len(families) else None
        return self._contour  # type: ignore[return-value]

    def _lattice(self, scale: float) -> LatticeSearch:
        """The lattice engine, Gaussians beside the lattice."""
        if self._search is None:
            square = sum(
                (p.mu_squared for p, _ in self._pairs if isinstance(p, GaussianPair)), Fraction(0)
            )
            rest: list[tuple[OnLattice, int]] = [
                (p, n) for p, n in self._pairs if not isinstance(p, GaussianPair)
            ]
            if self._renyi is not None:
                rest.append((RenyiPart(self._renyi), 1))
            self._search = LatticeSearch(rest, float(square), 2 * scale, self.infinite.low)
        return self._search


def _infinite(pairs: tuple[tuple[Pair, int], ...]) -> Bracket:
    low = high = 0.0  # logarithms of the chance that all losses are finite, negated
    for pair, count in pairs:
        mass = pair.infinity()
        if mass.high:
            low -= count * math.log1p(-mass.low) if mass.low < 1 else -math.inf
            high -= count * math.log1p(-mass.high) if mass.high < 1 else -math.inf
    slack = 8 * UNIT * (len(pairs) + 4)
    ends = -math.expm1(-low), -math.expm1(-high)
    return Bracket.within(ends[0] * (1 - slack), ends[1] * (1 + slack), ceil=1.0)


def _largest(pairs: tuple[tuple[Pair, int], ...]) -> float:
    total = Fraction(0)
    for pair, count in reversed(pairs):  # a Gaussian comes last, and decides
        largest = pair.largest()
        if math.isinf(largest):
            return math.inf
        total += Fraction(largest) * count
    return max(0.0, float_up(total))
