"""The range of a variance over a box of a number of rows, a sum and a sum of squares.

Trust: public.

Definition.  With n rows, S the sum of what the values are from the center, and Q that of their
squares less an offset each, the variance is offset + Q u - (S u)**2 for u = 1 / n.
Theorem (key ``variance-box``).  Let n, S, Q lie in intervals, n >= 1.  For any u the variance is
largest at the largest Q and the smallest S**2, a concave function of u whose largest value is at
its vertex, or at the end of the interval of u that is nearest to it; and smallest at the smallest Q
and the largest S**2, a concave function again, which is smallest at one of the ends.
For a sample the range is multiplied by that of n / (n - 1), n >= 2.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from discreet.plan.estimators import Variance
from discreet.release.estimates import largest_variance
from discreet.release.outward import Ends, multiplied, widened
from discreet.release.rationals import Floats

__all__ = ["variance_range"]

_ROUNDING: Final = 2.0**-44


def variance_range(estimator: Variance, rows: Ends, sums: Ends, squares: Ends) -> Ends:
    """Return all variances, or their roots, that a box of totals in whole steps allows."""
    least = 2.0 if estimator.sample else 1.0
    count = np.maximum(rows[0], least), np.maximum(rows[1], least)
    inverse = 1.0 / count[1], 1.0 / count[0]
    sums = float(estimator.mean.step) * sums[0], float(estimator.mean.step) * sums[1]
    smallest = np.where(
        (sums[0] <= 0.0) & (sums[1] >= 0.0), 0.0, np.minimum(np.abs(sums[0]), np.abs(sums[1]))
    )
    largest = np.maximum(np.abs(sums[0]), np.abs(sums[1]))
    low_square, high_square = (float(estimator.square_step) * end for end in squares)
    offset = float(estimator.offset)
    with np.errstate(all="ignore"):
        vertex = np.clip(
            np.nan_to_num(high_square / (2.0 * smallest**2), nan=0.0), inverse[0], inverse[1]
        )
        high = _at(vertex, offset, high_square, smallest, 1.0)
        ends = [_at(end, offset, low_square, largest, -1.0) for end in inverse]
        low = np.minimum(*ends)
    if estimator.sample:
        factor = widened(count[1] / (count[1] - 1.0), count[0] / (count[0] - 1.0))
        low, high = multiplied((low, high), factor)
    most = largest_variance(estimator)
    low, high = np.clip(low, 0.0, most), np.clip(np.where(np.isnan(high), most, high), 0.0, most)
    low = np.where(np.isnan(low) | (rows[1] < least), 0.0, low)
    high = np.where(rows[1] < least, most, high)
    if not estimator.root:
        return low, high
    bottom, top = widened(np.sqrt(low), np.sqrt(high))
    return np.maximum(bottom, 0.0), top


def _at(inverse: Floats, offset: float, square: Floats, deviation: Floats, way: float) -> Floats:
    """Return offset + Q u - (S u)**2, moved by more than the rounding errors."""
    first, second = square * inverse, (deviation * inverse) ** 2
    return offset + first - second + way * _ROUNDING * (abs(offset) + np.abs(first) + second)
