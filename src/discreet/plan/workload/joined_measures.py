"""Counts, and sums with counts, measured together in cells if that is more exact.

Trust: kernel.  The counts that are joined are not measures of their own any more: what is read for
them is one histogram of cells, in which a unit counts with at most as many rows as before.

Definition.  Counts of rows can be joined if they are shown as they are: not those by which groups
are chosen, not those that sums and means need, not those with an epsilon of their own, and none of
people, except if a row is a person.  Joined are those with the same limit on the rows of a unit,
if their conditions leave at most 4096 cells and some strategy errs less than to divide the price
among the counts; if errors are asked for in place of a price, if no row is in two counts.  A
unit with more rows than may count, in whatever cells, counts with as many rows
as may, chosen by a hash; by itself every count had that limit.

Definition.  Joined are the totals of SUM, AVG, VARIANCE, STDDEV and COUNT that are bounded row by
row: not those by which groups are chosen, none with an epsilon of its own, none with bounds per
group, and none of people, except if a row is a person.  A total adds up a value in the rows with
some condition: of CASE WHEN c THEN x END the value is x, and c is part of the condition; so it is
with ELSE 0 for a plain sum.  Conditions leave at most 4096 cells.
Totals are joined if some strategy errs clearly less than what the price buys of them otherwise,
if the counts may be joined as before, and by neither law more; errors are those of
``split-shares``, in terms of what one row can add.  If errors are asked for in place of a price,
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

from discreet.plan.binding.value_facts import ONE, counting_conditions, one_where_all
from discreet.plan.estimator import Estimator
from discreet.plan.pricing.group_sensitivity import UNITS
from discreet.plan.pricing.linear_strategy import (
    CellTotals,
    CellValue,
    conditions_of,
)
from discreet.plan.pricing.noise_steps import chooser_of
from discreet.plan.setting import MeasuredAggregates, Setting
from discreet.plan.workload.cells import Cells, cells_of
from discreet.plan.workload.simplex import SimplexWorkload
from discreet.plan.workload.strategies import Workload, best_error
from discreet.query.expressions import Aggregate, Case, Expression, Literal, transformed
from discreet.requests.engine_request import CellSums, Leaves, Measure, Total

_CELLS: Final = "cells"
_BETTER: Final = 0.95


def joined_counts(setting: Setting, measured: MeasuredAggregates) -> MeasuredAggregates:
    """Return the same with several counts as one histogram, if that is more exact."""
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
        people = aggregate.distinct and not single and estimator.totals() != (UNITS,)
        if not estimator.counts or people or aggregate.epsilon is not None:
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
    workload = Workload(measure=_CELLS, names=tuple(counts), cells=cells.conditions, rows=rows)
    if setting.ask.errors:  # each count has its own, and all would get the smallest
        if workload.strategies()[0].norms[0] > 1:
            return None
    elif not _better(setting, workload):
        return None
    histogram = Leaves(name=_CELLS, row=cells.number, leaves=len(cells), rows=rows)
    about = f"{len(counts)} counts in {len(cells)} cells"
    return _with(measured, workload, about, (histogram,))


def _with(
    measured: MeasuredAggregates, workload: Workload, about: str, read: tuple[Measure, ...] = ()
) -> MeasuredAggregates:
    """Return the same aggregates from a workload, and what is read for it in place of totals."""
    names = frozenset(workload.names)
    gone = names if read else frozenset()
    uses = tuple(
        tuple(dict.fromkeys((_CELLS, None) if use[0] in names else use for use in each))
        for each in measured.uses
    )
    return replace(
        measured,
        measures=(*(each for each in measured.measures if each.name not in gone), *read),
        uses=uses,
        about={**measured.about, _CELLS: about},
        counts_units=measured.counts_units and UNITS not in gone,
        workload=workload,
    )


_FRACTIONS: Final = 1 << 10
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
    workload, counts = joined.workload, otherwise.workload
    assert isinstance(workload, Workload)  # noqa: S101 (made above)
    assert not isinstance(counts, SimplexWorkload)  # noqa: S101 (these come last)
    return joined if _better(setting, workload, counts) else otherwise


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
    if aggregate.bounds_per_group is not None:
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
    plain = aggregate.function == "SUM" and len(estimator.totals()) == 1  # around zero
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
    workload = Workload(
        measure=_CELLS,
        names=tuple(terms),
        cells=cells.conditions,
        rows=rows,
        values=values,
        kinds=kinds,
        source=CellTotals(),
    )
    counts = sum(term.value == ONE for term in terms.values())
    words = [f"{len(terms) - counts} sums"] + ([f"{counts} counts"] if counts else [])
    about = f"{' and '.join(words)} in {len(cells)} cells"
    return _with(measured, workload, about, sums)


def _better(setting: Setting, workload: Workload, counts: Workload | None = None) -> bool:
    """Whether strategies err less than what divides the price otherwise, by neither law more.

    ``counts`` are those answers that are joined otherwise.
    """
    limits, relation = setting.limits, setting.unit.relation

    def error(of: Workload, *, squared: bool) -> float:
        return best_error(of.candidates(limits.groups, limits.available), relation, squared=squared)

    kinds = workload.kinds or (0,) * len(workload.names)
    shared = frozenset(() if counts is None else counts.names)
    apart = [kind for name, kind in zip(workload.names, kinds, strict=True) if name not in shared]
    ratios = []
    for squared in (False, True):
        alone = {
            kind: error(
                replace(
                    workload,
                    names=("",),
                    cells=((0,),),
                    values=(workload.values[kind],),
                    kinds=(),
                ),
                squared=squared,
            )
            for kind in set(apart)
        }
        parts = [(1, alone[kind]) for kind in apart]
        if counts is not None and len(apart) < len(kinds):
            parts.append((len(kinds) - len(apart), error(counts, squared=squared)))
        ratios.append(error(workload, squared=squared) / _divided(parts, squared=squared))
    return min(ratios) < _BETTER and max(ratios) <= 1


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
