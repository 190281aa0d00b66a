"""Public tables from elsewhere: read here once, and handed to an engine that is not DuckDB.

Trust: kernel.  Only tables that the owner calls public are read whole; anybody may see them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, final

import pyarrow as pa

from discreet.engines.duckdb import Connection
from discreet.engines.duckdb_dialect import DUCKDB
from discreet.engines.engine import Columns, Performance
from discreet.engines.sources.identity import Identity
from discreet.errors import BadPolicy, UnreadableSource
from discreet.query.relations import Scan, folded
from discreet.query.types import Type
from discreet.requests.table_schema import Schema, StoredColumn

MOST_BYTES: Final = 2**26


@final
class LocalTables:
    """Sources that DuckDB opens, by folded names."""

    __slots__ = ("_connection", "columns", "stored")

    def __init__(self, tables: Mapping[str, object]) -> None:
        """Open the tables; there may be none."""
        self._connection = Connection(tables, Performance(threads=1)) if tables else None
        self.columns: Mapping[str, Columns] = self._connection.columns if self._connection else {}
        self.stored: Mapping[str, Mapping[str, StoredColumn]] = (
            self._connection.stored if self._connection else {}
        )

    def __contains__(self, table: str) -> bool:
        """Say whether a table is one of these."""
        return folded(table) in {folded(name) for name in self.columns}

    def check_public(self, schema: Schema, engine: str) -> None:
        """Refuse private tables: their rows would have to leave for another engine."""
        for name in self.columns:
            facts = schema.table(name)
            if facts is None or not facts.public:
                raise BadPolicy(
                    what=f"table {name} is private, and not one of {engine}.",
                    why="private rows are bounded where they are, and do not leave for another "
                    "engine.",
                    do=f"move it to {engine}, or declare public = true for it in the policy.",
                )

    def identities(self, tables: Iterable[str]) -> dict[str, Identity]:
        """Return the state that tables were opened in; refuse what has changed since."""
        return self._connection.identities(tables) if self._connection else {}

    def read(self, scan: Scan, engine: str) -> pa.Table:
        """Return some columns of a table, as values of our types."""
        assert self._connection is not None  # noqa: S101  (for the type checker)
        table = self._connection.fetch(DUCKDB.printed(self._connection.scan(scan)))
        if table.nbytes > MOST_BYTES:
            raise UnreadableSource(
                what=f"the public table {scan.table} is too large.",
                why="a public table from elsewhere goes along with every question.",
                do=f"copy it to {engine}.",
            )
        return table

    def rows(
        self, scan: Scan, engine: str
    ) -> tuple[list[str], list[Type], list[tuple[object, ...]]]:
        """Return the names and types of columns, and all rows."""
        table = self.read(scan, engine)
        columns = [column.to_pylist() for column in table.columns]
        return (
            table.column_names,
            [kind for _, kind in scan.columns],
            list(zip(*columns, strict=True)),
        )

    def close(self) -> None:
        """Release them."""
        if self._connection is not None:
            self._connection.close()
