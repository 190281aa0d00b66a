"""Contribution bounding: rows with their units and groups, and the groups that a unit keeps.

Trust: kernel.

The order of hashes, as SQL.

 See :mod:`discreet.engines.hash_order` for what the portable order is.

What all statements share: rows with their units and groups, and the groups that are kept.

The unit is in columns u0, u1, ..., the keys in k0, k1, ..., what is measured in x0, x1, ...: names
of ours, one level above every name of the question.

Public groups as tables, for statements that keep their rows and no others.

Groups that are listed are one table: their keys p0, p1, ..., and their place in the order.  Of a
product, which may be far larger than any table, there is one table of values for each key.
"""

# ruff: noqa: S608 (all text here is printed by us, and names and literals are quoted)

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np
import pyarrow as pa

from discreet.engines.hash_order import GROUPS, LEAVES, VALUES, HashOrder
from discreet.engines.sql.expressions import expression
from discreet.engines.sql.fragments import OpenColumns, text
from discreet.engines.sql.relations import PrintScan, relation
from discreet.engines.sql.whole_floats import WholeFloat
from discreet.query.expression_types import ColumnTypes, typed
from discreet.query.expressions import Expression
from discreet.query.relation_columns import columns
from discreet.query.relations import Scan
from discreet.query.types import Type
from discreet.requests.engine_request import EngineRequest
from discreet.requests.raw_totals import ARROW_TYPES, arrow_numbers, arrow_values

__all__ = [
    "PUBLIC",
    "ContributionBounding",
    "Typed",
    "below",
    "listed",
    "number",
    "place",
    "public_tables",
    "value_text",
    "values_of",
]

Typed = tuple[str, Type]
"""The text of a value, short enough to be repeated, and its type."""

_PURPOSES: Final = {GROUPS: "", VALUES: ", 1", LEAVES: ", 2"}


def place(order: HashOrder, purpose: str, values: Sequence[Typed]) -> str:
    """Print where values come in the order.

    >>> place(HashOrder(salt=7), GROUPS, [('"u0"', Type.INTEGER)])
    'hash(7::BIGINT, "u0")'
    """
    if order.portable:
        return f"md5({_canonical(order, purpose, values)})"
    listed = ", ".join(sql for sql, _ in values)
    return f"hash({order.salt}::BIGINT{_PURPOSES[purpose]}, {listed})"


def number(order: HashOrder, purpose: str, values: Sequence[Typed]) -> str:
    """Print a number of 64 bits that rises with the place in the order, and may be shared by two.

    >>> number(HashOrder(salt=7), GROUPS, [('"u0"', Type.INTEGER)])
    'hash(7::BIGINT, "u0")'
    """
    found = place(order, purpose, values)
    return f"CAST('0x' || substr({found}, 1, 16) AS UBIGINT)" if order.portable else found


def below(order: HashOrder, limit: str, purpose: str, values: Sequence[Typed]) -> str:
    """Print the number from 0 to the limit - 1 that belongs to values.

    >>> below(HashOrder(salt=7), '"n"', LEAVES, [('"u0"', Type.INTEGER)])
    '(CAST(hash(7::BIGINT, 2, "u0") AS HUGEINT) % "n")'
    """
    number = place(order, purpose, values)
    if order.portable:
        number = f"'0x' || substr({number}, 1, 15)"
        return f"(CAST(TRY_CAST({number} AS BIGINT) AS HUGEINT) % {limit})"
    return f"(CAST({number} AS HUGEINT) % {limit})"


