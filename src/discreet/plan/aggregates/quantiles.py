"""MIN, MAX, PERCENTILE_CONT and APPROX_QUANTILES: leaves of a public grid, chosen by their rank.

Trust: kernel.

Definition.  A histogram over a public grid is measured, and a leaf of it chosen at every level.
The error is in ranks: how many values lie between the one that is chosen and the right one, and how
many between the ends of its interval and that.  Ranks do not depend on bounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Final, final

from discreet import mechanisms
from discreet.errors import WrongType
from discreet.exact import with_article
from discreet.plan.aggregates.estimator import (
    Choice,
    Estimator,
    NoiseForecast,
    Predicted,
    four_digits_up,
)
from discreet.plan.aggregates.measurer import Measurer
from discreet.plan.binding.value_facts import value_where_counted
from discreet.plan.pricing.group_sensitivity import QuantileChoice, ReleaseInput
from discreet.plan.pricing.quantile_tree import TreeChoice
from discreet.plan.pricing.release_parts import QuantileLevel
from discreet.plan.statistics.contribution_bounds import ContributionBounds
from discreet.plan.statistics.fixed_point import Grid, grid_of
from discreet.query.expression_text import said
from discreet.query.expressions import Aggregate
from discreet.query.source_text import pointed
from discreet.requests.engine_request import Leaves

_LEVELS: Final = {"MIN": Fraction(0), "MAX": Fraction(1)}


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class QuantileEstimator(Estimator):
    """A value such that about a share ``level`` of n values, and ``offset`` more, lie below it.

    The plan has one :class:`discreet.plan.pricing.group_sensitivity.QuantileChoice` for the same
    measure and level.
    """

    measure: str
    level: Fraction
    offset: int
    grid: Grid

    def inputs(self) -> Iterator[ReleaseInput]:
        """Need a choice at the level."""
        yield self.measure, self.level

    def choices(self) -> tuple[Choice, ...]:
        """Return the choice."""
        return ((self.measure, self.level, self.offset),)

    def leaf_part(
        self, use: ReleaseInput, histogram: Leaves, limits: ContributionBounds
    ) -> QuantileLevel:
        """Choose a leaf at the level, and the ends of its interval."""
        del use
        return QuantileLevel(
            measure=histogram.name,
            level=self.level,
            leaves=histogram.leaves,
            rows=histogram.rows,
            groups=limits.groups,
            available=limits.available,
        )

    def aimed(self, offsets: Mapping[ReleaseInput, int]) -> QuantileEstimator:
        """Aim at the offset of the level."""
        return replace(self, offset=offsets[self.measure, self.level])

    def clamped(self) -> tuple[str, ...]:
        """Return the histogram."""
        return (self.measure,)

    def predict(self, name: str, forecast: NoiseForecast) -> Predicted:
        """Forecast it in ranks."""
        return _ranks(name, self.choices(), forecast)

    def words_by_width(self, forecast: NoiseForecast, predicted: Predicted) -> str:  # noqa: ARG002
        """Say the same: ranks do not depend on bounds."""
        return f"about {predicted.words}"


@final
@dataclass(frozen=True, slots=True)
class QuantilesEstimator(Estimator):
    """Values at several levels, which rise."""

    listed: ClassVar[bool] = True
    each: tuple[QuantileEstimator, ...]

    def inputs(self) -> Iterator[ReleaseInput]:
        """Need a choice at every level."""
        for quantile in self.each:
            yield from quantile.inputs()

    def choices(self) -> tuple[Choice, ...]:
        """Return the choices, from the lowest level on."""
        return tuple(choice for quantile in self.each for choice in quantile.choices())

    def leaf_part(
        self, use: ReleaseInput, histogram: Leaves, limits: ContributionBounds
    ) -> QuantileLevel:
        """Choose a leaf at one of the levels."""
        level = use[1]
        assert isinstance(level, Fraction)  # noqa: S101  (for the type checker)
        return replace(self.each[0].leaf_part(use, histogram, limits), level=level)

    def single(self) -> tuple[QuantileEstimator, ...]:
        """Return the quantiles."""
        return self.each

    def aimed(self, offsets: Mapping[ReleaseInput, int]) -> QuantilesEstimator:
        """Aim at the offset of every level."""
        return QuantilesEstimator(tuple(quantile.aimed(offsets) for quantile in self.each))

    def clamped(self) -> tuple[str, ...]:
        """Return the histogram, which all levels share."""
        return self.each[0].clamped()

    def predict(self, name: str, forecast: NoiseForecast) -> Predicted:
        """Forecast the worst level in ranks."""
        return _ranks(name, self.choices(), forecast)

    def words_by_width(self, forecast: NoiseForecast, predicted: Predicted) -> str:
        """Say the same: ranks do not depend on bounds."""
        return self.each[0].words_by_width(forecast, predicted)


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
    """Forecast the worst of some quantiles, and of the ends of their intervals."""
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
    if any(choice.side == 0 for choice in values):
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
