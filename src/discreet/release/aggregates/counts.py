"""The value and the interval of a count.

Trust: public.
"""

from __future__ import annotations

from typing import final

from discreet.plan.aggregates.counts import Count, Units
from discreet.query.types import Type
from discreet.release.aggregates.kind import AggregateKind, Box, Values, typed_values
from discreet.release.interval_arithmetic import Ends
from discreet.release.noisy_totals import Intervals, Noisy


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
