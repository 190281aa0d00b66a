"""The value and the interval of a quantile: leaves that were chosen at, below and above its rank.

Trust: public.

A quantile that was chosen outside of its own interval is moved to the nearer end.

Definition.  What a quantile is, is defined in :mod:`discreet.plan.forecast.noise_quantiles`: any
number between the two values whose ranks are next to it.  Its interval goes from the lower edge of
the leaf that was chosen below it to the upper edge of the one that was chosen above it.  An end
that nothing was chosen for, or that misses more often than the confidence allows, is at the bounds
of the values.
Theorem (key ``quantile-ends``).  Each end misses with a chance of at most (1 - confidence) / 2, the
only end of the lowest and of the highest value with at most 1 - confidence.  So the interval holds
the quantile with the confidence, whatever the values are, and however few.
If the leaf from below is above the one from above, one of them missed; the interval then holds
both.  A value next to the edge of a leaf may be counted in the leaf beside it, where floats are
rounded; so edges are moved outward by more than that.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final, final

import numpy as np

from discreet.exact import float_down, float_up
from discreet.plan.aggregates.quantiles import QuantileEstimator, QuantilesEstimator
from discreet.plan.forecast.noise_quantiles import ranks_aside
from discreet.plan.statistics.fixed_point import Grid
from discreet.query.types import Type
from discreet.release.aggregates.kind import AggregateKind, Box, Values, typed_values
from discreet.release.half_width import coordinate_confidence
from discreet.release.interval_arithmetic import Ends, everything
from discreet.release.noisy_totals import Chosen, Intervals, Noisy
from discreet.release.value_arrays import weighted
from discreet.requests.raw_totals import Integers

_EDGE_ROUNDING: Final = Fraction(1, 1 << 48)
_HALF: Final = Fraction(1, 2)


@final
class QuantileKind(AggregateKind[QuantileEstimator]):
    """The value that the chosen leaf stands for."""

    def value(self, estimator: QuantileEstimator, kind: Type, noisy: Noisy) -> Values:
        """Return the leaf at the rank, moved between the ends of the interval."""
        side = (estimator.offset > 0) - (estimator.offset < 0)
        chosen = _chosen_by_side(estimator, noisy)
        leaves = chosen[side].leaves
        if -1 in chosen and 1 in chosen:
            below, above = chosen[-1].leaves, chosen[1].leaves
            leaves = np.clip(leaves, np.minimum(below, above), np.maximum(below, above))
        grid, ones = estimator.grid, np.ones(leaves.shape, np.int64)
        return typed_values(weighted([(grid.width, leaves), (grid.value(0), ones)]), kind)

    def interval(self, estimator: QuantileEstimator, known: Intervals) -> Ends:
        """Return the edges of the leaves below and above."""
        return quantile_interval(estimator, known.noisy, known.confidence)

    def range(
        self, estimator: QuantileEstimator, known: Intervals, box: Box, coordinates: int = 0
    ) -> Ends:
        """Return the interval at the confidence of one of several coordinates."""
        share = coordinate_confidence(known.confidence, coordinates or len(box)).high
        return quantile_interval(estimator, known.noisy, share)


@final
class QuantilesKind(AggregateKind[QuantilesEstimator]):
    """A list of quantiles, each of which has its own interval."""

    def value(self, estimator: QuantilesEstimator, kind: Type, noisy: Noisy) -> tuple[Values, ...]:
        """Return the quantiles, from the lowest level on."""
        return tuple(QuantileKind().value(one, kind, noisy) for one in estimator.each)

    def interval(self, estimator: QuantilesEstimator, known: Intervals) -> None:
        """Have none: there is one for each quantile."""
        del estimator, known

    def range(
        self, estimator: QuantilesEstimator, known: Intervals, box: Box, coordinates: int = 0
    ) -> Ends:
        """Say nothing: lists stand in an output by themselves."""
        del estimator, box, coordinates
        return everything(known.noisy.size)


def _chosen_by_side(quantile: QuantileEstimator, noisy: Noisy) -> dict[int, Chosen]:
    """Return what was chosen at, below and above a quantile; the lowest value has one side."""
    place = quantile.measure, quantile.level
    return {chosen.choice.side: chosen for chosen in noisy.chosen if chosen.choice.use == place}


def quantile_interval(quantile: QuantileEstimator, noisy: Noisy, confidence: Fraction) -> Ends:
    """Return what the quantile of each group lies between.

    >>> from discreet.mechanisms import Exponential
    >>> from discreet.plan.pricing.group_sensitivity import QuantileChoice
    >>> def chosen(offset, leaf):
    ...     choice = QuantileChoice(
    ...         measure="age", level=Fraction(1, 2), offset=offset, rows=1, groups=1,
    ...         available=None, mechanism=Exponential(candidates=111, scale=2))
    ...     return Chosen(choice=choice, leaves=np.array([leaf]))
    >>> noisy = Noisy(size=1, keys=(), totals={},
    ...               chosen=(chosen(0, 41), chosen(-17, 38), chosen(17, 45)))
    >>> ages = Grid(low=Fraction(0), width=Fraction(1), leaves=111)
    >>> median = QuantileEstimator(measure="age", level=Fraction(1, 2), offset=0, grid=ages)
    >>> [end.tolist() for end in quantile_interval(median, noisy, Fraction(19, 20))]
    [[38.0], [45.0]]
    >>> [end.tolist() for end in quantile_interval(median, noisy, Fraction(99, 100))]
    [[0.0], [110.0]]
    """
    chosen = _chosen_by_side(quantile, noisy)
    below, above = chosen.get(-1), chosen.get(1)
    inside = 0 < quantile.level < 1
    missed = (1 - confidence) / (2 if inside else 1)
    first = np.zeros(noisy.size, np.int64)
    last = np.full(noisy.size, quantile.grid.leaves - 1, np.int64)
    low = below.leaves if below is not None and _enough(below, quantile.level, missed) else first
    high = above.leaves if above is not None and _enough(above, quantile.level, missed) else last
    return _edges(quantile.grid, np.minimum(low, high), np.maximum(low, high))


def _enough(chosen: Chosen, level: Fraction, missed: Fraction) -> bool:
    """Say whether an end is aimed so far aside that it misses rarely enough."""
    choice = chosen.choice
    need = ranks_aside(level, choice.mechanism, missed, above=choice.side > 0)
    return need <= abs(choice.offset)


def _edges(grid: Grid, low: Integers, high: Integers) -> Ends:
    """Return the lower edges of some leaves and the upper ones of others."""
    half = grid.shift * grid.width
    slack = grid.leaves * grid.width * _EDGE_ROUNDING if grid.shift == _HALF else Fraction(0)
    ones = np.ones(low.shape, np.int64)
    bottom = weighted([(grid.width, low), (grid.value(0) - half - slack, ones)]).down()
    top = weighted([(grid.width, high), (grid.value(0) + half + slack, ones)]).up()
    most = grid.value(grid.leaves - 1) + half if grid.high is None else grid.high
    return np.maximum(bottom, float_down(grid.low)), np.minimum(top, float_up(most))
