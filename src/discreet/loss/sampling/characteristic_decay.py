"""How fast the characteristic function of a sampled Gaussian's loss decays.

Trust: kernel.

Let phi be the characteristic function of the loss l(y) under the law of y with density proportional
to e**(w l(y) - y**2/2), the tilt of ``sampled_gaussian``.  A contour may end where |phi| to the
power of the number of runs is negligible, at that height and above.

Theorem (key ``contour-rounding``).  For every place y0,
|phi(s)| <= P[y < y0] + V / s, where V is the total variation of the density of the loss beyond
l(y0), including its jump there.  The density has at most two maxima and a minimum between them
(docs/proofs/accounting.md, section 5); so V is what it varies by between places that are evaluated,
and what it moves beyond them at three extremes, up and down.
Proof.  The part below y0 counts with its mass at most; a function of bounded variation V has a
transform of at most V / s.

At small rates a few rare losses carry all the variance, and the others lie so close together that
the transform of the whole decays only at heights like 1/q.  The rare ones alone decay much earlier,
and what is left is the chance of none.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, final

import numpy as np

from discreet.loss.pairs.distribution import Floats

_NEAR_ERROR: Final = 1e-12  # of |phi|**2 near zero, from moments (section 5, decay)
_GRID_ERROR: Final = 1e-9  # of |phi|**2 on the grid (section 5, decay)
_MOMENT_SLACK: Final = 1e-6  # on moments that err by less than 1e-12 (section 5, decay)
_FINE: Final = 1 / 256  # between places at which densities are evaluated
_EVERY: Final = 16  # of them is one at which the law is cut
_POINTS: Final = 800
_NODES: Final = 6000  # for the heights of a grid
_REACH: Final = 32.0  # of a grid, in units of 1 / sqrt(variance)
_APART: Final = 0.1  # the points of a grid at most, in the same units, where it is short


def sampled_loss(q: float, x: Floats) -> Floats:
    """Evaluate ln(1 - q + q e**x), accurately near zero and without overflow."""
    near = np.log1p(q * np.expm1(np.minimum(x, 30.0)))
    far = x + math.log(q) + np.log1p((1 - q) / q * np.exp(-np.maximum(x, 30.0)))
    return np.where(x > 30.0, far, near)


@final
@dataclass(frozen=True, slots=True)
class Nodes:
    """A tilted loss on nodes: values, weights (largest one), logarithm of scale, relative error."""

    loss: Floats
    weight: Floats
    scale: float
    error: float
    slope: float  # of the error in the height t
    step: float
    y: Floats


@final
@dataclass(frozen=True, slots=True)
class Tilted:
    """The law of y with a density proportional to e**(w l(y) - y**2/2)."""

    q: float
    mu: float
    w: float

    def log_densities(self, y: Floats, nodes: Nodes) -> tuple[Floats, Floats]:
        """Evaluate the logarithms of the densities of y, and of the loss at y."""
        x = self.mu * y - self.mu * self.mu / 2
        loss = sampled_loss(self.q, x)
        total = nodes.scale + math.log(float(nodes.weight.sum())) + math.log(2 * math.pi) / 2
        of_y = self.w * loss - y * y / 2 - total
        return of_y, of_y - (x + math.log(self.q) - loss) - math.log(self.mu)

    def bend(self, step: float) -> float:
        """Bound how far either logarithm lies above or below its values at a distance of a step."""
        return step**2 / 8 * (1 + (abs(self.w) + 1) * self.mu**2 / 4)

    def highest(self) -> float:
        """Return a height up to which nodes are not too many."""
        return _NODES * 2 * math.pi / ((22 + abs(self.w) * self.mu) * self.mu)

    def ends(self) -> tuple[float, float]:
        """Bound the places of the maxima of the density of the loss."""
        return min(-self.mu, self.w * self.mu), max(-self.mu, self.w * self.mu)


@final
@dataclass(frozen=True, slots=True)
class Decay:
    """A certified decreasing majorant of |phi|**2, in three pieces.

    Near zero |phi(s)|**2 = E cos(sD) <= 1 - s**2 v + s**4 d4 / 24 for the difference D of two
    independent losses, with E D**2 = 2v.  In the middle the second derivative is at most 2v, so
    values on a grid of width g bound it up to v g**2 / 4.  Far out the theorem above holds, for the
    best of many y0.
    """

    variance: float
    fourth: float
    first: float
    grid: Floats
    sup: Floats
    far: _FarOut

    @classmethod
    def of(cls, law: Tilted, lay: Callable[[float], Nodes]) -> Decay:
        """Work the pieces out; ``lay`` gives nodes that serve up to a height."""
        nodes = lay(0.0)
        g = nodes.weight / nodes.weight.sum()
        loss = nodes.loss - float(g @ nodes.loss)
        slack = 1 + _MOMENT_SLACK + 1e3 * nodes.error
        variance = float(g @ loss**2)
        fourth = slack * (2 * float(g @ loss**4) + 6 * variance**2)
        variance /= slack
        first = math.sqrt(12 * variance / fourth)
        far = _FarOut.of(law, nodes, slack)
        reach = min(2 * float(far.variation[0]), _REACH / math.sqrt(variance), law.highest())
        last = max(2 * first, reach)
        points = int(min(_POINTS, max(64, (last - first) * math.sqrt(variance) / _APART)))
        s = np.linspace(first, last, points)
        nodes = lay(last)
        g = nodes.weight / nodes.weight.sum()
        phi = np.exp(1j * np.outer(s, nodes.loss - float(g @ nodes.loss))) @ g
        square = np.abs(phi) ** 2 + _GRID_ERROR
        cell = np.maximum(square[1:], square[:-1]) + slack**2 * variance * (s[1] - s[0]) ** 2 / 4
        pieces = np.append(np.minimum(cell, far.bounds(s[:-1]) ** 2), far.bounds(s[-1:]) ** 2)
        sup = np.maximum.accumulate(pieces[::-1])[::-1]
        return cls(variance, fourth, first, s, sup, far)

    def log_bound(self, s: float) -> float:
        """Bound ln of the largest |phi| from a height on."""
        if s < self.first:
            near = 1 - (s * s * self.variance - s**4 * self.fourth / 24) + _NEAR_ERROR
            bound = max(near, float(self.sup[0]))
        elif s < self.grid[-1]:
            index = int(np.searchsorted(self.grid, s, side="right")) - 1
            bound = float(self.sup[max(index, 0)])
        else:
            bound = float(self.far.bounds(np.array([s]))[0]) ** 2
        return 0.5 * math.log(min(1.0, bound))


@final
@dataclass(frozen=True, slots=True)
class _FarOut:
    """For places y0 in rising order: the mass below, and the variation of the density beyond."""

    below: Floats
    variation: Floats

    @classmethod
    def of(cls, law: Tilted, nodes: Nodes, slack: float) -> _FarOut:
        """Cut at many places, the first far to the left, where nothing is cut off.

        Between two places a density is at least the smaller end, and at most the larger one, up to
        its bend; so the mass beyond a place is at least a lower sum over what follows.
        """
        low, high = law.ends()
        y = np.arange(low - 1, high + 8, _FINE)
        of_y, of_loss = law.log_densities(y, nodes)
        bend = law.bend(_FINE)
        cells = np.exp(np.minimum(of_y[1:], of_y[:-1]) - bend) * _FINE
        beyond = np.append(np.cumsum(cells[::-1])[::-1], 0.0) / slack
        density = np.exp(np.minimum(of_loss, 300.0))
        turns = np.append(np.cumsum(np.abs(np.diff(density))[::-1])[::-1], 0.0) + density[-1]
        peaks = np.maximum.accumulate(density[::-1])[::-1]
        missed = 6 * math.expm1(bend) * math.exp(bend) * peaks  # by three extremes in between
        variation = (density + turns + missed)[::_EVERY] * slack
        below = 1 - np.minimum(beyond[::_EVERY], 1.0)
        return cls(np.append(0.0, below), np.append(variation[0], variation))

    def bounds(self, s: Floats) -> Floats:
        """Bound |phi| from each of some heights on."""
        every = self.below[:, None] + self.variation[:, None] / s
        return np.asarray(np.minimum(every.min(axis=0), 1.0))
