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
from typing import final

from discreet.plan.aggregates.estimator import Estimator, Linear
from discreet.plan.aggregates.measurer import Measurer
from discreet.plan.binding.value_facts import argument_of, value_where_counted
from discreet.plan.pricing.group_sensitivity import UNITS, ReleaseInput
from discreet.plan.statistics.contribution_bounds import whole_bounds
from discreet.query.expression_text import said
from discreet.query.expressions import Aggregate, Column
from discreet.query.types import Type
from discreet.requests.engine_request import DistinctCount


@final
@dataclass(frozen=True, slots=True)
class Units(Estimator):
    """The number of units in the group."""

    @property
    def measure(self) -> str:
        """The name under which units are counted."""
        return UNITS

    def inputs(self) -> Iterator[ReleaseInput]:
        """Need the number of units."""
        yield UNITS, None

    def linear(self, kind: Type) -> Linear:  # noqa: ARG002
        """Be the noisy number itself."""
        return {UNITS: Fraction(1)}, Fraction(0)


@final
@dataclass(frozen=True, slots=True)
class Count(Estimator):
    """A number of rows, or of different values.

    >>> list(Count("visits").inputs())
    [('visits', None)]
    """

    measure: str

    def inputs(self) -> Iterator[ReleaseInput]:
        """Need the total."""
        yield self.measure, None

    def linear(self, kind: Type) -> Linear:  # noqa: ARG002
        """Be the noisy total itself."""
        return {self.measure: Fraction(1)}, Fraction(0)


def measure_count(measurer: Measurer, aggregate: Aggregate) -> Estimator:
    """Count rows, different values or units."""
    if not aggregate.distinct:
        most = whole_bounds(aggregate) or (0, measurer.limits.most_rows(aggregate.span))
        return Count(measurer.count(aggregate, most))
    value = argument_of(aggregate)
    if isinstance(value, Column) and measurer.unit == (value.name,):
        if aggregate.where is None:
            measurer.known.add_units()
            return Units()
        return Count(measurer.count(replace(aggregate, argument=None, distinct=False), (0, 1)))
    bounds = whole_bounds(aggregate)
    values = measurer.most_values(aggregate, value, None if bounds is None else bounds[1])
    counted = value_where_counted(aggregate, value)
    measure = DistinctCount(name="", expression=counted, most=values)
    return Count(measurer.known.add("distinct", measure, f"different values of {said(value)}"))
