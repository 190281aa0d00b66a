"""Confidence intervals of noisy totals: one by one, and together in a box.

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

Quantiles are chosen together with the two ends of their intervals, which aim so far beside the rank
that they hardly ever miss on their own side; that needs no number of rows.  How far that is was
fixed when it was paid for.  At a higher confidence, as one of several columns of a formula has it,
an interval goes from bound to bound of the values.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import NDArray

from discreet.exact import float_down, float_up
from discreet.plan.aggregates.estimator import Estimator
from discreet.release.interval_arithmetic import Ends
from discreet.release.noisy_totals import Noisy
from discreet.release.value_arrays import Floats
from discreet.requests.engine_request import DistinctCount, EngineRequest, Total

__all__ = ["Intervals"]


@final
@dataclass(frozen=True, slots=True)
class Intervals:
    """The groups of a release, and the confidence of their intervals."""

    request: EngineRequest
    noisy: Noisy
    confidence: Fraction

    def box(self, measures: tuple[str, ...], others: int = 0) -> dict[str, Ends]:
        """Return intervals of totals that hold at the same time, and so many others with them."""
        count = len(measures) + others
        return {
            name: self.signed(name, self.noisy.totals[name].interval(self.confidence, count))
            for name in measures
        }

    def linear(self, estimator: Estimator) -> bool:
        """Say whether the noise of all its totals depends on nothing else."""
        return all(self.noisy.totals[name].linear for name in estimator.totals())

    def part(self, groups: NDArray[np.bool_], confidence: Fraction) -> Intervals:
        """Return some of the groups, at another confidence."""
        return Intervals(self.request, self.noisy.taken(np.flatnonzero(groups)), confidence)

    def constant(self, number: Fraction) -> Ends:
        """Return the same number in every group, enclosed."""
        size = self.noisy.size
        return np.full(size, float_down(number)), np.full(size, float_up(number))

    @staticmethod
    def point(values: Floats) -> Ends:
        """Return intervals of one value each, for an interval that has to hold it."""
        floats: Floats = np.nan_to_num(values.astype(np.float64), posinf=np.inf, neginf=-np.inf)
        return floats, floats

    def signed(self, name: str, ends: Ends) -> Ends:
        """End at zero where no unit adds anything beyond it."""
        low, high = self._bounds(name)
        if low >= 0:
            return np.maximum(ends[0], 0.0), np.maximum(ends[1], 0.0)
        if high <= 0:
            return np.minimum(ends[0], 0.0), np.minimum(ends[1], 0.0)
        return ends

    def _bounds(self, name: str) -> tuple[int, int]:
        found = next((each for each in self.request.measures if each.name == name), None)
        match found:
            case Total(low=low, high=high):
                return low, high
            case DistinctCount(most=most):
                return 0, most
            case _:
                return 0, 1
