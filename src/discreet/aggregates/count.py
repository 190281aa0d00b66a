"""COUNT: rows, different values, or units.

Trust: kernel.

Definition.  COUNT is the rows of a unit, at most ``rows`` of them in a group; the number of units,
if it is all rows, and one of a unit.  COUNT(DISTINCT x) is the number of units, if x names them;
else at most so many values of a unit, and no more than are listed.  Its error is that of its noise,
exactly.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, final

from discreet.aggregates.intervals import Ends
from discreet.aggregates.measurer import Measurer
from discreet.aggregates.noisy_totals import Box, Intervals, Noisy, Values, typed_values
from discreet.plan.binding.value_facts import argument_of, value_where_counted
from discreet.plan.estimator import Estimator, Linear
from discreet.plan.pricing.group_sensitivity import UNITS, ReleaseInput
from discreet.plan.statistics.contribution_bounds import whole_bounds
from discreet.query.expression_text import said
from discreet.query.expressions import Aggregate, Column
from discreet.query.types import Type
from discreet.requests.engine_request import DistinctCount


@final
@dataclass(frozen=True, slots=True)
class Count(Estimator):
    """A number of rows, of different values, or of units: the noisy total itself.

    >>> list(Count("visits").inputs()), Count().measure
    ([('visits', None)], 'units')
    """

    counts: ClassVar[bool] = True
    measure: str = UNITS

    def inputs(self) -> Iterator[ReleaseInput]:
        yield self.measure, None

    def linear(self, kind: Type) -> Linear:
        return {self.measure: Fraction(1)}, Fraction(0)

    def value(self, kind: Type, noisy: Noisy) -> Values:
        return typed_values(noisy.totals[self.measure].exact(), kind)

    def range(self, known: Intervals, box: Box, coordinates: int = 0) -> Ends:
        return box[self.measure]


def measure_count(measurer: Measurer, aggregate: Aggregate) -> Count:
    """Count rows, different values or units."""
    if not aggregate.distinct:
        most = whole_bounds(aggregate) or (0, measurer.limits.most_rows(aggregate.span))
        return Count(measurer.count(aggregate, most))
    value = argument_of(aggregate)
    if isinstance(value, Column) and measurer.unit == (value.name,):
        if aggregate.where is None:
            return Count(measurer.known.add_units())
        return Count(measurer.count(replace(aggregate, argument=None, distinct=False), (0, 1)))
    bounds = whole_bounds(aggregate)
    values = measurer.most_values(aggregate, value, None if bounds is None else bounds[1])
    counted = value_where_counted(aggregate, value)
    measure = DistinctCount(name="", expression=counted, most=values)
    return Count(measurer.known.add("distinct", measure, f"different values of {said(value)}"))
