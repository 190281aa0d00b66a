"""Aggregates, one file each: the value and the interval of each, from what the mechanisms gave.

Trust: public.  The table below says which file computes which estimator.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from discreet.plan.aggregates.counts import Count, Units
from discreet.plan.aggregates.estimator import Estimator
from discreet.plan.aggregates.means import Mean
from discreet.plan.aggregates.modes import ModeEstimator
from discreet.plan.aggregates.quantiles import QuantileEstimator, QuantilesEstimator
from discreet.plan.aggregates.sums import Sum
from discreet.plan.aggregates.variances import Variance
from discreet.release.aggregates.kind import AggregateKind, CountKind, ModeKind, SumKind
from discreet.release.aggregates.means import MeanKind
from discreet.release.aggregates.quantiles import QuantileKind, QuantilesKind
from discreet.release.aggregates.variances import VarianceKind

__all__ = ["KINDS", "kind_of"]

KINDS: Final[Mapping[type[Estimator], AggregateKind[Any]]] = {
    Units: CountKind(),
    Count: CountKind(),
    Sum: SumKind(),
    Mean: MeanKind(),
    Variance: VarianceKind(),
    QuantileEstimator: QuantileKind(),
    QuantilesEstimator: QuantilesKind(),
    ModeEstimator: ModeKind(),
}
"""How each estimator is computed."""


def kind_of(estimator: Estimator) -> AggregateKind[Any]:
    """Return how an estimator is computed.

    >>> type(kind_of(Count("visits"))).__name__
    'CountKind'
    """
    return KINDS[type(estimator)]
