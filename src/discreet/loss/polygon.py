"""Profiles that are straight between ratios: polygons, and bounds on one side of a profile.

Trust: kernel.

Definition.  A polygon has nodes (x_j, v_j) with rising x and falling v.  Between two nodes it is
straight in a = e**x; after the last one it is constant.

Theorem (key ``dots``; Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022).  A profile h is convex
in a, so between two points it is below the chord, and outside a cell above the chord of the cell.
Hence leaving out a node keeps an upper polygon above h; and in each cell h is above the chords
of both neighboring cells, drawn on until they meet.  The convex hull of those meeting points and
of lower bounds at the nodes is below h.  Every function that is convex, falls from 1 at 0 and is
nowhere below (1 - a)+ is the profile of a pair.

Knots are added where the upper and the lower polygon are far apart, measured in epsilon: a gap g at
height v moves an answer by about g / (v s), where s is how fast ln v falls.

A curve bounds the profile by h(a) = min over orders of C(t) e**(K(t)) a**-t for a >= 1 (key
``renyi-to-approximate``), and by 1 - a + a h(1/a) for a < 1.  Composing the largest profile that it
allows with a product of pairs bounds the whole, however the parts are interleaved (Vadhan and Zhang
2023; the pairs' answers can be drawn up front).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, Self, final

import numpy as np
from numpy.typing import NDArray

from discreet.exact import float_down, float_up
from discreet.loss.dots import Floats, PrivacyLossDistribution, above_points, below_points
from discreet.loss.moments import MomentBound, RenyiCurve, moment_deltas
from discreet.loss.pair import Pair
from discreet.loss.rounding import (
    CHORD_MARGIN,
    NODE_MARGIN,
    TINIEST,
    UNIT,
    Bracket,
)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Polygon:
    """Nodes of a falling function on x >= x_0, straight in e**x between them."""

    x: Floats
    value: Floats

    def at(self, eps: Floats) -> Floats:
        """Interpolate, within 100 units in the last place; left of the first node, its value."""
        if len(self.x) == 1:
            return np.full(len(eps), self.value[0])
        j = np.clip(np.searchsorted(self.x, eps, side="right") - 1, 0, len(self.x) - 2)
        gap = self.x[j + 1] - self.x[j]
        along = np.clip(eps - self.x[j], 0.0, gap)
        left, right = _shares(along, gap)
        return np.asarray(self.value[j] * left + self.value[j + 1] * right)

    def slopes(self) -> Floats:
        """Return how steeply the function falls in a on each cell."""
        return np.asarray(
            (self.value[:-1] - self.value[1:]) * np.exp(-self.x[:-1]) / np.expm1(np.diff(self.x))
        )

    @classmethod
    def hull(cls, x: Floats, value: Floats) -> Self:
        """Leave out every node that does not be below the chord of its neighbors."""
        kept = _lower_hull(x, value)
        return cls(x[kept], value[kept])

    def scaled(self, factor: float) -> Polygon:
        return Polygon(self.x, np.minimum(self.value * factor, 1.0))


def _shares(along: Floats, gap: Floats) -> tuple[Floats, Floats]:
    """Return the weights of both ends of a cell of width ``gap``, at a distance from its start."""
    return np.expm1(along - gap) / np.expm1(-gap), np.exp(along - gap) * (
        np.expm1(-along) / np.expm1(-gap)
    )


def _lower_hull(x: Floats, value: Floats) -> NDArray[np.intp]:
    """Return the nodes of the lower convex hull in e**x, by one scan."""
    xs, values = x.tolist(), value.tolist()
    kept: list[int] = []
    for new in range(len(xs)):
        while len(kept) > 1 and not _bends(xs, values, kept[-2], kept[-1], new):
            kept.pop()
        kept.append(new)
    return np.array(kept)


def _bends(x: list[float], value: list[float], left: int, middle: int, right: int) -> bool:
    """Return True if the middle node is below the chord of the other two."""
    gap, along = x[right] - x[left], x[middle] - x[left]
    whole = math.expm1(-gap)
    near, far = math.expm1(along - gap) / whole, math.exp(along - gap) * math.expm1(-along) / whole
    return value[middle] < value[left] * near + value[right] * far


def _crossings(x: Floats, low: Floats, high: Floats, first: float) -> tuple[Floats, Floats, Floats]:
    """Return where the neighbors' chords meet in each cell, how low, and how far the cell sags."""
    gap = np.diff(x)
    width = np.expm1(gap)  # of a cell, in units of its left ratio
    before = -np.expm1(-gap)  # the same in units of its right ratio
    steep = np.append(first, (high[:-2] - low[1:-1]) / before[:-1])
    flat = np.append(np.maximum(low[1:-1] - high[2:], 0.0) / width[1:] * np.exp(-gap[:-1]), 0.0)
    left, right = low[:-1], low[1:]
    room = np.maximum(steep - flat, TINIEST)
    where = np.clip((left - right - flat * width) / room, 0.0, width)
    bottom = np.maximum(left - steep * where, right + flat * (width - where))
    moved = 8 * UNIT * (1 + x[1:]) * steep + 64 * UNIT * left  # where its place is rounded to
    bottom = np.maximum(bottom - moved, right * (1 - NODE_MARGIN))
    share = where / width
    sag = high[:-1] * (1 - share) + high[1:] * share - bottom
    return where, bottom, sag


