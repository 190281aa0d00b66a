"""Cumulants of the sampled Gaussian pair, by a trapezoidal rule with a proved error.

Trust: kernel.

Definition.  With x = mu y - mu**2/2 and l(y) = ln(1 - q + q e**x), y standard normal:
E e**(zL) = E e**(w l(y)) with w = 1 + z for REMOVE and w = -z for ADD.

Theorem (key ``sampled-gaussian-quadrature``).  On the line Im y = b with mu |b| < pi,
|1 - q + q e**x| lies between cos(mu b/2) times and once its value at Re y, and its argument is at
most mu |b|.  So the trapezoidal rule of step d on the whole line errs, relative to E e**(wl) at the
real order, by at most 2 e**(b**2/2 + |t| mu b - c ln cos(mu b/2)) / (e**(2 pi b/d) - 1), with the
cosine for ADD only (Trefethen and Weideman 2014, theorem 5.1).  The logarithm of the integrand
falls at least linearly beyond the last nodes, which bounds what is cut off
(docs/proofs/accounting.md, section 5).
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field
from typing import Final, final

import numpy as np

from discreet.loss.engine.rounding import TINIEST, UNIT, reduced
from discreet.loss.pairs.distribution import Complexes, CumulantLine, Floats
from discreet.loss.sampling.amplification import small_moment

__all__ = ["SampledGaussianCumulants", "SampledGaussianTransform", "sampled_gaussian"]

_HIGHEST: Final = 64.0  # orders above are left out: they never help a sampled Gaussian
_DROPPED: Final = (
    1e-22  # weights below this part of the largest are dropped, and added to the error
)
_BEND_ERROR: Final = 1e-12  # of l' at an end (section 5, ends)
_NEAR_ERROR: Final = 1e-12  # of |phi|**2 near zero, from moments (section 5, decay)
_GRID_ERROR: Final = 1e-9  # of |phi|**2 on the grid (section 5, decay)
_MOMENT_SLACK: Final = 1e-6  # on moments that err by less than 1e-12 (section 5, decay)
_MOST_NODES: Final = 1 << 21  # of one moment
_SMALL: Final = 1e-3  # an excess that is added up by itself (section 5, real orders)


@final
@dataclass(frozen=True, slots=True)
class _Nodes:
    """A tilted loss on nodes: values, weights (largest one), logarithm of scale, relative error."""

    loss: Floats
    weight: Floats
    scale: float
    error: float
    slope: float  # of the error in the height t
    step: float
    y: Floats


@final
@dataclass(frozen=True, slots=True, eq=False)
class SampledGaussianCumulants:
    """One sampled Gaussian in one direction; state is a cache."""

    q: float
    mu: float
    sign: int  # +1: REMOVE, w = 1 + z;  -1: ADD, w = -z
    _reals: dict[bytes, tuple[Floats, Floats]] = field(default_factory=dict)
    _lines: dict[tuple[float, float], tuple[Complexes, Floats]] = field(default_factory=dict)
    _decays: dict[float, _Decay] = field(default_factory=dict)
    _above: dict[float, float] = field(default_factory=dict)

    def above(self, t: float) -> float:
        """Bound the cumulant at an order t > 0; infinite where it would need too many nodes.

        >>> round(SampledGaussianCumulants(0.1, 1.0, 1).above(1.0), 12)  # ln(1 + q**2 (e - 1))
        0.017036863236
        """
        if t not in self._above:
            if len(self._above) > 1 << 12:
                self._above.clear()
            self._above[t] = self._bounded(t)
        return self._above[t]

    def _bounded(self, t: float) -> float:
        w = 1 + t if self.sign > 0 else -t
        if (22 + abs(w) * self.mu) * (50 + t) * max(1.0, self.mu) > _MOST_NODES:
            return math.inf
        nodes = self.nodes(t, 0.0)
        if nodes.error > 0.1:
            return math.inf
        value = nodes.scale + math.log(float(nodes.weight.sum()))
        high = max(value, 0.0) + 2 * nodes.error + 8 * UNIT * (1 + abs(value))
        return min(high, small_moment(self.q, self.mu, w)) if high < _SMALL else high

    def nodes(self, c: float, height: float) -> _Nodes:
        """Lay the nodes out for the order c and heights up to the given one."""
        q, mu = self.q, self.mu
        w = 1 + c if self.sign > 0 else -c
        b = min(3.0, (2.0 if self.sign > 0 else 1.0) / mu)
        bent = -c * math.log(math.cos(mu * b / 2)) if self.sign < 0 else 0.0
        need = 46.0 + b * b / 2 + height * mu * b + bent
        step = min(1 / 12, 2 * math.pi * b / need)
        quadrature = 3 * math.exp(need - 46.0 - 2 * math.pi * b / step)
        right = 11.0 + (w * mu if w > 0 else 0.0)
        left = 11.0 + (0.0 if w > 0 else -w * mu * min(1.0, q / (1 - q)) if q < 1 else -w * mu)
        y = np.arange(-math.ceil(left / step), math.ceil(right / step) + 1) * step
        x = mu * y - mu * mu / 2
        loss = _loss(q, x)
        log_weight = w * loss - y * y / 2
        top = float(log_weight.max())
        weight = np.exp(log_weight - top)
        total = float(weight.sum())
        cut = self._cut(w, y, loss, weight, step) / total
        size = np.abs(w) * (np.abs(loss) + np.abs(x) + 1) + y * y + abs(top)
        rounding = UNIT * (24 * float(weight @ size) / total + 2 * len(y) + 64)
        keep = weight > _DROPPED
        center = float(weight @ loss) / total
        slope = 24 * UNIT * float(weight @ (np.abs(loss - center) + np.abs(x) + 1)) / total
        error = quadrature + cut + rounding + len(y) * _DROPPED
        scale = top + math.log(step / math.sqrt(2 * math.pi))
        return _Nodes(loss[keep], weight[keep], scale, error, slope, step, y[keep])

    def _cut(self, w: float, y: Floats, loss: Floats, weight: Floats, step: float) -> float:
        """Bound the weights beyond both ends by geometric series."""
        mu = self.mu
        share = -np.expm1(-(loss[[0, -1]] - math.log1p(-self.q))) if self.q < 1 else np.ones(2)
        bend = mu * np.clip(share + _BEND_ERROR, 0.0, 1.0)  # l' at the two ends; it rises with y
        falls_left = -float(y[0]) + min(0.0, w * float(bend[0]))
        falls_right = float(y[-1]) - max(0.0, w * mu)
        total = 0.0
        for fall, end in ((falls_left, weight[0]), (falls_right, weight[-1])):
            if fall <= 0:
                return math.inf
            total += 1.01 * float(end) / math.expm1(fall * step) + TINIEST
        return total

    def real(self, orders: Floats) -> tuple[Floats, Floats]:
        """Cumulants at real orders; infinite above the highest that is used."""
        key = orders.tobytes()
        if key not in self._reals:
            value, error = np.full(len(orders), np.inf), np.zeros(len(orders))
            for i, c in enumerate(orders):
                if c <= _HIGHEST:
                    nodes = self.nodes(float(c), 0.0)
                    value[i] = nodes.scale + math.log(float(nodes.weight.sum()))
                    error[i] = 2 * nodes.error + 8 * UNIT * (1 + abs(value[i]))
            self._reals[key] = value, error
        return self._reals[key]

    def line(self, c: float, heights: Floats) -> tuple[Complexes, Floats]:
        """Cumulants at c + i heights (evenly spaced from zero), with error bounds."""
        spacing = float(heights[1])
        value, error = self._lines.get((c, spacing), (np.zeros(0, np.complex128), np.zeros(0)))
        if len(value) < len(heights):
            fresh = heights[len(value) :]
            more, wrong = self._evaluate(c, fresh)
            value, error = np.concatenate([value, more]), np.concatenate([error, wrong])
            if len(self._lines) > 64:
                self._lines.clear()
            self._lines[c, spacing] = value, error
        return value[: len(heights)], error[: len(heights)]

    def _evaluate(self, c: float, heights: Floats) -> tuple[Complexes, Floats]:
        nodes = self.nodes(c, float(heights[-1]))
        total = float(nodes.weight.sum())
        center = float(nodes.weight @ nodes.loss) / total
        phase = np.outer(heights * self.sign, nodes.loss - center)
        phi = (np.cos(phase) + 1j * np.sin(phase)) @ (nodes.weight / total)
        base = nodes.scale + math.log(total)
        value = reduced(phi) + base + 1j * (self.sign * center) * heights
        wrong = 2 * nodes.error + nodes.slope * heights
        size = abs(base) + abs(center) * heights
        error = np.log1p(wrong / np.maximum(np.abs(phi), TINIEST)) + UNIT * (16 + 8 * size)
        return value, error + 2 * nodes.error

    def decay(self, c: float, height: float) -> float:
        """Bound ln sup over s >= height of the tilted characteristic function's modulus."""
        if c not in self._decays:
            if len(self._decays) > 64:
                self._decays.clear()
            self._decays[c] = _Decay.of(self, c)
        return self._decays[c].log_bound(height)


