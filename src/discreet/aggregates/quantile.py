"""MIN, MAX, PERCENTILE_CONT and APPROX_QUANTILES: leaves of a public grid, chosen by their rank.

Trust: kernel.

Definition.  A histogram over a public grid is measured, and a leaf of it chosen at every level.
The error is in ranks: how many values are between the one that is chosen and the right one, and how
many between the ends of its interval and that.  Ranks do not depend on bounds.

Quantiles rise with their levels: the values of all levels of a histogram are sorted.  The lower end
of an interval is the least that was chosen from below at its level or a higher one, and the upper
end the largest from above at its level or a lower one, which holds what the end itself holds.
A quantile that was chosen outside of its own interval is moved to the nearer end; that keeps the
order, since values and both ends rise.

Definition.  What a quantile is, is defined in :mod:`discreet.plan.noise_errors`: any
number between the two values whose ranks are next to it.  Its interval goes from the lower edge of
one leaf to the upper edge of another.  An end that nothing was chosen for, or that misses more
often than the confidence allows, is at the bounds of the values.

Ends of one quantile of its own follow from a *span* (key ``quantile-span``), w leaves on both sides
of the value, which was chosen to hold about T ranks on each side.  If rows are spread evenly there,
the value misses its rank by more than s ln(1 / m) with a chance of about m, for its scale s, and
the next row is a rank away.  Rows are seldom even, so the interval at confidence 1 - m goes twice
as far, 2 w (s ln(1 / m) + 1) / T leaves to both sides, rounded up, at most w, and from bound to
bound if no smaller span than all leaves was large enough.  How well it holds depends on the rows:
it holds too often if they are even, or equal to the value, and less often next to a crowd outside
of it that is smaller than T ranks.

Ends of many quantiles are read from a tree, and those of extreme values were chosen themselves.
Theorem (key ``quantile-ends``; the accuracy of the exponential mechanism, McSherry and Talwar
2007, on one side).  Each end that was chosen or read misses with a chance of at most
(1 - confidence) / 2, the only end of the lowest and of the highest value with at most
1 - confidence.  So their interval holds the quantile with the confidence, regardless of the values,
and however few. If the leaf from below is above the one from above, one of them missed; the
interval then holds both.  A value next to the
edge of a leaf may be counted in the leaf beside it, if floats are rounded; so edges are moved
outward by more than that.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Final, final

import numpy as np

from discreet import mechanisms
from discreet.aggregates.intervals import Ends, everything, weighted
from discreet.aggregates.measurer import Measurer
from discreet.aggregates.noisy_totals import Box, Chosen, Intervals, Noisy, Values, typed_values
from discreet.errors import WrongType
from discreet.exact import float_down, float_up, with_article
from discreet.plan.binding.value_facts import value_where_counted
from discreet.plan.estimator import Choice, Estimator, NoiseForecast, Predicted, four_digits_up
from discreet.plan.noise_errors import coordinate_confidence, ranks_aside
from discreet.plan.pricing.group_sensitivity import QuantileChoice, QuantileSpan, ReleaseInput
from discreet.plan.pricing.quantile_tree import TreeChoice
from discreet.plan.pricing.release_parts import QuantileLevel
from discreet.plan.statistics.contribution_bounds import ContributionBounds
from discreet.plan.statistics.fixed_point import Grid, grid_of
from discreet.query.expression_text import said
from discreet.query.expressions import Aggregate
from discreet.query.source_text import pointed
from discreet.query.types import Type
from discreet.requests.engine_request import Leaves
from discreet.requests.raw_totals import Integers

_EDGE_ROUNDING: Final = Fraction(1, 1 << 48)
_HALF: Final = Fraction(1, 2)
_EVERYTHING: Final = 1 << 52
_UNEVEN: Final = 2.0  # as measured on medians of eleven tables at epsilon .1
_LEVELS: Final = {"MIN": Fraction(0), "MAX": Fraction(1)}


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class QuantileEstimator(Estimator):
    """A value such that about a share ``level`` of n values, and ``offset`` more, are below it.

    The plan has one :class:`discreet.plan.pricing.group_sensitivity.QuantileChoice` for the same
    measure and level.
    """

    measure: str
    level: Fraction
    offset: int
    grid: Grid

    def inputs(self) -> Iterator[ReleaseInput]:
        yield self.measure, self.level

    def choices(self) -> tuple[Choice, ...]:
        return ((self.measure, self.level, self.offset),)

    def leaf_part(
        self, use: ReleaseInput, histogram: Leaves, limits: ContributionBounds
    ) -> QuantileLevel:
        del use
        return QuantileLevel.of(histogram, limits, level=self.level)

    def aimed(self, offsets: Mapping[ReleaseInput, int]) -> QuantileEstimator:
        return replace(self, offset=offsets[self.measure, self.level])

    def clamped(self) -> tuple[str, ...]:
        return (self.measure,)

    def value_bounds(self) -> tuple[Fraction, Fraction]:
        last = self.grid.value(self.grid.leaves - 1)
        return self.grid.low, last if self.grid.high is None else self.grid.high

    def predict(self, name: str, forecast: NoiseForecast) -> Predicted:
        return _ranks(name, self.choices(), forecast)

    def words_by_width(self, forecast: NoiseForecast, predicted: Predicted) -> str:
        return f"about {predicted.words}"

    def value(self, kind: Type, noisy: Noisy) -> Values:
        """Return the leaf at the rank, in the order of levels, and between the ends."""
        leaves = rising_leaves(self.measure, noisy)[self.level][0]
        ones = np.ones(leaves.shape, np.int64)
        return typed_values(weighted([(self.grid.width, leaves), (self.grid.value(0), ones)]), kind)

    def interval(self, known: Intervals) -> Ends:
        """Return everything if nothing was spent on an interval."""
        _, below, above = rising_leaves(self.measure, known.noisy)[self.level]
        if below is None and above is None:
            return everything(known.noisy.size)
        return quantile_interval(self, known.noisy, known.confidence)

    def range(self, known: Intervals, box: Box, coordinates: int = 0) -> Ends:
        """Return the interval at the confidence of one of several coordinates."""
        share = coordinate_confidence(known.confidence, coordinates or len(box)).high
        return quantile_interval(self, known.noisy, share)


@final
@dataclass(frozen=True, slots=True)
class QuantilesEstimator(Estimator):
    """Values at several levels, which rise."""

    listed: ClassVar[bool] = True
    each: tuple[QuantileEstimator, ...]

    def inputs(self) -> Iterator[ReleaseInput]:
        for quantile in self.each:
            yield from quantile.inputs()

    def choices(self) -> tuple[Choice, ...]:
        return tuple(choice for quantile in self.each for choice in quantile.choices())

    def leaf_part(
        self, use: ReleaseInput, histogram: Leaves, limits: ContributionBounds
    ) -> QuantileLevel:
        level = use[1]
        assert isinstance(level, Fraction)  # noqa: S101  (for the type checker)
        return replace(self.each[0].leaf_part(use, histogram, limits), level=level)

    def single(self) -> tuple[QuantileEstimator, ...]:
        return self.each

    def aimed(self, offsets: Mapping[ReleaseInput, int]) -> QuantilesEstimator:
        return QuantilesEstimator(tuple(quantile.aimed(offsets) for quantile in self.each))

    def clamped(self) -> tuple[str, ...]:
        return self.each[0].clamped()

    def predict(self, name: str, forecast: NoiseForecast) -> Predicted:
        return _ranks(name, self.choices(), forecast)

    def words_by_width(self, forecast: NoiseForecast, predicted: Predicted) -> str:
        return self.each[0].words_by_width(forecast, predicted)

    def value(self, kind: Type, noisy: Noisy) -> tuple[Values, ...]:
        return tuple(one.value(kind, noisy) for one in self.each)

    def interval(self, known: Intervals) -> None:
        """Have none: there is one for each quantile."""
        del known

    def range(self, known: Intervals, box: Box, coordinates: int = 0) -> Ends:
        return everything(known.noisy.size)


def measure_quantile(
    measurer: Measurer, aggregate: Aggregate
) -> QuantileEstimator | QuantilesEstimator:
    """Measure a histogram over the grid between bounds."""
    value, facts = measurer.value(aggregate)
    if not facts.type.is_number:
        raise WrongType(
            what=pointed(
                f"{aggregate.function} of {with_article(facts.type.value)}.", aggregate.span
            ),
            why="it is chosen from a public grid between bounds, and these are numbers.",
            do="ask it of a number, such as EXTRACT(YEAR FROM day), or count by groups.",
        )
    bounds, most = measurer.bounds(aggregate)
    leaf, grid = grid_of(value, facts.type, bounds)
    row = value_where_counted(aggregate, leaf)
    leaves = Leaves(name="", row=row, leaves=grid.leaves, rows=most)
    name = measurer.add("leaves", leaves, f"ranks of {said(value)}")

    def quantile(level: Fraction) -> QuantileEstimator:
        return QuantileEstimator(measure=name, level=level, offset=0, grid=grid)

    level = _LEVELS.get(aggregate.function, aggregate.parameter or Fraction(0))
    if aggregate.function != "APPROX_QUANTILES":
        return quantile(level)
    parts = int(level)
    return QuantilesEstimator(tuple(quantile(Fraction(k, parts)) for k in range(parts + 1)))


def _ranks(name: str, choices: tuple[Choice, ...], forecast: NoiseForecast) -> Predicted:
    """Forecast the worst of some quantiles, and of ends that were aimed aside for any rows."""
    wanted = {(measure, level) for measure, level, _ in choices}
    found = [
        each
        for each in forecast.releases.choices
        if isinstance(each, QuantileChoice | TreeChoice) and each.use in wanted
    ]
    values = [each for each in found if each.is_value]
    ranks, ends = (
        max(_rank(each, forecast.confidence) for each in some) for some in (values, found)
    )
    words = f"± {four_digits_up(ranks)} ranks"
    if len(found) > len(values):
        words += f", in an interval of up to {four_digits_up(ends)} on each side"
    return Predicted(output=name, half_width=ranks, words=words, reach=ends)


def _rank(choice: QuantileChoice | TreeChoice, confidence: Fraction) -> Fraction:
    """Return how many ranks a choice is from its level, at most."""
    if isinstance(choice, TreeChoice):
        return choice.farthest(1 - confidence)
    parts = choice.level.denominator  # scores are whole multiples of one part of a rank
    select = choice.mechanism
    finer = mechanisms.Exponential(candidates=select.candidates, scale=select.scale * parts)
    return Fraction(finer.error(confidence=confidence), parts) + abs(choice.offset)


Rising = tuple[Integers, Chosen | None, Chosen | None]
"""The leaves of a value, and what was chosen below and above it."""


def rising_leaves(measure: str, noisy: Noisy) -> dict[Fraction, Rising]:
    """Return the leaves of a histogram at all levels: they rise, and are between their ends.

    Ends of a span are those of all of it, and may be beyond the first or the last leaf.
    """
    if measure not in noisy.known:
        noisy.known[measure] = _risen(measure, noisy)
    rising: dict[Fraction, Rising] = noisy.known[measure]
    return rising


def _risen(measure: str, noisy: Noisy) -> dict[Fraction, Rising]:
    sides: dict[int, dict[Fraction, Chosen]] = {-1: {}, 0: {}, 1: {}}
    spans: dict[Fraction, Chosen] = {}
    for chosen in noisy.chosen:
        name, level = chosen.choice.use
        if name != measure or not isinstance(level, Fraction):
            continue
        if isinstance(chosen.choice, QuantileSpan):
            wide = np.where(chosen.leaves < chosen.choice.leaves - 1, chosen.leaves, _EVERYTHING)
            spans[level] = replace(chosen, leaves=wide)
        else:
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
    for level, span in spans.items():
        below[level] = replace(span, leaves=values[level] - span.leaves)
        above[level] = replace(span, leaves=values[level] + span.leaves)
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
    """Return what the quantile of each group is between.

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
    value, *chosen = rising_leaves(quantile.measure, noisy)[quantile.level]
    missed, last = 1 - confidence, quantile.grid.leaves - 1
    ends = [np.zeros(noisy.size, np.int64), np.full(noisy.size, last, np.int64)]
    for place, end in enumerate(chosen):
        if isinstance(end, Chosen) and isinstance(end.choice, QuantileSpan):
            aside = (end.leaves - value) * _part(quantile, noisy, end.choice, missed)
            outward = np.copysign(np.ceil(np.abs(aside)), aside).astype(np.int64)
            ends[place] = np.clip(value + outward, 0, last)
        elif isinstance(end, Chosen):
            rare = missed / (2 if 0 < quantile.level < 1 else 1)
            if _enough(end, quantile.level, rare):
                ends[place] = end.leaves
    return quantile_edges(quantile.grid, np.minimum(*ends), np.maximum(*ends))


def _part(quantile: QuantileEstimator, noisy: Noisy, span: QuantileSpan, missed: Fraction) -> float:
    """Return which part of a span an interval takes: twice what a value misses by in even rows."""
    scale = next(
        each.choice.mechanism.scale
        for each in noisy.chosen
        if isinstance(each.choice, QuantileChoice)
        and each.choice.use == (quantile.measure, quantile.level)
    )
    return min(1.0, _UNEVEN * (float_up(scale) * -math.log(missed) + 1.0) / span.offset)


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
