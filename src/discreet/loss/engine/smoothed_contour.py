"""Profiles of losses with atoms, or nearly so: a contour that a little noise cuts off.

Trust: kernel.

Theorem (key ``smoothed-contour``).  Let D be the finite profile of a product, and D_m that of its
product with the Gaussian pair of a small mu = m.  With f_m the density of the smoothed loss,
D_m - m**2 (1 + m) e**(m**2/8) f_m <= D <= D_m   at every eps, for 0 < m <= 0.2.
Proof.  A further release only raises a profile.  D_m(eps) - D(eps) is the mean, over the loss L, of
g(L - eps), where g(v) = min(1, e**-v) p(|v|) and p is the profile of the Gaussian pair.  With
Mills' ratio M and the normal density n, p(x) = n(a) (M(a) - M(a + m)) at a = x/m - m/2 >= -m/2,
and -M'(s) = 1 - s M(s) <= 1 + m from there on; so g(v) <= m (1 + m) e**(-v/2) n(v/m).  And
e**(-v/2) n(v/m) = e**(m**2/8) n(v/m + m/2) is m e**(m**2/8) times the density at eps of the loss L
moved by that of the Gaussian.

Both are trapezoidal sums along one line of complex orders, as in key ``contour-aliasing``: D_m with
the factor 1/(z (z+1)), f_m without it.  Sums of f_m exceed it, as all its aliases are positive.
The Gaussian factor e**(-m**2 t**2 / 2) ends the sums although atoms do not decay, nor does what is
nearly one, such as a sample that is mostly of nobody.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np

from discreet.loss.bracket import Bracket
from discreet.loss.engine.contour import RealOrders, TrapezoidalSum, short_spacing
from discreet.loss.engine.line_search import largest_epsilon_above, smallest_epsilon
from discreet.loss.engine.rounding import CUT_MARGIN, ORDERS_MARGIN, UNIT, bound_above, bound_below
from discreet.loss.pairs.distribution import Complexes, Floats, Transform

_NEED: Final = math.log(1e10)  # aliases are this much below delta
_FADED: Final = 8.0  # standard deviations of the Gaussian factor
_WORK: Final = 1 << 21
_MOST_POINTS: Final = 1 << 18
_WIDEST: Final = 0.2
_DROPPED: Final = 1e-19  # weights below this part of the first are dropped (section 13)


@final
@dataclass(frozen=True, slots=True)
class _Sum(TrapezoidalSum):
    """Both sums at one order: the weights are those of D_m."""

    factor: float  # m**2 (1 + m) e**(m**2/8)
    orders: Complexes  # z (z + 1)
    slack: tuple[float, float]  # of both sums
    per_eps: tuple[float, float]

    def ends(self, eps: float) -> tuple[float, float]:
        """Bound the finite profile at eps from both sides."""
        turned = self.weights * np.exp(-1j * (self.heights * eps))
        value = float(turned.real.sum())
        density = float((turned * self.orders).real.sum())
        scale, loose = self.base - self.c * eps, self.loose(eps)
        slack = [s + p * abs(eps) for s, p in zip(self.slack, self.per_eps, strict=True)]
        high = max(value + slack[0], 0.0) * math.exp(min(scale + loose, 700.0))
        most = max(density + slack[1], 0.0) * math.exp(min(scale + loose, 700.0))
        low = (value - slack[0]) * math.exp(min(scale - loose, 700.0))
        return bound_below(low - self.factor * most - self.alias(eps)), bound_above(high)


@final
class SmoothedContour:
    """The smoothed contour of one composition.

    ``size`` is how many terms a transform adds up, and ``highest`` a height above which it would
    need too many.
    """

    __slots__ = ("_highest", "_real", "_size")

    def __init__(
        self, transforms: Sequence[Transform], size: int, highest: float = math.inf
    ) -> None:
        """Evaluate the real orders."""
        self._real, self._size = RealOrders(transforms, 120), max(size, 1)
        self._highest = highest

    def delta(self, eps: float) -> Bracket | None:
        """Enclose the finite profile at eps >= 0."""
        best = Bracket(0.0, 1.0)
        exponent = float(self._real.exponents(eps).min())
        fresh = self._planned(math.exp(min(exponent, 0.0)) * 0.05 + 1e-290, eps)
        return best if fresh is None else best.meet(Bracket.within(*fresh.ends(eps), ceil=1.0))

    def epsilon(self, delta: float, known: Bracket) -> Bracket | None:
        """Narrow an enclosure of the epsilon of the finite profile."""
        total = self._planned(delta, known.high)
        if total is None:
            return None
        tolerance = 1e-9 * max(1.0, known.high)
        guess = 0.5 * (known.low + known.high)
        high = smallest_epsilon(
            total.upper, delta, high=known.high, guess=guess, tolerance=tolerance
        )
        low = largest_epsilon_above(total.lower, delta, high=high, tolerance=tolerance)
        return known.meet(Bracket(min(low, high), high))

    def _planned(self, delta: float, eps: float) -> _Sum | None:
        """Choose the order, the period and the smoothing for one point."""
        real, need = self._real, _NEED - math.log(delta)
        with np.errstate(invalid="ignore", divide="ignore"):
            period = real.periods(need, eps) * 1.02
            excess = real.value - real.orders * eps - math.log(delta)
            cost = np.where(np.isfinite(period), excess + 0.1 * np.log(period), np.inf)
        index = int(np.argmin(cost))
        if not math.isfinite(cost[index]):
            return None
        spacing = short_spacing(float(period[index]))
        count = int(min(_MOST_POINTS, _WORK // self._size, self._highest / spacing))
        width = _FADED / (spacing * max(count, 1))
        if count < 2 or not width <= _WIDEST:
            return None
        return self._evaluated(index, spacing * np.arange(count), width)

    def _evaluated(self, index: int, heights: Floats, width: float) -> _Sum | None:
        real, square = self._real, width * width
        c, wrong = float(real.orders[index]), float(real.error[index])
        base = float(real.value[index]) + c * (c + 1) * square / 2
        value, error, size = real.line(c, heights)
        z = c + 1j * heights
        orders = z * (z + 1)
        value, size = value + orders * (square / 2), size + np.abs(orders) * square
        if not max(wrong, float((value - base).real.max())) <= 1.0:  # rounding has won
            return None
        weights = np.exp(value - base) / orders * (heights[1] / math.pi)
        weights[0] *= 0.5
        modulus = np.abs(weights)
        relative = np.expm1(np.minimum(error + wrong, 50.0)) + UNIT * (
            96 + 16 * (size + abs(base)) + 2 * len(heights)
        )
        wide = modulus * np.abs(orders)
        faded = math.exp(-square * float(heights[-1]) ** 2 / 2 + min(wrong, 1.0))
        left_out = faded / (math.pi * float(heights[-1])) * (1 + CUT_MARGIN)
        beyond = faded / (math.pi * square * float(heights[-1])) * (1 + CUT_MARGIN)
        kept = modulus > _DROPPED * float(modulus[0])
        dropped = float(modulus[~kept].sum()), float(wide[~kept].sum())
        later = real.later(c)
        raised = real.orders * (real.orders + 1) * square / 2 * (1 + CUT_MARGIN)
        return _Sum(
            c=c,
            period=2 * math.pi / float(heights[1]) * (1 - 4 * UNIT),
            base=base,
            wrong=wrong,
            heights=heights[kept],
            weights=weights[kept],
            later=real.orders[later],
            cumulants=(real.safe + real.constant + raised)[later],
            factor=square * (1 + width) * math.exp(square / 8) * (1 + ORDERS_MARGIN),
            orders=orders[kept],
            slack=(
                left_out + float(modulus @ relative) * (1 + CUT_MARGIN) + dropped[0],
                beyond + float(wide @ relative) * (1 + CUT_MARGIN) + dropped[1],
            ),
            per_eps=(8 * UNIT * float(modulus @ heights), 8 * UNIT * float(wide @ heights)),
        )
