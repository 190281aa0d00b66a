"""How tasks read tables: rows that were sent to them, and public tables that came along.

Trust: kernel.  Columns that are not sent make no difference, and are read as NULL.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import final

from discreet.engines.sources.native import reading
from discreet.engines.sql.words import SQL_TYPES, literal, name
from discreet.errors import UnknownName, WrongType
from discreet.query.relations import Scan, folded
from discreet.query.types import Type

__all__ = ["Reading", "View", "unknown_table"]


@final
@dataclass(frozen=True, slots=True)
class View:
    """A table in a task: what it is called there, and by name its columns and DuckDB's types.

    ``sent`` are the columns that are there, by their folded names: what each is called, and its
    type; ``known`` are the types of all columns.
    """

    alias: str
    known: Mapping[str, str | None]
    sent: Mapping[str, str]


@final
@dataclass(frozen=True, slots=True)
class Reading:
    """The tables of a question, by their folded names."""

    views: Mapping[str, View]

    def scan(self, scan: Scan) -> str:
        """Print how a table is read: its columns as values of our types."""
        return self._scan(scan, reading)

    def open_scan(self, scan: Scan) -> str:
        """Print how a table is read, with floats as they are, finite or not."""
        return self._scan(scan, _open_reading)

    def _scan(self, scan: Scan, read: Callable[[str, str, Type], str | None]) -> str:
        view = self.views.get(folded(scan.table))
        if view is None:
            raise unknown_table(scan.table)
        parts = []
        for column, kind in scan.columns:
            native = view.known.get(folded(column))
            own = view.sent.get(folded(column))
            sql = None if native is None else read(own or column, native, kind)
            if sql is None:
                raise WrongType(
                    what=f"the column {column} of {scan.table} is not there as {kind.value}.",
                    why="a value is read only in ways that cannot fail.",
                    do="declare the column with a type that it can be read as.",
                )
            parts.append(f"{literal(None, kind) if own is None else sql} AS {name(column)}")
        return f"SELECT {', '.join(parts) or '1 AS one'} FROM {name(view.alias)}"  # noqa: S608


def unknown_table(table: str) -> UnknownName:
    """Return the error for a table that is not there.

    >>> unknown_table("visits").code
    'E503'
    """
    return UnknownName(
        what=f"there is no table {table}.",
        why="only tables that were opened can be read.",
        do="open it first.",
    )


def _open_reading(column: str, native: str, to: Type) -> str | None:
    """Print a column like :func:`reading`, but a float as it is."""
    if to is Type.FLOAT and native in {"DOUBLE", "FLOAT"}:
        sql = name(column)
        return sql if native == "DOUBLE" else f"CAST({sql} AS {SQL_TYPES[to]})"
    return reading(column, native, to)
