"""The statement of totals: one scan, one row for each unit and group, one row for each group.

Trust: kernel.
"""

# ruff: noqa: S608 (all text here is printed by us, and names and literals are quoted)

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from discreet.engines.sql.bounding import Bounding, listed
from discreet.plan.lowered import Total
from discreet.plan.raw import MOST
from discreet.query.expressions import Expression, Literal

__all__ = ["totals"]

_WIDTHS: Final = ((16, "SMALLINT"), (32, "INTEGER"), (64, "BIGINT"))


def totals(bounding: Bounding, measures: Sequence[Total]) -> str:
    """Print the keys, the number of units, and the totals t0, t1, ... of every group."""
    measured = _measured(measures)
    rows = bounding.rows(measured)
    names = [f"t{place}" for place in range(len(measures))]
    if bounding.unit:
        cells = _cells(bounding, rows, measures, measured)
        kept = bounding.kept(cells, rank="row_number")
    else:
        each = [f"{_row(total, measured)} AS {name}" for total, name in _named(measures, "t")]
        kept = f"SELECT {listed(bounding.keys + each) or '1 AS one'} FROM ({rows})"
    sums = ["count(*) AS units", *(f"{_added(name)} AS {name}" for name in names)]
    by = f" GROUP BY {listed(bounding.keys)}" if bounding.keys else ""
    groups = f"SELECT {listed(bounding.keys + sums)} FROM ({kept}){by}"
    return bounding.answer(groups, ["units", *names])


def _named(measures: Sequence[Total], letter: str) -> list[tuple[Total, str]]:
    return [(total, f"{letter}{place}") for place, total in enumerate(measures)]


def _measured(measures: Sequence[Total]) -> list[Expression]:
    """Return each different expression once; ones need not be computed to be counted."""
    return list(dict.fromkeys(total.row for total in measures if total.row != Literal(1)))


def _column(total: Total, measured: Sequence[Expression]) -> str | None:
    return None if total.row == Literal(1) else f"x{measured.index(total.row)}"


def _row(total: Total, measured: Sequence[Expression]) -> str:
    """Print what one row adds if it is a unit of its own."""
    column = _column(total, measured)
    if column is None:
        return _clamped(total, "1")
    return _clamped(total, column)


def _cells(
    bounding: Bounding, rows: str, measures: Sequence[Total], measured: Sequence[Expression]
) -> str:
    """Print one row for each unit and group, with what the unit adds to the group."""
    cell = listed(bounding.unit + bounding.keys)
    capped = [total.row for total in measures if total.rows is not None]
    sums = ["count(*) AS n", *(f"sum(x{at}) AS s{at}" for at in range(len(measured)))]
    sums += [f"count(x{at}) AS n{at}" for at, row in enumerate(measured) if row in capped]
    grouped = f"SELECT {cell}, {listed(sums)} FROM ({rows}) GROUP BY {cell}"
    means = [
        f"{_scaled(total, measured)} AS {name}"
        for total, name in _named(measures, "m")
        if total.rows is not None and total.row in measured
    ]
    if means:
        grouped = f"SELECT *, {listed(means)} FROM ({grouped})"
    parts = [
        f"{_clamped(total, _summed(total, measured, name))} AS t{name[1:]}"
        for total, name in _named(measures, "m")
    ]
    return f"SELECT {listed([cell, *parts])} FROM ({grouped})"


def _summed(total: Total, measured: Sequence[Expression], mean: str) -> str:
    """Print the sum of a unit's rows in a group, of not more rows than may count."""
    column = _column(total, measured)
    if column is None:
        return "n" if total.rows is None else f"least(n, {total.rows})"
    return f"s{column[1:]}" if total.rows is None else mean


def _scaled(total: Total, measured: Sequence[Expression]) -> str:
    """Print floor(sum rows / count); the quotient goes first, so that nothing overflows."""
    at = measured.index(total.row)
    sums, count = f"s{at}", f"CAST(n{at} AS HUGEINT)"
    rest = f"((({sums} % {count}) + {count}) % {count})"
    rows = f"CAST({total.rows} AS HUGEINT)"
    scaled = f"(({sums} - {rest}) // {count}) * {rows} + ({rest} * {rows}) // {count}"
    return f"CASE WHEN n{at} > {total.rows} THEN {scaled} ELSE {sums} END"


def _clamped(total: Total, sql: str) -> str:
    """Print a number within the bounds, in a type that holds them; NULL adds nothing."""
    most = max(total.low, -total.low - 1, total.high, -total.high - 1)
    width = next(name for bits, name in _WIDTHS if most < 2 ** (bits - 1))
    low, high = f"({total.low})", f"({total.high})"
    inside = f"CASE WHEN {sql} >= {high} THEN {high} WHEN {sql} <= {low} THEN {low} ELSE {sql} END"
    return f"CAST(coalesce({inside}, 0) AS {width})"


def _added(name: str) -> str:
    """Print a sum over units, clamped to what noise can be added to."""
    return f"CAST(least(greatest(coalesce(sum({name}), 0), -{MOST}), {MOST}) AS BIGINT)"
