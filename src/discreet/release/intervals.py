"""Between what the aggregates of a question lie, at the confidence of the plan.

Trust: public.  Intervals are functions of what is released; none looks at the data.

Definition.  What an interval is about is the aggregate of the bounded rows: after each unit has
been cut to its share of groups and rows, and every value to its bounds and to whole steps.  With at
least the confidence the interval of one number holds it; numbers of different groups, or columns,
each have this chance, not all of them together.

    counts, plain sums      the exact quantiles of the noise (key ``weighted-noise-reach``)
    centered sums           the law of step Z + center Y, by convolution (the same key)
    means                   all ratios that the two noises allow (key ``ratio-interval``)
    variances, formulas     a box: the intervals of all totals that are needed, at a confidence of
                            which all together are left with the one asked for (``joint-box``)
    quantiles               none: see below

Theorem (key ``joint-box``).  Let independent noises stay within r_1, ..., r_k with chances
c**(1/k) each.  Then all of them do with chance c, and with this chance the range of a function over
the box of all totals that are so near holds its value at the totals without noise.

Counts are not negative, nor are sums of what is not negative; intervals end there, values do not.
A mean lies between the bounds of its values, a variance between zero and a quarter of their squared
distance (twice as much for a sample).  Intervals of means and variances are widened to hold the
value that is shown.

Quantiles.  A chosen leaf misses its rank by no more than some r, with a known probability.  That
says which quantile the leaf may be, not where the quantile asked for is: values may be anywhere
above r rows that are missing.  A bound from a second choice, at a rank of r more, holds only if
there are so many rows; and the number of rows is not among what is released.  So no interval that
is narrower than the bounds of the values is true of all data, and none is given.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import assert_never, final

import numpy as np

from discreet.exact import float_down, float_up
from discreet.plan.estimators import (
    Count,
    Estimator,
    Mean,
    Quantile,
    Quantiles,
    Sum,
    Units,
    Variance,
)
from discreet.plan.lowered import Distinct, Lowered, Total
from discreet.plan.noises import UNITS
from discreet.query.types import Type
from discreet.release.estimates import estimated, measures_of, summed
from discreet.release.noisy import Noisy
from discreet.release.outward import Ends, added, divided, everything, hull, multiplied
from discreet.release.rationals import Floats
from discreet.release.ratios import mean_interval
from discreet.release.reach import reach
from discreet.release.variances import variance_range

__all__ = ["Intervals"]


@final
@dataclass(frozen=True, slots=True)
class Intervals:
    """The intervals of the groups of a release."""

    lowered: Lowered
    noisy: Noisy
    confidence: Fraction

    def alone(self, estimator: Estimator) -> Ends | None:
        """Return the intervals of one aggregate, or None if there is none."""
        match estimator:
            case Sum() if self._linear(estimator):
                return self._sum(estimator)
            case Mean() if self._linear(estimator):
                found = mean_interval(estimator, self.noisy, self.confidence)
                return hull(found, self._value(estimator))
            case Quantile() | Quantiles():
                return None
            case _:
                return self.boxed(estimator, self.box(measures_of(estimator)))

    def box(self, measures: tuple[str, ...]) -> dict[str, Ends]:
        """Return intervals of totals that hold at the same time."""
        count = len(measures)
        return {
            name: self._signed(name, self.noisy.totals[name].interval(self.confidence, count))
            for name in measures
        }

    def boxed(  # noqa: PLR0911 (one for each kind)
        self, estimator: Estimator, box: Mapping[str, Ends]
    ) -> Ends:
        """Return the range of an aggregate over a box."""
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
                found = variance_range(estimator, box[mean.count], box[mean.measure], box[squares])
                return hull(found, self._value(estimator))
            case Quantile() | Quantiles():
                return everything(self.noisy.size)
            case _:
                assert_never(estimator)

    def _linear(self, estimator: Estimator) -> bool:
        return all(self.noisy.totals[name].linear for name in measures_of(estimator))

    def _sum(self, estimator: Sum) -> Ends:
        totals = self.noisy.totals
        terms = totals[estimator.measure].terms(estimator.step)
        if estimator.count is not None:
            terms += totals[estimator.count].terms(estimator.center)
        far, value = reach(terms, self.confidence), summed(estimator, self.noisy)
        ends = value.plus(-far).down(), value.plus(far).up()
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