def floor_under(
    x: Floats, low: Floats, high: Floats, *, first: float = 1.0
) -> tuple[Polygon, Floats]:
    """Return a polygon below every profile within the bounds, and how far each cell sags.

    The bounds hold at the nodes x, from x_0 = 0 on; ``first`` is the most by which the profile
    falls there per unit of a, which is 1 for every profile.
    """
    where, bottom, sag = _crossings(x, low, high, first)
    places = np.concatenate([x, x[:-1] + np.log1p(where)])
    bounds = np.concatenate([low, bottom])
    order = np.lexsort((bounds, places))
    places, bounds = places[order], bounds[order]
    lowest = np.append(True, np.diff(places) > 0)  # of the nodes at one place
    places, bounds = places[lowest], bounds[lowest]
    below = Polygon.hull(places, bounds)
    with np.errstate(divide="ignore", invalid="ignore"):
        over = np.nan_to_num(below.at(places) / bounds, nan=1.0, posinf=1.0)
    return below.scaled((1 - NODE_MARGIN) / max(1.0, float(over.max()))), sag


Bounds = Callable[[Floats], tuple[Floats, Floats]]
"""Bounds of a profile from below and from above, at rising eps >= 0."""

_UNCOUNTED: Final = 1e-40  # what is left beyond counts as infinite (section 12)
_FAR: Final = 300.0
_FAR_STEPS: Final = 60  # from 2**-20 by factors of 1.4
_START: Final = 24
_MOST_KNOTS: Final = 4096
_TOLERANCE: Final = 6e-6
_NOISE: Final = 1e-4  # a wider bracket is not noise: its lower end is about something else


@final
@dataclass(frozen=True, slots=True, eq=False)
class HalfProfile:
    """Bounds of a falling profile at some eps >= 0, the first of them 0.

    An ``upper_only`` side has no bounds from below: its profile is what joins the upper ones.
    """

    x: Floats
    low: Floats
    high: Floats
    upper_only: bool = False

    @classmethod
    def of_nodes(cls, x: Floats, value: Floats) -> HalfProfile:
        return cls(x, value, np.minimum(value, 1.0), upper_only=True)

    def ceiling(self) -> Polygon:
        return Polygon.hull(self.x, self.high).scaled(1 + CHORD_MARGIN)

    def floor(self, other: HalfProfile) -> Polygon:
        """Draw a polygon below; the other side says how steeply the profile can fall at 1."""
        if self.upper_only or len(self.x) == 1:
            return Polygon.hull(self.x, self.low).scaled(1 - CHORD_MARGIN)
        first = 1.0
        if len(other.x) > 1:  # the slope of the last chord before 1
            gap = -math.expm1(-float(other.x[1]))
            left = gap + math.exp(-float(other.x[1])) * float(other.high[1])
            first = min(1.0, (left - float(self.low[0])) / gap * (1 + CHORD_MARGIN))
        return floor_under(self.x, self.low, self.high, first=first)[0]


