"""Tables that DuckDB keeps: those of a database file, and those that are filled for one question.

Trust: kernel.

What is filled for a question is emptied after it.  The rows are in the engine's own memory, and in
its private folder on disk where they do not fit: so a table may be larger than memory, and nobody
else can read what lies on the disk.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

import duckdb
import pyarrow as pa
from duckdb import DuckDBPyConnection

from discreet.engines.dialect import Dialect
from discreet.engines.execution import run_interruptibly
from discreet.engines.sources.files import check_path
from discreet.engines.sources.frames import MemoryStamp
from discreet.engines.sources.identity import FileStamp
from discreet.engines.sources.source import TableSource, check_names, unreadable
from discreet.engines.sources.source import quoted_name as name
from discreet.engines.sources.source import quoted_text as text
from discreet.query.relations import folded
from discreet.query.types import Type

_BATCH: Final = "rows to be staged"


@final
class StagingTable(TableSource):
    """A table whose columns are known from the start, and its rows while a question is answered.

    >>> StagingTable({"age": Type.INTEGER, "face": None}).paths
    ()
    """

    kind = "staged"

    __slots__ = ("_alias", "_columns", "_connection", "stamp")

    def __init__(self, columns: Mapping[str, Type | None]) -> None:
        """Take the columns, with None for the type of those that a question cannot name."""
        check_names(list(columns), what="columns")
        self._columns = dict(columns)
        self._connection: DuckDBPyConnection | None = None
        self._alias = ""
        self.stamp = MemoryStamp(pa.table({}), kind="staged")  # its filler knows the source

    def attach(self, connection: DuckDBPyConnection, alias: str) -> str:
        """Make the table, without rows, and print what to select from."""
        self._connection = connection
        self._alias = alias
        self.empty()
        return name(alias)

    def add(self, batch: pa.RecordBatch, columns: Sequence[str]) -> None:
        """Add rows, whose columns are c0, c1, ...; those that are missing are NULL."""
        places = {column: f"c{place}" for place, column in enumerate(columns)}
        parts = ", ".join(places.get(column, "NULL") for column in self._columns)
        connection = self._attached()
        statement = f"INSERT INTO {name(self._alias)} SELECT {parts} FROM {name(_BATCH)}"  # noqa: S608

        def insert() -> None:
            connection.register(_BATCH, batch)
            try:
                connection.execute(statement)
            finally:
                connection.unregister(_BATCH)

        run_interruptibly(insert, stop=connection.interrupt)

    def empty(self) -> None:
        """Forget all rows."""
        kinds = {
            column: Dialect.types[kind] if kind else "BLOB"
            for column, kind in self._columns.items()
        }
        listed = ", ".join(f"{name(column)} {kind}" for column, kind in kinds.items())
        statement = f"CREATE OR REPLACE TABLE {name(self._alias)} ({listed})"
        connection = self._attached()
        run_interruptibly(lambda: connection.execute(statement), stop=connection.interrupt)

    def _attached(self) -> DuckDBPyConnection:
        if self._connection is None:
            message = "the table is not attached to a connection"
            raise RuntimeError(message)
        return self._connection


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
