"""The pair of a composition that runs on a Poisson sample, and the sampled Gaussian.

Trust: kernel.

Definition.  Each person enters the sample with probability q, independently.  If (P, Q) dominates
the inner composition when a person is removed, the outer pair is ((1-q)Q + qP, Q) for REMOVE and
(Q, (1-q)Q + qP) for ADD.  A sample that is used twice is one sample: the composition is sampled.

Theorem (key ``poisson-sampling``; Li, Qardaji and Su 2012; Balle, Barthe and Gaboardi 2018, theorem
8; Zhu, Dong and Wang 2022, proposition 30 for dominating pairs at every a > 0).
h_REMOVE(a) = q h(1 + (a-1)/q) for a > 1-q, else 1-a, and h_ADD(a) = 1 - a + a h_REMOVE(1/a).

For one Gaussian, with x = mu y - mu**2/2 and l(y) = ln(1 - q + q e**x), y standard normal:
E e**(zL) = E e**(w l(y)) with w = 1 + z for REMOVE and w = -z for ADD.

Theorem (key ``sampled-gaussian-quadrature``; Trefethen and Weideman 2014, theorem 5.1).  On the
line Im y = b with mu |b| < pi, |1 - q + q e**x| is between cos(mu b/2) times and once its value
at Re y, and its argument is at most mu |b|.  So the trapezoidal rule of step d on the whole line
errs, relative to E e**(wl) at the real order, by at most
2 e**(b**2/2 + |t| mu b - c ln cos(mu b/2)) / (e**(2 pi b/d) - 1), with the cosine for ADD only.
Beyond the last nodes the integrand falls geometrically (docs/proofs/accounting.md, section 5).

Let phi be the characteristic function of l(y) under the density proportional to
e**(w l(y) - y**2/2).  A contour may end where |phi| to the power of the number of runs is
negligible, at that height and above.
Theorem (key ``contour-rounding``).  For every place y0, |phi(s)| <= P[y < y0] + V / s, where V is
the total variation of the density of the loss beyond l(y0), including its jump there.  The density
has at most two maxima and a minimum between them (docs/proofs/accounting.md, section 5).
At small rates a few rare losses carry all the variance, and decay much earlier than the others.
"""

from __future__ import annotations

import enum
import functools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final, Self, final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import OutOfRange
from discreet.exact import float_down, float_up
from discreet.loss.amplification import (
    NEARLY_ALL,
    added_loss,
    added_moment,
    added_profile,
    removed_loss,
    removed_moment,
    removed_profile,
    sampled_cumulant,
    sampled_group,
)
from discreet.loss.composition import Composition
from discreet.loss.curved_pair import (
    as_one_pair,
    beyond_table,
    table_of_composition,
)
from discreet.loss.dots import Floats, PrivacyLossDistribution
from discreet.loss.envelope import grouped
from discreet.loss.finite import Atoms, listed_product
from discreet.loss.gaussian import FAINTEST, GaussianPair, gaussian_deltas
from discreet.loss.pair import Complexes, CumulantLine, Pair, ProfileCurve, Transform
from discreet.loss.polygon import ProfileTable
from discreet.loss.pure_pairs import ResponsePair
from discreet.loss.rho import MomentGrowth, growth
from discreet.loss.rounding import LOG_MARGIN, TINIEST, UNIT, Bracket, reduced

_WIDE: Final = 20.0
_RELATIVE: Final = 1e-12  # of sums of up to two thousand numbers above zero
_LEFT_OUT: Final = 1e-19