def tabulated_profile(
    bounds: Bounds, *, largest: float, infinite: float, tolerance: float = _TOLERANCE
) -> HalfProfile:
    """Evaluate bounds where the polygons are farther apart than is tolerated.

    ``largest`` bounds the finite losses, ``infinite`` is the mass of infinite ones.
    """
    end = _end(bounds, largest, infinite)
    x = np.linspace(0.0, end, _START + 1) if end else np.zeros(1)
    low, high = bounds(x)
    while len(x) > 1:
        low, high = np.maximum.accumulate(low[::-1])[::-1], np.minimum.accumulate(high)
        excess = _excess(x, low, high, infinite)
        wide = np.argsort(excess)[::-1][
            : min(int((excess > tolerance).sum()), _MOST_KNOTS - len(x))
        ]
        if not len(wide):
            break
        fresh = np.sort((x[wide] + x[wide + 1]) / 2)
        more = bounds(fresh)
        order = np.argsort(np.concatenate([x, fresh]), kind="stable")
        x = np.concatenate([x, fresh])[order]
        low = np.concatenate([low, more[0]])[order]
        high = np.concatenate([high, more[1]])[order]
    return HalfProfile(x, low, high)


def _end(bounds: Bounds, largest: float, infinite: float) -> float:
    """Return an epsilon beyond which next to nothing is left."""
    far = min(largest, _FAR)
    x = np.minimum(2.0**-20 * 1.4 ** np.arange(_FAR_STEPS), far)
    left = bounds(x)[1] - infinite
    deep = np.flatnonzero(left <= max(_UNCOUNTED, NODE_MARGIN * infinite))
    return float(x[deep[0]]) if len(deep) else far


def _excess(x: Floats, low: Floats, high: Floats, infinite: float) -> Floats:
    """Return how far apart the polygons are in each cell, in units of what counts there."""
    first = 1.5 * (high[0] - high[1]) / math.expm1(x[1])  # a guess: the other side knows
    sag = _crossings(x, high, high, min(1.0, first))[2]  # upper bounds are what counts
    left, right = high[:-1] - infinite, high[1:] - infinite
    gap = np.diff(x)
    depth = np.maximum(1.0, (1e-5 / np.maximum(left, TINIEST)) ** 0.25)  # rarely met
    size = depth * ((left + right) / 2 + x[1:] * (left - right) / gap)
    noise = np.minimum(2 * ((high - low)[:-1] + (high - low)[1:]), _NOISE * left)
    apart = gap > 2**12 * UNIT * (1 + x[1:])
    useful = apart & (left > 0) & (sag > noise)
    return np.where(
        useful,
        np.maximum(sag / np.maximum(size, TINIEST), 4e-5 * sag / np.maximum(left, TINIEST)),
        0.0,
    )


_SHALLOW: Final = 1e-20  # what is beyond on the left moves up: almost unnoticed


_NOWHERE: Final = -700.0  # where a = e**eps is next to zero, and a profile is 1


