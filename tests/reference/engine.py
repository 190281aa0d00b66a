"""The engine that computes everything row by row.

Trust: kernel.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final, final

import numpy as np
import pyarrow as pa

from discreet.engines.engine import Columns, HashOrder
from discreet.engines.sources.identity import Identity
from discreet.query.relations import folded
from discreet.query.types import Type
from discreet.requests.engine_request import CellSums, EngineRequest, Leaves
from discreet.requests.raw_totals import ARROW_TYPES, Integers, RawTotals, SparseLeaves
from discreet.requests.table_schema import Schema, StoredColumn, TableFacts
from tests.reference.bounding import Cells, Group, cell_sums_of, kept_cells, leaves_of, totals_of
from tests.reference.relations import Tables, rows_of, types_of
from tests.reference.windows import sort_key

__all__ = ["Reference"]

_HEX: Final = re.compile("[0-9a-fA-F]{32}")


@final
class Reference:
    """Tables as lists of rows, with the types of their columns.

    Its order is always the portable one.

    >>> from discreet.requests.engine_request import Total
    >>> from discreet.query.expressions import Column, Literal
    >>> from discreet.query.relations import Scan
    >>> engine = Reference({"visits": [{"patient": 1}, {"patient": 1}, {"patient": 2}]},
    ...                    {"visits": {"patient": Type.INTEGER}})
    >>> lowered = EngineRequest(
    ...     relation=Scan("visits", (("patient", Type.INTEGER),)),
    ...     unit=(Column("patient"),), keys=(), groups=1,
    ...     measures=(Total(name="visits", row=Literal(1), low=0, high=5),))
    >>> engine.run(lowered, order=HashOrder(salt=1)).totals["visits"].tolist()
    [3]
    """

    __slots__ = ("_columns", "_tables")

    def __init__(self, tables: Tables, types: Mapping[str, Mapping[str, Type]]) -> None:
        """Take the rows of each table, and the types of its columns."""
        self._tables = tables
        self._columns: dict[str, Columns] = {name: dict(found) for name, found in types.items()}

    def tables(self) -> Mapping[str, Columns]:
        """Return the columns of every table."""
        return self._columns

    def stored(self) -> Mapping[str, Mapping[str, StoredColumn]]:
        """Return nothing: rows in a list are values of ours already."""
        return {}

    def learn_schema(self, schema: Schema) -> None:
        """Learn in which form units are named; whose rows there are makes no other difference."""
        self._tables = {
            name: [_normalized(row, schema.table(name)) for row in rows]
            for name, rows in self._tables.items()
        }

    def identities(self, tables: Iterable[str]) -> Mapping[str, Identity]:
        """Return what is known of lists: nothing but their columns."""
        return {
            folded(table): Identity(
                kind="rows",
                columns=tuple((name, str(kind)) for name, kind in self._columns[table].items()),
                state=None,
            )
            for table in tables
        }

    def check(self, lowered: EngineRequest) -> None:
        """Refuse nothing."""

    def close(self) -> None:
        """Let go of nothing: the rows are somebody else's."""

    def run(self, lowered: EngineRequest, *, order: HashOrder) -> RawTotals:
        """Compute the answers."""
        types = types_of(lowered.relation)
        cells = kept_cells(lowered, rows_of(lowered.relation, self._tables), types, order)
        groups = _groups(lowered, cells)
        units = Counter(group for _, group in cells)
        totals, leaves = {}, {}
        known = {total.name: total for total in lowered.totals}
        for measure in lowered.measures:
            if isinstance(measure, Leaves):
                leaves[measure.name] = _sparse(leaves_of(measure, cells, types, order), groups)
            elif isinstance(measure, CellSums):
                leaves[measure.name] = _sparse(cell_sums_of(measure, cells, types), groups)
            else:
                found = totals_of(measure, cells, types, order, known)
                totals[measure.name] = _integers(found.get(group, 0) for group in groups)
        return RawTotals(
            keys=tuple(
                pa.array([group[at] for group in groups], type=ARROW_TYPES[key.type])
                for at, key in enumerate(lowered.keys)
            ),
            units=_integers(units[group] for group in groups),
            totals=totals,
            leaves=leaves,
        )


def _groups(lowered: EngineRequest, cells: Cells) -> list[Group]:
    if lowered.listed is not None:
        return list(lowered.listed)
    found = {group for _, group in cells} if lowered.keys else {()}
    return sorted(found, key=sort_key)


def _sparse(found: Mapping[tuple[Group, int], int], groups: list[Group]) -> SparseLeaves:
    places = {group: place for place, group in enumerate(groups)}
    cells = sorted((places[group], leaf, count) for (group, leaf), count in found.items())
    first, second, third = zip(*cells, strict=True) if cells else ((), (), ())
    return _integers(first), _integers(second), _integers(third)


def _integers(values: object) -> Integers:
    return np.array(list(values), dtype=np.int64)  # type: ignore[call-overload]


def _normalized(row: Mapping[str, object], table: TableFacts | None) -> Mapping[str, object]:
    """Return a row in which texts that are declared to be UUIDs have their one usual form."""
    uuids = [] if table is None else [each.name for each in table.columns if each.form == "uuid"]
    return {**row, **{name: _uuid(row[name]) for name in uuids}}


def _uuid(value: object) -> str | None:
    found = str(value).replace("-", "")
    if found.startswith("{") and found.endswith("}"):
        found = found[1:-1]
    if not _HEX.fullmatch(found):
        return None
    ends = (8, 12, 16, 20, 32)
    return "-".join(found[start:end] for start, end in zip((0, *ends), ends, strict=False)).lower()
