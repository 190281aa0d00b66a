"""One side of a profile, the ratios from 1 on, as polygons above and below it.

Trust: kernel.  Where knots are placed affects how tight the polygons are, never their side.

Theorem (key ``dots``).  Chords through upper bounds of a profile lie above it; ``floor_under``
gives a polygon below.  Knots are added where the two are far apart, measured in epsilon: a gap
g at height v moves an answer by about g / (v s), where s is how fast ln v falls.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, final

import numpy as np

from discreet.loss.engine.polygon import Polygon, floor_under
from discreet.loss.engine.rounding import UNIT
from discreet.loss.pairs.pair import Floats

__all__ = ["Side", "tabulated"]

Bounds = Callable[[Floats], tuple[Floats, Floats]]
"""Bounds of a profile from below and from above, at rising eps >= 0."""

_DEEP: Final = 1e-40  # what is left beyond counts as infinite
_FAR: Final = 300.0
_FAR_STEPS: Final = 60  # from 2**-20 by factors of 1.4
_START: Final = 24
_MOST: Final = 4096
_TOLERANCE: Final = 6e-6
_SURE: Final = 1e-14
_NOISE: Final = 1e-4  # a wider bracket is not noise: its lower end is about something else


@final
@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """Bounds of a falling profile at some eps >= 0, the first of them 0.

    A side that is ``drawn`` has no bounds from below: the profile is what joins the upper ones.
    """

    x: Floats
    low: Floats
    high: Floats
    drawn: bool = False

    @classmethod
    def of_nodes(cls, x: Floats, value: Floats) -> Side:
        """Take a profile that is defined by its nodes."""
        return cls(x, value, np.minimum(value, 1.0), drawn=True)

    def ceiling(self) -> Polygon:
        """Draw the chords."""
        return Polygon.hull(self.x, self.high).scaled(1 + _SURE)

    def floor(self, other: Side) -> Polygon:
        """Draw a polygon below; the other side tells how steeply the profile can fall at 1."""
        if self.drawn or len(self.x) == 1:
            return Polygon.hull(self.x, self.low).scaled(1 - _SURE)
        first = 1.0
        if len(other.x) > 1:  # the slope of the last chord before 1
            gap = -math.expm1(-float(other.x[1]))
            left = gap + math.exp(-float(other.x[1])) * float(other.high[1])
            first = min(1.0, (left - float(self.low[0])) / gap * (1 + _SURE))
        return floor_under(self.x, self.low, self.high, first=first)[0]


def tabulated(
    bounds: Bounds, *, largest: float, infinite: float, tolerance: float = _TOLERANCE
) -> Side:
    """Evaluate bounds where the polygons are farther apart than is tolerated.

    ``largest`` bounds the finite losses, ``infinite`` is the mass of infinite ones.

    >>> side = tabulated(lambda x: (np.exp(-x) / 2, np.exp(-x) / 2), largest=2.0, infinite=0.0)
    >>> 20 < len(side.x) < 2048
    True
    """
    end = _end(bounds, largest, infinite)
    x = np.linspace(0.0, end, _START + 1) if end else np.zeros(1)
    low, high = bounds(x)
    while len(x) > 1:
        low, high = np.maximum.accumulate(low[::-1])[::-1], np.minimum.accumulate(high)
        excess = _excess(x, low, high, infinite)
        wide = np.argsort(excess)[::-1][: min(int((excess > tolerance).sum()), _MOST - len(x))]
        if not len(wide):
            break
        fresh = np.sort((x[wide] + x[wide + 1]) / 2)
        more = bounds(fresh)
        order = np.argsort(np.concatenate([x, fresh]), kind="stable")
        x = np.concatenate([x, fresh])[order]
        low = np.concatenate([low, more[0]])[order]
        high = np.concatenate([high, more[1]])[order]
    return Side(x, low, high)


def _end(bounds: Bounds, largest: float, infinite: float) -> float:
    """Return an epsilon beyond which next to nothing is left."""
    far = min(largest, _FAR)
    x = np.minimum(2.0**-20 * 1.4 ** np.arange(_FAR_STEPS), far)
    left = bounds(x)[1] - infinite
    deep = np.flatnonzero(left <= max(_DEEP, 1e-13 * infinite))
    return float(x[deep[0]]) if len(deep) else far


def _excess(x: Floats, low: Floats, high: Floats, infinite: float) -> Floats:
    """Return how far apart the polygons are in each cell, in units of what counts there."""
    first = 1.5 * (high[0] - high[1]) / math.expm1(x[1])  # a guess: the other side knows
    sag = floor_under(x, high, high, first=min(1.0, first))[1]  # upper bounds are what counts
    left, right = high[:-1] - infinite, high[1:] - infinite
    gap = np.diff(x)
    depth = np.maximum(1.0, (1e-5 / np.maximum(left, 1e-300)) ** 0.25)  # rarely met
    size = depth * ((left + right) / 2 + x[1:] * (left - right) / gap)
    noise = np.minimum(2 * ((high - low)[:-1] + (high - low)[1:]), _NOISE * left)
    apart = gap > 2**12 * UNIT * (1 + x[1:])
    useful = apart & (left > 0) & (sag > noise)
    return np.where(
        useful,
        np.maximum(sag / np.maximum(size, 1e-300), 4e-5 * sag / np.maximum(left, 1e-300)),
        0.0,
    )