@final
@dataclass(frozen=True, slots=True, eq=False)
class ProfileTable:
    """Polygons above h_PQ (``forward``) and h_QP (``backward``), and polygons below them."""

    forward: Polygon
    backward: Polygon
    floor_forward: Polygon
    floor_backward: Polygon
    atoms: tuple[Floats, Floats]  # of the upper polygons: logarithms of masses under P, and losses

    @classmethod
    def of(cls, forward: HalfProfile, backward: HalfProfile) -> ProfileTable:
        """Draw both sides, and cut the upper corner at 1 off, if there is one."""
        right, left = _bridged(forward.ceiling(), backward.ceiling())
        atoms = _atoms(right, left)
        if forward.upper_only:
            low = right.scaled(1 - 4 * CHORD_MARGIN), left.scaled(1 - 4 * CHORD_MARGIN)
        else:
            low = forward.floor(backward), backward.floor(forward)
        return cls(right, left, *low, atoms)

    def reverse(self) -> ProfileTable:
        mass, losses = self.atoms
        return ProfileTable(
            self.backward,
            self.forward,
            self.floor_backward,
            self.floor_forward,
            (mass - losses, -losses),
        )

    def sampled(self, rate: Fraction) -> ProfileTable:
        """Map the table of (P, Q) to that of ((1-q)Q + qP, Q), for 0 < q < 1.

        By key ``poisson-sampling`` the ratio a becomes 1 - q + qa and h becomes qh, so lines stay
        lines; reversed, the ratio b becomes b / (q + (1-q)b) and r becomes q r / (q + (1-q)b), and
        nothing is left at 1/(1-q).
        """
        right = _removed(self.forward, rate, up=True), _added(self.backward, rate, up=True)
        left = (
            _removed(self.floor_forward, rate, up=False),
            _added(self.floor_backward, rate, up=False),
        )
        return ProfileTable(*right, *left, _atoms(*right))

    def upper(self, eps: Floats) -> Floats:
        right, left = self.forward.at(np.maximum(eps, 0.0)), self.backward.at(-eps)
        value = np.where(eps >= 0, right, _mirrored(eps, left))
        return np.minimum(value * (1 + CHORD_MARGIN), 1.0)

    def lower(self, eps: Floats) -> Floats:
        """Bound h_PQ(e**eps) from below, by a convex function of e**eps on each side of 1."""
        right, left = self.floor_forward.at(np.maximum(eps, 0.0)), self.floor_backward.at(-eps)
        return np.asarray(np.where(eps >= 0, right, _mirrored(eps, left)) * (1 - CHORD_MARGIN))

    def finite_parts(self, eps: Floats, infinite: Bracket) -> tuple[Floats, Floats]:
        """Bound h_PQ(e**eps) without the mass of infinite losses, from both sides."""
        low = self.lower(eps) * (1 - UNIT) - infinite.high * (1 + UNIT)
        high = self.upper(eps) * (1 + UNIT) - infinite.low * (1 - UNIT)
        return np.maximum(low, 0.0), np.maximum(high, 0.0)

    def cumulant(self, t: float, infinite: float) -> tuple[float, float]:
        """Bound ln E_P[e**(tL); L < inf] as far as the table goes, and give its last finite loss.

        With D = h - infinite, the moment is t (t+1) times the integral of a**(t-1) D(a).  Chords
        are the profile of atoms; what they leave at the last node counts up to that node.
        """
        mass, losses = self.atoms
        last = float(self.forward.x[-1])
        over = max(float(self.forward.value[-1]) - infinite, 0.0)
        rest = math.log(over * (t + 1)) + t * last if over else -math.inf
        terms = mass + t * losses
        top = max(float(terms.max()), rest)
        total = top + math.log(float(np.exp(terms - top).sum()) + math.exp(rest - top))
        reach = t * float(np.abs(losses).max())
        return total + UNIT * (len(terms) + 64 + 32 * (abs(top) + reach)), last

    def above(self, step: Fraction, infinite: Bracket) -> PrivacyLossDistribution | None:
        """Connect the dots of the upper polygon on a lattice."""
        known = infinite.low * (1 - UNIT)

        def upper(x: Floats) -> Floats:
            return np.asarray(np.maximum(self.upper(x) - known, 0.0) * (1 + UNIT))

        law = above_points(upper, self._ends(), step, total=1.0 - known)
        return law and replace(law, infinite=(law.infinite + infinite.high) * (1 + UNIT))

    def below(self, step: Fraction, infinite: Bracket) -> PrivacyLossDistribution | None:
        """Connect the dots of the lower polygons, lowered where they bend between points."""
        right, left = self.floor_forward, self.floor_backward
        places = np.concatenate([[_NOWHERE], -left.x[:0:-1], right.x])
        values = np.concatenate([[1.0], _mirrored(places[1 : len(left.x)], left.value[:0:-1])])
        hull = Polygon.hull(places, np.append(values, right.value))
        end = float(right.value[-1]) * (1 - CHORD_MARGIN) - infinite.high * (1 + CHORD_MARGIN)
        left_over = max(end, 0.0)  # beyond the last node

        def bounds(x: Floats) -> tuple[Floats, Floats]:
            whole = hull.at(x)
            wrong = 2 * CHORD_MARGIN * whole
            value = whole * (1 - CHORD_MARGIN) - infinite.high * (1 + CHORD_MARGIN)
            value = np.maximum(value - left_over, 0.0)
            return np.maximum(value - wrong, 0.0), value + wrong

        law = below_points(bounds, self._ends(), (1 - infinite.high) * (1 - CHORD_MARGIN), step)
        return law and replace(law, infinite=infinite.low)

    def _ends(self) -> tuple[float, float]:
        left = self.backward
        deep = np.flatnonzero(left.value - left.value[-1] > _SHALLOW)
        low = float(left.x[min(deep[-1] + 1, len(left.x) - 1)]) if len(deep) else 0.0
        return -low, float(self.forward.x[-1])