@final
@dataclass(frozen=True, slots=True)
class _Decay:
    """A certified decreasing majorant of |phi|**2, in three pieces.

    Near zero |phi(s)|**2 = E cos(sD) <= 1 - s**2 v + s**4 d4 / 24 for the difference D of two
    independent losses, with E D**2 = 2v.  In the middle the second derivative is at most 2v, so
    values on a grid of width g bound it up to v g**2 / 4.  Far out |phi(s)| <= TV / s, where the
    total variation of the density is at most 4 times its maximum: its logarithm in y has slope
    -y - mu + (w + 1) mu r(y) with r logistic, hence at most two maxima.
    """

    variance: float
    fourth: float
    first: float
    grid: Floats
    sup: Floats

    @classmethod
    def of(cls, pair: SampledGaussianCumulants, c: float) -> _Decay:
        nodes = pair.nodes(c, 0.0)
        g = nodes.weight / nodes.weight.sum()
        loss = nodes.loss - float(g @ nodes.loss)
        slack = 1 + _MOMENT_SLACK + 1e3 * nodes.error
        variance = float(g @ loss**2)
        fourth = slack * (2 * float(g @ loss**4) + 6 * variance**2)
        variance /= slack
        first = math.sqrt(12 * variance / fourth)
        far = 4 * cls._peak(pair, c, nodes) * slack
        last = max(2 * first, min(far / 0.5, 1e9))
        points = int(min(800, max(64, (last - first) * math.sqrt(variance) / 0.1)))
        s = np.linspace(first, last, points)
        square = np.abs(np.exp(1j * np.outer(s, loss)) @ g) ** 2 + _GRID_ERROR
        cell = np.maximum(square[1:], square[:-1]) + slack**2 * variance * (s[1] - s[0]) ** 2 / 4
        pieces = np.append(cell, min(1.0, far / last) ** 2)
        return cls(variance, fourth, first, s, np.maximum.accumulate(pieces[::-1])[::-1])

    @staticmethod
    def _peak(pair: SampledGaussianCumulants, c: float, nodes: _Nodes) -> float:
        """Bound the largest value of the density of the tilted loss; maxima lie in [-mu, w mu]."""
        q, mu, step = pair.q, pair.mu, nodes.step
        w = 1 + c if pair.sign > 0 else -c
        y = np.arange(min(-mu, w * mu) - 1, max(-mu, w * mu) + 1 + step, step)
        x = mu * y - mu * mu / 2
        loss = _loss(q, x)
        total = nodes.scale + math.log(float(nodes.weight.sum())) + math.log(2 * math.pi) / 2
        log_density = w * loss - y * y / 2 - (x + math.log(q) - loss) - math.log(mu) - total
        bend = step**2 / 8 * (1 + abs(w + 1) * mu**2 / 4)
        return math.exp(min(float(log_density.max()) + bend, 300.0))

    def log_bound(self, s: float) -> float:
        if s < self.first:
            near = 1 - (s * s * self.variance - s**4 * self.fourth / 24) + _NEAR_ERROR
            bound = max(near, float(self.sup[0]))
        else:
            index = int(np.searchsorted(self.grid, s, side="right")) - 1
            bound = float(self.sup[min(max(index, 0), len(self.sup) - 1)])
        return 0.5 * math.log(min(1.0, bound))


