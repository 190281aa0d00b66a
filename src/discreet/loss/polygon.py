"""Profiles that are straight between ratios: polygons, and bounds on one side of a profile.

Trust: kernel.

Definition.  A polygon has nodes (x_j, v_j) with rising x and falling v.  Between two nodes it is
straight in a = e**x; after the last one it is constant.

Theorem (key ``dots``; Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022).  A profile h is convex
in a, so between two points it lies below the chord, and outside a cell above the chord of the cell.
Hence leaving out a node keeps an upper polygon above h; and in each cell h lies above the chords
of both neighboring cells, drawn on until they meet.  The convex hull of those meeting points and
of lower bounds at the nodes lies below h.

One side of a profile, the ratios from 1 on, lies between the chords through upper bounds and the
polygon of ``floor_under``, wherever knots are placed. Knots are added where the two are far apart,
measured in epsilon: a gap g at height v moves an answer by about g / (v s), where s is how fast ln
v falls.

Privacy loss distributions on a lattice, from a profile at its points or from a Rényi curve.

Theorem (key ``connect-the-dots``).  h(a) = delta(ln a) is convex and falls from h(0) = 1.  Straight
lines between its values at the lattice are the profile of a distribution on the lattice that bounds
h from above.  On one cell h lies above the extensions of the chords of both neighboring cells;
lowering the values at both ends by the largest gap between chord and extensions gives lines below
h. A distribution with slopes s_k on [a_k, a_{k+1}] has Q-masses s_{k-1} - s_k.  Raising slopes
(from the right) or lowering them (from the left) until they are ordered keeps the side of the
bound, and so does a line below a corner that points up.

Values and slopes come with brackets, so rounding is on the safe side throughout
(docs/proofs/accounting.md, section 6).

Theorem (key ``renyi-to-approximate``).  A curve bounds the profile by h(a) = min over orders of
C(t) e**(K(t)) a**-t for a >= 1, and by 1 - a + a h(1/a) for a < 1, in both directions.  Composing
the largest profile that a curve allows with a product of pairs bounds the whole, however the parts
are interleaved (Vadhan and Zhang 2023; the pairs' answers can be drawn up front).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final, Self, final

import numpy as np
from numpy.typing import NDArray

from discreet.exact import float_down, float_up
from discreet.loss.moments import RenyiCurve, log_constant, moment_deltas
from discreet.loss.pair import LARGEST_PLACE, Floats, PrivacyLossDistribution
from discreet.loss.rounding import (
    CHORD_MARGIN,
    CUT_MARGIN,
    MOMENT_MARGIN,
    NODE_MARGIN,
    TINIEST,
    UNIT,
)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Polygon:
    """Nodes of a falling function on x >= x_0, straight in e**x between them.

    >>> line = Polygon(np.array([0.0, 1.0]), np.array([1.0, 0.0]))
    >>> round(float(line.at(np.array([np.log(1.5)]))[0]), 6)
    0.709012
    """

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
        """Leave out every node that does not lie below the chord of its neighbors."""
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
    """Return True if the middle node lies below the chord of the other two."""
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
        """Draw a polygon below; the other side tells how steeply the profile can fall at 1."""
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

    >>> side = tabulated_profile(lambda x: (np.exp(-x) / 2, np.exp(-x) / 2), largest=2.0,
    ...     infinite=0.0)
    >>> 20 < len(side.x) < 2048
    True
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


_ROUNDS: Final = 60


def knots(low: float, high: float, step: Fraction) -> tuple[int, Floats]:
    """Cover [low, high] by lattice points, with one to spare on each side."""
    start = math.floor(Fraction(low) / step) - 1
    count = math.ceil(Fraction(high) / step) + 2 - start
    return start, (start + np.arange(count)) * float(step)


def above_knots(
    start: int, x: Floats, upper: Floats, step: Fraction, total: float = 1.0
) -> PrivacyLossDistribution:
    """Connect upper values at the knots; what is left at the last one counts as infinite.

    ``total`` is at least the value at a = 0: 1, or less for the finite part of a profile.
    """
    a, rise = np.exp(x), math.expm1(float(step))
    slopes = (upper[:-1] - upper[1:]) / (a[:-1] * rise)
    slopes = np.maximum.accumulate(np.maximum(slopes, 0.0)[::-1])[::-1] * (1 + 8 * UNIT)
    mass = np.empty(len(x))
    mass[1:-1] = a[1:-1] * (slopes[:-1] - slopes[1:])
    mass[-1] = a[-1] * slopes[-1]
    mass[0] = max(total - float(upper[0]) - float(a[0] * slopes[0]), 0.0) + 16 * UNIT
    infinite = float(upper[-1])
    relative, drift = _errors(x)
    return PrivacyLossDistribution(start, mass * (1 + relative), infinite * (1 + relative), drift)


def below_knots(
    start: int, x: Floats, ends: tuple[Floats, Floats], finite: float, step: Fraction
) -> PrivacyLossDistribution:
    """Connect values that are lowered enough to keep the lines below the profile.

    ``ends`` bound the finite profile from both sides; ``finite`` is at most its value at a = 0.
    """
    lower, upper = ends
    a, h = np.exp(x), float(step)
    width = a[:-1] * math.expm1(h)
    steep = np.concatenate([[np.inf], (upper[:-2] - lower[1:-1]) / width[:-1]])
    flat = np.concatenate([np.maximum(lower[1:-1] - upper[2:], 0.0) / width[1:], [0.0]])
    left, right = lower[:-1], lower[1:]
    with np.errstate(invalid="ignore", divide="ignore"):
        where = (left - right - flat * width) / (steep - flat)  # the extensions meet here
    where = np.clip(np.nan_to_num(where, nan=0.0), 0.0, width)
    share = where / width
    bottom = np.maximum(left - np.minimum(steep, 1e300) * where, right + flat * (width - where))
    gap = np.maximum(left * (1 - share) + right * share - bottom, 0.0)
    gap = gap * (1 + CUT_MARGIN) + 16 * UNIT * left
    drop = np.maximum(np.append(gap, 0.0), np.append(0.0, gap))
    value = np.maximum(lower - drop, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):  # where the right end stops at zero,
        pivot = (
            bottom * (1 - CUT_MARGIN) / (1 - share)
        )  # the line through it must pass below the vertex
    cap = np.where(value[1:] > 0.0, np.inf, np.nan_to_num(np.maximum(pivot, 0.0), posinf=1.0))
    value[:-1] = np.minimum(value[:-1], cap)
    value[0] = min(value[0], max(0.0, finite - a[0]) * (1 - 16 * UNIT))  # below finite - a
    kept = _convex(value, h)
    across = a[kept[:-1]] * np.expm1(np.diff(kept) * h)
    slopes = np.maximum(value[kept[:-1]] - value[kept[1:]], 0.0) / across
    slopes = np.minimum.accumulate(np.minimum(slopes, 1.0))
    mass = np.zeros(len(x))
    mass[kept[1:-1]] = a[kept[1:-1]] * (slopes[:-1] - slopes[1:])
    mass[-1] = a[-1] * slopes[-1]
    relative, drift = _errors(x)
    return PrivacyLossDistribution(start, mass * (1 - relative), 0.0, drift)


def _convex(value: Floats, h: float) -> NDArray[np.intp]:
    """Leave out corners that point up, all at once and again, until few are left.

    The line across a chain of such corners lies below it, so the function only falls.
    """
    kept = np.arange(len(value))
    for _ in range(_ROUNDS):
        left, middle, right = kept[:-2], kept[1:-1], kept[2:]
        whole = np.expm1((left - right) * h)
        near = np.expm1((middle - right) * h) / whole
        far = np.exp((middle - right) * h) * np.expm1((left - middle) * h) / whole
        stays = value[middle] <= value[left] * near + value[right] * far
        if stays.all():
            break
        kept = kept[np.concatenate([[True], stays, [True]])]
    return kept


def below_polygon(
    polygon: Polygon, finite: float, step: Fraction
) -> PrivacyLossDistribution | None:
    """Put a convex polygon, which falls to zero, on a lattice from below.

    The polygon is the largest of its lines, one for each cell, of zero, and of finite - a, where
    ``finite`` is at most its value at a = 0.  Move each corner to the nearest lattice point, down
    to the lower of the two lines that meet there: then both ends of each new edge are below one
    line of the polygon.  The last corner moves to the left, and no other one to the same place.
    """
    h = float(step)
    x, value = polygon.x, polygon.value
    if len(x) == 1 or not value[0] > 0:
        return None
    place = np.rint(x / h)
    if not float(np.abs(place).max()) <= LARGEST_PLACE:
        return None
    place[-1] = math.floor(float(x[-1]) / h)
    place[:-1] = np.minimum(place[:-1], place[-1] - 1)
    before, after = _lines(polygon, place * h)
    before[0] = finite - math.exp(place[0] * h)
    bound = np.minimum(before, after)
    bound, bound[-1] = bound - 64 * UNIT * np.abs(bound), 0.0
    order = np.lexsort((bound, place))
    place, bound = place[order], bound[order]
    first = np.append(True, np.diff(place) > 0)
    place, bound = _ended(place[first], bound[first], h)
    if len(place) < 2:
        return None
    kept = Polygon.hull(place * h, bound)
    where = np.rint(kept.x / h).astype(np.int64)
    a = np.exp(kept.x)
    slopes = np.minimum.accumulate(np.minimum(np.append(1.0, kept.slopes() * (1 - 32 * UNIT)), 1.0))
    mass = np.zeros(int(where[-1] - where[0]) + 1)
    mass[where - where[0]] = a * (slopes - np.append(slopes[1:], 0.0))
    relative, drift = _errors(kept.x)
    return PrivacyLossDistribution(int(where[0]), mass * (1 - relative), 0.0, drift)


def _lines(polygon: Polygon, places: Floats) -> tuple[Floats, Floats]:
    """Follow the lines of the cells before and after each node to a point near it."""
    x, value = polygon.x, polygon.value
    falls = polygon.slopes() * np.exp(x[:-1])  # in units of the left end of each cell
    before, after = np.append(0.0, falls * np.exp(np.diff(x))), np.append(falls, 0.0)
    along = np.expm1(places - x)
    return value - before * along, value - after * along


def _ended(place: Floats, bound: Floats, h: float) -> tuple[Floats, Floats]:
    """Let an edge that falls below zero end on the lattice before it does."""
    under = np.flatnonzero(bound < 0)
    if not len(under):
        return place, bound
    last = int(under[0])
    while last:
        left, right = bound[last - 1], min(bound[last], 0.0)
        width = math.expm1((place[last] - place[last - 1]) * h)
        zero = math.floor(place[last - 1] + math.log1p(width * left / (left - right)) / h)
        if left > 0 and zero > place[last - 1]:
            return np.append(place[:last], zero), np.append(bound[:last], 0.0)
        last -= 1
        bound = np.append(bound[:last], min(bound[last], 0.0))
    return place[:0], bound[:0]


def _errors(x: Floats) -> tuple[float, float]:
    size = float(np.abs(x[[0, -1]]).max())
    return UNIT * (96 + 16 * size), 8 * UNIT * size


_REACH: Final = 300.0  # of a curve on a lattice: e**-300 is below every delta
_UNCOUNTED_CONNECT_THE_DOTS: Final = math.log(
    1e-40
)  # what is left beyond counts as infinite (section 12)


@final
@dataclass(frozen=True, slots=True)
class RenyiPart:
    """A curve that joins the lattice from above; nothing is known from below."""

    curve: RenyiCurve

    spread: ClassVar[bool] = True

    def grain(self) -> Fraction | None:
        return Fraction(0)

    def largest(self) -> float:
        return _REACH

    def _lines(self) -> list[tuple[float, float]]:
        """Orders t in rising order, and upper bounds on K(t) + ln C(t)."""
        top = 1e4 if self.curve.limit is None else float(self.curve.limit - 1)
        scale = [top * math.exp(-0.06 * k) for k in range(219, -1, -1)]
        moments = [(t, self.curve.log_moment(t)) for t in scale]
        known = [(t, m + log_constant(t)) for t, m in moments if math.isfinite(m)]
        return [(t, top + MOMENT_MARGIN * (1 + abs(top))) for t, top in known]

    def above(self, step: Fraction) -> PrivacyLossDistribution | None:
        lines = _envelope(self._lines())
        reach = min(
            _REACH, max(1.0, 1.1 * min((top - _UNCOUNTED_CONNECT_THE_DOTS) / t for t, top in lines))
        )
        start, x = knots(-reach, reach, step)
        high = np.exp(_lowest(lines, np.abs(x)))
        left = np.minimum(x, 0.0)
        mirrored = -np.expm1(left) + np.exp(left) * high
        upper = np.minimum(np.where(x >= 0, high, mirrored) * (1 + NODE_MARGIN), 1.0)
        return above_knots(start, x, upper, step)

    def finite_parts(self, eps: Floats) -> tuple[Floats, Floats]:
        """Bound what the curve allows at many real eps, by the best order of each."""
        orders, moments = _known_moments(self.curve)
        high = moment_deltas(float_up(self.curve.rho), orders, moments, np.abs(eps))
        left = np.minimum(eps, 0.0)
        mirrored = (-np.expm1(left) + np.exp(left) * high) * (1 + NODE_MARGIN)
        return np.zeros(len(eps)), np.minimum(np.where(eps >= 0, high, mirrored), 1.0)

    def below(self, step: Fraction) -> PrivacyLossDistribution | None:  # noqa: ARG002  (a curve bounds from above only)
        return None


@functools.lru_cache(maxsize=64)
def _known_moments(curve: RenyiCurve) -> tuple[Floats, Floats]:
    """Return the orders t at which a curve is known, rounded down, and upper bounds on K(t)."""
    orders = [float_down(order - 1) for order in curve.orders]
    known = zip(curve.orders, curve.values, strict=True)
    moments = [float_up((order - 1) * value) for order, value in known]
    return np.array(orders), np.array(moments)


def _envelope(lines: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Keep the lines top - t eps that are lowest somewhere, t rising."""
    kept: list[tuple[float, float]] = []
    for t, top in lines:
        while len(kept) > 1:
            (s, before), (r, last) = kept[-2], kept[-1]
            if (last - before) * (t - r) < (top - last) * (r - s):
                break  # they cross in this order
            kept.pop()
        kept.append((t, top))
    return kept


def _lowest(lines: list[tuple[float, float]], eps: Floats) -> Floats:
    """Bound ln h at eps >= 0 by the line that is lowest there; any line would be sound."""
    t, top = np.array(lines).T
    crossings = np.maximum.accumulate(np.diff(top) / np.diff(t))
    line = np.searchsorted(crossings, eps)
    return np.asarray(np.minimum(top[line] - t[line] * (1 - NODE_MARGIN) * eps, 0.0))
