"""Profiles of a Poisson sample from profiles of what runs on it, point by point.

Trust: kernel.

Theorem (key ``poisson-sampling``).  h_REMOVE(a) = q h(1 + (a-1)/q) for a > 1-q, else 1-a, and
h_ADD(a) = 1 - a + a h_REMOVE(1/a).  The inner profile is asked for bounds on a whole interval
around the point, which covers the rounding of the point.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from discreet.loss.engine.rounding import UNIT
from discreet.loss.pairs.pair import Floats

__all__ = ["added_profile", "removed_profile"]

Inner = Callable[[Floats, Floats], tuple[Floats, Floats]]
"""Bounds, from both sides, of a profile between eps - slack and eps + slack."""


def removed_profile(q: float, eps: Floats, inner: Inner) -> tuple[Floats, Floats]:
    """Bound the profile when a person is removed, at many real eps."""
    moved = np.expm1(eps) / q
    inside = moved > -1 + 1e-12
    with np.errstate(divide="ignore", invalid="ignore"):
        place = np.where(inside, np.log1p(np.where(inside, moved, 0.0)), 0.0)
    slack = 32 * UNIT * (1 + np.abs(moved)) / (1 + np.where(inside, moved, 0.0))
    low, high = inner(place, slack)
    flat = -np.expm1(eps)
    low = np.where(inside, q * low * (1 - 8 * UNIT), flat * (1 - 16 * UNIT))
    low = np.maximum(low, flat - 16 * UNIT)
    high = np.where(inside, q * high * (1 + 8 * UNIT), flat + 1e-12 * (1 + np.abs(flat)))
    return np.maximum(low, 0.0), np.minimum(high, 1.0)


def added_profile(q: float, eps: Floats, inner: Inner) -> tuple[Floats, Floats]:
    """Bound the profile when a person is added, at many real eps."""
    low, high = removed_profile(q, -eps, inner)
    flat, a = -np.expm1(eps), np.exp(eps)
    wrong = UNIT * (16 * np.abs(flat) + 16 * a * high) + 4 * UNIT * a
    return np.maximum(flat + a * low - wrong, 0.0), np.minimum(flat + a * high + wrong, 1.0)
