"""Values of aggregates from noisy totals.

Trust: public.

The definitions are those of :mod:`discreet.plan.statistics.estimators`.  Where a noisy number of
rows is below 1, or below 2 for a variance of a sample, 1 or 2 takes its place.  A variance of
values between two bounds is at most a quarter of the square of their distance, and that of a sample
twice as much.  A quantile that was chosen outside of its own interval is moved to the nearer end.
Whole numbers are rounded to the nearest one, halves to the even one.
"""

from __future__ import annotations

from typing import assert_never

import numpy as np

from discreet.exact import float_up
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
from discreet.query.types import Type
from discreet.release.noisy_totals import Chosen, Noisy
from discreet.release.value_arrays import Floats, Rationals, weighted
from discreet.requests.raw_totals import Integers

__all__ = ["chosen_for", "ends_for", "estimated", "largest_variance", "measures_of", "summed"]


def measures_of(estimator: Estimator) -> tuple[str, ...]:
    """Return the totals that an estimator needs, each once.

    >>> from fractions import Fraction
    >>> measures_of(Sum(measure="sum", step=Fraction(1), center=Fraction(5), count="count"))
    ('sum', 'count')
    """
    match estimator:
        case Units():
            return (UNITS,)
        case Count(measure=measure):
            return (measure,)
        case Sum(measure=measure, count=count):
            return (measure,) if count is None else (measure, count)
        case Mean(measure=measure, count=count):
            return (measure, count)
        case Variance(mean=mean, squares=squares):
            return (*measures_of(mean), squares)
        case QuantileEstimator() | QuantilesEstimator():
            return ()
        case _:
            assert_never(estimator)


def estimated(  # noqa: PLR0911 (one for each kind)
    estimator: Estimator, kind: Type, noisy: Noisy
) -> Integers | Floats | tuple[Integers | Floats, ...]:
    """Return the value in every group, as integers or floats; a tuple of these for many levels."""
    match estimator:
        case Units():
            return _typed(noisy.totals[UNITS].exact(), kind)
        case Count(measure=measure):
            return _typed(noisy.totals[measure].exact(), kind)
        case Sum():
            return _typed(summed(estimator, noisy), kind)
        case Mean():
            return _mean(estimator, noisy)
        case Variance():
            return _variance(estimator, noisy)
        case QuantileEstimator():
            return _quantile(estimator, kind, noisy)
        case QuantilesEstimator(each=each):
            return tuple(_quantile(one, kind, noisy) for one in each)
        case _:
            assert_never(estimator)


def summed(estimator: Sum, noisy: Noisy) -> Rationals:
    """Return a sum, exactly."""
    terms = [
        (estimator.step * run.weight, run.values) for run in noisy.totals[estimator.measure].runs
    ]
    if estimator.count is not None:
        count = noisy.totals[estimator.count]
        terms += [(estimator.center * run.weight, run.values) for run in count.runs]
    return weighted(terms)


def chosen_for(quantile: QuantileEstimator, noisy: Noisy) -> Chosen:
    """Return what was chosen for a quantile."""
    side = (quantile.offset > 0) - (quantile.offset < 0)
    return next(each for each in _chosen(quantile, noisy) if each.choice.side == side)


def ends_for(quantile: QuantileEstimator, noisy: Noisy) -> tuple[Chosen | None, Chosen | None]:
    """Return what was chosen below and above a quantile; of the lowest value there is one side."""
    ends = {each.choice.side: each for each in _chosen(quantile, noisy)}
    return ends.get(-1), ends.get(1)


def _chosen(quantile: QuantileEstimator, noisy: Noisy) -> list[Chosen]:
    place = quantile.measure, quantile.level
    return [each for each in noisy.chosen if (each.choice.measure, each.choice.level) == place]


def largest_variance(estimator: Variance) -> float:
    """Return what no variance exceeds, rounded up."""
    width = estimator.mean.high - estimator.mean.low
    return float_up(width * width / (2 if estimator.sample else 4))


def _typed(exact: Rationals, kind: Type) -> Integers | Floats:
    return exact.rounded() if kind is Type.INTEGER else exact.nearest()


def _mean(estimator: Mean, noisy: Noisy) -> Floats:
    rows = np.maximum(noisy.totals[estimator.count].exact().nearest(), 1.0)
    deviation = noisy.totals[estimator.measure].exact().nearest() * float(estimator.step) / rows
    return np.clip(float(estimator.center) + deviation, float(estimator.low), float(estimator.high))


def _variance(estimator: Variance, noisy: Noisy) -> Floats:
    mean = estimator.mean
    least = 2.0 if estimator.sample else 1.0
    rows = np.maximum(noisy.totals[mean.count].exact().nearest(), least)
    deviation = noisy.totals[mean.measure].exact().nearest() * float(mean.step) / rows
    squares = noisy.totals[estimator.squares].exact().nearest() * float(estimator.square_step)
    with np.errstate(over="ignore", invalid="ignore"):
        variance = float(estimator.offset) + squares / rows - deviation**2
        if estimator.sample:
            variance *= rows / (rows - 1.0)
    inside = np.clip(variance, 0.0, largest_variance(estimator))
    return np.sqrt(inside) if estimator.root else inside


def _quantile(quantile: QuantileEstimator, kind: Type, noisy: Noisy) -> Integers | Floats:
    leaves = chosen_for(quantile, noisy).leaves
    below, above = ends_for(quantile, noisy)
    if below is not None and above is not None:
        low, high = np.minimum(below.leaves, above.leaves), np.maximum(below.leaves, above.leaves)
        leaves = np.clip(leaves, low, high)
    grid, ones = quantile.grid, np.ones(leaves.shape, np.int64)
    return _typed(weighted([(grid.width, leaves), (grid.value(0), ones)]), kind)
