"""What has to be measured for an estimator, each measure once.

Trust: kernel.

What has to be released for an estimator.

The measures of a question, each of them once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import final

from discreet.plan.pricing.group_sensitivity import UNITS
from discreet.plan.statistics.estimators import (
    Count,
    Estimator,
    Mean,
    QuantileEstimator,
    QuantilesEstimator,
    Sum,
    Units,
    Variance,
)
from discreet.query.expressions import Expression
from discreet.requests.engine_request import Measure

__all__ = ["MeasureList", "ReleaseInput", "error_terms", "inputs_of", "single_estimators"]

ReleaseInput = tuple[str, Fraction | None]
"""A measure, at a level if it is a histogram."""


def inputs_of(estimator: Estimator) -> Iterator[ReleaseInput]:
    """Yield what an estimator needs.

    >>> list(inputs_of(Count("visits")))
    [('visits', None)]
    """
    match estimator:
        case Units():
            yield UNITS, None
        case Count(measure=measure):
            yield measure, None
        case Sum(measure=measure, count=count):
            yield measure, None
            if count is not None:
                yield count, None
        case Mean(measure=measure, count=count):
            yield from ((count, None), (measure, None))
        case Variance(mean=mean, squares=squares):
            yield from (*inputs_of(mean), (squares, None))
        case QuantileEstimator(measure=measure, level=level):
            yield measure, level
        case QuantilesEstimator(each=each):
            for quantile in each:
                yield from inputs_of(quantile)


def single_estimators(estimator: Estimator) -> tuple[Estimator, ...]:
    """Return the numbers of which an estimator has several, one by one."""
    return estimator.each if isinstance(estimator, QuantilesEstimator) else (estimator,)


def error_terms(estimator: Estimator) -> dict[ReleaseInput, Fraction]:
    """Return by what the noise of each measure is multiplied in the error of an estimator, about.

    Means are multiplied by their number of rows, and so are variances, whose error is taken to
    first order, with the worst mean.

    >>> error_terms(Sum(measure="sum", step=Fraction(1, 2), center=Fraction(5), count="count"))
    {('sum', None): Fraction(1, 2), ('count', None): Fraction(5, 1)}
    """
    match estimator:
        case Sum(measure=measure, step=step, center=center, count=count):
            terms: dict[ReleaseInput, Fraction] = {(measure, None): step}
            if count is not None:
                terms[count, None] = center
            return terms
        case Mean(measure=measure, count=count, step=step):
            return {(measure, None): step, (count, None): _reach(estimator)}
        case Variance(mean=mean, squares=squares, square_step=square_step, offset=offset):
            reach = _reach(mean)
            worst = max(offset, reach * reach - offset) + 2 * reach * reach
            return {
                (squares, None): square_step,
                (mean.measure, None): 2 * reach * mean.step,
                (mean.count, None): worst,
            }
        case _:
            return {use: Fraction(1) for use in inputs_of(estimator)}


def _reach(mean: Mean) -> Fraction:
    return max(mean.center - mean.low, mean.high - mean.center)


@final
class MeasureList:
    """Measures by their names, and in words what each of them holds.

    Equal measures are one.  Those whose bounds are found from the data may come to be equal to
    others by what is found; they are kept apart from these, by what bounds are found for, so that
    names never depend on it.

    >>> from discreet.requests.engine_request import Total
    >>> from discreet.query.expressions import Literal
    >>> found = MeasureList()
    >>> rows = Total(name="", row=Literal(1), low=0, high=5)
    >>> found.add("count", rows, "rows"), found.add("count", rows, "rows")
    ('count', 'count')
    >>> found.add("count", Total(name="", row=Literal(1), low=0, high=9), "rows")
    'count_2'
    >>> found.add("count", rows, "rows", apart=Literal(2))
    'count_3'
    """

    __slots__ = ("_about", "_apart", "_measures", "counts_units")

    def __init__(self) -> None:
        """Begin with none."""
        self._measures: dict[str, Measure] = {}
        self._apart: dict[str, Expression | None] = {}
        self._about = {UNITS: "units"}
        self.counts_units = False

    @property
    def measures(self) -> tuple[Measure, ...]:
        """All measures, in the order in which they were added."""
        return tuple(self._measures.values())

    @property
    def about(self) -> dict[str, str]:
        """What each measure holds."""
        return self._about

    def add(
        self, kind: str, measure: Measure, about: str, *, apart: Expression | None = None
    ) -> str:
        """Add a measure without a name, unless it is there, and return its name."""
        known = self.find(measure, apart=apart)
        if known is not None:
            return known
        number = sum(name.partition("_")[0] == kind for name in self._measures) + 1
        name = kind if number == 1 else f"{kind}_{number}"
        self._measures[name] = replace(measure, name=name)
        self._apart[name] = apart
        self._about[name] = about
        return name

    def add_units(self) -> str:
        """Add the number of units, which every engine counts, and return its name."""
        self.counts_units = True
        return UNITS

    def find(self, measure: Measure, *, apart: Expression | None = None) -> str | None:
        """Return the name of a measure that was added."""
        same = (
            name
            for name, each in self._measures.items()
            if self._apart[name] == apart and replace(each, name="") == measure
        )
        return next(same, None)
