"""Contribution bounding by a hash threshold: totals from few rows of units with many groups.

Trust: kernel.

A unit keeps the groups with the lowest places.  So first only rows with a place below some limit
are added up to cells.  A unit with at least as many of these cells as it may keep is *complete*:
all that it keeps is among them, and all their rows were seen, since a cell has one place.  For all
other units everything is added up again, without a limit.
Theorem (key ``culling``).  The cells that are kept do not depend on the limit.  Proof.  A complete
unit has at least ``groups`` cells below the limit, with all of their rows; the first ``groups`` of
its cells are among them, in the same order.  Any other unit is added up from all of its rows.  Each
unit is one or the other, because the second statement leaves out exactly the complete units.  It
may name the others: where units are whole numbers, these are among the numbers of their range that
are not complete.

The limit is estimated from some of the units; it decides how long a run takes, and nothing else.
"""

# ruff: noqa: S608 (all text here is printed by us, and names and literals are quoted)

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.engines.connection import Connection
from discreet.engines.hash_order import GROUPS, Codes, lowest_cells, unit_codes
from discreet.engines.row_scans import has_exact_units, scan_below
from discreet.engines.sql.contribution_bounding import ContributionBounding, listed, number
from discreet.engines.sql.totals import TotalStatements
from discreet.query.relations import Scan
from discreet.requests.engine_request import EngineRequest
from discreet.requests.raw_totals import arrow_numbers, numbers

__all__ = ["ThresholdBounding", "source_of"]

KEPT: Final = '"kept cells"'
UNITS: Final = '"some units"'


def sampled(bounding: ContributionBounding, share: int) -> str:
    """Print the number of units and of cells in one of ``share`` parts of the units."""
    cell = listed(bounding.unit + bounding.keys)
    some = (
        f"SELECT {cell} FROM ({bounding.rows([])}){_within(bounding, (0, share))} GROUP BY {cell}"
    )
    by_unit = f"SELECT count(*) AS c FROM ({some}) GROUP BY {listed(bounding.unit)}"
    cells_found = "CAST(coalesce(sum(c), 0) AS BIGINT) AS cells"
    return f"SELECT count(*) AS units, {cells_found} FROM ({by_unit})"


def unit_range(bounding: ContributionBounding) -> str:
    """Print the lowest and the highest unit, where one column names it."""
    return f"SELECT min(u0) AS low, max(u0) AS high FROM ({bounding.rows([])})"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CellFilter:
    """Some of the rows: those of one part of the units, with places below a limit.

    ``units`` is SEMI or ANTI where only the units in the table of units count, or only others.
    """

    part: tuple[int, int]
    limit: int | None = None
    units: Literal["SEMI", "ANTI"] | None = None


def cells_of(statements: TotalStatements, some: CellFilter) -> str:
    """Print the cells of some rows, with their places h.

    They have their sums, which are bounded once few are left, or else what units add to groups.
    """
    bounding, rows = statements.bounding, statements.rows()
    place = number(GROUPS, bounding.cell_columns, portable=bounding.portable)
    if some.part != (0, 1):
        rows = f"SELECT * FROM ({rows}){_within(bounding, some.part)}"
    if some.limit is not None:
        rows = f"SELECT * FROM ({rows}) WHERE {place} < {some.limit}::UBIGINT"
    if some.units is not None:
        same = " AND ".join(f"{name} = v{index}" for index, name in enumerate(bounding.unit))
        rows = f"SELECT * FROM ({rows}) {some.units} JOIN {UNITS} ON {same}"
    print_cells = statements.cell_sums if statements.has_short_sums else statements.cells
    return f"SELECT *, {place} AS h FROM ({print_cells(rows)})"


def groups_of(statements: TotalStatements) -> str:
    """Print the totals of the cells that are kept, in parts if these will do."""
    kept = f"SELECT * FROM {KEPT}"
    if statements.has_short_sums:
        kept = statements.cell_totals(kept)
    in_parts = statements.bounding.request.in_parts
    return statements.cell_parts(kept) if in_parts else statements.group_totals(kept)


