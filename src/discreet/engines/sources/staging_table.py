"""Tables that are filled for one question, and emptied after it.

Trust: kernel.

The rows are in the engine's own memory, and in its private folder on disk where they do not fit: so
a table may be larger than memory, and nobody else can read what lies on the disk.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, final

import pyarrow as pa
from duckdb import DuckDBPyConnection

from discreet.engines.execution import run_interruptibly
from discreet.engines.sources.frames import MemoryStamp
from discreet.engines.sources.source import TableSource, check_names
from discreet.engines.sql.fragments import SQL_TYPES, name
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
            column: SQL_TYPES[kind] if kind else "BLOB" for column, kind in self._columns.items()
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
