"""The statement of totals: one scan, one row for each unit and group, one row for each group.

Trust: kernel.
"""

# ruff: noqa: S608 (all text here is printed by us, and names and literals are quoted)

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from discreet.engines.sql.contribution_bounding import ContributionBounding, listed
from discreet.engines.sql.whole_floats import EXACT, WholeFloat, whole_float
from discreet.query.expressions import Expression, Literal
from discreet.requests.engine_request import Total
from discreet.requests.raw_totals import LARGEST_TOTAL

__all__ = [
    "NONE",
    "Floats",
    "cell_sums",
    "cell_totals",
    "cells",
    "exact_rows",
    "group_totals",
    "measured_rows",
    "row_sum",
    "short_sums",
    "totals",
    "whole_floats",
]

Floats = Mapping[Expression, WholeFloat]
"""What is measured in floats; :func:`exact_rows` says for how many rows that is exact."""

NONE: Final[Floats] = {}
_FEW_ROWS: Final = 2**10
_WIDTHS: Final = ((16, "SMALLINT"), (32, "INTEGER"), (64, "BIGINT"))


def totals(bounding: ContributionBounding, measures: Sequence[Total], floats: Floats = NONE) -> str:
    """Print the keys, the number of units, and the totals t0, t1, ... of every group."""
    if not bounding.unit:
        return _row_totals(bounding, measures, floats)
    unit_cells = cells(bounding, measures, floats, measured_rows(bounding, measures, floats))
    return group_totals(bounding, measures, bounding.keep_groups(unit_cells, rank="row_number"))


def group_totals(bounding: ContributionBounding, measures: Sequence[Total], kept: str) -> str:
    """Print the same totals from the cells that are kept."""
    return _answer(bounding, [f"sum(t{index})" for index in range(len(measures))], kept)


def _row_totals(bounding: ContributionBounding, measures: Sequence[Total], floats: Floats) -> str:
    """Print totals where each row is a unit."""
    rows = measured_rows(bounding, measures, floats)
    return _answer(bounding, [row_sum(total, measures, floats) for total in measures], rows)


def _answer(bounding: ContributionBounding, sums: Sequence[str], rows: str) -> str:
    names = [f"t{index}" for index in range(len(sums))]
    clamped = [f"{_added(sql)} AS {name}" for name, sql in zip(names, sums, strict=True)]
    groups = bounding.by_group(["count(*) AS units", *clamped], rows)
    return bounding.in_group_order(groups, ["units", *names])


def row_sum(total: Total, measures: Sequence[Total], floats: Floats) -> str:
    """Print the sum of what the rows of a group add, each within the bounds."""
    column = _column(total, _measured(measures))
    if column is None:
        return f"CAST(count(*) AS HUGEINT) * ({min(max(1, total.low), total.high)})"
    whole = floats.get(total.row)
    return f"sum({_clamped(total, column) if whole is None else _inside(whole, column)})"


def whole_floats(bounding: ContributionBounding, measures: Sequence[Total]) -> Floats:
    """Return what can be measured in floats, and needs no clamp for a single row."""
    candidates = {row: whole_float(row, bounding.types) for row in _measured(measures)}
    bounds = {row: [total for total in measures if total.row == row] for row in candidates}
    return {
        row: whole
        for row, whole in candidates.items()
        if whole is not None
        and all(total.low <= whole.low and whole.high <= total.high for total in bounds[row])
    }