def small_moment(q: float, mu: float, w: float) -> float:
    """Bound ln E e**(wl) of a sampled Gaussian if E e**(wl) < 1.001, as closely as large ones.

    With x = mu y - mu**2/2 and l = ln(1 - q + q e**x), y normal, E e**l = 1.  So the excess over 1
    is the mean of g = e**(wl) - 1 - w (e**l - 1) >= 0, for w >= 1 and w <= 0, in which nothing
    cancels (docs/proofs/accounting.md, section 5).  Infinite unless mu <= 2 and |w| mu <= 16.5.
    """
    if mu > 2 or abs(w) * mu > 16.5:
        return math.inf
    b = min(3.0, 1 / mu)
    bent = w * math.log(math.cos(mu * b / 2)) if w < 0 else 0.0
    step = min(1 / 12, 2 * math.pi * b / (46.0 + b * b / 2 + bent))
    nodes = math.ceil((_WIDE + abs(w) * mu) / step)
    y = np.arange(-nodes, nodes + 1) * step
    x = mu * y - mu * mu / 2
    u = q * np.expm1(x)
    loss = np.log1p(u)
    power = np.expm1(w * loss)
    g = np.maximum(power - w * u, 0.0)
    moved = UNIT * (12 * np.abs(u) + 4 * q * np.exp(x) * (np.abs(mu * y) + mu * mu))  # of u
    error = abs(w) * (1 + power) * (2 * moved / (1 + u) + 10 * UNIT * np.abs(loss))
    error += abs(w) * moved + UNIT * (10 * np.abs(power) + 4 * np.abs(w * u) + 4 * g)
    total = float(np.exp(-y * y / 2) @ (g + error)) * step / math.sqrt(2 * math.pi)
    excess = total * (1 + _RELATIVE) + _LEFT_OUT * (3 + 2 * abs(w))
    return math.log1p(excess) * (1 + 16 * UNIT)


_GRID_ERROR: Final = 1e-9  # of |phi|**2 on the grid (section 5, decay)
_MOMENT_SLACK: Final = 1e-6  # on moments that err by less than 1e-12 (section 5, decay)
_FINE: Final = 1 / 256  # between places at which densities are evaluated
_EVERY: Final = 16  # of them is one at which the distribution is cut
_POINTS: Final = 800
_NODES: Final = 6000  # for the heights of a grid
_REACH: Final = 32.0  # of a grid, in units of 1 / sqrt(variance)
_APART: Final = 0.1  # the points of a grid at most, in the same units, if it is short
_HIGHEST: Final = 64.0  # orders above are left out: they never help a sampled Gaussian
_DROPPED: Final = 1e-22  # weights below this part of the largest join the error
_BEND_ERROR: Final = 1e-12  # of l' at an end (section 5, ends)
_MOST_NODES: Final = 1 << 21  # of one moment
_SMALL: Final = 1e-3  # an excess that is added up by itself (section 5, real orders)


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

    def law(self) -> tuple[Floats, Floats]:
        share = self.weight / self.weight.sum()
        return self.loss - float(share @ self.loss), share


