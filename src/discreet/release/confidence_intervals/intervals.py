"""Between what the aggregates of a question lie, at the confidence of the plan.

Trust: public.  Intervals are functions of what is released; none looks at the data.

Definition.  What an interval is about is the aggregate of the bounded rows: after each unit has
been cut to its share of groups and rows, and every value to its bounds and to whole steps.  With at
least the confidence the interval of one number holds it; numbers of different groups, or columns,
each have this chance, not all of them together.

    counts, plain sums      the exact quantiles of the noise (key ``weighted-noise-reach``)
    centered sums           the law of step Z + center Y, by convolution (the same key)
    means                   all ratios that the two noises allow (key ``ratio-interval``)
    the two, of counts that chose their groups    the same, clear of the threshold (``clear-count``)
    variances, formulas     a box: the intervals of all totals that are needed, at a confidence of
                            which all together are left with the one asked for (``joint-box``)
    quantiles               from the leaf chosen below it to the one above (``quantile-ends``)

Theorem (key ``joint-box``).  Let independent noises stay within r_1, ..., r_k with chances
c**(1/k) each.  Then all of them do with chance c, and with this chance the range of a function over
the box of all totals that are so near holds its value at the totals without noise.

Counts are not negative, nor are sums of what is not negative; intervals end there, values do not.
A mean lies between the bounds of its values, a variance between zero and a quarter of their squared
distance (twice as much for a sample).  Intervals of means and variances are widened to hold the
value that is shown.

Quantiles are chosen together with the two ends of their intervals, which aim so far beside the rank
that they hardly ever miss on their own side; that needs no number of rows.  How far that is was
fixed when it was paid for.  At a higher confidence, as one of several columns of a formula has it,
an interval goes from bound to bound of the values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import assert_never, final

import numpy as np
from numpy.typing import NDArray

from discreet.exact import float_down, float_up
from discreet.plan.pricing.group_sensitivity import UNITS
from discreet.plan.statistics.estimators import (
    Count,
    Estimator,
    Mean,
    QuantileEstimator,
    QuantilesEstimator,
    Sum,
    Units,
    Variance,
)
from discreet.query.types import Type
from discreet.release.confidence_intervals.half_width import coordinate_confidence, half_width
from discreet.release.estimates import estimated, measures_of, summed
from discreet.release.interval_arithmetic import Ends, added, divided, everything, hull, multiplied
from discreet.release.noisy_totals import Noisy, Run
from discreet.release.value_arrays import Floats
from discreet.requests.engine_request import Distinct, EngineRequest, Total

__all__ = ["Intervals"]


@final
@dataclass(frozen=True, slots=True)
class Intervals:
    """The intervals of the groups of a release."""

    lowered: EngineRequest
    noisy: Noisy
    confidence: Fraction

    def alone(self, estimator: Estimator) -> Ends | None:
        """Return the intervals of one aggregate, or None if there is none."""
        match estimator:
            case Sum() | Mean() if self._linear(estimator):
                return self.of_noise(estimator)
            case Sum() | Mean() if (keys := self._chosen_by(estimator)) is not None:
                return self._of_clear(estimator, keys)
            case QuantileEstimator():
                from discreet.release.confidence_intervals.aggregate_intervals import (  # noqa: PLC0415
                    quantile_interval,
                )

                return quantile_interval(estimator, self.noisy, self.confidence)
            case QuantilesEstimator():
                return None
            case _:
                return self.boxed(estimator, self.box(measures_of(estimator)))

    def box(self, measures: tuple[str, ...], others: int = 0) -> dict[str, Ends]:
        """Return intervals of totals that hold at the same time, and so many others with them."""
        count = len(measures) + others
        return {
            name: self._signed(name, self.noisy.totals[name].interval(self.confidence, count))
            for name in measures
        }

    def boxed(  # noqa: PLR0911 (one for each kind)
        self, estimator: Estimator, box: Mapping[str, Ends], coordinates: int = 0
    ) -> Ends:
        """Return the range of an aggregate over a box, if so many intervals hold together."""
        match estimator:
            case Units():
                return box[UNITS]
            case Count(measure=measure):
                return box[measure]
            case Sum(measure=measure, step=step, count=None):
                return multiplied(self._constant(step), box[measure])
            case Sum(measure=measure, step=step, center=center, count=count):
                assert count is not None  # noqa: S101 (the case above, which mypy does not see)
                plain = multiplied(self._constant(step), box[measure])
                return added(plain, multiplied(self._constant(center), box[count]))
            case Mean():
                return hull(self._mean(estimator, box), self._value(estimator))
            case Variance(mean=mean, squares=squares):
                from discreet.release.confidence_intervals.aggregate_intervals import variance_range  # noqa: PLC0415  rare

                found = variance_range(estimator, box[mean.count], box[mean.measure], box[squares])
                return hull(found, self._value(estimator))
            case QuantileEstimator():
                each = coordinate_confidence(self.confidence, coordinates or len(box)).high
                from discreet.release.confidence_intervals.aggregate_intervals import (  # noqa: PLC0415
                    quantile_interval,
                )

                return quantile_interval(estimator, self.noisy, each)
            case QuantilesEstimator():
                return everything(self.noisy.size)
            case _:
                assert_never(estimator)

    def _linear(self, estimator: Estimator) -> bool:
        return all(self.noisy.totals[name].linear for name in measures_of(estimator))

    def _chosen_by(self, estimator: Sum | Mean) -> Run | None:
        """Return the one run that showed the groups, if the count is that and the sum is not."""
        totals = self.noisy.totals
        if estimator.count is None or not totals[estimator.measure].linear:
            return None
        runs = totals[estimator.count].runs
        return runs[0] if len(runs) == 1 else None

    def _of_clear(self, estimator: Sum | Mean, counted: Run) -> Ends:
        """Take the noise of counts that are clear of the threshold as it is, and boxes elsewhere.

        Both may miss with a part of the chance (key ``clear-count``).
        """
        assert counted.keys is not None  # noqa: S101 (of a total that is not linear)
        from discreet.release.confidence_intervals.half_width import (  # noqa: PLC0415  rare
            OTHERS,
            clear_counts,
            clear_miss_chance,
        )

        clear = clear_counts(counted.keys, counted.values, self.confidence)
        low, high = self._part(clear, 1 - clear_miss_chance(self.confidence)).of_noise(estimator)
        ends = np.empty(self.noisy.size), np.empty(self.noisy.size)
        ends[0][clear], ends[1][clear] = low, high
        if not clear.all():
            apart = self._part(~clear, 1 - (1 - self.confidence) * OTHERS)
            low, high = apart.boxed(estimator, apart.box(measures_of(estimator)))
            ends[0][~clear], ends[1][~clear] = low, high
        return ends

    def _part(self, groups: NDArray[np.bool_], confidence: Fraction) -> Intervals:
        return Intervals(self.lowered, self.noisy.taken(np.flatnonzero(groups)), confidence)

    def of_noise(self, estimator: Sum | Mean) -> Ends:
        """Return the intervals of a sum or a mean whose noise depends on nothing else."""
        if isinstance(estimator, Sum):
            return self._sum(estimator)
        from discreet.release.confidence_intervals.aggregate_intervals import mean_interval  # noqa: PLC0415  rare

        found = mean_interval(estimator, self.noisy, self.confidence)
        return hull(found, self._value(estimator))

    def _sum(self, estimator: Sum) -> Ends:
        totals = self.noisy.totals
        terms = totals[estimator.measure].terms(estimator.step)
        if estimator.count is not None:
            terms += totals[estimator.count].terms(estimator.center)
        ends = summed(estimator, self.noisy).within(half_width(terms, self.confidence))
        return ends if estimator.count is not None else self._signed(estimator.measure, ends)

    def _mean(self, estimator: Mean, box: Mapping[str, Ends]) -> Ends:
        rows = tuple(np.maximum(end, 1.0) for end in box[estimator.count])
        sums = multiplied(self._constant(estimator.step), box[estimator.measure])
        low, high = added(self._constant(estimator.center), divided(sums, (rows[0], rows[1])))
        least, most = float_down(estimator.low), float_up(estimator.high)
        return np.clip(low, least, most), np.clip(high, least, most)

    def _value(self, estimator: Mean | Variance) -> Ends:
        value = estimated(estimator, Type.FLOAT, self.noisy)
        assert isinstance(value, np.ndarray)  # noqa: S101 (only quantiles have several)
        floats: Floats = np.nan_to_num(value.astype(np.float64), posinf=np.inf, neginf=-np.inf)
        return floats, floats

    def _constant(self, number: Fraction) -> Ends:
        size = self.noisy.size
        return np.full(size, float_down(number)), np.full(size, float_up(number))

    def _signed(self, name: str, ends: Ends) -> Ends:
        """End at zero where no unit adds anything beyond it."""
        low, high = self._bounds(name)
        if low >= 0:
            return np.maximum(ends[0], 0.0), np.maximum(ends[1], 0.0)
        if high <= 0:
            return np.minimum(ends[0], 0.0), np.minimum(ends[1], 0.0)
        return ends

    def _bounds(self, name: str) -> tuple[int, int]:
        found = next((each for each in self.lowered.measures if each.name == name), None)
        match found:
            case Total(low=low, high=high):
                return low, high
            case Distinct(most=most):
                return 0, most
            case _:
                return 0, 1
