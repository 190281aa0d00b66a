"""Values and intervals: what every aggregate has, and those of counts, sums and modes.

Trust: public.  All of it is computed from what is released already.

A mode of numbers lies between the lowest and the highest candidate; that is its interval, since a
number that is nearly as frequent may lie anywhere.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final, Generic, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from discreet.plan.aggregates.counts import Count, Units
from discreet.plan.aggregates.estimator import Estimator
from discreet.plan.aggregates.means import Mean
from discreet.plan.aggregates.modes import ModeEstimator
from discreet.plan.aggregates.sums import Sum
from discreet.query.types import Type
from discreet.release.half_width import OTHERS, clear_counts, clear_miss_chance, half_width
from discreet.release.interval_arithmetic import Ends, added, everything, multiplied
from discreet.release.noisy_totals import Intervals, Noisy, Run
from discreet.release.value_arrays import Rationals, weighted

E = TypeVar("E", bound=Estimator)
R = TypeVar("R", Sum, Mean)
Values = NDArray[Any]
Box = Mapping[str, Ends]


class AggregateKind(ABC, Generic[E]):
    """How the value and the interval of one kind of estimator are computed."""

    @abstractmethod
    def value(self, estimator: E, kind: Type, noisy: Noisy) -> Values | tuple[Values, ...]:
        """Return the value in every group; a tuple of these for a list of values."""

    @abstractmethod
    def range(self, estimator: E, known: Intervals, box: Box, coordinates: int = 0) -> Ends:
        """Return the range over a box of totals, where so many intervals hold together."""

    def interval(self, estimator: E, known: Intervals) -> Ends | None:
        """Return the interval in every group, or None if there is none."""
        return self.range(estimator, known, known.box(estimator.totals()))


class RatioKind(AggregateKind[R]):
    """Sums and means: a total, and a count that may have shown the groups."""

    @abstractmethod
    def of_noise(self, estimator: R, known: Intervals) -> Ends:
        """Return the intervals where the noise depends on nothing else."""

    def interval(self, estimator: R, known: Intervals) -> Ends:
        """Take the noise as it is, if it depends on nothing else."""
        if known.linear(estimator):
            return self.of_noise(estimator, known)
        counted = _selecting_count(estimator, known)
        if counted is None:
            return self.range(estimator, known, known.box(estimator.totals()))
        return self._of_clear(estimator, counted, known)

    def _of_clear(self, estimator: R, counted: Run, known: Intervals) -> Ends:
        """Take the noise of counts that are clear of the threshold as it is, and boxes elsewhere.

        Both may miss with a part of the chance (key ``clear-count``).
        """
        assert counted.keys is not None  # noqa: S101 (of a total that is not linear)
        confidence, size = known.confidence, known.noisy.size
        clear = clear_counts(counted.keys, counted.values, confidence)
        inside = known.part(clear, 1 - clear_miss_chance(confidence))
        ends = np.empty(size), np.empty(size)
        ends[0][clear], ends[1][clear] = self.of_noise(estimator, inside)
        if not clear.all():
            apart = known.part(~clear, 1 - (1 - confidence) * OTHERS)
            low, high = self.range(estimator, apart, apart.box(estimator.totals()))
            ends[0][~clear], ends[1][~clear] = low, high
        return ends


def _selecting_count(estimator: Sum | Mean, known: Intervals) -> Run | None:
    """Return the one run that showed the groups, if the count is that and the sum is not."""
    totals = known.noisy.totals
    if estimator.count is None or not totals[estimator.measure].linear:
        return None
    runs = totals[estimator.count].runs
    return runs[0] if len(runs) == 1 else None


def typed_values(exact: Rationals, kind: Type) -> Values:
    """Round to whole numbers, halves to the even one, or to the nearest floats."""
    return exact.rounded() if kind is Type.INTEGER else exact.nearest()


@final
class CountKind(AggregateKind[Count | Units]):
    """The noisy total itself."""

    def value(self, estimator: Count | Units, kind: Type, noisy: Noisy) -> Values:
        """Return the total."""
        return typed_values(noisy.totals[estimator.measure].exact(), kind)

    def range(
        self, estimator: Count | Units, known: Intervals, box: Box, coordinates: int = 0
    ) -> Ends:
        """Return the side of the box."""
        del known, coordinates
        return box[estimator.measure]


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


_ARRAYS: Final[dict[Type, Any]] = {Type.INTEGER: np.int64, Type.BOOLEAN: np.bool_}


@final
class ModeKind(AggregateKind[ModeEstimator]):
    """The candidate that the chosen leaf stands for."""

    def value(self, estimator: ModeEstimator, kind: Type, noisy: Noisy) -> Values:
        """Return the candidate in every group."""
        (place,) = estimator.inputs()
        (chosen,) = (leaf for leaf in noisy.chosen if leaf.choice.use == place)
        candidates = np.empty(len(estimator.values), object)
        candidates[:] = estimator.values
        values: Values = candidates.astype(_ARRAYS.get(kind, object))[chosen.leaves]
        return values

    def range(
        self, estimator: ModeEstimator, known: Intervals, box: Box, coordinates: int = 0
    ) -> Ends:
        """Return the lowest and the highest candidate, if they are numbers."""
        del box, coordinates
        numbers = [Fraction(value) for value in estimator.values if type(value) is int]
        if not numbers:
            return everything(known.noisy.size)
        return known.constant(min(numbers))[0], known.constant(max(numbers))[1]