def _mirrored(eps: Floats, other: Floats) -> Floats:
    """Return 1 - a + a h(1/a) at a = e**eps <= 1."""
    under = np.minimum(eps, 0.0)
    return np.asarray(np.exp(under) * other - np.expm1(under))


def _removed(side: Polygon, rate: Fraction, *, up: bool) -> Polygon:
    """Map a polygon on a >= 1 to 1 + q(a - 1), with values and places rounded up, or down."""
    sign = 64 * UNIT if up else -64 * UNIT
    x = np.log1p(float(rate) * np.expm1(side.x)) * (1 + sign)
    return _distinct(x, side.value * float(rate) * (1 + sign), up=up)


def _added(side: Polygon, rate: Fraction, *, up: bool) -> Polygon:
    """Map a polygon on b >= 1 to b / (q + (1-q)b), with values and places rounded."""
    q, sign = float(rate), 64 * UNIT if up else -64 * UNIT
    y = q * np.expm1(-side.x)  # b' = 1 / (1 + y)
    x = -np.log1p(y) * (1 + sign / (1 + y))
    value = side.value * q * np.exp(-side.x) / (1 + y) * (1 + sign / (1 - q))
    end = -math.log1p(-q) * (1 + sign / (1 - q))
    if up:
        return _distinct(np.append(x, end), np.append(value, 0.0), up=up)
    kept = x < end
    return _distinct(np.append(x[kept], end), np.append(value[kept], 0.0), up=up)


def _distinct(x: Floats, value: Floats, *, up: bool) -> Polygon:
    """Keep rising places: of equal ones the last value from above, or the first."""
    order = np.argsort(x, kind="stable")
    x, value = x[order], np.minimum.accumulate(value[order])
    apart = np.diff(x) > 0
    kept = np.append(apart, True) if up else np.append(True, apart)
    if not up:
        value = np.minimum.reduceat(value, np.flatnonzero(kept))
        return Polygon.hull(x[kept], value)
    return Polygon.hull(x[kept], value[kept])


