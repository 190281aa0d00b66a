"""What is computed for every aggregate: its value, its interval, and its range over a box.

Trust: public.  All of it is computed from what is released already.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.plan.aggregates.estimator import Estimator
from discreet.plan.aggregates.means import Mean
from discreet.plan.aggregates.sums import Sum
from discreet.query.types import Type
from discreet.release.half_width import OTHERS, clear_counts, clear_miss_chance
from discreet.release.interval_arithmetic import Ends
from discreet.release.noisy_totals import Intervals, Noisy, Run
from discreet.release.value_arrays import Rationals

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
