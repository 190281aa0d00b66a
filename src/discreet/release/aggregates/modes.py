"""The value of a mode, and an interval that is the same for all data.

Trust: public.

A mode of numbers lies between the lowest and the highest candidate; that is its interval, since a
number that is nearly as frequent may lie anywhere.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final, final

import numpy as np

from discreet.plan.aggregates.modes import ModeEstimator
from discreet.query.types import Type
from discreet.release.aggregates.kind import AggregateKind, Box, Values
from discreet.release.interval_arithmetic import Ends, everything
from discreet.release.noisy_totals import Intervals, Noisy

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
