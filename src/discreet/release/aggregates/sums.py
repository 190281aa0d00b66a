"""The value and the interval of a sum.

Trust: public.
"""

from __future__ import annotations

from typing import final

from discreet.plan.aggregates.sums import Sum
from discreet.query.types import Type
from discreet.release.aggregates.kind import Box, RatioKind, Values, typed_values
from discreet.release.half_width import half_width
from discreet.release.interval_arithmetic import Ends, added, multiplied
from discreet.release.noisy_totals import Intervals, Noisy
from discreet.release.value_arrays import Rationals, weighted


@final
class SumKind(RatioKind[Sum]):
    """A multiple of a total, and of a count."""

    def value(self, estimator: Sum, kind: Type, noisy: Noisy) -> Values:
        """Return the sum."""
        return typed_values(_summed(estimator, noisy), kind)

    def of_noise(self, estimator: Sum, known: Intervals) -> Ends:
        """Return the intervals of step Z + center Y (key ``weighted-noise-reach``)."""
        totals = known.noisy.totals
        terms = totals[estimator.measure].terms(estimator.step)
        if estimator.count is not None:
            terms += totals[estimator.count].terms(estimator.center)
        ends = _summed(estimator, known.noisy).within(half_width(terms, known.confidence))
        return ends if estimator.count is not None else known.signed(estimator.measure, ends)

    def range(self, estimator: Sum, known: Intervals, box: Box, coordinates: int = 0) -> Ends:
        """Add up the sides of the box."""
        del coordinates
        total = multiplied(known.constant(estimator.step), box[estimator.measure])
        if estimator.count is None:
            return total
        return added(total, multiplied(known.constant(estimator.center), box[estimator.count]))


def _summed(estimator: Sum, noisy: Noisy) -> Rationals:
    """Return a sum, exactly."""
    terms = [
        (estimator.step * run.weight, run.values) for run in noisy.totals[estimator.measure].runs
    ]
    if estimator.count is not None:
        count = noisy.totals[estimator.count]
        terms += [(estimator.center * run.weight, run.values) for run in count.runs]
    return weighted(terms)