@final
@dataclass(frozen=True, slots=True)
class SampledGaussianCumulants:
    """One sampled Gaussian in one direction; values are kept by what determines them."""

    q: float
    mu: float
    sign: int  # +1: REMOVE, w = 1 + z;  -1: ADD, w = -z

    def _w(self, c: float) -> float:
        return 1 + c if self.sign > 0 else -c

    @functools.lru_cache(maxsize=1 << 14)  # noqa: B019  (few numbers each)
    def above(self, t: float) -> float:
        """Bound the cumulant at an order t > 0; infinite if it would need too many nodes."""
        w = self._w(t)
        if (22 + abs(w) * self.mu) * (50 + t) * max(1.0, self.mu) > _MOST_NODES:
            return math.inf
        nodes = self.nodes(t, 0.0)
        if nodes.error > 0.1:
            return math.inf
        value = nodes.scale + math.log(float(nodes.weight.sum()))
        high = max(value, 0.0) + 2 * nodes.error + 8 * UNIT * (1 + abs(value))
        return min(high, small_moment(self.q, self.mu, w)) if high < _SMALL else high

    def nodes(self, c: float, height: float) -> Nodes:
        """Lay the nodes out for the order c and heights up to the given one."""
        q, mu = self.q, self.mu
        w = self._w(c)
        b = min(3.0, (2.0 if self.sign > 0 else 1.0) / mu)
        bent = -c * math.log(math.cos(mu * b / 2)) if self.sign < 0 else 0.0
        need = 46.0 + b * b / 2 + height * mu * b + bent
        step = min(1 / 12, 2 * math.pi * b / need)
        quadrature = 3 * math.exp(need - 46.0 - 2 * math.pi * b / step)
        right = 11.0 + (w * mu if w > 0 else 0.0)
        left = 11.0 + (0.0 if w > 0 else -w * mu * min(1.0, q / (1 - q)) if q < 1 else -w * mu)
        y = np.arange(-math.ceil(left / step), math.ceil(right / step) + 1) * step
        x = mu * y - mu * mu / 2
        loss = sampled_loss(q, x)
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
        return Nodes(loss[keep], weight[keep], scale, error, slope)

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

    @functools.lru_cache(maxsize=256)  # noqa: B019  (bounded)
    def real(self, orders: tuple[float, ...]) -> tuple[Floats, Floats]:
        """Cumulants at real orders; infinite above the highest that is used."""
        value, error = np.full(len(orders), np.inf), np.zeros(len(orders))
        for i, c in enumerate(orders):
            if c <= _HIGHEST:
                nodes = self.nodes(c, 0.0)
                value[i] = nodes.scale + math.log(float(nodes.weight.sum()))
                error[i] = 2 * nodes.error + 8 * UNIT * (1 + abs(value[i]))
        return value, error

    @functools.lru_cache(maxsize=256)  # noqa: B019  (bounded)
    def line(self, c: float, spacing: float, count: int) -> tuple[Complexes, Floats]:
        """Cumulants at c + i j spacing for j below count, with error bounds."""
        heights = spacing * np.arange(count)
        nodes = self.nodes(c, float(heights[-1]))
        total = float(nodes.weight.sum())
        centered, share = nodes.law()
        center = float(share @ nodes.loss)
        phi = _characteristic(heights, self.sign * centered, share)
        base = nodes.scale + math.log(total)
        value = reduced(phi) + base + 1j * (self.sign * center) * heights
        rounding = UNIT * (4 * len(nodes.weight) + 64)  # of products and their sums
        wrong = 2 * nodes.error + nodes.slope * heights + rounding
        size = abs(base) + abs(center) * heights
        error = np.log1p(wrong / np.maximum(np.abs(phi), TINIEST)) + UNIT * (16 + 8 * size)
        return value, error + 2 * nodes.error

    @functools.lru_cache(maxsize=256)  # noqa: B019  (bounded)
    def decay(self, c: float) -> Decay:
        """Bound the tilted characteristic function at all heights."""
        return Decay.of(self, c)

    def cuts(self, c: float, nodes: Nodes, slack: float) -> tuple[Floats, Floats]:
        """Return the mass below many places, and the variation of the density of the loss beyond.

        The first place is far to the left, where nothing is cut off.  Between two places a
        density is at least the smaller end, and at most the larger one, up to its bend; so the mass
        beyond a place is at least a lower sum over what follows.
        """
        w, mu = self._w(c), self.mu
        y = np.arange(min(-mu, w * mu) - 1, max(-mu, w * mu) + 8, _FINE)
        x = mu * y - mu * mu / 2
        loss = sampled_loss(self.q, x)
        total = nodes.scale + math.log(float(nodes.weight.sum())) + math.log(2 * math.pi) / 2
        of_y = w * loss - y * y / 2 - total  # logarithms of densities: of y, and of the loss
        of_loss = of_y - (x + math.log(self.q) - loss) - math.log(mu)
        bend = _FINE**2 / 8 * (1 + (abs(w) + 1) * mu**2 / 4)
        cells = np.exp(np.minimum(of_y[1:], of_y[:-1]) - bend) * _FINE
        beyond = np.append(np.cumsum(cells[::-1])[::-1], 0.0) / slack
        density = np.exp(np.minimum(of_loss, 300.0))
        turns = np.append(np.cumsum(np.abs(np.diff(density))[::-1])[::-1], 0.0) + density[-1]
        peaks = np.maximum.accumulate(density[::-1])[::-1]
        missed = 6 * math.expm1(bend) * math.exp(bend) * peaks  # by three extremes in between
        variation = (density + turns + missed)[::_EVERY] * slack
        below = 1 - np.minimum(beyond[::_EVERY], 1.0)
        return np.append(0.0, below), np.append(variation[0], variation)


