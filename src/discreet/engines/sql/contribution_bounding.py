"""Contribution bounding: rows with their units and groups, and the groups that a unit keeps.

Trust: kernel (T2, T7).

All statements share these parts.  The unit is in columns u0, u1, ..., the keys are in k0, k1, ...,
and what is measured is in x0, x1, ...: names of ours, one level above every name of the question.
No statement holds a salt: each reads it from the variable ``salt`` of its connection, so that a
request is printed once, however often it runs.  :mod:`discreet.engines.hash_order` defines the
portable order; the other one, which is faster, is that of DuckDB's ``hash``.  It is taken twice:
DuckDB joins the hashes of several values by XOR, and then some groups win whatever the salt is.

Public groups are tables, and statements drop the rows of all other groups.  Listed groups are one
table: their keys p0, p1, ..., and their position.  A product may be far larger than any table; it
is one table of values for each key.
"""

# ruff: noqa: S608 (all text here is printed by us, and names and literals are quoted)

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np
import pyarrow as pa

from discreet.engines.hash_order import GROUPS, LEAVES, VALUES
from discreet.engines.sql.expressions import OpenColumns, WholeFloat, expression
from discreet.engines.sql.fragments import name, text
from discreet.engines.sql.relations import PrintScan, relation
from discreet.query.expression_types import ColumnTypes, columns, typed
from discreet.query.expressions import Column, Expression
from discreet.query.relations import Scan
from discreet.query.types import Type
from discreet.requests.engine_request import EngineRequest, KeyColumn
from discreet.requests.raw_totals import ARROW_TYPES, arrow_numbers, arrow_values

Typed = tuple[str, Type]
"""The text of a value, short enough to be repeated, and its type."""

SALT: Final = "getvariable('salt')"
"""The salt of a run, a BIGINT; it is set before a statement runs."""

_PURPOSES: Final = {GROUPS: "", VALUES: ", 1", LEAVES: ", 2"}


def place(purpose: str, values: Sequence[Typed], *, portable: bool = False) -> str:
    r"""Print where values come in the order.

    >>> place(GROUPS, [('"u0"', Type.INTEGER)])
    'hash(hash(getvariable(\'salt\'), "u0"))'
    """
    if portable:
        return f"md5({_canonical(purpose, values)})"
    return f"hash(hash({SALT}{_PURPOSES[purpose]}, {listed([sql for sql, _ in values])}))"


def number(purpose: str, values: Sequence[Typed], *, portable: bool = False) -> str:
    r"""Print a number of 64 bits that rises with the place; two places may share one.

    >>> number(GROUPS, [('"u0"', Type.INTEGER)])
    'hash(hash(getvariable(\'salt\'), "u0"))'
    """
    hashed = place(purpose, values, portable=portable)
    return f"CAST('0x' || substr({hashed}, 1, 16) AS UBIGINT)" if portable else hashed


def below(limit: str, purpose: str, values: Sequence[Typed], *, portable: bool = False) -> str:
    r"""Print the number from 0 to the limit - 1 that belongs to values.

    >>> below('"n"', LEAVES, [('"u0"', Type.INTEGER)])
    '(CAST(hash(hash(getvariable(\'salt\'), 2, "u0")) AS HUGEINT) % "n")'
    """
    hashed = place(purpose, values, portable=portable)
    if portable:
        hashed = f"TRY_CAST('0x' || substr({hashed}, 1, 15) AS BIGINT)"
    return f"(CAST({hashed} AS HUGEINT) % {limit})"


def _canonical(purpose: str, values: Sequence[Typed]) -> str:
    return " || ".join([f"CAST({SALT} AS VARCHAR)", text(f" {purpose}"), *map(_part, values)])


def _part(value: Typed) -> str:
    shown = value_text(value)
    return f"coalesce(length({shown}) || ':' || {shown}, '-')"


