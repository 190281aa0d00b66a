"""Laws on a lattice from the values of a profile at its points.

Trust: kernel.

Theorem (key ``connect-the-dots``).  h(a) = delta(ln a) is convex and falls from h(0) = 1.  Straight
lines between its values at the lattice are the profile of a law on the lattice that bounds h from
above.  On one cell h lies above the extensions of the chords of both neighboring cells; lowering
the values at both ends by the largest gap between chord and extensions gives lines below h.
A law with slopes s_k on [a_k, a_{k+1}] has Q-masses s_{k-1} - s_k.  Raising slopes (from the right)
or lowering them (from the left) until they are ordered keeps the side of the bound.

Values and slopes come with brackets, so rounding is on the safe side throughout
(docs/proofs/accounting.md, section 6).
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from discreet.loss.engine.rounding import UNIT
from discreet.loss.pairs.pair import Floats, Law

__all__ = ["above_knots", "below_knots", "knots"]


def knots(low: float, high: float, step: Fraction) -> tuple[int, Floats]:
    """Cover [low, high] by lattice points, with one to spare on each side."""
    start = math.floor(Fraction(low) / step) - 1
    count = math.ceil(Fraction(high) / step) + 2 - start
    return start, (start + np.arange(count)) * float(step)


def above_knots(start: int, x: Floats, upper: Floats, step: Fraction) -> Law:
    """Connect upper values at the knots; what is left at the last one counts as infinite."""
    a, rise = np.exp(x), math.expm1(float(step))
    slopes = (upper[:-1] - upper[1:]) / (a[:-1] * rise)
    slopes = np.maximum.accumulate(np.maximum(slopes, 0.0)[::-1])[::-1] * (1 + 8 * UNIT)
    mass = np.empty(len(x))
    mass[1:-1] = a[1:-1] * (slopes[:-1] - slopes[1:])
    mass[-1] = a[-1] * slopes[-1]
    mass[0] = max(0.0, 1.0 - float(upper[0]) - float(a[0] * slopes[0])) + 16 * UNIT  # h(0) = 1
    infinite = float(upper[-1])
    relative, drift = _errors(x)
    return Law(start, mass * (1 + relative), infinite * (1 + relative), drift)


def below_knots(
    start: int, x: Floats, ends: tuple[Floats, Floats], finite: float, step: Fraction
) -> Law:
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
    gap = gap * (1 + 1e-9) + 16 * UNIT * left
    drop = np.maximum(np.append(gap, 0.0), np.append(0.0, gap))
    value = np.maximum(lower - drop, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):  # where the right end stops at zero,
        pivot = bottom * (1 - 1e-9) / (1 - share)  # the line through it must pass below the vertex
    cap = np.where(value[1:] > 0.0, np.inf, np.nan_to_num(np.maximum(pivot, 0.0), posinf=1.0))
    value[:-1] = np.minimum(value[:-1], cap)
    value[0] = min(value[0], max(0.0, finite - a[0]) * (1 - 16 * UNIT))  # below finite - a
    slopes = np.maximum(value[:-1] - value[1:], 0.0) / width
    slopes = np.minimum.accumulate(np.minimum(slopes, 1.0))
    mass = np.zeros(len(x))
    mass[1:-1] = a[1:-1] * (slopes[:-1] - slopes[1:])
    mass[-1] = a[-1] * slopes[-1]
    relative, drift = _errors(x)
    return Law(start, mass * (1 - relative), 0.0, drift)


def _errors(x: Floats) -> tuple[float, float]:
    size = float(np.abs(x[[0, -1]]).max())
    return UNIT * (96 + 16 * size), 8 * UNIT * size
