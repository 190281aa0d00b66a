"""Single rows: where each unit has one row, nothing is added up, and nothing is left to choose.

Trust: kernel (T7).

A request may take the totals of its groups in parts.  Where all rows that count belong to different
units, these rows are the parts, and a plain scan gives them: no cell is looked up, ranked, merged
with others or sorted.
Theorem (key ``single-rows``).  Let no two of the rows that count be of one unit.  Then the cells
that are kept are these rows, and each unit adds one row's total, clamped, to the group of its row.
Proof.  A cell holds the rows of one unit in one group.  So every cell holds one row, and every unit
has one cell, which it keeps in every order of hashes, since ``groups`` is at least 1.

Two things are left to this code, which take DuckDB longer to plan than to do: floats that are not
finite become NULL, as in every statement, and rows are left out where a key is NULL that must not
be.  Units are looked at before: rows that are of different units still are when some are left out.
Rows of a small table are read without any statement, where unit and keys are plain columns of it
(:mod:`discreet.engines.sources.plain_columns`).  If some of them are not single, statements bound
these very rows: one unit's second row must not decide who reads the rows of all others.

Whether it is so is read off the very rows that are handed out, each time: neither a declaration nor
an earlier run is trusted with it.  What is remembered of earlier runs decides how long a run takes,
and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.engines.connection import Connection
from discreet.engines.hash_order import unit_codes
from discreet.engines.row_scans import has_exact_units, scan_below
from discreet.engines.sources.plain_columns import NATIVE
from discreet.engines.sql.casts import TableView, print_scan
from discreet.engines.sql.contribution_bounding import ContributionBounding
from discreet.query.expressions import Call, Column, Literal
from discreet.query.relations import Filter, Scan, folded
from discreet.requests.engine_request import EngineRequest
from discreet.requests.raw_totals import RawTotals, arrow_numbers, nulls, numbers

__all__ = ["AT_ONCE", "READ", "RowStatement", "SingleRows"]

AT_ONCE: Final = 2**22
"""Larger tables are added up by DuckDB, which needs no memory for every row."""
READ: Final = '"rows in memory"'
"""The table of rows that were read without a statement, where one bounds them."""
_LONGEST: Final = 2**31 - 1  # bytes of one Arrow column of texts
_REMEMBERED: Final = 256
_CHUNK: Final = 2**13  # rows; larger chunks took DuckDB half as long again, for 100,000 rows
_ONE: Final = Literal(1)


@final
@dataclass(frozen=True, slots=True)
class RowStatement:
    """How the rows of a request are read as they are, and what is left to see to."""

    bounding: ContributionBounding
    source: Scan
    statement: str
    needed: frozenset[int]
    """The places of keys that must not be NULL."""
    plain: tuple[str, ...] | None
    """The columns of unit and keys, if these are columns of the table and nothing is computed."""

    @classmethod
    def of(cls, bounding: ContributionBounding) -> RowStatement | None:
        """Print it; None for a request whose rows are to be added up."""
        source = row_source(bounding.request)
        if source is None:
            return None
        bare, needed = without_conditions(bounding)
        statement, plain = bare.rows([], open_keys=True), plain_names(bare.request)
        return cls(bounding, source, statement, needed, plain)

    @property
    def in_memory(self) -> ContributionBounding:
        """The same bounding, of plain columns that were read: the table ``READ``."""
        types = dict(self.source.columns)
        columns = tuple((column, types[column]) for column in dict.fromkeys(self.plain or ()))
        scan = replace(self.source, columns=columns)
        view = TableView(
            READ.strip('"'),
            {folded(column): NATIVE[kind] for column, kind in columns},
            {folded(column): column for column, _ in columns},
        )
        within, as_they_are = (print_scan(scan, view, open_floats=each) for each in (False, True))
        return replace(self.bounding, scan=lambda _: within, open_scan=lambda _: as_they_are)


@final
class SingleRows:
    """Reads rows of different units from a connection, and remembers where that is in vain."""

    __slots__ = ("_connection", "_worth_reading")

    def __init__(self, connection: Connection) -> None:
        """Take the connection that reads the tables."""
        self._connection = connection
        self._worth_reading: dict[str, bool] = {}

    def totals(self, row: RowStatement) -> RawTotals | None:
        """Return the rows as totals in parts, or None where they have to be added up."""
        worth_reading = self._worth_reading.get(row.statement)
        if worth_reading is None:
            worth_reading = self._is_small(row.source)
        if not worth_reading:
            return None
        return self._parts(row, self._connection.fetch(row.statement, chunk=_CHUNK))

    def read_plainly(self, row: RowStatement) -> pa.Table | None:
        """Return unit and keys of all rows without a statement, or None where it takes one."""
        found = None if row.plain is None else self._connection.plain(row.source, row.plain)
        if row.plain is None or found is None:
            return None
        return pa.table(dict(zip(row.plain, found, strict=True)))

    def plain_totals(self, row: RowStatement, read: pa.Table) -> RawTotals | None:
        """Return rows that were read as totals in parts, or None where they have to be bounded."""
        if row.plain is None or not self._worth_reading.get(row.statement, True):
            return None
        unit, found = row.bounding.unit, [read.column(each) for each in row.plain]
        rows = pa.Table.from_arrays(found, names=[*unit, *row.bounding.keys])
        nobody = [nulls(each.combine_chunks()) for each in found[: len(unit)] if each.null_count]
        return self._parts(row, rows.filter(_all_of(~each for each in nobody)) if nobody else rows)

    def _parts(self, row: RowStatement, rows: pa.Table) -> RawTotals | None:
        """Return rows as totals in parts if they are single, and remember whether they were."""
        single = are_single(rows, row.bounding.unit)
        short = all(rows.column(key).nbytes <= _LONGEST for key in row.bounding.keys)
        self._remember(row.statement, worth_reading=single and short)
        return parts_of(rows, row.bounding.request, row.needed) if single and short else None

    def _is_small(self, source: Scan) -> bool:
        size = self._connection.size(source)
        return size is not None and size <= AT_ONCE

    def _remember(self, statement: str, *, worth_reading: bool) -> None:
        if len(self._worth_reading) >= _REMEMBERED:
            self._worth_reading.clear()
        self._worth_reading[statement] = worth_reading


def without_conditions(
    bounding: ContributionBounding,
) -> tuple[ContributionBounding, frozenset[int]]:
    """Return what is read where keys need not be there, and the places of those that must be."""
    request, needed = bounding.request, set[int]()
    places = {key.expression: place for place, key in enumerate(request.keys)}
    relation = request.relation
    while isinstance(relation, Filter):
        match relation.predicate:
            case Call(function="NOT", arguments=(Call(function="IS NULL", arguments=(value,)),)):
                place = places.get(value)
            case _:
                place = None
        if place is None:
            break
        needed.add(place)
        relation = relation.child
    return replace(bounding, request=replace(request, relation=relation)), frozenset(needed)


def plain_names(request: EngineRequest) -> tuple[str, ...] | None:
    """Return the columns of a table that are unit and keys; None where anything is computed."""
    parts = [*request.unit, *(key.expression for key in request.keys)]
    columns = [part.name for part in parts if isinstance(part, Column)]
    whole = isinstance(request.relation, Scan) and len(columns) == len(parts)
    return tuple(columns) if whole else None


def parts_of(rows: pa.Table, request: EngineRequest, needed: frozenset[int]) -> RawTotals:
    """Return each row as one unit in its group, with what one row adds to every total."""
    keys = [closed(rows.column(f"k{place}")) for place in range(len(request.keys))]
    missing = [nulls(keys[place]) for place in needed if keys[place].null_count]
    if missing:
        there = _all_of(~each for each in missing)
        keys = [key.filter(there) for key in keys]
    ones = np.ones(len(keys[0]), np.int64)
    adds = {total.name: min(max(1, total.low), total.high) for total in request.totals}
    totals = {name: ones if each == 1 else each * ones for name, each in adds.items()}
    return RawTotals(keys=tuple(keys), units=ones, totals=totals, leaves={})


def _all_of(conditions: Iterable[NDArray[np.bool_]]) -> pa.Array:
    return arrow_numbers(np.logical_and.reduce(list(conditions)), pa.bool_())


def closed(column: pa.ChunkedArray) -> pa.Array:
    """Return a column of keys with floats as ours are: finite, and with one zero.

    >>> closed(pa.chunked_array([[float("inf"), -0.0]])).to_pylist()
    [None, 0.0]
    """
    whole = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    if whole.type != pa.float64():
        return whole
    values = numbers(whole)
    if np.isfinite(values).all() and (values != 0).all():
        return whole
    return arrow_numbers(values + 0.0, pa.float64(), nulls(whole) | ~np.isfinite(values))


def row_source(request: EngineRequest) -> Scan | None:
    """Return the table whose rows a request may take as they are; None if it needs sums."""
    counts_rows = bool(request.keys) and all(total.row == _ONE for total in request.totals)
    plain = request.in_parts and counts_rows and has_exact_units(request)
    return scan_below(request.relation) if plain else None


def are_single(rows: pa.Table, unit: list[str]) -> bool:
    """Say whether no two rows are of one unit; where no columns name it, each row is one.

    >>> are_single(pa.table({"u0": [7, 9]}), ["u0"]), are_single(pa.table({"u0": [7, 7]}), ["u0"])
    (True, False)
    """
    if not unit:
        return True
    codes = unit_codes([rows.column(name) for name in unit])
    return int(np.bincount(codes).max(initial=0)) <= 1