@final
@dataclass(frozen=True, slots=True)
class Decay:
    """A certified decreasing majorant of |phi|**2, on a grid of heights and beyond it.

    For the difference D of two independent losses |phi(s)|**2 = E cos(sD), with E D**2 = 2v.  So
    the second derivative is at most 2v, and values on cells of width g bound it up to v g**2 / 4.
    Far out key ``contour-rounding`` holds, for the best of many places.
    """

    heights: Floats
    sup: Floats
    cuts: tuple[Floats, Floats]

    @classmethod
    def of(cls, pair: SampledGaussianCumulants, c: float) -> Decay:
        nodes = pair.nodes(c, 0.0)
        loss, share = nodes.law()
        slack = 1 + _MOMENT_SLACK + 1e3 * nodes.error
        variance = float(share @ loss**2) * slack
        cuts = pair.cuts(c, nodes, slack)
        unit = 1 / math.sqrt(variance)
        most = _NODES * 2 * math.pi / ((22 + abs(pair._w(c)) * pair.mu) * pair.mu)  # noqa: SLF001
        last = min(2 * float(cuts[1][0]), _REACH * unit, most)
        count = int(min(_POINTS, max(64, last / (_APART * unit))))
        start = min(unit, last / 64)
        near = start * 1.06 ** np.arange(-160, 0)  # where compositions of many runs end
        s = np.concatenate([near, np.linspace(start, last, count)])
        loss, share = pair.nodes(c, last).law()
        square = np.abs(np.exp(1j * np.outer(s, loss)) @ share) ** 2 + _GRID_ERROR
        cell = np.maximum(square[1:], square[:-1]) + variance * np.diff(s) ** 2 / 4
        far = _far_out(cuts, s) ** 2
        pieces = np.append(np.minimum(cell, far[:-1]), far[-1])
        return cls(s, np.maximum.accumulate(pieces[::-1])[::-1], cuts)

    def log_bound(self, s: float) -> float:
        """Bound ln |phi| from a height on."""
        if s >= self.heights[-1]:
            return math.log(min(1.0, float(_far_out(self.cuts, np.array([s]))[0])))
        index = int(np.searchsorted(self.heights, s, side="right")) - 1
        return 0.5 * math.log(min(1.0, float(self.sup[index]))) if index >= 0 else 0.0


def _far_out(cuts: tuple[Floats, Floats], s: Floats) -> Floats:
    every = cuts[0][:, None] + cuts[1][:, None] / s
    return np.asarray(np.minimum(every.min(axis=0), 1.0))


def _characteristic(heights: Floats, values: Floats, weights: Floats) -> NDArray[np.complex128]:
    """Add up weights times e**(i h v), for evenly spaced heights.

    With h = g + f, g one of few coarse heights and f one of few fine ones, e**(i h v) is the
    product of e**(i g v) and e**(i f v): so few sines are needed, and a product of two matrices
    does the rest (docs/proofs/accounting.md, section 5, lines).
    """
    count = len(heights)
    width = math.isqrt(max(count - 1, 0)) + 1
    coarse = np.outer(heights[::width], values)
    fine = np.outer(heights[:width] - heights[0], values)
    left = (np.cos(coarse) + 1j * np.sin(coarse)) * weights
    right = np.cos(fine) + 1j * np.sin(fine)
    found: NDArray[np.complex128] = (left @ right.T).ravel()[:count]
    return found


@final
@dataclass(frozen=True, slots=True)
class SampledGaussianTransform(Transform):
    """A bundle of sampled Gaussians with counts."""

    items: tuple[tuple[SampledGaussianCumulants, int], ...]

    highest: ClassVar[float] = 1500.0

    @property
    def terms(self) -> int:
        return 64 * len(self.items)  # about as many as atoms that take as long

    def real(self, orders: Floats) -> tuple[Floats, Floats]:
        value, error = np.zeros(len(orders)), np.zeros(len(orders))
        for pair, n in self.items:
            own, wrong = pair.real(tuple(orders.tolist()))
            value, error = value + n * own, error + n * wrong
        return value, error

    def line(self, order: float, heights: Floats) -> CumulantLine:
        """Add up lines at heights that are evenly spaced from zero."""
        value: Complexes = np.zeros(len(heights), np.complex128)
        error = np.zeros(len(heights))
        for pair, n in self.items:
            own, wrong = pair.line(order, float(heights[1]), len(heights))
            value = value + n * own
            error = error + n * wrong + UNIT * n * (len(self.items) + 4) * np.abs(own)
        return CumulantLine(value, error)

    def decay(self, order: float, height: float) -> float:
        return sum(n * pair.decay(order).log_bound(height) for pair, n in self.items)


