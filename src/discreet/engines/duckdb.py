"""The engine on DuckDB.

Trust: kernel.

Nothing that an analyst writes reaches DuckDB: statements are printed from checked nodes.  The
connection reads the sources and nothing else: no other file and no extension, and no setting can be
changed once it is open.  Every failure reads the same.

A request that might not fit into memory is refused before anything is charged: whether it fits must
not depend on a row.
Definition.  DuckDB computes with vectors of ``ROWS`` rows, one after the other in every thread.  So
at any moment a thread holds at most ``ROWS`` texts of ``LONGEST_TEXT`` bytes for every text that
the question makes of a row (:mod:`discreet.requests.text_limits`).  These may take half of the
memory.  What joins, sums, windows and sorts hold longer goes to disk where it does not fit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, final

import duckdb
import pyarrow as pa
from sqlglot import exp

from discreet.engines.connection import Connection
from discreet.engines.duckdb_dialect import DUCKDB
from discreet.engines.engine import Columns, Performance
from discreet.engines.execution import run_sanitized, stopped_error
from discreet.engines.hash_order import HashOrder
from discreet.engines.sources.identity import Identity
from discreet.engines.sql_engine import PreparedRequest, SqlEngine
from discreet.errors import UnsupportedSQL
from discreet.query.functions import LONGEST_TEXT
from discreet.query.relations import Scan
from discreet.requests.engine_request import EngineRequest
from discreet.requests.raw_totals import RawTotals
from discreet.requests.table_schema import Schema, StoredColumn
from discreet.requests.text_limits import text_work

__all__ = ["ROWS", "DuckDB"]

ROWS: Final = 2048


def check_memory(request: EngineRequest, memory: Callable[[], tuple[int, int]]) -> None:
    """Refuse a request whose texts may take more than half of the memory.

    Args:
        request: what is to be computed.
        memory: returns how many bytes the engine may use, and how many threads share them.
    """
    work = text_work(request)
    if not work:
        return
    most, threads = memory()
    if work * ROWS * LONGEST_TEXT * threads > most // 2:
        raise UnsupportedSQL(
            what="the texts that the question makes might not fit into the memory of the engine.",
            why="an engine that runs out of memory tells whose rows were too long.",
            do="use fewer functions of texts, or have the owner open the tables with more memory "
            "or fewer threads (discreet.engines.Performance).",
        )


@final
class DuckDB(SqlEngine):
    """Tables by name, each a path, a pattern of paths, a table of a database, or a frame.

    >>> import pyarrow as pa
    >>> with DuckDB({"visits": pa.table({"patient": [1, 1, 2]})}) as engine:
    ...     engine.tables()
    {'visits': {'patient': INTEGER}}
    """

    __slots__ = ("_connection",)

    dialect = DUCKDB
    registers = True
    performance = Performance

    def __init__(
        self, tables: Mapping[str, object], performance: Performance | None = None
    ) -> None:
        """Open the tables; only their descriptions are read."""
        super().__init__()
        self._connection = Connection(tables, performance or Performance())

    def tables(self) -> Mapping[str, Columns]:
        """Return the columns of every table."""
        return self._connection.columns

    def stored(self) -> Mapping[str, Mapping[str, StoredColumn]]:
        """Return how the source of every table stores its columns."""
        return self._connection.stored

    def learn_schema(self, schema: Schema) -> None:
        """Learn in which form units are named; nothing else depends on whose rows these are."""
        super().learn_schema(schema)
        self._connection.normalize(schema)

    def identities(self, tables: Iterable[str]) -> Mapping[str, Identity]:
        """Return the state that tables were opened in; refuse what has changed since."""
        return self._connection.identities(tables)

    def scan(self, scan: Scan) -> exp.Select:
        """Return how a table is read."""
        return self._connection.scan(scan)

    def check(self, request: EngineRequest) -> PreparedRequest:
        """Refuse what cannot be printed, and what may need more memory than there is."""
        prepared = super().check(request)
        check_memory(request, self._connection.memory)
        return prepared

    def cell_counts(self, table: str) -> Mapping[str, int]:
        """Count the cells of each column that the source holds; for the owner's check alone."""
        with self._lock:
            return run_sanitized(lambda: self._connection.cell_counts(table))

    def fetch(self, statement: str, tables: Mapping[str, pa.Table]) -> pa.Table:
        """Run a statement."""
        return self._connection.fetch(statement, tables)

    def interrupt(self) -> None:
        """Stop the statement that is being run, if one is."""
        self._connection.interrupt()

    def _run(self, request: EngineRequest, order: HashOrder) -> RawTotals:
        if request.unit:  # else nothing is put in an order
            self._connection.set_salt(order.salt)
        try:
            return super()._run(request, order)
        except duckdb.InterruptException:  # comes of an interrupt, and of nothing else
            raise stopped_error() from None

    def close(self) -> None:
        """Release the data."""
        self._connection.close()