def _within(bounding: ContributionBounding, part: tuple[int, int]) -> str:
    """Print that a unit belongs to one of several parts of about the same size."""
    at, parts = part
    low, high = (2**64 * each // parts for each in (at, at + 1))
    mixed = f"hash({listed(bounding.unit)})"
    ends = [f"{mixed} >= {low}::UBIGINT"] * (at > 0)
    ends += [f"{mixed} < {high}::UBIGINT"] * (at + 1 < parts)
    return f" WHERE {' AND '.join(ends)}" if ends else ""


_PLACES: Final = 2**64
_SHARE: Final = 64
_DENSE: Final = 2
_CELLS_AT_ONCE: Final = 2**23


def source_of(request: EngineRequest) -> Scan | None:
    """Return the table whose rows are read, if that is quickly done twice, and units are exact."""
    return scan_below(request.relation) if request.chooses and has_exact_units(request) else None


@final
@dataclass(frozen=True, slots=True)
class ThresholdBounding:
    """A question whose units choose among groups, and the connection that answers it."""

    connection: Connection
    statements: TotalStatements
    public: dict[str, pa.Table]

    @property
    def _bounding(self) -> ContributionBounding:
        return self.statements.bounding

    @property
    def _most(self) -> int:
        return self._bounding.request.groups or 0

    def totals(self) -> pa.Table | None:
        """Return the totals of all groups, or None where only the plain statement is exact."""
        sample = self.connection.estimate(sampled(self._bounding, _SHARE), self.public)
        units, cells = (int(numbers(sample.column(name))[0]) for name in ("units", "cells"))
        limit = limit_for(self._most, units, cells)
        few = _SHARE * cells * (1 if limit is None else limit / _PLACES)
        parts = math.ceil((few + 1) / _CELLS_AT_ONCE)
        tables = []
        for part in range(parts):
            chosen = self._chosen(limit, (part, parts))
            if chosen is None:
                return None
            tables += chosen
        kept_cells = pa.concat_tables(tables)
        public = {**self.public, KEPT: kept_cells}
        return self.connection.fetch(groups_of(self.statements), public)

    def _chosen(self, limit: int | None, part: tuple[int, int]) -> list[pa.Table] | None:
        """Return the cells that are kept by the units of one part."""
        if limit is None:
            only = self._lowest(*self._cells(CellFilter(part=part)))
            return None if only is None else [only]
        low, units = self._cells(CellFilter(part=part, limit=limit))
        enough = np.bincount(units) >= self._most
        first = self._lowest(low, units, limit=limit, only=enough)
        complete = self._complete_units(low, units, enough)
        incomplete = self._other_units(complete)
        if incomplete is None:
            rest = self._cells(CellFilter(part=part, units="ANTI"), complete)
        else:
            rest = self._cells(CellFilter(part=part, units="SEMI"), incomplete)
        last = self._lowest(*rest)
        return None if first is None or last is None else [first, last]

    def _cells(self, some: CellFilter, listed: pa.Table | None = None) -> tuple[pa.Table, Codes]:
        """Return the cells of some rows, and the codes of their units."""
        others = {} if listed is None else {UNITS: listed}
        table = self.connection.fetch(cells_of(self.statements, some), {**self.public, **others})
        return table, unit_codes([table.column(name) for name in self._bounding.unit])

    def _complete_units(self, low: pa.Table, units: Codes, enough: NDArray[np.bool_]) -> pa.Table:
        """Return the units that have as many cells as they may keep."""
        place = np.zeros(enough.size, np.int64)
        place[units] = np.arange(units.size)  # any row of the unit
        rows = arrow_numbers(place[enough], pa.int64())
        taken = low.select(self._bounding.unit).take(rows)
        return taken.rename_columns([f"v{index}" for index in range(len(self._bounding.unit))])

    def _other_units(self, complete: pa.Table) -> pa.Table | None:
        """Return all numbers in the range of units but the complete ones; None if these are many.

        It takes less time to look for few units than to look for all but many.
        """
        if complete.schema.types != [pa.int64()] or not complete.num_rows:
            return None
        ends = self.connection.fetch(unit_range(self._bounding), self.public)
        low, high = (int(numbers(ends.column(name))[0]) for name in ("low", "high"))
        if high - low >= _DENSE * complete.num_rows:
            return None
        free = np.ones(high - low + 1, np.bool_)
        free[numbers(complete.column(0)) - low] = False
        return pa.table({"v0": arrow_numbers(np.flatnonzero(free) + low, pa.int64())})

    def _lowest(
        self,
        cells: pa.Table,
        units: Codes,
        *,
        limit: int = _PLACES,
        only: NDArray[np.bool_] | None = None,
    ) -> pa.Table | None:
        """Return the cells that are kept; None if they are not exact."""
        exact = self.statements.exact_rows
        if exact is not None and numbers(cells.column("n")).max(initial=0) > exact:
            return None
        mask = lowest_cells(units, numbers(cells.column("h")), self._most, limit)
        if mask is None:
            return None
        if only is not None:
            mask &= only[units]
        return cells.drop_columns(["h"]).filter(arrow_numbers(mask, pa.bool_()))


def limit_for(groups: int, units: int, cells: int) -> int | None:
    """Return the limit below which nearly all units have enough cells; None if it saves little.

    >>> limit_for(10, 100, 8000) * 4 < 2**64, limit_for(10, 100, 1200)
    (True, None)
    """
    wanted = units * (groups + 3 * math.sqrt(groups))
    return math.ceil(wanted / cells * _PLACES) if 2 * wanted < cells else None
