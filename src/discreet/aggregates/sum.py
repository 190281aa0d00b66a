"""SUM: of as many rows of each unit as may count, whatever else is asked beside it.

Trust: kernel.

Definition.  SUM adds up the values of each unit in a group, clamped to their bounds.  A unit with
more rows than may count is scaled down to so many rows of its own mean, as in AVG and as COUNT
counts it: so SUM(x) is AVG(x) times COUNT(x), asked together or apart.  With
``contribution_bounds_per_group`` the unit's own total is clamped instead, and no row is left out.

If a count of the same rows is measured anyway, SUM is the centered sum and the count: h**2 +
c**2 <= (h + |c|)**2, h half the range and c its middle, so that is never worse; else it is the sum.
A count is measured anyway if it is asked for, or if groups are chosen by it: that is a count of all
rows, if no number of units is asked for.  A public number of all rows costs nothing, and is
measured for any sum of them.

SUM(DISTINCT x) adds every value once, however many rows or units have it.  A unit shows as many
different values as it may have rows, and no more than are listed
(:mod:`discreet.requests.engine_request`); values are compared after rounding to steps.

The error is that of the noise, exactly.  In terms of bounds to be found: a sum of h X + c Y, X and
Y the noises of a centered sum and of a count, has h + |c| = b; it is spread no wider than the wider
one of b X and b Y (Proschan 1965, for equal laws up to scale).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from discreet.aggregates.intervals import Ends, Rationals, added, multiplied, weighted
from discreet.aggregates.measurer import Measurer, ends_in_steps
from discreet.aggregates.noisy_totals import (
    Box,
    Intervals,
    Noisy,
    Values,
    noise_terms,
    typed_values,
)
from discreet.errors import UnsupportedSQL
from discreet.plan.binding.value_facts import value_where_counted
from discreet.plan.estimator import (
    REFERENCE_WIDTH,
    Estimator,
    Factors,
    Linear,
    NoiseForecast,
    Predicted,
    four_digits_up,
)
from discreet.plan.noise_errors import half_width
from discreet.plan.pricing.group_sensitivity import UNITS, ReleaseInput
from discreet.plan.statistics.contribution_bounds import Pair, bounds_by_group, bounds_by_row
from discreet.plan.statistics.fixed_point import fixed, fixed_open
from discreet.plan.statistics.partition_selection import UNIT_COUNTS
from discreet.query.expression_text import said
from discreet.query.expressions import Aggregate, Cast
from discreet.query.source_text import pointed
from discreet.query.types import Type
from discreet.requests.engine_request import DistinctSum, Total


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Sum(Estimator):
    """A sum; if values were centered, a count puts back what was subtracted.

    >>> total = Sum(measure="sum", step=Fraction(1, 2), center=Fraction(5), count="count")
    >>> total.error_terms()
    {('sum', None): Fraction(1, 2), ('count', None): Fraction(5, 1)}
    """

    measure: str
    step: Fraction
    center: Fraction = Fraction(0)
    count: str | None = None

    def inputs(self) -> Iterator[ReleaseInput]:
        yield self.measure, None
        if self.count is not None:
            yield self.count, None

    def steps(self) -> Factors:
        return {self.measure: self.step}

    def error_terms(self) -> dict[ReleaseInput, Fraction]:
        return {(name, None): factor for name, factor in self._terms().items()}

    def linear(self, kind: Type) -> Linear:
        terms = self._terms()
        rounded = kind is Type.INTEGER and any(each.denominator > 1 for each in terms.values())
        return terms, Fraction(1, 2) if rounded else Fraction(0)

    def words_by_width(self, forecast: NoiseForecast, predicted: Predicted) -> str:
        """Take the wider of the two noises, for a larger bound of 1."""
        wider = forecast.drawn_half_width({self.measure: self.step})
        if self.count is not None:
            wider = 2 * max(wider, forecast.drawn_half_width({self.count: self.center}))
        return f"about ± {four_digits_up(wider / REFERENCE_WIDTH)} b, b the larger bound in size"

    def value(self, kind: Type, noisy: Noisy) -> Values:
        return typed_values(self._exact(noisy), kind)

    def interval(self, known: Intervals) -> Ends:
        """Return the intervals of step Z + center Y (key ``weighted-noise-reach``)."""
        return known.of_ratio(
            self.measure,
            self.count,
            self._of_noise,
            lambda part: self.range(part, part.box(self.totals())),
        )

    def range(self, known: Intervals, box: Box, coordinates: int = 0) -> Ends:
        total = multiplied(known.constant(self.step), box[self.measure])
        if self.count is None:
            return total
        return added(total, multiplied(known.constant(self.center), box[self.count]))

    def _of_noise(self, known: Intervals) -> Ends:
        totals = known.noisy.totals
        terms = noise_terms([(factor, totals[name]) for name, factor in self._terms().items()])
        ends = self._exact(known.noisy).within(half_width(terms, known.confidence))
        return ends if self.count is not None else known.signed(self.measure, ends)

    def _exact(self, noisy: Noisy) -> Rationals:
        return weighted(
            [
                (factor * run.weight, run.values)
                for name, factor in self._terms().items()
                for run in noisy.totals[name].runs
            ]
        )

    def _terms(self) -> dict[str, Fraction]:
        terms = {self.measure: self.step}
        if self.count is not None:
            terms[self.count] = self.center
        return terms


def measure_sum(measurer: Measurer, aggregate: Aggregate) -> Sum:
    """Add up values: clamped by unit and group, centered, or as they are."""
    value, facts = measurer.value(aggregate)
    pair = bounds_by_group(aggregate)
    if aggregate.distinct:
        return _distinct_sum(measurer, aggregate)
    if pair is not None:  # clamp what each unit adds up to in a group
        steps = fixed_open(value, facts.type, pair, whole=True)
        name = measurer.total(aggregate, steps, ends_in_steps(pair, steps))
        return Sum(measure=name, step=steps.step)
    bounds, most = measurer.bounds(aggregate)
    count = _known_count(measurer, aggregate, bounds, most)
    if count is not None:
        name, steps = measurer.centered(aggregate)
        used = None if steps.center == 0 else count
        return Sum(measure=name, step=steps.step, center=steps.center, count=used)
    limits = measurer.limits
    cap = limits.cap
    kind = facts.type
    if cap is not None and kind is Type.INTEGER and not limits.one_row:
        value, kind = Cast(value, Type.FLOAT), Type.FLOAT  # units that are scaled need fine steps
    steps = fixed(value, kind, bounds, rows=most)
    ends = most * min(steps.low, 0), most * max(steps.high, 0)
    return Sum(measure=measurer.total(aggregate, steps, ends, cap=cap), step=steps.step)


def _distinct_sum(measurer: Measurer, aggregate: Aggregate) -> Sum:
    """Add up different values, so many of each unit."""
    if aggregate.bounds_per_group is not None:
        raise UnsupportedSQL(
            what=pointed("SUM(DISTINCT x) has no contribution_bounds_per_group.", aggregate.span),
            why="a value that several people share is added once, and so is nobody's own part.",
            do="give contribution_bounds_per_row, and max_rows_per_group in OPTIONS.",
        )
    value, facts = measurer.value(aggregate)
    bounds = bounds_by_row(aggregate, value, facts, measurer.facts)
    most = measurer.most_values(aggregate, value)
    steps = fixed(value, facts.type, bounds, rows=most)
    row = value_where_counted(aggregate, steps.row)
    measure = DistinctSum(name="", row=row, low=steps.low, high=steps.high, most=most)
    about = f"sum of different values of {said(value)}"
    return Sum(measure=measurer.add("distinct sum", measure, about), step=steps.step)


def _known_count(measurer: Measurer, aggregate: Aggregate, bounds: Pair, most: int) -> str | None:
    """Return a count of the rows of a sum that is measured anyway.

    One that is not asked for is of no use to a sum around zero.
    """
    total = Total(name="", row=measurer.counted_row(aggregate), low=0, high=most)
    if measurer.limits.all_rows and total in UNIT_COUNTS:
        return measurer.known.add_units()
    units = measurer.known.counts_units
    if units and total in UNIT_COUNTS:
        return UNITS
    useful = measurer.choosing.blind or bounds[0] != -bounds[1]
    if useful and measurer.choosing.by(total, units=units):
        return measurer.count(aggregate, (0, most))
    return measurer.known.find(total)
