"""Counts, and sums with counts, measured together in cells where that is more exact.

Trust: kernel.  The counts that are joined are no measures of their own any more: what is read for
them is one histogram of cells, in which a unit counts with at most as many rows as before.

Definition.  Counts of rows can be joined if they are shown as they are: not those by which groups
are chosen, not those that sums and means need, not those with an epsilon of their own, and none of
people, except where a row is a person.  Joined are those with the same limit on the rows of a unit,
if their conditions leave at most 4096 cells and some strategy errs less than to divide the price
among the counts; where errors are asked for in place of a price, if no row is in two counts.  A
unit with more rows than may count, in whatever cells, counts with as many rows
as may, chosen by a hash; by itself every count had that limit.

COUNT(*) beside AVG(x), where x may be NULL, needs the number of all rows and of those with a value.
Each row is one of two cells, with a value or without; so both counts cost one release, not two.
They mean what they meant by themselves, for units of many rows too (key ``nested-counts``).  That
counts are nested is checked where releases are priced
(:func:`discreet.plan.pricing.release_composition.check_claims`).

Definition.  Nested counts are taken, those of sums and means too, if they have the same limit on
the rows of a unit, from the one with the fewest conditions on inward, where that errs less than to
divide the price among them; not those by which groups are chosen, nor any with an epsilon or an
error of its own.

Definition.  Joined are the totals of SUM, AVG, VARIANCE, STDDEV and COUNT that are bounded row by
row: not those by which groups are chosen, none with an epsilon of its own, none with bounds per
group, and none of people, except where a row is a person.  A total adds up a value in the rows with
some condition: of CASE WHEN c THEN x END the value is x, and c is part of the condition; so it is
with ELSE 0 for a plain sum.  Conditions leave at most 4096 cells.
Sums are joined if some strategy errs less than what the price buys of them otherwise, where the
counts may be joined as before (:mod:`discreet.plan.workload.joined_measures`); errors are those of
``split-shares``, in terms of what one row can add.  Where errors are asked for in place of a price,
nothing is joined, since each sum has an error of its own.

A unit with more rows in cells than may count enters all sums and counts with that many rows of its
own mean.  A count of such rows is a fraction, in steps of 1/1024 of a row.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, final

from discreet.plan.aggregates.counts import Count, Units
from discreet.plan.aggregates.estimator import Estimator
from discreet.plan.aggregates.measured import MeasuredAggregates
from discreet.plan.aggregates.sums import Sum
from discreet.plan.binding.value_facts import ONE, counting_conditions, one_where_all
from discreet.plan.pricing.group_sensitivity import UNITS
from discreet.plan.pricing.linear_strategy import (
    CellSensitivity,
    CellValue,
    are_nested,
    conditions_of,
)
from discreet.plan.pricing.noise_steps import chooser_of
from discreet.plan.setting import Setting
from discreet.plan.workload.cells import Cells, cells_of
from discreet.plan.workload.strategies import (
    CountWorkload,
    SumWorkload,
    chosen_strategy,
    predicted_error,
    strategies_of,
)
from discreet.query.expressions import Aggregate, Case, Expression, Literal, transformed
from discreet.requests.cell_sums import CellSums
from discreet.requests.engine_request import Leaves, Measure, Total
from discreet.units import Relation

_CELLS: Final = "cells"
_COUNTS_BETTER: Final = 0.99


def joined_counts(setting: Setting, measured: MeasuredAggregates) -> MeasuredAggregates:
    """Return the same with several counts as one histogram, where that is more exact."""
    if not setting.shared:
        return measured  # names and shares must not follow from bounds that are found
    by_rows: dict[int, dict[str, Expression | None]] = defaultdict(dict)
    for name, total in _joinable(setting, measured):
        by_rows[total.high][name] = _condition(total)
    for rows, counts in sorted(by_rows.items(), key=lambda each: -len(each[1])):
        joined = _joined_counts(setting, measured, counts, rows)
        if joined is not None:
            return joined
    return measured


def _joinable(setting: Setting, measured: MeasuredAggregates) -> Iterator[tuple[str, Total]]:
    """Yield the counts that are shown as they are."""
    single = setting.limits.single
    others: set[str] = set()
    bound = [inner for _, inner in setting.bound.aggregates]
    for aggregate, estimator in zip(bound, measured.estimators, strict=True):
        people = aggregate.distinct and not single and isinstance(estimator, Count)
        if not isinstance(estimator, Count | Units) or people or aggregate.epsilon is not None:
            others |= {name for name, _ in estimator.inputs()}
    chooser = chooser_of(setting, measured)
    if chooser is not None:
        others.add(chooser[0])
    known: dict[str, Measure] = {measure.name: measure for measure in measured.measures}
    if measured.counts_units:
        known[UNITS] = Total(name=UNITS, row=ONE, low=0, high=1)
    for name, measure in known.items():
        if name not in others and isinstance(measure, Total) and _counts(measure):
            yield name, measure


def _counts(total: Total) -> bool:
    """Whether a total counts rows, all of them or those with a condition."""
    match total:
        case Total(row=row, low=0, rows=None) if row == ONE:
            return True
        case Total(row=Case(branches=((_, one),), default=None), low=0, rows=None):
            return one == ONE
        case _:
            return False


def _condition(total: Total) -> Expression | None:
    return total.row.branches[0][0] if isinstance(total.row, Case) else None


def _joined_counts(
    setting: Setting,
    measured: MeasuredAggregates,
    counts: Mapping[str, Expression | None],
    rows: int,
) -> MeasuredAggregates | None:
    """Return the same aggregates with a histogram in place of some counts, if that is better."""
    if len(counts) < 2:
        return None
    cells = cells_of(list(counts.values()), setting.bound.rows.facts)
    if cells is None:
        return None
    if len(set().union(*cells.conditions)) < len(counts):
        return None  # a condition is never true
    workload = CountWorkload(measure=_CELLS, names=tuple(counts), cells=cells.conditions)
    if not _counts_better(setting, workload, rows):
        return None
    histogram = Leaves(name=_CELLS, row=cells.number, leaves=len(cells), rows=rows)
    kept = tuple(measure for measure in measured.measures if measure.name not in counts)
    uses = tuple(
        tuple(dict.fromkeys((_CELLS, None) if use[0] in counts else use for use in each))
        for each in measured.uses
    )
    about = f"{len(counts)} counts in {len(cells)} cells"
    return replace(
        measured,
        measures=(*kept, histogram),
        uses=uses,
        about={**measured.about, _CELLS: about},
        counts_units=measured.counts_units and UNITS not in counts,
        workload=workload,
    )


def _counts_better(setting: Setting, workload: CountWorkload, rows: int) -> bool:
    """Whether a strategy errs less than a price that is divided among the counts."""
    limits, relation = setting.limits, setting.unit.relation
    if setting.ask.errors:  # each count has its own, and all would get the smallest
        return strategies_of(workload)[0].norms[0] == 1
    far = CellSensitivity(
        low=0,
        high=rows,
        groups=limits.groups,
        available=limits.available,
        cells=strategies_of(workload)[0],
    )
    number = len(workload.names)
    for squared in (False, True):
        best = chosen_strategy(workload, far, relation, squared=squared)
        apart = _alone(far, relation, squared=squared) * (number**0.5 if squared else number)
        if predicted_error(best, relation, squared=squared) < _COUNTS_BETTER * apart:
            return True
    return False


def _alone(far: CellSensitivity, relation: Relation, *, squared: bool) -> float:
    """Return the error of one count at a price of one."""
    one = CountWorkload(measure=_CELLS, names=("",), cells=((0,),))
    alone = replace(far, cells=strategies_of(one)[0])
    return predicted_error(alone, relation, squared=squared)


def nested_counts(setting: Setting, measured: MeasuredAggregates) -> MeasuredAggregates:
    """Return the same with nested counts as one histogram, where that is more exact."""
    if not setting.shared or setting.ask.errors:
        return measured
    counts = dict(_noisy_counts(setting, measured))
    limits = {total.high for total in counts.values() if total is not None}
    for rows in sorted(limits, reverse=True):
        names = _chain(
            {
                name: total
                for name, total in counts.items()
                if (1 if total is None else total.high) == rows
            },
            rows,
        )
        cells = tuple(tuple(range(place, len(names))) for place in range(len(names)))
        workload = CountWorkload(measure=_CELLS, names=names, cells=cells, nested=True)
        if len(names) < 2 or not _counts_better(setting, workload, rows):
            continue
        uses = tuple(
            tuple(dict.fromkeys((_CELLS, None) if use[0] in names else use for use in each))
            for each in measured.uses
        )
        about = {**measured.about, _CELLS: f"{len(names)} counts, each a part of the next"}
        return replace(measured, uses=uses, about=about, workload=workload)
    return measured


def _noisy_counts(
    setting: Setting, measured: MeasuredAggregates
) -> Iterator[tuple[str, Total | None]]:
    """Yield all counts that get noise of their own; None is the number of units."""
    limits = setting.limits
    bound = [inner for _, inner in setting.bound.aggregates]
    others: set[str] = set()
    for aggregate, uses in zip(bound, measured.uses, strict=True):
        others |= {name for name, _ in uses if aggregate.epsilon is not None}
    chooser = chooser_of(setting, measured)
    if chooser is not None:
        others.add(chooser[0])
    for measure in measured.measures:
        if not isinstance(measure, Total) or measure.name in others:
            continue
        if conditions_of(measure) is not None:
            yield measure.name, measure
    if measured.counts_units and UNITS not in others and not limits.all_rows:
        yield UNITS, None


def _chain(counts: dict[str, Total | None], rows: int) -> tuple[str, ...]:
    """Return counts of which each is a part of the next, starting at the one with all rows."""
    found: list[str] = []
    chain: list[Measure | None] = []
    for name in sorted(counts, key=lambda each: len(conditions_of(counts[each]) or ())):
        if are_nested([counts[name], *chain], rows):
            found.insert(0, name)
            chain.insert(0, counts[name])
    return tuple(found)


_FRACTIONS: Final = 1 << 10
_SUMS_BETTER: Final = 0.95
_ADDED: Final = frozenset(
    {"COUNT", "SUM", "AVG", "VAR_POP", "VAR_SAMP", "STDDEV_POP", "STDDEV_SAMP"}
)


@final
@dataclass(frozen=True, slots=True)
class _Term:
    """A value that is added up in the rows with a condition, within bounds on a row."""

    condition: Expression | None
    value: Expression
    low: int
    high: int
    step: int = 1


def joined_sums(
    setting: Setting, measured: MeasuredAggregates, otherwise: MeasuredAggregates
) -> MeasuredAggregates:
    """Return the same with sums and counts in cells, or what errs less otherwise."""
    limits = setting.limits
    if not setting.shared or setting.ask.errors or limits.rows is None:
        return otherwise
    terms = dict(_terms(setting, measured))
    conditions = {term.condition for term in terms.values()}
    if len(conditions) < 2 or all(term.value == ONE for term in terms.values()):
        return otherwise  # in one cell all totals move together, however they are measured
    facts = setting.bound.rows.facts
    cells = cells_of([term.condition for term in terms.values()], facts)
    if cells is None or len(set().union(*cells.conditions)) < len(terms):
        return otherwise
    joined = _joined_sums(measured, terms, cells, limits.rows)
    if not _sums_better(setting, joined, otherwise):
        return otherwise
    return joined


def _terms(setting: Setting, measured: MeasuredAggregates) -> Iterator[tuple[str, _Term]]:
    """Yield what is added up for each total that can be joined, by its name."""
    limits = setting.limits
    totals = {each.name: each for each in measured.measures if isinstance(each, Total)}
    if limits.single and measured.counts_units and not limits.all_rows:
        totals[UNITS] = Total(name=UNITS, row=ONE, low=0, high=1)
    chooser = chooser_of(setting, measured)
    others: set[str] = set() if chooser is None else {chooser[0]}
    found: dict[str, _Term] = {}
    fine = 1 if limits.single or limits.one_row else _FRACTIONS
    bound = [inner for _, inner in setting.bound.aggregates]
    for aggregate, estimator in zip(bound, measured.estimators, strict=True):
        for name in estimator.totals():
            total = totals.get(name)
            term = None if total is None else _term(setting, aggregate, estimator, total, fine)
            if term is None or found.get(name, term) != term:
                others.add(name)
            else:
                found[name] = term
    yield from ((name, term) for name, term in found.items() if name not in others)


def _term(
    setting: Setting, aggregate: Aggregate, estimator: Estimator, total: Total, fine: int
) -> _Term | None:
    """Return what a total of an aggregate adds up, if its rows are bounded one by one."""
    limits = setting.limits
    rows = limits.rows or 1
    people = aggregate.distinct and not limits.single
    if aggregate.function not in _ADDED or aggregate.epsilon is not None or people:
        return None
    if aggregate.bounds_per_group is not None or (
        isinstance(estimator, Units) and not limits.single
    ):
        return None
    conditions = conditions_of(total)
    if conditions is not None:
        condition = total.row.branches[0][0] if isinstance(total.row, Case) else None
        return _Term(condition, ONE, 0, fine, fine) if total.high == rows else None
    if total.rows != limits.cap or total.low % rows or total.high % rows:
        return None
    low, high = total.low // rows, total.high // rows
    if max(-low, high) <= 0:
        return None
    plain = isinstance(estimator, Sum) and estimator.center == 0
    inner = _inner_case(aggregate, zero=plain)
    row = total.row
    if aggregate.where is not None:
        assert isinstance(row, Case)  # noqa: S101 (as it was made)
        row = row.branches[0][1]
    facts = setting.bound.rows.facts
    if inner is None:
        counted = one_where_all(counting_conditions(aggregate, facts))
    else:
        condition, value = inner
        row = transformed(row, lambda node: value if node == aggregate.argument else None)
        apart = replace(aggregate, argument=Case(((condition, value),)))
        counted = one_where_all(counting_conditions(apart, facts))
    condition = counted.branches[0][0] if isinstance(counted, Case) else None
    return _Term(condition, row, low, high)


def _inner_case(aggregate: Aggregate, *, zero: bool) -> tuple[Expression, Expression] | None:
    """Return condition and value of CASE WHEN c THEN x END, or of one with ELSE 0."""
    match aggregate.argument:
        case Case(branches=((condition, value),), default=None | Literal(value=None)):
            return condition, value
        case Case(branches=((condition, value),), default=Literal(value=0)) if zero:
            return condition, value
        case _:
            return None


def _joined_sums(
    measured: MeasuredAggregates, terms: Mapping[str, _Term], cells: Cells, rows: int
) -> MeasuredAggregates:
    """Return the same aggregates with sums of cells in place of some totals."""
    places: dict[tuple[Expression, int, int, int], int] = {}
    kinds = tuple(
        places.setdefault((term.value, term.low, term.high, term.step), len(places))
        for term in terms.values()
    )
    sums = tuple(
        CellSums(
            name=f"{_CELLS}_{place}",
            row=cells.number,
            cells=len(cells),
            value=Literal(step) if value == ONE else value,
            low=low,
            high=high,
            rows=rows,
        )
        for (value, low, high, step), place in places.items()
    )
    values = tuple(
        CellValue(measure=each.name, low=min(each.low, 0), high=max(each.high, 0), step=key[3])
        for key, each in zip(places, sums, strict=True)
    )
    workload = SumWorkload(
        measure=_CELLS,
        names=tuple(terms),
        cells=cells.conditions,
        values=values,
        kinds=kinds,
        rows=rows,
    )
    kept = tuple(measure for measure in measured.measures if measure.name not in terms)
    uses = tuple(
        tuple(dict.fromkeys((_CELLS, None) if use[0] in terms else use for use in each))
        for each in measured.uses
    )
    counts = sum(term.value == ONE for term in terms.values())
    words = [f"{len(terms) - counts} sums"] + ([f"{counts} counts"] if counts else [])
    return replace(
        measured,
        measures=(*kept, *sums),
        uses=uses,
        about={**measured.about, _CELLS: f"{' and '.join(words)} in {len(cells)} cells"},
        counts_units=measured.counts_units and UNITS not in terms,
        workload=workload,
    )


def _sums_better(
    setting: Setting, joined: MeasuredAggregates, otherwise: MeasuredAggregates
) -> bool:
    """Whether strategies err less than what divides the price otherwise, by neither law more."""
    workload = joined.workload
    assert isinstance(workload, SumWorkload)  # noqa: S101 (made above)
    limits, relation = setting.limits, setting.unit.relation
    far = CellSensitivity(
        low=0,
        high=workload.rows,
        groups=limits.groups,
        available=limits.available,
        cells=workload.strategies()[0],
    )
    ratios = []
    for squared in (False, True):
        best = predicted_error(
            chosen_strategy(workload, far, relation, squared=squared), relation, squared=squared
        )
        parts = _parts(workload, otherwise, far, setting, squared=squared)
        ratios.append(best / _divided(parts, squared=squared))
    return min(ratios) < _SUMS_BETTER and max(ratios) <= 1


def _parts(
    workload: SumWorkload,
    otherwise: MeasuredAggregates,
    far: CellSensitivity,
    setting: Setting,
    *,
    squared: bool,
) -> list[tuple[int, float]]:
    """Return how many totals each part answers otherwise, and its error for all of the price."""
    relation, counts = setting.unit.relation, otherwise.workload
    shared = () if counts is None else counts.names
    parts = []
    for name, kind in zip(workload.names, workload.kinds, strict=True):
        if name not in shared:
            alone = replace(
                workload, names=("",), cells=((0,),), values=(workload.values[kind],), kinds=(0,)
            )
            moved = replace(far, cells=alone.strategies()[0])
            parts.append((1, predicted_error(moved, relation, squared=squared)))
    joined = sum(name in shared for name in workload.names)
    if counts is not None and joined:
        first = replace(far, cells=counts.strategies()[0])
        best = chosen_strategy(counts, first, relation, squared=squared)
        parts.append((joined, predicted_error(best, relation, squared=squared)))
    return parts


def _divided(parts: list[tuple[int, float]], *, squared: bool) -> float:
    """Return the root mean square error of parts that divide a price of one as is best.

    >>> _divided([(1, 1.0), (1, 1.0)], squared=False)
    2.0
    """
    answers = sum(number for number, _ in parts)
    if squared:
        return sum(math.sqrt(number) * error for number, error in parts) / math.sqrt(answers)
    roots = sum(math.cbrt(number * error**2) for number, error in parts)
    return math.sqrt(roots**3 / answers)