def _atoms(right: Polygon, left: Polygon) -> tuple[Floats, Floats]:
    """Return the atoms of upper polygons: changes of slope are masses, what is left is at 1."""
    falls, rises = np.append(right.slopes(), 0.0), np.append(left.slopes(), 0.0)
    rest = max(1 - float(right.value[0] + falls[0] + rises[0]), 0.0) + 8 * UNIT
    with np.errstate(divide="ignore"):
        forward = np.log(np.maximum(-np.diff(falls), 0.0)) + right.x[1:]
        backward = np.log(np.maximum(-np.diff(rises), 0.0))
    return (
        np.concatenate([forward, backward, [math.log(rest)]]),
        np.concatenate([right.x[1:], -left.x[1:], [0.0]]),
    )


def _bridged(right: Polygon, left: Polygon) -> tuple[Polygon, Polygon]:
    """Draw the line below an upper corner at 1, and give the parts of both sides that are left."""
    value = min(float(right.value[0]), float(left.value[0]))
    right = Polygon(right.x, np.minimum(right.value, value))
    left = Polygon(left.x, np.minimum(left.value, value))
    if min(len(right.x), len(left.x)) == 1 or not _above(left, 1, right, 0):
        return right, left
    i, j = 1, 1  # nodes at which the line across ends, on the right and on the left
    while True:
        if i + 1 < len(right.x) and _above(left, j, right, i):
            i += 1
        elif j + 1 < len(left.x) and _above(right, i, left, j):
            j += 1
        else:
            break
    a, b = math.exp(float(right.x[i])), math.exp(-float(left.x[j]))
    low = b * float(left.value[j]) - math.expm1(-float(left.x[j]))
    share = (1 - b) / (a - b)
    value = min(value, (low * (1 - share) + float(right.value[i]) * share) * (1 + CHORD_MARGIN))
    return _cut(right, i, value), _cut(left, j, value)


def _above(other: Polygon, j: int, side: Polygon, i: int) -> bool:
    """Return True if node i of a side is above the line from node j of the other to node i + 1."""
    b = math.exp(-float(other.x[j]))
    low = b * float(other.value[j]) - math.expm1(-float(other.x[j]))  # seen from this side
    a, c = math.exp(float(side.x[i])), math.exp(float(side.x[i + 1]))
    share = (a - b) / (c - b)
    return float(side.value[i]) > low * (1 - share) + float(side.value[i + 1]) * share


def _cut(side: Polygon, start: int, value: float) -> Polygon:
    """Begin at ratio 1 with a value, then go on from a node."""
    return Polygon(np.append(0.0, side.x[start:]), np.append(value, side.value[start:]))


_REACH: Final = 300.0  # of a curve on a lattice: e**-300 is below every delta


@final
@dataclass(frozen=True, slots=True)
class RenyiPart(Pair):
    """A curve that joins the lattice from above; nothing is known from below."""

    renyi: RenyiCurve

    def group(self, k: int) -> RenyiPart | None:
        return self if k == 1 else None

    def largest(self) -> float:
        return _REACH

    def above(self, step: Fraction) -> PrivacyLossDistribution | None:
        """Connect the dots, as far as what is left beyond them counts."""
        limit = math.inf if self.renyi.limit is None else float_down(self.renyi.limit - 1)
        end = MomentBound(self.renyi.log_moment, limit).epsilon(_UNCOUNTED)
        reach = min(_REACH, max(1.0, end))
        return above_points(lambda x: self.finite_parts(x)[1], (-reach, reach), step)

    def finite_parts(self, eps: Floats) -> tuple[Floats, Floats]:
        """Bound what the curve allows at many real eps, by the best order of each."""
        known = zip(self.renyi.orders, self.renyi.values, strict=True)
        orders = np.array([float_down(order - 1) for order in self.renyi.orders])
        moments = np.array([float_up((order - 1) * value) for order, value in known])
        high = moment_deltas(float_up(self.renyi.rho), orders, moments, np.abs(eps))
        mirrored = _mirrored(eps, high) * (1 + NODE_MARGIN)
        return np.zeros(len(eps)), np.minimum(np.where(eps >= 0, high, mirrored), 1.0)

    def below(self, step: Fraction) -> None:  # noqa: ARG002  (a curve bounds from above only)
        return None
