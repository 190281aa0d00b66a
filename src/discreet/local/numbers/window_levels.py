"""Levels of window response whose worst variance is the smallest, by a search.

Trust: public.  Levels decide accuracy alone, and carry over to other machines as whole numbers.

Definition.  Let code s have the law p_s, and let levels y have the mean 1 at the last code.  The
variance of code s is V_s(y) = sum of p_s y**2 - (sum of p_s y)**2, a convex quadratic in y.
Theorem (key ``minimax-levels``).  For any weights l >= 0 of sum 1, no levels have a worst variance
below g(l) = min over y of sum of l_s V_s(y) = 1 / (c' Q**-1 c), where Q is the matrix of the
weighted sum and c' y the mean at the last code; so levels whose worst variance is g(l) are best.
Proof.  A weighted average is at most the largest; a quadratic form has its least value on c' y = 1
at y = Q**-1 c / (c' Q**-1 c).

The search raises g over the weights.  By symmetry only upper levels and upper codes are looked at.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_SCALE: Final = 1 << 20
_STEPS: Final = 100
_RIDGE: Final = 1e-13


@final
@dataclass(frozen=True, slots=True, eq=False)
class LevelSearch:
    """The weighted variances of one window, for the upper half of its levels.

    ``means`` and ``squares`` have a row for each upper code and a column for each upper level, the
    lowest first: the mean of a code is ``means @ y``, its mean square ``squares @ y**2``.
    """

    means: Floats
    squares: Floats

    @staticmethod
    def of(epsilon: float, outcomes: int, width: int) -> LevelSearch:
        """Write down the law of a window.

        >>> LevelSearch.of(1.0, 4, 2).means.shape
        (2, 2)
        """
        codes, half = outcomes - width + 1, outcomes // 2
        growth = math.exp(min(epsilon, 600.0))
        report, start = np.arange(outcomes), np.arange(codes // 2, codes)[:, None]
        weights = np.where((start <= report) & (report < start + width), growth, 1.0)
        law = weights / (width * (growth - 1) + outcomes)
        upper, lower = law[:, outcomes - half :], law[:, :half][:, ::-1]
        return LevelSearch(upper - lower, upper + lower)

    def best(self, weights: Floats) -> tuple[Floats, Floats]:
        """Return the levels with the least weighted variance, and the variance of each code."""
        mixed = np.diag(weights @ self.squares) - (self.means * weights[:, None]).T @ self.means
        last = self.means[-1]
        solved = np.linalg.solve(mixed + _RIDGE * np.eye(len(last)), last)
        levels = solved / (last @ solved)
        return levels, self.squares @ levels**2 - (self.means @ levels) ** 2

    def solve(self) -> Floats:
        """Return levels that are best up to the tolerance of the search."""
        from scipy.optimize import minimize  # type: ignore[import-untyped]  # noqa: PLC0415  slow

        def negative_bound(logits: Floats) -> tuple[float, Floats]:
            weights = _softmax(logits)
            _, variances = self.best(weights)
            bound = float(weights @ variances)
            return -bound, -weights * (variances - bound)

        start = np.zeros(len(self.means))
        result = minimize(
            negative_bound, start, jac=True, method="L-BFGS-B", options={"maxiter": _STEPS}
        )
        return self.best(_softmax(result.x))[0]

    def worst(self, levels: Floats) -> float:
        """Return the largest variance of numbers at or between the upper points."""
        x, square = self.means @ levels, self.squares @ levels**2
        variances = [float((square - x**2).max())]
        gap = np.diff(x)
        if (gap <= 0).any():
            return math.inf
        top = np.clip((np.diff(square) / (2 * gap) - x[:-1]) / gap, 0.0, 1.0)
        between = (1 - top) * square[:-1] + top * square[1:] - (x[:-1] + top * gap) ** 2
        return max(variances + [float(value) for value in between])


def minimax_levels(epsilon: Fraction, outcomes: int) -> tuple[int, tuple[int, ...]]:
    """Return the width of the window and the upper half of the levels, up to a factor.

    >>> minimax_levels(Fraction(1), 2)
    (1, (1048576,))
    """
    return _minimax_levels(epsilon, outcomes)


@functools.lru_cache(maxsize=64)
def _minimax_levels(epsilon: Fraction, outcomes: int) -> tuple[int, tuple[int, ...]]:
    tried: dict[int, tuple[float, tuple[int, ...]]] = {}

    def worst(width: int) -> float:
        if width not in tried:
            search = LevelSearch.of(float(epsilon), outcomes, width)
            levels = search.solve()
            whole = tuple(round(level) for level in levels * (_SCALE / levels[-1]))
            usable = min(whole) >= 0
            tried[width] = (search.worst(levels) if usable else math.inf), whole
        return tried[width][0]

    low, high = 1, max(outcomes // 2, 1)
    while high - low > 2:  # the worst variance falls, then rises
        third = (high - low) // 3
        left, right = low + max(third, 1), high - third
        if worst(left) <= worst(right):
            high = right
        else:
            low = left
    width = min(range(low, high + 1), key=worst)
    return width, tried[width][1]


def _softmax(logits: Floats) -> Floats:
    weights = np.exp(logits - logits.max())
    return np.asarray(weights / weights.sum(), np.float64)