def _canonical(order: HashOrder, purpose: str, values: Sequence[Typed]) -> str:
    return " || ".join([text(f"{order.salt} {purpose}"), *map(_part, values)])


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
    """A lowered question, how its tables are read, and the order of hashes."""

    lowered: EngineRequest
    scan: PrintScan
    order: HashOrder
    open_scan: PrintScan
    """Reads a table with floats as they are, which are closed where they are used."""

    @property
    def types(self) -> ColumnTypes:
        """The columns of the relation; those of a table are open."""
        kind = OpenColumns if isinstance(self.lowered.relation, Scan) else ColumnTypes
        return kind(columns(self.lowered.relation))

    @property
    def unit(self) -> list[str]:
        """The columns that name the unit."""
        return [f"u{place}" for place in range(len(self.lowered.unit))]

    @property
    def keys(self) -> list[str]:
        """The columns that name the group."""
        return [f"k{place}" for place in range(len(self.lowered.keys))]

    @property
    def cell(self) -> list[Typed]:
        """The columns of unit and group, with their types."""
        types = self.types
        units = [typed(part, types) for part in self.lowered.unit]
        groups = [key.type for key in self.lowered.keys]
        return list(zip(self.unit + self.keys, units + groups, strict=True))

    @property
    def by_key(self) -> str:
        """The order of groups, NULL first."""
        return listed([f"{key} NULLS FIRST" for key in self.keys])

    def rows(self, measured: Sequence[Expression | WholeFloat]) -> str:
        """Print the rows that count: their unit, their group, and what is measured in them."""
        parts = [
            *zip(self.unit, self.lowered.unit, strict=True),
            *zip(self.keys, [key.expression for key in self.lowered.keys], strict=True),
            *((f"x{place}", value) for place, value in enumerate(measured)),
        ]
        shown = [f"{self._printed(value)} AS {name}" for name, value in parts]
        below = self._relation()
        rows = f"SELECT {listed(shown) or '1 AS one'} FROM ({below})"
        if not self.unit and self.lowered.public is None:
            return rows
        there = " AND ".join(f"{part} IS NOT NULL" for part in self.unit)
        where = f" WHERE {there}" if there else ""
        return f"SELECT * FROM ({rows}){self._semi_join()}{where}"

    def _printed(self, value: Expression | WholeFloat) -> str:
        return value.sql if isinstance(value, WholeFloat) else expression(value, self.types)

    def _relation(self) -> str:
        found = self.lowered.relation
        return self.open_scan(found) if isinstance(found, Scan) else relation(found, self.scan)

    def _semi_join(self) -> str:
        """Print that the group is public; of a product, that the value of every key is."""
        if self.lowered.product is not None:
            joins = (
                f" SEMI JOIN {values_of(at)} ON {key} IS NOT DISTINCT FROM p{at}"
                for at, key in enumerate(self.keys)
            )
            return "".join(joins)
        if self.lowered.listed is None:
            return ""
        return f" SEMI JOIN {PUBLIC} ON {self.same_group('p')}"

    def same_group(self, prefix: str) -> str:
        """Print that the group is that of other columns; NULL is like NULL."""
        pairs = [
            f"{key} IS NOT DISTINCT FROM {prefix}{place}" for place, key in enumerate(self.keys)
        ]
        return " AND ".join(pairs) or "true"

    def kept(self, cells: str, *, rank: str) -> str:
        """Print those of the cells whose group the unit keeps.

        ``rank`` is row_number where each group is one cell, and dense_rank where it is several.
        """
        if not self.lowered.chooses:
            return cells
        hashed = f"SELECT *, {place(self.order, GROUPS, self.cell)} AS h FROM ({cells})"
        first = f"PARTITION BY {listed(self.unit)} ORDER BY h, {self.by_key}"
        ranked = f"SELECT *, {rank}() OVER ({first}) AS place FROM ({hashed})"
        return f"SELECT * EXCLUDE (h, place) FROM ({ranked}) WHERE place <= {self.lowered.groups}"

    def answer(self, groups: str, values: Sequence[str]) -> str:
        """Print the answers of groups in their order; listed groups that are empty have zeros."""
        if self.lowered.listed is None:
            by = f" ORDER BY {self.by_key}" if self.keys else ""
            return f"SELECT * FROM ({groups}){by}"
        zeros = [f"coalesce({value}, 0) AS {value}" for value in values]
        joined = f"{PUBLIC} LEFT JOIN ({groups}) ON {self.same_group('p')}"
        return f"SELECT {listed(zeros)} FROM {joined} ORDER BY position"


def public_tables(lowered: EngineRequest) -> dict[str, pa.Table]:
    """Return the tables that the statements of a question name.

    >>> from discreet.requests.engine_request import Key
    >>> from discreet.requests.key_product import Product
    >>> from discreet.query.expressions import Column
    >>> from discreet.query.relations import Scan
    >>> from discreet.query.types import Type
    >>> keys = tuple(Key(name, Column(name), Type.INTEGER) for name in "ab")
    >>> lowered = EngineRequest(relation=Scan("t", (("a", Type.INTEGER), ("b", Type.INTEGER))),
    ...     unit=(),
    ...                   keys=keys, groups=None, public=Product(((1, 2), (7,))), measures=())
    >>> {name: table.to_pydict() for name, table in public_tables(lowered).items()}
    {'"public values 0"': {'p0': [1, 2]}, '"public values 1"': {'p1': [7]}}
    """
    kinds = [ARROW_TYPES[key.type] for key in lowered.keys]
    if lowered.product is not None:
        return {
            values_of(at): pa.table({f"p{at}": arrow_values(values, kinds[at])})
            for at, values in enumerate(lowered.product.lists)
        }
    if lowered.listed is None:
        return {}
    columns = {
        f"p{at}": arrow_values([group[at] for group in lowered.listed], kind)
        for at, kind in enumerate(kinds)
    }
    position = arrow_numbers(np.arange(len(lowered.listed), dtype=np.int64), pa.int64())
    return {PUBLIC: pa.table({**columns, "position": position})}
