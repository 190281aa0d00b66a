"""A family of promises: which of its members two chances still allow.

Trust: public.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.exact import float_down
from discreet.loss.elementary import log

__all__ = ["Claim", "Floats", "Level", "log_ratio", "log_ratios"]

Floats = NDArray[np.float64]


class Level(NamedTuple):
    """The least parameter that is possible, what was claimed of it, and the delta it goes with."""

    lower: float
    claimed: float | None
    delta: float = 0.0


class Claim(ABC):
    """A family of promises, perhaps with the member that was promised."""

    __slots__ = ()
    parameter: ClassVar[str] = "epsilon"

    @abstractmethod
    def lower(self, p: Fraction, q: Fraction) -> Level:
        """Return the least possible parameter, given P[E] >= p and P'[E] <= q; rounded down."""

    @abstractmethod
    def guess(self, p: Floats, q: Floats) -> Floats:
        """Say how strongly events speak against the promise, in floats, to choose one of them."""

    def point(self, p: Floats, q: Floats, delta: float) -> float:  # noqa: ARG002 (for curves)
        """Return the parameter itself, were p and q the chances."""
        return float(self.guess(p, q))


def log_ratio(top: Fraction, bottom: Fraction) -> float:
    """Return the logarithm of a ratio, rounded down, or 0 if that is more.

    >>> log_ratio(Fraction(1), Fraction(0)), log_ratio(Fraction(1), Fraction(2))
    (inf, 0.0)
    """
    if top <= bottom or top <= 0:
        return 0.0
    return math.inf if bottom == 0 else max(float_down(log(top / bottom).low), 0.0)


def log_ratios(p: Floats, q: Floats, delta: float) -> Floats:
    """Return the larger of both logarithms of ``event-bounds``, in floats.

    >>> log_ratios(np.array([0.5]), np.array([0.1]), 0.0).round(3).tolist()
    [1.609]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        first = np.log(np.maximum(p - delta, 0.0) / q)
        second = np.log(np.maximum(1 - q - delta, 0.0) / (1 - p))
    found: Floats = np.fmax(np.fmax(first, second), 0.0)
    return found