def exact_rows(floats: Floats) -> int | None:
    """Return how many rows of a group, or of a cell, can be added up exactly; None for all."""
    return min((EXACT // whole.most for whole in floats.values()), default=None)


def _named(measures: Sequence[Total], letter: str) -> list[tuple[Total, str]]:
    return [(total, f"{letter}{place}") for place, total in enumerate(measures)]


def _measured(measures: Sequence[Total]) -> list[Expression]:
    """Return each different expression once; ones need not be computed to be counted."""
    return list(dict.fromkeys(total.row for total in measures if total.row != Literal(1)))


def _column(total: Total, measured: Sequence[Expression]) -> str | None:
    return None if total.row == Literal(1) else f"x{measured.index(total.row)}"


def measured_rows(bounding: ContributionBounding, measures: Sequence[Total], floats: Floats) -> str:
    """Print the rows with all that is measured in them."""
    return bounding.rows([floats.get(row, row) for row in _measured(measures)])


def cells(
    bounding: ContributionBounding, measures: Sequence[Total], floats: Floats, rows: str
) -> str:
    """Print one row for each unit and group of some rows, with what the unit adds to the group.

    How many rows it has, n, is there where floats are added up.
    """
    return cell_totals(bounding, measures, floats, cell_sums(bounding, measures, floats, rows))


def cell_sums(
    bounding: ContributionBounding, measures: Sequence[Total], floats: Floats, rows: str
) -> str:
    """Print the sums of each unit and group of some rows, before anything is bounded."""
    measured = _measured(measures)
    cell = listed(bounding.unit + bounding.keys)
    capped = [total.row for total in measures if total.rows is not None]
    sums = ["count(*) AS n"]
    for index, row in enumerate(measured):
        added = f"TRY_CAST(sum(x{index}) AS BIGINT)" if row in floats else f"sum(x{index})"
        sums.append(f"{added} AS s{index}")
    sums += [f"count(x{index}) AS n{index}" for index, row in enumerate(measured) if row in capped]
    return f"SELECT {cell}, {listed(sums)} FROM ({rows}) GROUP BY {cell}"


def cell_totals(
    bounding: ContributionBounding, measures: Sequence[Total], floats: Floats, sums: str
) -> str:
    """Print what each unit adds to each group, from its sums there."""
    measured = _measured(measures)
    means = [
        f"{_scaled(total, measured, floats)} AS {name}"
        for total, name in _named(measures, "m")
        if total.rows is not None and total.row in measured
    ]
    if means:
        sums = f"SELECT *, {listed(means)} FROM ({sums})"
    parts = [
        f"{_clamped(total, _summed(total, measured, name))} AS t{name[1:]}"
        for total, name in _named(measures, "m")
    ]
    count = ["n"] if floats else []
    return f"SELECT {listed([*bounding.unit, *bounding.keys, *parts, *count])} FROM ({sums})"


def short_sums(measures: Sequence[Total], floats: Floats) -> bool:
    """Say whether the sums of all cells are numbers of 64 bits."""
    return all(row in floats for row in _measured(measures))


def _summed(total: Total, measured: Sequence[Expression], mean: str) -> str:
    """Print the sum of a unit's rows in a group, of not more rows than may count."""
    column = _column(total, measured)
    if column is None:
        return "n" if total.rows is None else f"least(n, {total.rows})"
    return f"s{column[1:]}" if total.rows is None else mean


def _scaled(total: Total, measured: Sequence[Expression], floats: Floats) -> str:
    """Print floor(sum rows / count); the quotient goes first, so that nothing overflows."""
    index, most = measured.index(total.row), total.rows or 0
    kind = "BIGINT" if total.row in floats and most <= _FEW_ROWS else "HUGEINT"
    sums, count = f"s{index}", f"CAST(n{index} AS {kind})"
    rest = f"((({sums} % {count}) + {count}) % {count})"
    rows = f"CAST({most} AS {kind})"
    scaled = f"(({sums} - {rest}) // {count}) * {rows} + ({rest} * {rows}) // {count}"
    return f"CASE WHEN n{index} > {most} THEN {scaled} ELSE {sums} END"


def _inside(whole: WholeFloat, column: str) -> str:
    """Print a float within its range, on which the exactness of the sum rests, too.

    It is asked first what holds for nearly every row.
    """
    low, high = f"({whole.low})::DOUBLE", f"({whole.high})::DOUBLE"
    over, under = f"WHEN {column} > {high} THEN {high}", f"WHEN {column} < {low} THEN {low}"
    return f"CASE WHEN {column} BETWEEN {low} AND {high} THEN {column} {over} {under} END"


def _clamped(total: Total, sql: str) -> str:
    """Print a number within the bounds, in a type that holds them; NULL adds nothing."""
    low, high = f"({total.low})", f"({total.high})"
    inside = f"CASE WHEN {sql} >= {high} THEN {high} WHEN {sql} <= {low} THEN {low} ELSE {sql} END"
    return f"CAST(coalesce({inside}, 0) AS {_width(total)})"


def _width(total: Total) -> str:
    most = max(total.low, -total.low - 1, total.high, -total.high - 1)
    return next(name for bits, name in _WIDTHS if most < 2 ** (bits - 1))


def _added(sums: str) -> str:
    """Print a sum over units, clamped to what noise can be added to."""
    return (
        f"CAST(least(greatest(coalesce({sums}, 0), -{LARGEST_TOTAL}), {LARGEST_TOTAL}) AS BIGINT)"
    )