def _loss(q: float, x: Floats) -> Floats:
    """ln(1 - q + q e**x), accurate near zero and without overflow."""
    near = np.log1p(q * np.expm1(np.minimum(x, 30.0)))
    far = x + math.log(q) + np.log1p((1 - q) / q * np.exp(-np.maximum(x, 30.0)))
    return np.where(x > 30.0, far, near)


@functools.lru_cache(maxsize=256)
def sampled_gaussian(q: float, square: float, sign: int) -> SampledGaussianCumulants:
    """Share what is computed between compositions."""
    return SampledGaussianCumulants(q, math.sqrt(square), sign)


@final
@dataclass(frozen=True, slots=True)
class SampledGaussianTransform:
    """A bundle of sampled Gaussians with counts."""

    items: tuple[tuple[SampledGaussianCumulants, int], ...]

    def real(self, orders: Floats) -> tuple[Floats, Floats]:
        """Add up the cumulants."""
        value, error = np.zeros(len(orders)), np.zeros(len(orders))
        for pair, n in self.items:
            own, wrong = pair.real(orders)
            value, error = value + n * own, error + n * wrong
        return value, error

    def line(self, order: float, heights: Floats) -> CumulantLine:
        """Add up the cumulants."""
        value: Complexes = np.zeros(len(heights), np.complex128)
        error = np.zeros(len(heights))
        for pair, n in self.items:
            own, wrong = pair.line(order, heights)
            value = value + n * own
            error = error + n * wrong + UNIT * n * (len(self.items) + 4) * np.abs(own)
        return CumulantLine(value, error)

    def decay(self, order: float, height: float) -> float:
        """Add up the bounds."""
        return sum(n * pair.decay(order, height) for pair, n in self.items)
