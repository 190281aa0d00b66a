"""Privacy loss distributions on a lattice, from a profile at its points: connect the dots.

Trust: kernel.

Theorem (key ``connect-the-dots``; Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022).
h(a) = delta(ln a) is convex and falls from h(0) = 1.  Straight lines between its values at the
lattice are the profile of a distribution on the lattice that bounds h from above.  On one cell h
is above the extensions of the chords of both neighboring cells; lowering the values at both ends
by the largest gap between chord and extensions gives lines below h.  A distribution with slopes s_k
on [a_k, a_{k+1}] has Q-masses s_{k-1} - s_k.  Raising slopes (from the right) or lowering them
(from the left) until they are ordered keeps the side of the bound, and so does a line below a
corner that points up.  Rounding: docs/proofs/accounting.md, section 6.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.loss.rounding import CUT_MARGIN, UNIT

Floats = NDArray[np.floating[Any]]

_ROUNDS: Final = 60
_MOST_POINTS: Final = 1 << 20
_NEAR: Final = 2.0**-8  # of a step: between two points of a chord
_SHIFT: Final = 2.0**-24  # of a step: to the right, kept as drift (section 12, products)


@final
@dataclass(frozen=True, slots=True)
class PrivacyLossDistribution:
    """Masses at the losses ``(start + k) * step``, for a step that the caller chose.

    A distribution from above bounds the profile at eps by its own at eps - drift, one from below by
    its own at eps + drift.  ``infinite`` is the mass at an infinite loss.
    """

    start: int
    mass: Floats
    infinite: float = 0.0
    drift: float = 0.0


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


def _below(
    x: Floats, ends: tuple[Floats, Floats], finite: float, h: float, slope: tuple[int, float]
) -> Floats:
    """Return masses: values are connected that are lowered enough to stay below the profile.

    ``ends`` bound the finite profile from both sides; ``finite`` is at most its value at a = 0.
    ``slope`` is a knot and how steeply, at least, the profile falls just before it.
    """
    lower, upper = ends
    a = np.exp(x)
    width = a[:-1] * math.expm1(h)
    steep = np.concatenate([[np.inf], (upper[:-2] - lower[1:-1]) / width[:-1]])
    flat = np.concatenate([np.maximum(lower[1:-1] - upper[2:], 0.0) / width[1:], [0.0]])
    flat[slope[0] - 1] = max(flat[slope[0] - 1], slope[1])
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
    with np.errstate(divide="ignore", invalid="ignore"):  # if the right end stops at zero,
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
    return mass


def _convex(value: Floats, h: float) -> NDArray[np.intp]:
    """Leave out corners that point up, all at once and again, until few are left.

    The line across a chain of such corners is below it, so the function only falls.
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


def _errors(x: Floats) -> tuple[float, float]:
    size = float(np.abs(x[[0, -1]]).max())
    return UNIT * (96 + 16 * size), 8 * UNIT * size


def below_points(
    bounds: Callable[[Floats], tuple[Floats, Floats]],
    ends: tuple[float, float],
    finite: float,
    step: Fraction,
) -> PrivacyLossDistribution | None:
    """Bound a finite profile with these bounds from below; None if that takes too many points.

    It is moved to the right by a part of a step, so that a corner at a point is not rounded to
    before it.  If the profile ends, the chord beyond says nothing of the last cell, but one that
    is drawn just before its end does.
    """
    if ends[1] - ends[0] > _MOST_POINTS * step:
        return None
    start, x = knots(*ends, step)
    h = float(step)
    shift = _SHIFT * h
    low, high = bounds(x - shift)
    last = max(int(np.count_nonzero(low > 0)) - 1, 1)
    place = x[last] - shift
    before = np.array([place - _NEAR * h])
    fall = max(float(bounds(before)[0][0] - high[last]), 0.0) * (1 - CUT_MARGIN)
    gap = float(place - before[0])
    mass = _below(x, (low, high), finite, h, (last, fall / (math.exp(x[last]) * -math.expm1(-gap))))
    relative, drift = _errors(x)
    return PrivacyLossDistribution(start, mass * (1 - relative), 0.0, drift + 1.01 * shift)


def above_points(
    upper: Callable[[Floats], Floats],
    ends: tuple[float, float],
    step: Fraction,
    *,
    total: float = 1.0,
) -> PrivacyLossDistribution | None:
    """Bound a finite profile with this bound from above; None if that takes too many points."""
    if ends[1] - ends[0] > _MOST_POINTS * step:
        return None
    start, x = knots(*ends, step)
    return above_knots(start, x, upper(x), step, total)
