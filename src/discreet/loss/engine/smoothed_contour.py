"""Profiles of losses with atoms anywhere: a contour that is cut off where a little noise ends it.

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
The Gaussian factor e**(-m**2 t**2 / 2) ends the sums although atoms do not decay.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np

from discreet.loss.bracket import Bracket
from discreet.loss.engine.line_search import largest_epsilon_above, smallest_epsilon
from discreet.loss.engine.rounding import UNIT, bound_above, bound_below
from discreet.loss.pairs.distribution import Complexes, Floats, Transform

__all__ = ["SmoothedContour"]

_ORDERS: Final[Floats] = np.exp(np.linspace(math.log(2e-3), math.log(2e3), 120))
_CONSTANT: Final[Floats] = _ORDERS * np.log(_ORDERS) - (1 + _ORDERS) * np.log1p(_ORDERS) + 1e-12
_GAPS: Final[Floats] = _ORDERS[None, :] - _ORDERS[:, None]
_NEED: Final = math.log(1e10)  # aliases are this much below delta
_FADED: Final = 8.0  # standard deviations of the Gaussian factor
_WORK: Final = 1 << 21
_MOST: Final = 1 << 18
_WIDEST: Final = 0.2
_FAINT: Final = 1e-19


@final
@dataclass(frozen=True, slots=True)
class _Sum:
    """Both sums at one order, relative to e**(K(c) - c eps)."""

    c: float
    period: float
    base: float
    wrong: float
    factor: float  # m**2 (1 + m) e**(m**2/8)
    heights: Floats
    weights: Complexes  # of D_m
    orders: Complexes  # z (z + 1)
    slack: tuple[float, float]  # of both sums
    per_eps: tuple[float, float]
    later: Floats
    cumulants: Floats

    def ends(self, eps: float) -> tuple[float, float]:
        """Bound the finite profile at eps from both sides."""
        turned = self.weights * np.exp(-1j * (self.heights * eps))
        value = float(turned.real.sum())
        density = float((turned * self.orders).real.sum())
        scale = self.base - self.c * eps
        loose = self.wrong + 16 * UNIT * (1 + abs(self.base) + self.c * abs(eps))
        slack = [s + p * abs(eps) for s, p in zip(self.slack, self.per_eps, strict=True)]
        high = max(value + slack[0], 0.0) * math.exp(min(scale + loose, 700.0))
        most = max(density + slack[1], 0.0) * math.exp(min(scale + loose, 700.0))
        low = (value - slack[0]) * math.exp(min(scale - loose, 700.0))
        return bound_below(low - self.factor * most - self._alias(eps)), bound_above(high)

    def upper(self, eps: float) -> float:
        """The upper end alone."""
        return self.ends(eps)[1]

    def lower(self, eps: float) -> float:
        """The lower end alone."""
        return self.ends(eps)[0]

    def _alias(self, eps: float) -> float:
        left = math.exp(-self.c * self.period) / -math.expm1(-self.c * self.period)
        gap = (self.later - self.c) * self.period
        log_right = self.cumulants - self.later * eps - gap
        right = np.exp(np.minimum(log_right, 700.0)) / -np.expm1(-gap)
        return (left + float(right.min(initial=math.inf))) * (1 + 1e-9)


@final
class SmoothedContour:
    """The smoothed contour of one composition; ``size`` is how many terms a transform adds up."""

    __slots__ = ("_error", "_real", "_safe", "_size", "_sums", "_transforms")

    def __init__(self, transforms: Sequence[Transform], size: int) -> None:
        """Evaluate the real orders; they plan the line and bound aliases."""
        self._transforms, self._size = tuple(transforms), max(size, 1)
        self._real, self._error = np.zeros(len(_ORDERS)), np.zeros(len(_ORDERS))
        for transform in self._transforms:
            value, error = transform.real(_ORDERS)
            self._real, self._error = self._real + value, self._error + error
        self._error = self._error + 8 * UNIT * np.abs(self._real)
        safe = self._real + 2 * self._error + 1e-12 * (1 + np.abs(self._real))
        self._safe = np.where(np.isnan(safe), np.inf, safe)  # an order that says nothing
        self._sums: list[_Sum] = []

    def delta(self, eps: float) -> Bracket | None:
        """Enclose the finite profile at eps >= 0."""
        best = Bracket(0.0, 1.0)
        for known in self._sums:
            best = best.meet(Bracket.within(*known.ends(eps), ceil=1.0))
            if best.width <= 1e-6 * best.high:
                return best
        exponent = float((self._safe + _CONSTANT - _ORDERS * eps).min())
        fresh = self._planned(math.exp(min(exponent, 0.0)) * 0.05 + 1e-290, eps)
        return best if fresh is None else best.meet(Bracket.within(*fresh.ends(eps), ceil=1.0))

    def epsilon(self, delta: float, found: Bracket) -> Bracket | None:
        """Narrow an enclosure of the epsilon of the finite profile."""
        total = self._planned(delta, found.high)
        if total is None:
            return None
        tolerance = 1e-9 * max(1.0, found.high)
        guess = 0.5 * (found.low + found.high)
        high = smallest_epsilon(
            total.upper, delta, high=found.high, guess=guess, tolerance=tolerance
        )
        low = largest_epsilon_above(total.lower, delta, high=high, tolerance=tolerance)
        return found.meet(Bracket(min(low, high), high))

    def _planned(self, delta: float, eps: float) -> _Sum | None:
        """Choose the order, the period and the smoothing for one point."""
        need = _NEED - math.log(delta)
        with np.errstate(invalid="ignore", divide="ignore"):
            left = need / _ORDERS
            over = (self._safe + _CONSTANT - _ORDERS * eps + need)[None, :] / _GAPS
            right = np.where(_GAPS > 0, over, np.inf).min(axis=1)
            period = np.maximum(left, right) * 1.02
            excess = self._real - _ORDERS * eps - math.log(delta)
            cost = np.where(np.isfinite(period), excess + 0.1 * np.log(period), np.inf)
        index = int(np.argmin(cost))
        if not math.isfinite(cost[index]):
            return None
        spacing = _short(2 * math.pi / float(period[index]))
        count = min(_MOST, _WORK // self._size)
        width = _FADED / (spacing * max(count, 1))
        if count < 2 or not width <= _WIDEST:
            return None
        total = self._evaluated(index, spacing * np.arange(count), width)
        if len(self._sums) >= 16:
            self._sums.pop(0)
        self._sums.append(total)
        return total

    def _evaluated(self, index: int, heights: Floats, width: float) -> _Sum:
        c, wrong = float(_ORDERS[index]), float(self._error[index])
        square = width * width
        base = float(self._real[index]) + c * (c + 1) * square / 2
        value, error = np.zeros(len(heights), np.complex128), np.zeros(len(heights))
        size = np.zeros(len(heights))
        for transform in self._transforms:
            line = transform.line(c, heights)
            value, error, size = value + line.value, error + line.error, size + np.abs(line.value)
        z = c + 1j * heights
        orders = z * (z + 1)
        value, size = value + orders * (square / 2), size + np.abs(orders) * square
        weights = np.exp(value - base) / orders * (heights[1] / math.pi)
        weights[0] *= 0.5
        modulus = np.abs(weights)
        relative = np.expm1(np.minimum(error + wrong, 50.0)) + UNIT * (
            96 + 16 * (size + abs(base)) + 2 * len(heights)
        )
        wide = modulus * np.abs(orders)
        faded = math.exp(-square * float(heights[-1]) ** 2 / 2 + min(wrong, 1.0))
        left_out = faded / (math.pi * float(heights[-1])) * (1 + 1e-9)
        beyond = faded / (math.pi * square * float(heights[-1])) * (1 + 1e-9)
        kept = modulus > _FAINT * float(modulus[0])
        dropped = float(modulus[~kept].sum()), float(wide[~kept].sum())
        later = c * (1 + 1e-9) < _ORDERS
        raised = _ORDERS * (_ORDERS + 1) * square / 2 * (1 + 1e-9)
        return _Sum(
            c,
            2 * math.pi / float(heights[1]) * (1 - 4 * UNIT),
            base,
            wrong,
            square * (1 + width) * math.exp(square / 8) * (1 + 1e-12),
            heights[kept],
            weights[kept],
            orders[kept],
            (
                left_out + float(modulus @ relative) * (1 + 1e-9) + dropped[0],
                beyond + float(wide @ relative) * (1 + 1e-9) + dropped[1],
            ),
            (8 * UNIT * float(modulus @ heights), 8 * UNIT * float(wide @ heights)),
            _ORDERS[later],
            (self._safe + _CONSTANT + raised)[later],
        )


def _short(value: float) -> float:
    """Round down to 26 significant bits, so that multiples of it are exact floats."""
    mantissa, exponent = math.frexp(value)
    return math.ldexp(math.floor(mantissa * (1 << 26)), exponent - 26)
