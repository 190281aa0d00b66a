"""The value and the interval of a quantile: leaves that were chosen at, below and above its rank.

Trust: public.

Quantiles rise with their levels: the values of all levels of a histogram are sorted.  The lower end
of an interval is the least that was chosen from below at its level or a higher one, and the upper
end the largest from above at its level or a lower one, which holds what the end itself holds.
A quantile that was chosen outside of its own interval is moved to the nearer end; that keeps the
order, since values and both ends rise.

Definition.  What a quantile is, is defined in :mod:`discreet.plan.noise_quantiles`: any
number between the two values whose ranks are next to it.  Its interval goes from the lower edge of
the leaf that was chosen below it to the upper edge of the one that was chosen above it.  An end
that nothing was chosen for, or that misses more often than the confidence allows, is at the bounds
of the values.
Theorem (key ``quantile-ends``; the accuracy of the exponential mechanism, McSherry and Talwar
2007, on one side).  Each end misses with a chance of at most (1 - confidence) / 2, the only end of
the lowest and of the highest value with at most 1 - confidence.  So the interval holds the
quantile with the confidence, whatever the values are, and however few. If the leaf from below is
above the one from above, one of them missed; the interval then holds both.  A value next to the
edge of a leaf may be counted in the leaf beside it, where floats are rounded; so edges are moved
outward by more than that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Final, final

import numpy as np

from discreet.exact import float_down, float_up
from discreet.plan.aggregates.quantiles import QuantileEstimator, QuantilesEstimator
from discreet.plan.noise_quantiles import ranks_aside
from discreet.plan.pricing.group_sensitivity import QuantileChoice
from discreet.plan.pricing.quantile_tree import TreeChoice
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
        """Return the leaf at the rank, in the order of levels, and between the ends."""
        leaves = rising_leaves(estimator.measure, noisy)[estimator.level][0]
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


Rising = tuple[Integers, Chosen | None, Chosen | None]
"""The leaves of a value, and what was chosen below and above it."""


def rising_leaves(measure: str, noisy: Noisy) -> dict[Fraction, Rising]:
    """Return the leaves of a histogram at all levels: they rise, and lie between their ends."""
    if measure not in noisy.known:
        noisy.known[measure] = _risen(measure, noisy)
    rising: dict[Fraction, Rising] = noisy.known[measure]
    return rising


def _risen(measure: str, noisy: Noisy) -> dict[Fraction, Rising]:
    sides: dict[int, dict[Fraction, Chosen]] = {-1: {}, 0: {}, 1: {}}
    for chosen in noisy.chosen:
        name, level = chosen.choice.use
        if name == measure and isinstance(level, Fraction):
            sides[chosen.choice.side][level] = chosen
    levels = sorted(sides[-1] | sides[0] | sides[1])
    values = {level: _value(level, sides).leaves for level in levels}
    below, above = dict(sides[-1]), dict(sides[1])
    if len(levels) > 1:
        ordered = np.sort(np.stack([values[level] for level in levels]), axis=0)
        values = dict(zip(levels, ordered, strict=True))
        below = _monotone(below, np.minimum, sorted(below, reverse=True))
        above = _monotone(above, np.maximum, sorted(above))
    for level in levels:
        if level in below and level in above:
            ends = below[level].leaves, above[level].leaves
            values[level] = np.clip(values[level], np.minimum(*ends), np.maximum(*ends))
    return {level: (values[level], below.get(level), above.get(level)) for level in levels}


def _value(level: Fraction, sides: Mapping[int, Mapping[Fraction, Chosen]]) -> Chosen:
    """Return what was chosen for a value; the lowest and the highest are ends."""
    return next(sides[side][level] for side in (0, 1, -1) if level in sides[side])


def _monotone(
    chosen: Mapping[Fraction, Chosen], narrow: np.ufunc, levels: Sequence[Fraction]
) -> dict[Fraction, Chosen]:
    """Move every end as far outward as those before it."""
    found: dict[Fraction, Chosen] = {}
    leaves: Integers | None = None
    for level in levels:
        own = chosen[level].leaves
        leaves = own if leaves is None else narrow(leaves, own)
        found[level] = replace(chosen[level], leaves=leaves)
    return found


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
    _, below, above = rising_leaves(quantile.measure, noisy)[quantile.level]
    inside = 0 < quantile.level < 1
    missed = (1 - confidence) / (2 if inside else 1)
    first = np.zeros(noisy.size, np.int64)
    last = np.full(noisy.size, quantile.grid.leaves - 1, np.int64)
    low = below.leaves if below is not None and _enough(below, quantile.level, missed) else first
    high = above.leaves if above is not None and _enough(above, quantile.level, missed) else last
    return quantile_edges(quantile.grid, np.minimum(low, high), np.maximum(low, high))


def _enough(chosen: Chosen, level: Fraction, missed: Fraction) -> bool:
    """Say whether an end is aimed so far aside that it misses rarely enough."""
    choice = chosen.choice
    if isinstance(choice, TreeChoice):
        return choice.missed <= missed
    assert isinstance(choice, QuantileChoice)  # noqa: S101 (there is no other)
    need = ranks_aside(level, choice.mechanism, missed, above=choice.side > 0)
    return need <= abs(choice.offset)


def quantile_edges(grid: Grid, low: Integers, high: Integers) -> Ends:
    """Return the lower edges of some leaves and the upper ones of others."""
    half = grid.shift * grid.width
    slack = grid.leaves * grid.width * _EDGE_ROUNDING if grid.shift == _HALF else Fraction(0)
    ones = np.ones(low.shape, np.int64)
    bottom = weighted([(grid.width, low), (grid.value(0) - half - slack, ones)]).down()
    top = weighted([(grid.width, high), (grid.value(0) + half + slack, ones)]).up()
    most = grid.value(grid.leaves - 1) + half if grid.high is None else grid.high
    return np.maximum(bottom, float_down(grid.low)), np.minimum(top, float_up(most))
