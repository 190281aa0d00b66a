"""Bounded answers from the rows of a relation, unit by unit.

Trust: kernel.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, cast

from discreet.engines.engine import HashOrder
from discreet.query.types import Type
from discreet.requests.engine_request import (
    CellSums,
    DistinctCount,
    DistinctSum,
    EngineRequest,
    Leaves,
    Total,
)
from discreet.requests.raw_totals import LARGEST_TOTAL
from tests.reference.expressions import Row, compiled
from tests.reference.order import GROUPS, LEAVES, VALUES, Value, below, place
from tests.reference.windows import sort_key

__all__ = ["Cells", "cell_sums_of", "kept_cells", "leaves_of", "one_unit_total", "totals_of"]

Group = tuple[Value, ...]
Cells = dict[tuple[Group, Group], list[Row]]
"""The rows of each unit in each group that it keeps."""

_ROW: Final = ("each row is a unit",)


def kept_cells(
    lowered: EngineRequest, rows: Iterable[Row], columns: Mapping[str, Type], order: HashOrder
) -> Cells:
    """Put every row into its unit and group, and drop the groups that a unit does not keep."""
    unit = [compiled(part, columns) for part in lowered.unit]
    keys = [compiled(key.expression, columns) for key in lowered.keys]
    touched: dict[Group, dict[Group, list[Row]]] = {}
    for number, row in enumerate(rows):
        who = tuple(rule(row) for rule in unit) if unit else (*_ROW, number)
        group = tuple(rule(row) for rule in keys)
        if None in who or (lowered.public is not None and group not in lowered.public):
            continue
        touched.setdefault(who, {}).setdefault(group, []).append(row)
    cells: Cells = {}
    for who, groups in touched.items():
        for group in _chosen(who, groups, lowered.groups, order):
            cells[who, group] = groups[group]
    return cells


def _chosen(
    who: Group, groups: Iterable[Group], most: int | None, order: HashOrder
) -> Sequence[Group]:
    ranked = sorted(groups, key=lambda group: (place(order, GROUPS, who + group), sort_key(group)))
    return ranked[:most]


def one_unit_total(total: Total, values: Sequence[int]) -> int:
    """Return what one unit adds to one group.

    >>> from discreet.query.expressions import Column
    >>> total = Total(name="x", row=Column("x"), low=-5, high=5, rows=2)
    >>> one_unit_total(total, [1, 1, 2]), one_unit_total(total, [9]), one_unit_total(total, [])
    (2, 5, 0)
    """
    if not values:
        return 0
    count, exact = len(values), sum(values)
    if total.rows is not None and count > total.rows:
        exact = exact * total.rows // count
    return min(max(exact, total.low), total.high)


def totals_of(
    measure: Total | DistinctCount | DistinctSum,
    cells: Cells,
    columns: Mapping[str, Type],
    order: HashOrder,
    totals: Mapping[str, Total],
) -> dict[Group, int]:
    """Return the answer of each group that is not zero."""
    if isinstance(measure, DistinctCount):
        rule = compiled(measure.expression, columns)
        shown = _distinct(rule, measure.most, cells, order)
        return {group: len(values) for group, values in shown.items()}
    if isinstance(measure, DistinctSum):
        return _distinct_sum(measure, cells, columns, order)
    found: Counter[Group] = Counter()
    for (_, group), rows in cells.items():
        found[group] += _within_count(measure, totals, rows, columns)
    return {group: min(max(value, -LARGEST_TOTAL), LARGEST_TOTAL) for group, value in found.items()}


def _within_count(
    total: Total, totals: Mapping[str, Total], rows: Sequence[Row], columns: Mapping[str, Type]
) -> int:
    """Return what one unit adds to one group, no more for each row than its count allows."""
    rule = compiled(total.row, columns)
    exact = one_unit_total(total, [each for each in map(rule, rows) if isinstance(each, int)])
    if total.per is None:
        return exact
    count = totals[total.per]
    each = _within_count(count, totals, rows, columns)
    return min(max(exact, each * total.low // count.high), each * total.high // count.high)


def _distinct_sum(
    measure: DistinctSum, cells: Cells, columns: Mapping[str, Type], order: HashOrder
) -> dict[Group, int]:
    value_of = compiled(measure.row, columns)

    def clamped(row: Row) -> int | None:
        value = value_of(row)
        return min(max(value, measure.low), measure.high) if isinstance(value, int) else None

    shown = _distinct(clamped, measure.most, cells, order)
    sums = {group: sum(cast("set[int]", values)) for group, values in shown.items()}
    return {group: min(max(each, -LARGEST_TOTAL), LARGEST_TOTAL) for group, each in sums.items()}


def _distinct(
    rule: Callable[[Row], Value], most: int, cells: Cells, order: HashOrder
) -> dict[Group, set[Value]]:
    shown: dict[Group, set[Value]] = {}
    for (who, group), rows in cells.items():
        values = {value for value in map(rule, rows) if value is not None}
        place = _placed(who + group, order)
        first = sorted(values, key=place)[:most]
        shown.setdefault(group, set()).update(first)
    return shown


def _placed(cell: Group, order: HashOrder) -> Callable[[Value], tuple[object, ...]]:
    return lambda value: (place(order, VALUES, (*cell, value)), sort_key([value]))


def leaves_of(
    measure: Leaves, cells: Cells, columns: Mapping[str, Type], order: HashOrder
) -> dict[tuple[Group, int], int]:
    """Return the rows of each leaf of each group, where there are any."""
    rule = compiled(measure.row, columns)
    found: Counter[tuple[Group, int]] = Counter()
    for (who, group), rows in cells.items():
        inside = Counter(
            leaf for leaf in map(rule, rows) if isinstance(leaf, int) and 0 <= leaf < measure.leaves
        )
        for leaf, count in _thinned(measure.rows, inside, who + group, order).items():
            found[group, leaf] += count
    return {cell: count for cell, count in found.items() if count}


def _thinned(most: int, inside: Counter[int], cell: Group, order: HashOrder) -> Mapping[int, int]:
    count = inside.total()
    if count <= most:
        return inside
    start = below(order, count, LEAVES, cell)
    kept, before, seen = {}, start // count, 0
    for leaf in sorted(inside):
        seen += inside[leaf]
        after = (seen * most + start) // count
        kept[leaf], before = after - before, after
    return kept


def cell_sums_of(
    measure: CellSums, cells: Cells, columns: Mapping[str, Type]
) -> dict[tuple[Group, int], int]:
    """Return the sum of each cell of each group, where it is not zero."""
    cell_of, value_of = compiled(measure.row, columns), compiled(measure.value, columns)
    found: Counter[tuple[Group, int]] = Counter()
    for (_, group), rows in cells.items():
        sums: Counter[int] = Counter()
        count = 0
        for row in rows:
            cell, value = cell_of(row), value_of(row)
            if isinstance(cell, int) and 0 <= cell < measure.cells:
                count += 1
                if isinstance(value, int):
                    sums[cell] += min(max(value, measure.low), measure.high)
        for cell, exact in sums.items():
            share = abs(exact) * measure.rows // count if count > measure.rows else abs(exact)
            found[group, cell] += share if exact > 0 else -share
    return {
        cell: min(max(total, -LARGEST_TOTAL), LARGEST_TOTAL)
        for cell, total in found.items()
        if total
    }
