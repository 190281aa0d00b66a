"""MEDIAN_ABSOLUTE_DEVIATION: the median distance from the median, from quantiles of one histogram.

Trust: kernel.

Definition.  The quantiles q(k) at the levels k / 16, k = 0, ..., 16, are bought together, as those
of APPROX_QUANTILES are.  The value is the ninth smallest of the distances |q(k) - q(8)|: of a
symmetric distribution half the distance between the quartiles.
Theorem (key ``mad-interval``).  Let all q(k) be in their intervals, and the median in q(8)'s,
so that |q(k) - median| is from a(k) to b(k).  Then the median distance of the values from their
median is between the sixth smallest a(k) and the eleventh smallest b(k), if there are at least 16
values.
Proof.  Let r be that median distance.  At least half of the values are within r of the median, and
at most half are nearer than that.  The levels i, ..., j whose quantiles are within r leave out all
values from q(i - 1) down and from q(j + 1) up, so j - i + 2 >= 8, less a level for ranks between
two values: at least six quantiles are within r.  Those nearer than r have (j - i) / 16 of the
values between them, so j - i <= 8, a level more for ranks: at most ten quantiles are nearer.
The order of distances keeps the order of their ends.
Each end of an interval is bought for a seventeenth of the chance, so that all hold together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, final

import numpy as np

from discreet.aggregates.intervals import Ends, Floats, added, hull, negated
from discreet.aggregates.measurer import Measurer
from discreet.aggregates.noisy_totals import Box, Intervals, Noisy
from discreet.aggregates.quantile import QuantilesEstimator, measure_quantile, quantile_interval
from discreet.plan.estimator import Choice, Estimator, NoiseForecast, Predicted
from discreet.plan.pricing.group_sensitivity import ReleaseInput
from discreet.plan.pricing.release_parts import QuantileLevel
from discreet.plan.statistics.contribution_bounds import ContributionBounds
from discreet.query.expressions import Aggregate
from discreet.query.types import Type
from discreet.requests.engine_request import Leaves

_LEVELS: Final = 16
_MIDDLE: Final = 8
_NEAREST, _FARTHEST = 5, 10  # places among the sorted distances, from 0 on


@final
@dataclass(frozen=True, slots=True)
class MedianAbsoluteDeviation(Estimator):
    """The middle one of the distances of all quantiles from the median."""

    quantiles: QuantilesEstimator

    def inputs(self) -> Iterator[ReleaseInput]:
        return self.quantiles.inputs()

    def choices(self) -> tuple[Choice, ...]:
        return self.quantiles.choices()

    def leaf_part(
        self, use: ReleaseInput, histogram: Leaves, limits: ContributionBounds
    ) -> QuantileLevel:
        return self.quantiles.leaf_part(use, histogram, limits)

    def aimed(self, offsets: Mapping[ReleaseInput, int]) -> MedianAbsoluteDeviation:
        return MedianAbsoluteDeviation(self.quantiles.aimed(offsets))

    def clamped(self) -> tuple[str, ...]:
        return self.quantiles.clamped()

    def predict(self, name: str, forecast: NoiseForecast) -> Predicted:
        ranks = self.quantiles.predict(name, forecast).words.partition(",")[0]
        words = f"read from {_LEVELS + 1} quantiles, each {ranks}"
        return Predicted(output=name, half_width=None, words=words)

    def value(self, kind: Type, noisy: Noisy) -> Floats:  # its type is FLOAT
        quantiles = np.stack(self.quantiles.value(Type.FLOAT, noisy))
        distances: Floats = np.sort(np.abs(quantiles - quantiles[_MIDDLE]), axis=0)
        middle: Floats = distances[_MIDDLE]
        return middle

    def range(self, known: Intervals, box: Box, coordinates: int = 0) -> Ends:
        """Return the interval (key ``mad-interval``); several coordinates divide the chance."""
        missed = (1 - known.confidence) / (max(coordinates, 1) * len(self.quantiles.each))
        each = self.quantiles.each
        ends = [quantile_interval(quantile, known.noisy, 1 - missed) for quantile in each]
        apart = [_size(added(end, negated(ends[_MIDDLE]))) for end in ends]
        low = np.sort(np.stack([each[0] for each in apart]), axis=0)[_NEAREST]
        high = np.sort(np.stack([each[1] for each in apart]), axis=0)[_FARTHEST]
        return hull((low, high), known.point(self.value(Type.FLOAT, known.noisy)))


def _size(ends: Ends) -> Ends:
    """Return all absolute values."""
    low, high = np.abs(ends[0]), np.abs(ends[1])
    inside = (ends[0] <= 0.0) & (ends[1] >= 0.0)
    return np.where(inside, 0.0, np.minimum(low, high)), np.maximum(low, high)


def measure_deviation(measurer: Measurer, aggregate: Aggregate) -> MedianAbsoluteDeviation:
    """Measure a histogram, for quantiles at all levels."""
    listed = replace(aggregate, function="APPROX_QUANTILES", parameter=Fraction(_LEVELS))
    quantiles = measure_quantile(measurer, listed)
    assert isinstance(quantiles, QuantilesEstimator)  # noqa: S101 (of several levels)
    return MedianAbsoluteDeviation(quantiles)
