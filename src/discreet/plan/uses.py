"""What has to be released for an estimator.

Trust: kernel.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from discreet.plan.estimators import (
    Count,
    Estimator,
    Mean,
    Quantile,
    Quantiles,
    Sum,
    Units,
    Variance,
)
from discreet.plan.noises import UNITS

__all__ = ["Use", "ones_of", "terms_of", "uses_of"]

Use = tuple[str, Fraction | None]
"""A measure, at a level if it is a histogram."""


def uses_of(estimator: Estimator) -> Iterator[Use]:
    """Yield what an estimator needs.

    >>> list(uses_of(Count("visits")))
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
            yield from (*uses_of(mean), (squares, None))
        case Quantile(measure=measure, level=level):
            yield measure, level
        case Quantiles(each=each):
            for quantile in each:
                yield from uses_of(quantile)


def ones_of(estimator: Estimator) -> tuple[Estimator, ...]:
    """Return the numbers of which an estimator has several, one by one."""
    return estimator.each if isinstance(estimator, Quantiles) else (estimator,)


def terms_of(estimator: Estimator) -> dict[Use, Fraction]:
    """Return by what the noise of each measure is multiplied in the error of an estimator, about.

    Means are multiplied by their number of rows, and so are variances, whose error is taken to
    first order, with the worst mean.

    >>> terms_of(Sum(measure="sum", step=Fraction(1, 2), center=Fraction(5), count="count"))
    {('sum', None): Fraction(1, 2), ('count', None): Fraction(5, 1)}
    """
    match estimator:
        case Sum(measure=measure, step=step, center=center, count=count):
            terms: dict[Use, Fraction] = {(measure, None): step}
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
            return {use: Fraction(1) for use in uses_of(estimator)}


def _reach(mean: Mean) -> Fraction:
    return max(mean.center - mean.low, mean.high - mean.center)