_FAR: Final = 300.0
_LARGEST_GROUP: Final = 1024  # whose parts are worked out one by one


class Direction(enum.Enum):
    """Which neighbor comes first: the one with the person, or the one without."""

    REMOVE = "remove"
    ADD = "add"


@final
@dataclass(frozen=True, slots=True)
class SampledPair(Pair):
    """A composition on a Poisson sample, seen from one direction."""

    inner: Composition
    rate: Fraction
    direction: Direction

    rare_losses: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 0 < self.rate <= 1:
            raise OutOfRange(
                "the rate of a sample is not above 0 and at most 1; give a rate above 0, at most 1."
            )

    def reverse(self) -> SampledPair:
        removed = self.direction is Direction.REMOVE
        return SampledPair(self.inner, self.rate, Direction.ADD if removed else Direction.REMOVE)

    def group(self, k: int) -> Pair:
        """Sample each of k units independently; all are removed, or all are added.

        With every a_j = a, key ``sampled-groups`` says that the mixture over how many are sampled
        is no larger than its part where all are: enough for groups that lose nearly everything.
        """
        if k == 1:
            return self
        if k > _LARGEST_GROUP:
            mixture = grouped(self.inner, k)
        else:
            mixture = sampled_group([grouped(self.inner, j) for j in range(1, k + 1)], self.rate)
        if self.direction is Direction.ADD:
            mixture = mixture.reverse()
        return as_one_pair(mixture)

    @property
    def square(self) -> Fraction | None:
        match self.inner.pairs:
            case ((GaussianPair(mu_squared=square), 1),) if self.inner.renyi is None:
                return square
        return None

    def profile(self, eps: float) -> Bracket:
        if eps > 600:  # the profile falls, and exponentials overflow
            return Bracket(0.0, self.profile(600.0).high)
        low, high = self._profiles(np.array([eps]))
        return Bracket.within(float(low[0]), float(high[0]), ceil=1.0)

    def factors(self) -> tuple[Pair, ...]:
        """Let a leak of the inner composition through, with probability q."""
        inner, leak = self.inner.without_leak()
        if not leak:
            return (self,)
        sampled = SampledPair(inner, self.rate, self.direction)
        return sampled, ResponsePair(Fraction(0), self.rate * leak)

    def cumulant(self, t: float) -> float:
        """Bound ln E[e**(tL); L < inf], by convexity in the rate and between integer orders.

        That is enough for the engines, which ask it where to look; ``log_moment`` is closer.
        """
        if self.direction is Direction.ADD:
            return added_moment(self.rate, self.inner.reverse().log_moment, t)
        value = sampled_cumulant(self.inner, self.rate, t)
        return min(value, t * self.largest() * (1 + 2 * UNIT))

    def log_moment(self, t: float) -> float:
        """Bound ln E e**(tL); infinite if a loss is, unless the inner one knows a curve.

        By quadrature, if the inner composition is a Gaussian; by the table, if it is another single
        release and integer orders do not tell as much.
        """
        removed = self.direction is Direction.REMOVE
        if self.infinity().high:
            return removed_moment(self.rate, self.inner.log_moment, t) if removed else math.inf
        value = self._quadrature(t)
        if math.isfinite(value):
            return value
        value = self.cumulant(t)
        alone = self.inner.renyi is None and sum(count for _, count in self.inner.pairs) == 1
        if not alone or self.rate >= NEARLY_ALL or (removed and t == int(t)):
            return value
        return min(value, self._from_table(t))

    def _from_table(self, t: float) -> float:
        """Add up the table, and bound what is beyond it by integer orders; none does if added."""
        table, largest = self._table(), self.largest()
        value, last = table.cumulant(t, 0.0)
        if self.direction is Direction.ADD or last >= largest:
            return value
        end = float(table.forward.value[-1]), largest
        rest = beyond_table(lambda s: sampled_cumulant(self.inner, self.rate, s), t, last, end)
        value = float(np.logaddexp(value, rest))
        return value + LOG_MARGIN * (1 + abs(value))

    def _quadrature(self, t: float) -> float:
        """Bound the cumulant of a sampled Gaussian; it grows with the rate and with mu."""
        square, rate = self.square, float_up(self.rate)
        if square is None or square < FAINTEST or rate >= 1:
            return math.inf
        raised = float_up(square) * (1 + 4 * UNIT)  # so that the root is not below mu
        sign = 1 if self.direction is Direction.REMOVE else -1
        return SampledGaussianCumulants(rate, math.sqrt(raised), sign).above(t)

    def infinity(self) -> Bracket:
        """Removing shows an infinite inner loss with probability q; adding never does."""
        if self.direction is Direction.ADD:
            reach = 0.0 if self.rate < 1 else self.inner.reverse().infinity().high
            return Bracket(0.0, reach)
        inner = self.inner.infinity()
        low, high = float_down(self.rate) * inner.low, float_up(self.rate) * inner.high
        return Bracket(low * (1 - 2 * UNIT), high * (1 + 2 * UNIT))

    def largest(self) -> float:
        """Apply the map of the rate to the largest inner loss; adding makes it finite."""
        if self.direction is Direction.ADD:
            other = self.inner.reverse()
            inner = math.inf if other.infinity().high else other.largest()
            return added_loss(self.rate, inner, up=True)
        return removed_loss(self.rate, self.inner.largest(), up=True)

    def largest_below(self) -> float:
        """Apply the map of the rate to an inner loss that is reached."""
        if self.direction is Direction.ADD:
            other = self.inner.reverse()
            inner = math.inf if other.infinity().low else other.largest_below()
            return added_loss(self.rate, max(inner, 0.0), up=False)
        inner = self.inner.largest_below()
        return removed_loss(self.rate, inner, up=False) if inner > 0 else inner

    def growth(self) -> MomentGrowth | None:
        inner = self.inner if self.direction is Direction.REMOVE else self.inner.reverse()
        return growth(inner)

    def closed_form(self) -> ProfileCurve | None:
        """Map the inner profile; a list is quicker if that has no closed form."""
        simple = self.inner.largest() <= _FAR and self.inner.has_closed_form
        if not simple and self.atoms() is not None:
            return None
        return lambda eps: self._without_infinity(self.profile(eps))

    def atoms(self) -> Atoms | None:
        return _listed(self)

    def finite_parts(self, eps: Floats) -> tuple[Floats, Floats] | None:
        """Map the inner profile, or read the table of what runs on the sample."""
        if self.square is None:
            return self._table().finite_parts(eps, self.infinity())
        return self._profiles(eps)

    def grain(self) -> Fraction | None:
        return Fraction(0) if self.square is not None else None

    def _profiles(self, eps: Floats) -> tuple[Floats, Floats]:
        """Bound the profile at many points from both sides."""
        mapped = removed_profile if self.direction is Direction.REMOVE else added_profile
        return mapped(float(self.rate), eps, self._inner)

    def _inner(self, eps: Floats, slack: Floats) -> tuple[Floats, Floats]:
        """Bound the inner profile between eps - slack and eps + slack."""
        square = self.square
        if square is not None:
            value, error = gaussian_deltas(float(square), eps - slack)
            lower, wrong = gaussian_deltas(float(square), eps + slack)
            return lower - wrong, value + error
        ends = [
            (self.inner.delta(float(e + s)).low, self.inner.delta(float(e - s)).high)
            for e, s in zip(eps, slack, strict=True)
        ]
        both = np.array(ends)
        return both[:, 0], both[:, 1]

    def _table(self) -> ProfileTable:
        """Map the polygons around the inner profile; a rate of nearly 1 is taken for 1."""
        mapped = _sampled_table(self.inner, self.rate)
        return mapped if self.direction is Direction.REMOVE else mapped.reverse()

    def above(self, step: Fraction) -> PrivacyLossDistribution | None:
        if self.square is None:
            return self._table().above(step, self.infinity())
        return Pair.above(self, step)

    def below(self, step: Fraction) -> PrivacyLossDistribution | None:
        if self.square is None:
            return self._table().below(step, self.infinity()) if self.rate < NEARLY_ALL else None
        return Pair.below(self, step)

    @classmethod
    def transform_of(cls, pairs: Sequence[tuple[Self, int]]) -> Transform | None:
        """Gather sampled Gaussians; other samples go to the lattice."""
        items = []
        for pair, count in pairs:
            square = pair.square
            if square is None or square < FAINTEST or pair.rate == 1:
                return None
            sign = 1 if pair.direction is Direction.REMOVE else -1
            mu = math.sqrt(float(square))
            items.append((SampledGaussianCumulants(float(pair.rate), mu, sign), count))
        return SampledGaussianTransform(tuple(items))


