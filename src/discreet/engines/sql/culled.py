"""The statements of culling: some units counted, cells of some rows, totals of kept cells.

Trust: kernel.  See :mod:`discreet.engines.culling`.
"""

# ruff: noqa: S608 (all text here is printed by us, and names and literals are quoted)

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, final

from discreet.engines.order import GROUPS
from discreet.engines.sql.bounding import Bounding, listed
from discreet.engines.sql.hashing import number
from discreet.engines.sql.totals import (
    Floats,
    cell_sums,
    cell_totals,
    cells,
    group_totals,
    measured_rows,
    short_sums,
)
from discreet.plan.lowered import Total

__all__ = ["KEPT", "UNITS", "Some", "cells_of", "groups_of", "sampled", "unit_range"]

KEPT: Final = '"kept cells"'
UNITS: Final = '"some units"'


def sampled(bounding: Bounding, share: int) -> str:
    """Print the number of units and of cells in one of so many parts of the units."""
    cell = listed(bounding.unit + bounding.keys)
    some = (
        f"SELECT {cell} FROM ({bounding.rows([])}){_within(bounding, (0, share))} GROUP BY {cell}"
    )
    by_unit = f"SELECT count(*) AS c FROM ({some}) GROUP BY {listed(bounding.unit)}"
    cells_found = "CAST(coalesce(sum(c), 0) AS BIGINT) AS cells"
    return f"SELECT count(*) AS units, {cells_found} FROM ({by_unit})"


def unit_range(bounding: Bounding) -> str:
    """Print the lowest and the highest unit, where one column names it."""
    return f"SELECT min(u0) AS low, max(u0) AS high FROM ({bounding.rows([])})"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Some:
    """Some of the rows: those of one part of the units, with places below a limit.

    ``units`` is SEMI or ANTI where only the units in the table of units count, or only others.
    """

    part: tuple[int, int]
    limit: int | None = None
    units: Literal["SEMI", "ANTI"] | None = None


def cells_of(bounding: Bounding, measures: Sequence[Total], floats: Floats, some: Some) -> str:
    """Print the cells of some rows, with their places h.

    They have their sums, which are bounded once few are left, or else what units add to groups.
    """
    rows = measured_rows(bounding, measures, floats)
    place = number(bounding.order, GROUPS, bounding.cell)
    if some.part != (0, 1):
        rows = f"SELECT * FROM ({rows}){_within(bounding, some.part)}"
    if some.limit is not None:
        rows = f"SELECT * FROM ({rows}) WHERE {place} < {some.limit}::UBIGINT"
    if some.units is not None:
        same = " AND ".join(f"{name} = v{at}" for at, name in enumerate(bounding.unit))
        rows = f"SELECT * FROM ({rows}) {some.units} JOIN {UNITS} ON {same}"
    found = cell_sums if short_sums(measures, floats) else cells
    return f"SELECT *, {place} AS h FROM ({found(bounding, measures, floats, rows)})"


def groups_of(bounding: Bounding, measures: Sequence[Total], floats: Floats) -> str:
    """Print the totals of the cells that are kept."""
    kept = f"SELECT * FROM {KEPT}"
    if short_sums(measures, floats):
        kept = cell_totals(bounding, measures, floats, kept)
    return group_totals(bounding, measures, kept)


def _within(bounding: Bounding, part: tuple[int, int]) -> str:
    """Print that a unit belongs to one of several parts of about the same size."""
    at, parts = part
    low, high = (2**64 * each // parts for each in (at, at + 1))
    mixed = f"hash({listed(bounding.unit)})"
    return f" WHERE {mixed} >= {low}::UBIGINT AND {mixed} < {high}::UHUGEINT"
