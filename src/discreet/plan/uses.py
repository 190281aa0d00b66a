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

__all__ = ["Use", "uses_of"]

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
