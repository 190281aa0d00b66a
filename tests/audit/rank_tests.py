"""Whether one thing says something about another: by ranks, with a false-alarm rate that holds.

Theorem.  Let x be n independent draws of one law, independent of y,
however y came about.  Given y and the values of x, every order of x is equally likely; so the rank
correlation has mean 0 and variance 1 / (n - 1), and the area between groups of m and k places that
x chooses has mean 1/2 and variance at most (m + k + 1) / (12 m k).
Proof.  The first is the variance of a sum over a random permutation, scaled; the second that of
Wilcoxon's statistic, which ties make smaller.
So a machine that is busy, or slows down, makes an attack on times weaker, and never raises an alarm
by itself.  Both statistics are close to normal; an alarm is raised five deviations beyond what is
allowed, which happens to an independent pair with a chance of about 6e-7.
"""

from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

ALLOWED_CORRELATION = 0.02
ALLOWED_AREA = 0.01
DEVIATIONS = 5

Floats = NDArray[np.float64]


class RankTest(NamedTuple):
    """A rank correlation, an area, and how far each may be from nothing."""

    correlation: float
    correlation_limit: float
    area: float
    area_limit: float

    @property
    def independent(self):
        """Whether nothing is told, beyond what is allowed and what chance does."""
        return (
            abs(self.correlation) <= self.correlation_limit
            and abs(self.area - 0.5) <= self.area_limit
        )


def rank_test(values, times):
    """Say how much times tell about values: by all of them, and by the outer quarters.

    >>> rank_test(np.arange(1000), np.arange(1000)).independent
    False
    >>> rank_test(np.arange(1000) % 7, np.arange(1000) % 11).independent
    True
    """
    first, second = (_midranks(sample) for sample in (values, times))
    spread = float(first.std() * second.std())
    centered = (first - first.mean()) * (second - second.mean())
    correlation = float(centered.mean()) / spread if spread > 0 else 0.0
    low, high = np.quantile(values, [0.25, 0.75])
    few, many = times[values <= low], times[values >= high if high > low else values > high]
    area_found, limit = two_areas(many, few)
    return RankTest(
        correlation,
        ALLOWED_CORRELATION + DEVIATIONS / sqrt(max(len(values) - 1, 1)),
        area_found,
        limit,
    )


def two_areas(one, other):
    """Return the area between two groups, and how far it may be from one half."""
    m, k = len(one), len(other)
    if not m or not k:
        return 0.5, ALLOWED_AREA
    return area(one, other), ALLOWED_AREA + DEVIATIONS * sqrt((m + k + 1) / (12 * m * k))


def area(one, other):
    """Return the chance that one of the first is above one of the second; ties count half.

    >>> area(np.array([2, 3]), np.array([1, 2]))
    0.875
    """
    ranks = _midranks(np.concatenate([one, other]))[: len(one)]
    m, k = len(one), len(other)
    return float((ranks.sum() - m * (m + 1) / 2) / (m * k))


def _midranks(values):
    """Return ranks from 1 on; equal values share the middle of their ranks."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    middles = ends - (counts - 1) / 2
    return middles[place]
