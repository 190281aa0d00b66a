"""What all statements share: rows with their units and groups, and the groups that are kept.

Trust: kernel.

The unit is in columns u0, u1, ..., the keys in k0, k1, ..., what is measured in x0, x1, ...: names
of ours, one level above every name of the question.
"""

# ruff: noqa: S608 (all text here is printed by us, and names and literals are quoted)

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

from discreet.engines.order import GROUPS, HashOrder
from discreet.engines.sql.expressions import expression
from discreet.engines.sql.hashing import Typed, place
from discreet.engines.sql.printed import OpenColumns
from discreet.engines.sql.relations import PrintScan, relation
from discreet.engines.sql.wholes import Whole
from discreet.plan.lowered import Lowered
from discreet.query.expressions import Expression
from discreet.query.functions import typed
from discreet.query.relations import Scan
from discreet.query.shape import columns
from discreet.query.types import Type

__all__ = ["PUBLIC", "Bounding", "listed", "values_of"]

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
class Bounding:
    """A lowered question, how its tables are read, and the order of hashes."""

    lowered: Lowered
    scan: PrintScan
    order: HashOrder
    open_scan: PrintScan
    """Reads a table with floats as they are, which are closed where they are used."""

    @property
    def types(self) -> dict[str, Type]:
        """The columns of the relation; those of a table are open."""
        found = dict(columns(self.lowered.relation))
        return OpenColumns(found) if isinstance(self.lowered.relation, Scan) else found

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

    def rows(self, measured: Sequence[Expression | Whole]) -> str:
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

    def _printed(self, value: Expression | Whole) -> str:
        return value.sql if isinstance(value, Whole) else expression(value, self.types)

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
