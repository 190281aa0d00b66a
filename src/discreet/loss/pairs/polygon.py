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
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Self, final

import numpy as np
from numpy.typing import NDArray

from discreet.loss.engine.rounding import CHORD_MARGIN, NODE_MARGIN, TINIEST, UNIT
from discreet.loss.pairs.distribution import Floats


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
        """Multiply all values."""
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
    """Say whether the middle node lies below the chord of the other two."""
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
        """Take a profile that is defined by its nodes."""
        return cls(x, value, np.minimum(value, 1.0), upper_only=True)

    def ceiling(self) -> Polygon:
        """Draw the chords."""
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
