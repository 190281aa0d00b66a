"""What is measured for each aggregate of a question: bounded integer totals, shared where possible.

Trust: kernel.  The bounds of a measure are those that its noise is scaled to.

Definition.  Every aggregate becomes totals of whole numbers
(:mod:`discreet.requests.engine_request`) and a way to compute its value from them
(:mod:`discreet.plan.statistics.estimators`).  Equal totals are measured once.

    COUNT        the rows of a unit, at most ``rows`` of them in a group; the number of units, if it
                 is all rows, and one of a unit
    AVG          that count, and the sum of x - c, c the middle of the bounds
    SUM          where a count of the same rows is measured anyway, the centered sum and the count:
                 h**2 + c**2 <= (h + |c|)**2, h half the range, so that is never worse; else the sum
    VAR, STDDEV  also the sum of (x - c)**2 - h**2 / 2
    quantiles    a histogram over a public grid
    COUNT(DISTINCT x)  the number of units, if x names them; else at most so many values of a unit

A count is measured anyway if it is asked for, or if groups are chosen by it: that is a count of all
rows, where no number of units is asked for.

Units with more rows than may count are scaled down to that many rows of their own mean; their sum
alone is clamped.  With ``contribution_bounds_per_group`` the unit's own count, sum or average in a
group is clamped to these bounds instead, as in GoogleSQL.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final, final

from discreet.errors import MissingBounds, WrongType
from discreet.plan.binding.value_facts import (
    Facts,
    argument_of,
    counting_conditions,
    facts_of,
    one_where_all,
    value_where_counted,
)
from discreet.plan.pricing.group_sensitivity import UNITS
from discreet.plan.statistics.contribution_bounds import (
    ContributionBounds,
    Pair,
    bounds_by_group,
    bounds_by_row,
    whole_bounds,
)
from discreet.plan.statistics.estimators import (
    Count,
    Estimator,
    Grid,
    Mean,
    QuantileEstimator,
    QuantilesEstimator,
    Sum,
    Units,
    Variance,
)
from discreet.plan.statistics.measure_list import MeasureList, ReleaseInput, inputs_of
from discreet.plan.statistics.partition_selection import UNIT_COUNTS, SelectionRule
from discreet.query.expressions import Aggregate, Case, Cast, Column, Expression
from discreet.query.source_text import pointed
from discreet.query.types import Type
from discreet.requests.engine_request import Distinct, Leaves, Measure, Total

if TYPE_CHECKING:  # loaded when first used, because a plain question needs none of it
    from discreet.plan.statistics.fixed_point import Fixed

__all__ = ["MeasuredAggregates", "measures_of"]

_LEVELS: Final = {"MIN": Fraction(0), "MAX": Fraction(1)}


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredAggregates:
    """All measures, and for each aggregate how it is computed and from what.

    ``about`` says in words what each measure holds; ``counts_units`` whether units are counted too.
    """

    measures: tuple[Measure, ...]
    estimators: tuple[Estimator, ...]
    uses: tuple[tuple[ReleaseInput, ...], ...]
    about: Mapping[str, str]
    counts_units: bool = False


def measures_of(  # noqa: PLR0913  what is known of a question
    aggregates: Sequence[Aggregate],
    *,
    facts: Mapping[str, Facts],
    unit: Sequence[str],
    contributions: ContributionBounds,
    choosing: SelectionRule | None = None,
    searched: Sequence[Expression | None] = (),
) -> MeasuredAggregates:
    """Measure bound aggregates over columns of which something is known.

    ``choosing`` says which counts may choose the groups that are shown, where these are private;
    ``searched`` tells, for each aggregate, what its bounds are found for, if they are.
    """
    known = MeasureList()
    measurer = _Measurer(facts, tuple(unit), contributions, known, choosing or SelectionRule())
    places = [*zip(aggregates, searched or [None] * len(aggregates), strict=True)]
    found: dict[tuple[Aggregate, Expression | None], Estimator] = {}
    for each in sorted(places, key=lambda each: each[0].function == "SUM"):  # sums look for counts
        found[each] = replace(measurer, apart=each[1]).estimator(each[0])
    estimators = tuple(found[each] for each in places)
    return MeasuredAggregates(
        measures=known.measures,
        estimators=estimators,
        uses=tuple(tuple(dict.fromkeys(inputs_of(each))) for each in estimators),
        about=known.about,
        counts_units=known.counts_units,
    )


@final
@dataclass(frozen=True, slots=True)
class _Measurer:
    """Measures one aggregate after the other."""

    facts: Mapping[str, Facts]
    unit: tuple[str, ...]
    limits: ContributionBounds
    known: MeasureList
    choosing: SelectionRule
    apart: Expression | None = None

    def estimator(self, aggregate: Aggregate) -> Estimator:
        """Measure one aggregate."""
        match aggregate.function:
            case "COUNT" if aggregate.distinct:
                return self._different(aggregate)
            case "COUNT":
                most = whole_bounds(aggregate) or (0, self.limits.most_rows(aggregate.span))
                return Count(self._rows(aggregate, most))
            case "SUM":
                return self._sum(aggregate)
            case "AVG":
                return self._mean(aggregate)
            case "MIN" | "MAX" | "PERCENTILE_CONT" | "APPROX_QUANTILES":
                return self._quantile(aggregate)
            case _:
                return self._variance(aggregate)

    def _rows(self, aggregate: Aggregate, bounds: tuple[int, int]) -> str:
        """Count rows that an aggregate looks at, so many for each unit."""
        row = one_where_all(counting_conditions(aggregate, self.facts))
        about = "rows"
        if isinstance(row, Case):
            from discreet.query.expression_text import said  # noqa: PLC0415  rare

            about = f"rows with {said(row.branches[0][0])}"
        low, high = bounds
        total = Total(name="", row=row, low=low, high=high)
        if total in UNIT_COUNTS:
            return self.known.add_units()
        return self.known.add("count", total, about)

    def _different(self, aggregate: Aggregate) -> Estimator:
        value = argument_of(aggregate)
        if isinstance(value, Column) and self.unit == (value.name,):
            if aggregate.where is None:
                self.known.add_units()
                return Units()
            return Count(self._rows(replace(aggregate, argument=None, distinct=False), (0, 1)))
        most = self._most_values(aggregate, value)
        measure = Distinct(name="", expression=value_where_counted(aggregate, value), most=most)
        from discreet.query.expression_text import said  # noqa: PLC0415  rare

        return Count(self.known.add("distinct", measure, f"different values of {said(value)}"))

    def _most_values(self, aggregate: Aggregate, value: Expression) -> int:
        """Return how many values of a unit count; all its rows may have the same one."""
        if self.limits.single or facts_of(value, self.facts).constant:
            return 1
        bounds = whole_bounds(aggregate)
        most = self.limits.rows if bounds is None else bounds[1]
        if most is not None:
            return most
        from discreet.query.expression_text import said  # noqa: PLC0415  rare

        raise MissingBounds(
            what=pointed(
                f"how many values of {said(value)} of one person count is not limited.",
                aggregate.span,
            ),
            why="somebody with very many values would need as much more noise.",
            do="write COUNT(DISTINCT x, contribution_bounds_per_group => (0, 5)), or add to the "
            "policy:\n    [limits]\n    max_rows = 5",
        )

    def _sum(self, aggregate: Aggregate) -> Sum:
        value, facts = self._value(aggregate)
        pair = bounds_by_group(aggregate)
        if pair is not None:
            return self._clamped_sum(aggregate, pair)
        bounds, most = self._bounds(aggregate)
        count = self._known_count(aggregate, bounds, most)
        if count is not None:
            name, steps = self._centered(aggregate)
            used = None if steps.center == 0 else count
            return Sum(measure=name, step=steps.step, center=steps.center, count=used)
        from discreet.plan.statistics.fixed_point import fixed  # noqa: PLC0415  rare

        steps = fixed(value, facts.type, bounds, rows=most)
        ends = most * min(steps.low, 0), most * max(steps.high, 0)
        return Sum(measure=self._total(aggregate, steps, ends), step=steps.step)

    def _known_count(self, aggregate: Aggregate, bounds: Pair, most: int) -> str | None:
        """Return a count of the rows of a sum that is measured anyway.

        One that is not asked for is of no use to a sum around zero.
        """
        row = one_where_all(counting_conditions(aggregate, self.facts))
        total = Total(name="", row=row, low=0, high=most)
        units = self.known.counts_units
        if units and total in UNIT_COUNTS:
            return UNITS
        useful = self.choosing.blind or sum(bounds) != 0
        if useful and self.choosing.by(total, units=units):
            return self._rows(aggregate, (0, most))
        return self.known.find(total)

    def _clamped_sum(self, aggregate: Aggregate, pair: Pair) -> Sum:
        """Clamp what each unit adds up to in a group."""
        value, facts = self._value(aggregate)
        from discreet.plan.statistics.fixed_point import fixed_open  # noqa: PLC0415  rare

        steps = fixed_open(value, facts.type, pair, whole=True)
        return Sum(measure=self._total(aggregate, steps, _ends(pair, steps)), step=steps.step)

    def _mean(self, aggregate: Aggregate) -> Mean:
        pair = bounds_by_group(aggregate)
        if pair is not None:
            return self._clamped_mean(aggregate, pair)
        bounds, most = self._bounds(aggregate)
        count = self._rows(aggregate, (0, most))
        name, steps = self._centered(aggregate)
        return _mean_of(name, count, steps, bounds)

    def _clamped_mean(self, aggregate: Aggregate, pair: Pair) -> Mean:
        """Let each unit count once, with its own average in a group, which is clamped."""
        value, facts = self._value(aggregate)
        count = self._rows(aggregate, (0, 1))
        center = Fraction(float(sum(pair) / 2))
        from discreet.plan.statistics.fixed_point import fixed_open  # noqa: PLC0415  rare

        steps = fixed_open(value, facts.type, pair, center=center)
        cap = None if self.limits.single else 1
        name = self._total(aggregate, steps, _ends(pair, steps), cap=cap)
        return _mean_of(name, count, steps, pair)

    def _variance(self, aggregate: Aggregate) -> Variance:
        value, facts = self._value(aggregate)
        mean, (bounds, most) = self._mean(aggregate), self._bounds(aggregate)
        from discreet.plan.statistics.fixed_point import fixed_square  # noqa: PLC0415  rare

        steps = fixed_square(value, facts.type, bounds, center=mean.center, rows=most)
        ends = most * steps.low, most * steps.high
        low, high = ends
        row, cap = value_where_counted(aggregate, steps.row), self.limits.cap
        total = Total(name="", row=row, low=low, high=high, rows=cap)
        from discreet.query.expression_text import said  # noqa: PLC0415  rare

        about = f"sum of squares of {said(value)} less {_shown(mean.center)}"
        return Variance(
            mean=mean,
            squares=self.known.add("squares", total, about, apart=self.apart),
            square_step=steps.step,
            offset=steps.center,
            sample=aggregate.function.endswith("_SAMP"),
            root=aggregate.function.startswith("STDDEV"),
        )

    def _quantile(self, aggregate: Aggregate) -> QuantileEstimator | QuantilesEstimator:
        value, facts = self._value(aggregate)
        if not facts.type.is_number:
            raise WrongType(
                what=pointed(f"{aggregate.function} of a {facts.type.value}.", aggregate.span),
                why="it is chosen from a public grid between bounds, and these are numbers.",
                do="ask it of a number, such as EXTRACT(YEAR FROM day), or count by groups.",
            )
        bounds, most = self._bounds(aggregate)
        from discreet.plan.statistics.fixed_point import grid_of  # noqa: PLC0415  rare

        leaf, grid = grid_of(value, facts.type, bounds)
        row = value_where_counted(aggregate, leaf)
        leaves = Leaves(name="", row=row, leaves=grid.leaves, rows=most)
        from discreet.query.expression_text import said  # noqa: PLC0415  rare

        name = self.known.add("leaves", leaves, f"ranks of {said(value)}", apart=self.apart)
        level = _LEVELS.get(aggregate.function, aggregate.parameter or Fraction(0))
        if aggregate.function != "APPROX_QUANTILES":
            return _at(name, level, grid)
        parts = int(level)
        return QuantilesEstimator(
            tuple(_at(name, Fraction(k, parts), grid) for k in range(parts + 1))
        )

    def _centered(self, aggregate: Aggregate) -> tuple[str, Fixed]:
        """Add up values less the middle of their bounds; units that are scaled need fine steps."""
        value, facts = self._value(aggregate)
        bounds, most = self._bounds(aggregate)
        whole = facts.type is Type.INTEGER
        from discreet.plan.statistics.fixed_point import fixed  # noqa: PLC0415  rare

        if whole and not self.limits.single:
            steps = fixed(Cast(value, Type.FLOAT), Type.FLOAT, bounds, rows=most, centered=True)
        else:
            steps = fixed(value, facts.type, bounds, rows=most, centered=True)
        ends = most * steps.low, most * steps.high
        return self._total(aggregate, steps, ends, cap=self.limits.cap), steps

    def _total(
        self, aggregate: Aggregate, steps: Fixed, ends: tuple[int, int], *, cap: int | None = None
    ) -> str:
        """Add a sum between bounds on what one unit adds to a group."""
        low, high = ends
        total = Total(
            name="", row=value_where_counted(aggregate, steps.row), low=low, high=high, rows=cap
        )
        less = f" less {_shown(steps.center)}" if steps.center else ""
        from discreet.query.expression_text import said  # noqa: PLC0415  rare

        about = f"sum of {said(argument_of(aggregate))}{less}"
        return self.known.add("sum", total, about, apart=self.apart)

    def _value(self, aggregate: Aggregate) -> tuple[Expression, Facts]:
        value = argument_of(aggregate)
        return value, facts_of(value, self.facts)

    def _bounds(self, aggregate: Aggregate) -> tuple[Pair, int]:
        """Return the bounds on values, and how many rows of a unit count in a group."""
        bounds = bounds_by_row(aggregate, *self._value(aggregate))
        return bounds, self.limits.most_rows(aggregate.span)


def _ends(pair: Pair, steps: Fixed) -> tuple[int, int]:
    """Return bounds on a total, in whole steps."""
    low, high = (round((bound - steps.center) / steps.step) for bound in pair)
    return low, high


def _mean_of(name: str, count: str, steps: Fixed, bounds: Pair) -> Mean:
    low, high = bounds
    return Mean(measure=name, count=count, step=steps.step, center=steps.center, low=low, high=high)


def _at(name: str, level: Fraction, grid: Grid) -> QuantileEstimator:
    return QuantileEstimator(measure=name, level=level, offset=0, grid=grid)


def _shown(number: Fraction) -> str:
    return f"{float(number):.6g}"
