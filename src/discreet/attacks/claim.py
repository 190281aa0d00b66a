"""A family of privacy claims: which of its members two probabilities still allow.

Trust: public.

Divergences and quantiles of two coins are rounded down (key ``enclosure``).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from fractions import Fraction
from statistics import NormalDist
from typing import ClassVar, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.exact import float_down
from discreet.loss.elementary import exp, log, normal_cdf

_HALF: Final = Fraction(1, 2)


def renyi_coins(p: Fraction, q: Fraction, order: Fraction) -> Fraction | float:
    """Return the Rényi divergence of order > 1 of a coin p from a coin q, rounded down.

    >>> float(renyi_coins(Fraction(1, 2), Fraction(1, 4), Fraction(2)))  # ln 4/3
    0.2876820724517809
    """
    total = Fraction(0)
    for first, other in ((p, q), (1 - p, 1 - q)):
        if first == 0:
            continue
        if other == 0:
            return math.inf
        total += exp(log(other).low + order * log(first / other).low).low
    return log(total).low / (order - 1) if total > 0 else Fraction(0)


def normal_gap(p: Fraction, q: Fraction) -> float:
    """Return Phi^-1(p) - Phi^-1(q) for p > q, rounded down.

    >>> round(normal_gap(Fraction(3, 4), Fraction(1, 4)), 12)
    1.348979500392
    """
    if p == 1 or q == 0:
        return math.inf
    gap = _quantile(p, -1) - _quantile(q, 1)
    return float_down(max(gap, Fraction(0)))


def _quantile(chance: Fraction, side: int) -> Fraction:
    """Return a number close to the quantile: below it for side -1, above it for side 1."""
    small = min(chance, 1 - chance)
    rough = NormalDist().inv_cdf(max(float(small), 1e-300))
    guess = Fraction(rough if chance <= _HALF else -rough)
    step = max(abs(guess), Fraction(1)) / 2**50
    while not _beyond(guess, chance, side):
        guess, step = guess + side * step, 2 * step
    return guess


def _beyond(guess: Fraction, chance: Fraction, side: int) -> bool:
    mass = normal_cdf(guess)
    return mass.low >= chance if side > 0 else mass.high <= chance


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
        """Return the parameter itself, were p and q the probabilities."""
        return float(self.guess(p, q))

    def curve(self, p: Fraction, q: Fraction) -> tuple[Level, ...]:
        """Return the least possible epsilon at several deltas, and the claimed epsilon there."""
        return tuple(epsilon_level(p, q, delta) for delta in DELTAS)


DELTAS: Final = tuple(
    Fraction(text)
    for text in ("0", "1e-9", "1e-6", "1e-5", "1e-4", "1e-3", "0.01", "0.03", "0.1", "0.2", "0.4")
)
"""At which deltas a curve is looked at."""


def epsilon_level(p: Fraction, q: Fraction, delta: Fraction, claimed: float | None = None) -> Level:
    """Return the larger of both logarithms of ``event-bounds`` at a delta, rounded down.

    >>> epsilon_level(Fraction(1, 2), Fraction(1, 10), Fraction(1, 10)).lower
    1.3862943611198906
    """
    bound = max(log_ratio(p - delta, q), log_ratio(1 - q - delta, 1 - p))
    return Level(bound, claimed, float(delta))


def log_ratio(top: Fraction, bottom: Fraction) -> float:
    """Return the logarithm of a ratio, rounded down, and at least 0.

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
    bounds: Floats = np.fmax(np.fmax(first, second), 0.0)
    return bounds
