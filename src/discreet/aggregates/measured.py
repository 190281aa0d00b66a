"""What is measured for the aggregates of a question, and the table of all aggregates.

Trust: kernel.

Definition.  Every aggregate becomes totals of whole numbers
(:mod:`discreet.requests.engine_request`) and a way to compute its value from them
(:mod:`discreet.plan.estimator`).  Equal totals are measured once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Final

from discreet.aggregates.count import measure_count
from discreet.aggregates.mean import measure_mean
from discreet.aggregates.measurer import MeasureList, Measurer
from discreet.aggregates.median_absolute_deviation import measure_deviation
from discreet.aggregates.mode import measure_mode
from discreet.aggregates.quantile import measure_quantile
from discreet.aggregates.sum import measure_sum
from discreet.aggregates.variance import measure_variance
from discreet.plan.binding.value_facts import Facts, KnownFacts
from discreet.plan.estimator import Estimator
from discreet.plan.pricing.group_sensitivity import ReleaseInput
from discreet.plan.pricing.release_parts import LEVELS
from discreet.plan.setting import MeasuredAggregates
from discreet.plan.statistics.contribution_bounds import ContributionBounds
from discreet.plan.statistics.partition_selection import SelectionRule
from discreet.query.expressions import Aggregate, Expression

AGGREGATES: Final[Mapping[str, Callable[[Measurer, Aggregate], Estimator]]] = {
    "COUNT": measure_count,
    "SUM": measure_sum,
    "AVG": measure_mean,
    "VAR_POP": measure_variance,
    "VAR_SAMP": measure_variance,
    "STDDEV_POP": measure_variance,
    "STDDEV_SAMP": measure_variance,
    "MIN": measure_quantile,
    "MAX": measure_quantile,
    "PERCENTILE_CONT": measure_quantile,
    "APPROX_QUANTILES": measure_quantile,
    "MODE": measure_mode,
    "MEDIAN_ABSOLUTE_DEVIATION": measure_deviation,
}
"""How each aggregate is measured."""


def measure_all(  # noqa: PLR0913  what is known of a question
    aggregates: Sequence[Aggregate],
    *,
    facts: Mapping[str, Facts],
    unit: Sequence[str],
    contributions: ContributionBounds,
    choosing: SelectionRule | None = None,
    searched: Sequence[Expression | None] = (),
) -> MeasuredAggregates:
    """Measure bound aggregates over columns of which something is known.

    ``choosing`` says which counts may choose the groups that are shown, if these are private;
    ``searched`` tells, for each aggregate, what its bounds are found for, if they are.
    """
    known = MeasureList()
    measurer = Measurer(
        KnownFacts.of(facts), tuple(unit), contributions, known, choosing or SelectionRule()
    )
    places = [*zip(aggregates, searched or [None] * len(aggregates), strict=True)]
    measured: dict[tuple[Aggregate, Expression | None], Estimator] = {}
    for place in sorted(places, key=lambda each: each[0].function == "SUM"):  # sums look for counts
        aggregate, apart = place
        measure = AGGREGATES[aggregate.function]
        bounded = measurer if apart is None else replace(measurer, apart=apart)
        measured[place] = measure(bounded, aggregate)
    estimators = tuple(measured[place] for place in places)
    levels = _listed_levels(estimators)
    return MeasuredAggregates(
        measures=known.measures,
        estimators=estimators,
        uses=tuple(_uses(each, levels) for each in estimators),
        about=known.about,
        counts_units=known.counts_units,
        levels=levels,
    )


def _listed_levels(estimators: Sequence[Estimator]) -> dict[str, tuple[Fraction, ...]]:
    """Return the levels of each histogram of which there are several, as they are asked for."""
    found: dict[str, dict[Fraction, None]] = {}
    for estimator in estimators:
        for name, level in estimator.inputs():
            if isinstance(level, Fraction):
                found.setdefault(name, {})[level] = None
    return {name: tuple(levels) for name, levels in found.items() if len(levels) > 1}


def _uses(
    estimator: Estimator, levels: Mapping[str, tuple[Fraction, ...]]
) -> tuple[ReleaseInput, ...]:
    """Return what an aggregate needs; several levels of a histogram are bought as one."""
    uses = (
        (name, LEVELS if isinstance(level, Fraction) and name in levels else level)
        for name, level in estimator.inputs()
    )
    return tuple(dict.fromkeys(uses))
