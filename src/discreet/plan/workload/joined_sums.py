"""The step that measures sums and counts of one question together, where that is more exact.

Trust: kernel.  What is joined is no total of its own any more: engines add up each value by cells,
clamp what a row adds, and scale all sums of a unit by the same number (``joint-sums``).

Definition.  Joined are the totals of SUM, AVG, VARIANCE, STDDEV and COUNT that are bounded row by
row: not those by which groups are chosen, none with an epsilon of its own, none with bounds per
group, and none of people, except where a row is a person.  A total adds up a value in the rows with
some condition: of CASE WHEN c THEN x END the value is x, and c is part of the condition; so it is
with ELSE 0 for a plain sum.  Conditions leave at most 4096 cells.
Sums are joined if some strategy errs less than what the price buys of them otherwise, where the
counts may be joined as before (:mod:`discreet.plan.workload.joined_counts`); errors are those of
``split-shares``, in terms of what one row can add.  Where errors are asked for in place of a price,
nothing is joined, since each sum has an error of its own.

A unit with more rows in cells than may count enters all sums and counts with that many rows of its
own mean.  A count of such rows is a fraction, in steps of 1/1024 of a row.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, final

from discreet.plan.aggregates.counts import Units
from discreet.plan.aggregates.estimator import Estimator
from discreet.plan.aggregates.measured import MeasuredAggregates
from discreet.plan.aggregates.sums import Sum
from discreet.plan.binding.value_facts import ONE, counting_conditions, one_where_all
from discreet.plan.draft import Draft, required
from discreet.plan.pricing.cell_strategy import CellSensitivity, conditions_of
from discreet.plan.pricing.group_sensitivity import UNITS
from discreet.plan.pricing.joint_norms import CellValue
from discreet.plan.pricing.noise_steps import chooser_of
from discreet.plan.workload.cells import Cells, cells_of
from discreet.plan.workload.strategies import chosen_strategy, predicted_error
from discreet.plan.workload.sum_strategies import SumWorkload
from discreet.query.expressions import Aggregate, Case, Expression, Literal, transformed
from discreet.requests.cell_sums import CellSums
from discreet.requests.engine_request import Total
from discreet.requests.table_schema import Product

_CELLS: Final = "cells"
_FRACTIONS: Final = 1 << 10
_BETTER: Final = 0.95
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


def joined_sums(draft: Draft, otherwise: Draft) -> Draft:
    """Return the draft with sums and counts in cells, or the other one where that errs less."""
    limits = required(draft.contributions)
    if not _possible(draft) or limits.rows is None:
        return otherwise
    terms = dict(_terms(draft))
    conditions = {term.condition for term in terms.values()}
    if len(conditions) < 2 or all(term.value == ONE for term in terms.values()):
        return otherwise  # in one cell all totals move together, however they are measured
    facts = required(draft.bound).rows.facts
    cells = cells_of([term.condition for term in terms.values()], facts)
    if cells is None or len(set().union(*cells.conditions)) < len(terms):
        return otherwise
    joined = _joined(required(draft.measured), terms, cells, limits.rows)
    if not _better(draft, joined, required(otherwise.measured)):
        return otherwise
    return replace(draft, measured=joined)


def _possible(draft: Draft) -> bool:
    """Whether names and shares follow from the question alone, and groups are few."""
    many = isinstance(required(draft.groups).public, Product)
    searching = bool(draft.targets or draft.found or draft.searched)
    return not (many or searching or required(draft.ask).errors)


def _terms(draft: Draft) -> Iterator[tuple[str, _Term]]:
    """Yield what is added up for each total that can be joined, by its name."""
    measured, limits = required(draft.measured), required(draft.contributions)
    totals = {each.name: each for each in measured.measures if isinstance(each, Total)}
    if limits.single and measured.counts_units and not limits.all_rows:
        totals[UNITS] = Total(name=UNITS, row=ONE, low=0, high=1)
    chooser = chooser_of(draft)
    others: set[str] = set() if chooser is None else {chooser[0]}
    found: dict[str, _Term] = {}
    fine = 1 if limits.single or limits.one_row else _FRACTIONS
    bound = [inner for _, inner in required(draft.bound).aggregates]
    for aggregate, estimator in zip(bound, measured.estimators, strict=True):
        for name in estimator.totals():
            total = totals.get(name)
            term = None if total is None else _term(draft, aggregate, estimator, total, fine)
            if term is None or found.get(name, term) != term:
                others.add(name)
            else:
                found[name] = term
    yield from ((name, term) for name, term in found.items() if name not in others)


def _term(
    draft: Draft, aggregate: Aggregate, estimator: Estimator, total: Total, fine: int
) -> _Term | None:
    """Return what a total of an aggregate adds up, if its rows are bounded one by one."""
    limits = required(draft.contributions)
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
    facts = required(draft.bound).rows.facts
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


def _joined(
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


def _better(draft: Draft, joined: MeasuredAggregates, otherwise: MeasuredAggregates) -> bool:
    """Whether strategies err less than what divides the price otherwise, by neither law more."""
    workload = joined.workload
    assert isinstance(workload, SumWorkload)  # noqa: S101 (made above)
    limits, relation = required(draft.contributions), draft.unit.relation
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
        parts = _parts(workload, otherwise, far, draft, squared=squared)
        ratios.append(best / _divided(parts, squared=squared))
    return min(ratios) < _BETTER and max(ratios) <= 1


def _parts(
    workload: SumWorkload,
    otherwise: MeasuredAggregates,
    far: CellSensitivity,
    draft: Draft,
    *,
    squared: bool,
) -> list[tuple[int, float]]:
    """Return how many totals each part answers otherwise, and its error for all of the price."""
    relation, counts = draft.unit.relation, otherwise.workload
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