def value_text(value: Typed) -> str:
    """Print the text of a value, which no other value of its type has.

    >>> value_text(('"x"', Type.FLOAT))
    'CAST("x" + 0e0 AS VARCHAR)'
    """
    sql, kind = value
    match kind:
        case Type.TEXT:
            return sql
        case Type.FLOAT:
            return f"CAST({sql} + 0e0 AS VARCHAR)"
        case Type.TIMESTAMP:
            return f"CAST(epoch_us({sql}) AS VARCHAR)"
        case _:
            return f"CAST({sql} AS VARCHAR)"


PUBLIC: Final = '"public groups"'
"""The table of public groups: their keys, and their place in the order."""


def values_of(key: int) -> str:
    """Return the table of public values of one key of a product.

    >>> values_of(0)
    '"public values 0"'
    """
    return f'"public values {key}"'


def listed(parts: Sequence[str], *, after: str = "") -> str:
    """Return names with commas between them, and after them if there are any.

    >>> listed(["u0", "u1"]), listed([], after=", ")
    ('u0, u1', '')
    """
    return ", ".join(parts) + (after if parts else "")


@final
@dataclass(frozen=True, slots=True)
class ContributionBounding:
    """A request, how its tables are read, and whether the order of hashes is the portable one."""

    request: EngineRequest
    scan: PrintScan
    open_scan: PrintScan
    """Reads a table with floats as they are, which are closed where they are used."""
    portable: bool = False

    @property
    def types(self) -> ColumnTypes:
        """The columns of the relation; those of a table are open."""
        kind = OpenColumns if isinstance(self.request.relation, Scan) else ColumnTypes
        return kind(columns(self.request.relation))

    @property
    def unit(self) -> list[str]:
        """The columns that name the unit."""
        return [f"u{place}" for place in range(len(self.request.unit))]

    @property
    def keys(self) -> list[str]:
        """The columns that name the group."""
        return [f"k{place}" for place in range(len(self.request.keys))]

    @property
    def cell_columns(self) -> list[Typed]:
        """The columns of unit and group, with their types."""
        types = self.types
        units = [typed(part, types) for part in self.request.unit]
        groups = [key.type for key in self.request.keys]
        return list(zip(self.unit + self.keys, units + groups, strict=True))

    @property
    def by_key(self) -> str:
        """The order of groups, NULL first."""
        return listed([f"{key} NULLS FIRST" for key in self.keys])

    def rows(self, measured: Sequence[Expression | WholeFloat], *, open_keys: bool = False) -> str:
        """Print the rows that count: their unit, their group, and what is measured in them.

        With ``open_keys`` floats of a table are keys as they are, with both zeros, finite or not.
        """
        types = self.types
        shown = [
            f"{expression(part, types)} AS {column}"
            for column, part in zip(self.unit, self.request.unit, strict=True)
        ]
        shown += [
            f"{_key(key, types, open_keys=open_keys)} AS {column}"
            for column, key in zip(self.keys, self.request.keys, strict=True)
        ]
        values = [
            value.sql if isinstance(value, WholeFloat) else expression(value, types)
            for value in measured
        ]
        shown += [f"{sql} AS x{place}" for place, sql in enumerate(values)]
        shown += [
            f"{value.source} AS y{place}"
            for place, value in enumerate(measured)
            if isinstance(value, WholeFloat) and value.source
        ]
        below = self._relation()
        rows = f"SELECT {listed(shown) or '1 AS one'} FROM ({below})"
        if not self.unit and self.request.public is None:
            return rows
        there = " AND ".join(f"{part} IS NOT NULL" for part in self.unit)
        where = f" WHERE {there}" if there else ""
        return f"SELECT * FROM ({rows}){self._semi_join()}{where}"

    def _relation(self) -> str:
        node = self.request.relation
        return self.open_scan(node) if isinstance(node, Scan) else relation(node, self.scan)

    def _semi_join(self) -> str:
        """Print that the group is public; of a product, that the value of every key is."""
        if self.request.product is not None:
            joins = (
                f" SEMI JOIN {values_of(index)} ON {key} IS NOT DISTINCT FROM p{index}"
                for index, key in enumerate(self.keys)
            )
            return "".join(joins)
        if self.request.listed is None:
            return ""
        return f" SEMI JOIN {PUBLIC} ON {self.same_group('p')}"

    def same_group(self, prefix: str) -> str:
        """Print that the group is that of other columns; NULL is like NULL."""
        pairs = [
            f"{key} IS NOT DISTINCT FROM {prefix}{place}" for place, key in enumerate(self.keys)
        ]
        return " AND ".join(pairs) or "true"

    def keep_groups(self, cells: str, *, rank: str) -> str:
        """Print those of the cells whose group the unit keeps.

        ``rank`` is row_number where each group is one cell, and dense_rank where it is several.
        """
        if not self.request.chooses:
            return cells
        order = place(GROUPS, self.cell_columns, portable=self.portable)
        hashed = f"SELECT *, {order} AS h FROM ({cells})"
        first = f"PARTITION BY {listed(self.unit)} ORDER BY h, {self.by_key}"
        ranked = f"SELECT *, {rank}() OVER ({first}) AS place FROM ({hashed})"
        return f"SELECT * EXCLUDE (h, place) FROM ({ranked}) WHERE place <= {self.request.groups}"

    def by_group(self, values: Sequence[str], rows: str) -> str:
        """Print the keys of every group of some rows, and what is aggregated over it."""
        by = f" GROUP BY {listed(self.keys)}" if self.keys else ""
        return f"SELECT {listed([*self.keys, *values])} FROM ({rows}){by}"

    def numbered(self, rows: str) -> str | None:
        """Print rows with the number g of their group; None where that depends on other rows."""
        if self.request.listed is not None:
            return f"SELECT *, position AS g FROM ({rows}) JOIN {PUBLIC} ON {self.same_group('p')}"
        return None if self.keys else f"SELECT *, CAST(0 AS BIGINT) AS g FROM ({rows})"

    def in_group_order(self, groups: str, values: Sequence[str]) -> str:
        """Print the answers of groups in their order; listed groups that are empty have zeros."""
        if self.request.listed is None:
            by = f" ORDER BY {self.by_key}" if self.keys else ""
            return f"SELECT * FROM ({groups}){by}"
        zeros = [f"coalesce({value}, 0) AS {value}" for value in values]
        joined = f"{PUBLIC} LEFT JOIN ({groups}) ON {self.same_group('p')}"
        return f"SELECT {listed(zeros)} FROM {joined} ORDER BY position"


