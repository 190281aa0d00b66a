"""Tables of DuckDB database files.

Trust: kernel.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

import duckdb
from duckdb import DuckDBPyConnection

from discreet.engines.sources.files import check_path
from discreet.engines.sources.identity import FileStamp
from discreet.engines.sources.source import TableSource, unreadable
from discreet.engines.sources.source import quoted_name as name
from discreet.engines.sources.source import quoted_text as text
from discreet.query.relations import folded

_ALIKE: Final = (("a", "A"), ("a", "\u00e1"), ("\u00e9", "e\u0301"), ("a", "a\u00ad"))
"""Pairs of texts: every collation but the bytewise one takes some pair for equal."""


def collated(connection: DuckDBPyConnection, view: str, columns: Iterable[str]) -> frozenset[str]:
    """Return the columns in which DuckDB takes different texts for equal; no row is read.

    A collation is part of a column's type, and stays with a text that takes the column's place.
    """
    return frozenset(column for column in columns if _is_collated(connection, view, column))


def _is_collated(connection: DuckDBPyConnection, view: str, column: str) -> bool:
    equal = " OR ".join(
        f"coalesce(any_value({name(column)}), {text(one)}) = {text(other)}" for one, other in _ALIKE
    )
    try:
        ((is_equal,),) = connection.execute(
            f"SELECT {equal} FROM {name(view)} WHERE false"  # noqa: S608 (quoted names)
        ).fetchall()
    except duckdb.Error:  # a collation that is not installed here
        return True
    return bool(is_equal)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """A table of a database file, opened for reading only.

    Views are refused: they may hold anything, and be something else at every look.

    >>> Database(path="clinic.duckdb", table="visits").schema
    'main'
    """

    path: str
    table: str
    schema: str = "main"


@final
class DatabaseTable(TableSource):
    """A table of a database file that was looked at, to be attached; the file then stays open."""

    kind = "duckdb"

    __slots__ = ("_database", "_path", "stamp")

    def __init__(self, database: Database) -> None:
        """Look at the file, and at the log beside it, which holds what was written last."""
        self._database = database
        self._path = str(Path(database.path).resolve())
        if not Path(self._path).is_file():
            raise unreadable("there is no such file.", do="give the path of a database file.")
        check_path(self._path, database=True)
        part = (folded(database.schema), folded(database.table))
        self.stamp = FileStamp(self._files, kind="duckdb", part=part)

    def _files(self) -> tuple[str, ...]:
        path = str(Path(self._database.path).resolve())
        return (path, f"{path}.wal")

    def attach(self, connection: DuckDBPyConnection, alias: str) -> str:
        """Attach the file, and print which table to select from."""
        schema, table = self._database.schema, self._database.table
        connection.execute(f"ATTACH {text(self._path)} AS {name(alias)} (TYPE duckdb, READ_ONLY)")
        matches = connection.execute(
            "SELECT 1 FROM duckdb_tables() WHERE database_name = ? AND schema_name = ?"
            " AND table_name = ?",
            [alias, schema, table],
        ).fetchall()
        if not matches:
            raise unreadable(
                f"there is no table {table} in the database.",
                do="name a table that is there; views cannot be opened.",
            )
        return f"{name(alias)}.{name(schema)}.{name(table)}"
