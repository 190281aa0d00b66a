"""The value and the interval of a variance: its range over a box of three totals.

Trust: public.

Where a noisy number of rows is below 1, or below 2 for a variance of a sample, 1 or 2 takes its
place.  A variance of values between two bounds is at most a quarter of the square of their
distance, and that of a sample twice as much.  Its interval is widened to hold the value that is
shown.

Definition.  With n rows, S the sum of what the values are from the center, and Q that of their
squares less an offset each, the variance is offset + Q u - (S u)**2 for u = 1 / n.
Theorem (key ``variance-box``).  Let n, S, Q lie in intervals, n >= 1.  For any u the variance is
largest at the largest Q and the smallest S**2, a concave function of u whose largest value is at
its vertex, or at the end of the interval of u that is nearest to it; and smallest at the smallest Q
and the largest S**2, a concave function again, which is smallest at one of the ends.
For a sample the range is multiplied by that of n / (n - 1), n >= 2.
"""

from __future__ import annotations

from typing import Final, final

import numpy as np

from discreet.exact import float_up
from discreet.plan.aggregates.variances import Variance
from discreet.query.types import Type
from discreet.release.aggregates.kind import AggregateKind, Box
from discreet.release.interval_arithmetic import Ends, hull, multiplied, widened
from discreet.release.noisy_totals import Intervals, Noisy
from discreet.release.value_arrays import Floats

_VARIANCE_ROUNDING: Final = 2.0**-44


@final
class VarianceKind(AggregateKind[Variance]):
    """A mean of squares less the square of a mean, or its root."""

    def value(self, estimator: Variance, kind: Type, noisy: Noisy) -> Floats:
        """Compute it from three totals."""
        del kind
        mean = estimator.mean
        least = 2.0 if estimator.sample else 1.0
        rows = np.maximum(noisy.totals[mean.count].exact().nearest(), least)
        deviation = noisy.totals[mean.measure].exact().nearest() * float(mean.step) / rows
        squares = noisy.totals[estimator.squares].exact().nearest() * float(estimator.square_step)
        with np.errstate(over="ignore", invalid="ignore"):
            variance = float(estimator.offset) + squares / rows - deviation**2
            if estimator.sample:
                variance *= rows / (rows - 1.0)
        inside = np.clip(variance, 0.0, _largest_variance(estimator))
        return np.sqrt(inside) if estimator.root else inside

    def range(self, estimator: Variance, known: Intervals, box: Box, coordinates: int = 0) -> Ends:
        """Return all variances that the box allows (key ``variance-box``)."""
        del coordinates
        mean = estimator.mean
        ends = variance_range(estimator, box[mean.count], box[mean.measure], box[estimator.squares])
        return hull(ends, known.point(self.value(estimator, Type.FLOAT, known.noisy)))


def _largest_variance(estimator: Variance) -> float:
    """Return what no variance exceeds, rounded up."""
    width = estimator.mean.high - estimator.mean.low
    return float_up(width * width / (2 if estimator.sample else 4))


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
    most = _largest_variance(estimator)
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
    return (
        offset + first - second + way * _VARIANCE_ROUNDING * (abs(offset) + np.abs(first) + second)
    )