@functools.lru_cache(maxsize=128)
def _sampled_table(inner: Composition, rate: Fraction) -> ProfileTable:
    table = table_of_composition(inner)
    return table.sampled(rate) if rate < NEARLY_ALL else table


_UNSURE: Final = 1e-13  # of a probability


def sampled_list(
    rate: Fraction, forward: Atoms | None, backward: Atoms, never: Bracket
) -> Atoms | None:
    """List the losses of a Poisson sample, from those of the inner pair (P, Q) and of (Q, P).

    Removal draws from P with probability q and else from Q, and loses ln(1 - q + q e**x) if P
    loses x to Q; ``forward`` lists P.  Addition (without ``forward``) draws from Q and loses the
    negative of that.  ``never`` is the probability under Q of what P never shows: x is minus
    infinity. The map has a slope of at most 1 in x, so drifts hold; its argument errs by 24 units,
    which count 1/(1 - q) times at most.
    """
    q = float(rate)
    if not 1e-12 < q < 1 - 1e-6 or never.width > _UNSURE * never.high:
        return None
    share = 1.0 if forward is None else 1 - q
    parts = [(-backward.losses, backward.mass * share)]
    if forward is not None:
        parts.append((forward.losses, forward.mass * q))
    if never.high:
        parts.append((np.array([-math.inf]), np.array([never.high * share])))
    inner, mass = (np.concatenate(each) for each in zip(*parts, strict=True))
    losses = sampled_loss(q, inner)
    lists = [backward] if forward is None else [forward, backward]
    error = max(_UNSURE if never.high else 0.0, *(each.error for each in lists)) + 16 * UNIT
    drift = max(each.drift for each in lists)
    drift += UNIT * (32 / (1 - q) + 32 * float(np.abs(losses).max()))
    missing = sum(each.missing for each in lists) * (1 + 4 * UNIT)
    return Atoms.merged(
        -losses if forward is None else losses, mass, error=error, drift=drift, missing=missing
    )


@functools.lru_cache(maxsize=128)
def _listed(pair: SampledPair) -> Atoms | None:
    other = pair.inner.reverse()
    removed = pair.direction is Direction.REMOVE
    if pair.inner.renyi is not None:
        return None
    forward = listed_product(pair.inner.pairs) if removed else None
    backward = listed_product(other.pairs) if forward is not None or not removed else None
    return backward and sampled_list(pair.rate, forward, backward, other.infinity())


def poisson_sample(
    compositions: Iterable[Composition], rate: Fraction, *, removed: bool
) -> tuple[Composition, ...]:
    """Mix each pair with its second distribution; a unit is removed, or added."""
    pairs = (
        SampledPair(composition, rate, Direction.REMOVE)
        if removed
        else SampledPair(composition.reverse(), rate, Direction.ADD)
        for composition in compositions
    )
    return tuple(dict.fromkeys(Composition(((pair, 1),)) for pair in pairs))