def _key(key: KeyColumn, types: ColumnTypes, *, open_keys: bool) -> str:
    """Print what tells groups apart: which zero somebody wrote must not be seen."""
    if key.type is not Type.FLOAT:
        return expression(key.expression, types)
    if open_keys and isinstance(types, OpenColumns) and isinstance(key.expression, Column):
        return name(key.expression.name)
    return f"{expression(key.expression, types)} + 0e0"


def public_tables(request: EngineRequest) -> dict[str, pa.Table]:
    """Return the tables that the statements of a question name.

    >>> from discreet.requests.engine_request import KeyColumn
    >>> from discreet.requests.table_schema import Product
    >>> from discreet.query.expressions import Column
    >>> from discreet.query.relations import Scan
    >>> from discreet.query.types import Type
    >>> keys = tuple(KeyColumn(name, Column(name), Type.INTEGER) for name in "ab")
    >>> request = EngineRequest(relation=Scan("t", (("a", Type.INTEGER), ("b", Type.INTEGER))),
    ...     unit=(),
    ...                   keys=keys, groups=None, public=Product(((1, 2), (7,))), measures=())
    >>> {name: table.to_pydict() for name, table in public_tables(request).items()}
    {'"public values 0"': {'p0': [1, 2]}, '"public values 1"': {'p1': [7]}}
    """
    kinds = [ARROW_TYPES[key.type] for key in request.keys]
    if request.product is not None:
        return {
            values_of(index): pa.table({f"p{index}": arrow_values(values, kinds[index])})
            for index, values in enumerate(request.product.lists)
        }
    if request.listed is None:
        return {}
    columns = {
        f"p{index}": arrow_values([group[index] for group in request.listed], kind)
        for index, kind in enumerate(kinds)
    }
    position = arrow_numbers(np.arange(len(request.listed), dtype=np.int64), pa.int64())
    return {PUBLIC: pa.table({**columns, "position": position})}
