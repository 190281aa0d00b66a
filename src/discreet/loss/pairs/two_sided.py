"""Cumulants of the form z e + ln(1 + h(z) (e**(-w(z)) - 1)), shared by two families.

Trust: kernel.

Randomized response has h = 1/(1 + e**e) and w = 2ze; the Laplace pair has h = z/(2z + 1) and
w = (2z + 1)e.  In both |h| < 1 and Re w >= 0 on Re z > 0.  docs/proofs/accounting.md bounds the
rounding errors that are returned here.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.loss.engine.rounding import UNIT
from discreet.loss.pairs.pair import Complexes, Floats, Line

__all__ = ["on_line", "on_real", "on_reals", "summed"]


def on_reals(orders: Floats, e: Floats, h: Floats, w: Floats) -> tuple[Floats, Floats]:
    """Evaluate at real orders (rows of parameters, columns of orders), with error bounds."""
    y = h * np.expm1(-w)
    straight = orders * e
    return straight + np.log1p(y), 64 * UNIT * (straight + 4 * np.abs(y))


def on_real(order: float, e: float, h: float, w: float) -> tuple[float, float]:
    """Evaluate at one order for one parameter, with an error bound: ``on_reals`` for less work."""
    y, straight = h * math.expm1(-w), order * e
    return straight + math.log1p(y), 64 * UNIT * (straight - 4 * y)


def on_line(z: Complexes, e: Floats, h: Complexes, w: Complexes) -> tuple[Complexes, Floats]:
    """Evaluate at complex orders, with error bounds for each parameter and point."""
    inner = 1 + h * (np.exp(-w) - 1)
    modulus = np.maximum(np.abs(inner), 1e-300)
    inner = np.where(modulus <= 1e-300, 1e-300, inner)
    straight = z * e
    wrong = UNIT * np.abs(h) * (8 * np.abs(w) + 64) + 4 * UNIT
    error = np.log1p(wrong / modulus) + UNIT * (16 + 8 * np.abs(straight))
    return straight + np.log(inner), error


def summed(counts: Floats, value: Complexes, error: Floats) -> Line:
    """Add up the rows, each with its count; the sum itself rounds too."""
    total = counts @ value
    size = counts @ np.abs(value)
    return Line(total, counts @ error + (len(counts) + 4) * UNIT * size)
