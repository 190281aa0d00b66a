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
memory.  What joins, sums, windows and sorts hold longer goes to disk if it does not fit.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, final
from weakref import finalize

import duckdb
import pyarrow as pa
from sqlglot import exp

from discreet.engines.duckdb_dialect import DUCKDB
from discreet.engines.engine import Columns, HashOrder, Performance
from discreet.engines.execution import run_sanitized, stopped_error
from discreet.engines.fragments import select
from discreet.engines.sources.cell_checks import check_cells, check_packed
from discreet.engines.sources.files import CsvFiles, DatabaseTable, ParquetFiles, collated, pattern
from discreet.engines.sources.identity import Identity, identified
from discreet.engines.sources.open_source import open_source
from discreet.engines.sources.source import TableSource, check_names, unreadable
from discreet.engines.sources.source import quoted_name as name
from discreet.engines.sources.source import quoted_text as text
from discreet.engines.sources.stored_columns import (
    UUID_TEXT,
    ZONED,
    base_type,
    read_columns,
    reading,
    stored_form,
    unknown_table,
)
from discreet.engines.sql_engine import PreparedRequest, SqlEngine
from discreet.errors import UnsupportedSQL
from discreet.query.functions import LONGEST_TEXT
from discreet.query.relations import Scan, folded
from discreet.requests.engine_request import EngineRequest
from discreet.requests.raw_totals import RawTotals
from discreet.requests.table_schema import Schema, StoredColumn
from discreet.requests.text_limits import text_work

SETTINGS: Final[Mapping[str, Any]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "python_enable_replacements": False,
    "order_by_non_integer_literal": True,  # a sum of constants is added up in order, too
}
"""What every DuckDB runs with, here and in the tasks of Spark."""

_NONE: Final[Mapping[str, pa.Table]] = {}
_CHUNK: Final = 10**6
_FROM_CELLS: Final = "SET disabled_optimizers = 'statistics_propagation'"
"""Makes DuckDB leave the statistics of files alone (T2).

It drops filters and clamps that they make superfluous, and no statistics reveal NaN, which it takes
to be above all numbers.
"""


@final
class Connection:
    """The sources as views, in a read-only database of their own."""

    __slots__ = (
        "__weakref__",
        "_connection",
        "_native",
        "_slow",
        "_sources",
        "_stamps",
        "_swept",
        "_views",
        "columns",
        "stored",
    )

    def __init__(self, tables: Mapping[str, object], performance: Performance) -> None:
        """Open every source, and let go of all of them if one cannot be read."""
        check_names(list(tables), what="tables")
        sources = {table: open_source(data, table=table) for table, data in tables.items()}
        self._sources = {folded(table): source for table, source in sources.items()}
        self._stamps = {folded(table): source.stamp for table, source in sources.items()}
        folder = tempfile.mkdtemp(prefix="discreet-")  # its owner's alone; rows may go there
        self._swept = finalize(self, _remove, folder, os.getpid())
        self._connection = duckdb.connect(
            config={**SETTINGS, "temp_directory": folder, **_limits(performance)}
        )
        bar = self._connection.execute("SELECT current_setting('enable_progress_bar')")
        if bar.fetchall() == [(True,)]:  # stdout is for answers; Jupyter may not let it be set
            self._connection.execute("SET enable_progress_bar = false")
        self._views: dict[str, str] = {}
        self._slow: set[str] = set()
        self._native: dict[str, dict[str, str]] = {}
        try:
            self._view(sources)
        except BaseException:
            self.close()
            raise
        self.columns: dict[str, Columns] = {
            table: {column: base_type(kind) for column, kind in self._native[folded(table)].items()}
            for table in tables
        }

    def _view(self, sources: Mapping[str, TableSource]) -> None:
        """Make a view of every source, check all cells, and lock the door."""
        for number, (table, source) in enumerate(sources.items()):
            view = f"table {number}"
            self._views[folded(table)] = view
            if isinstance(source, CsvFiles):
                self._slow.add(view)
            self._native[folded(table)] = self._viewed(source, f"source {number}", view, table)
        if any(isinstance(source, ParquetFiles) for source in sources.values()):
            self._connection.execute(_FROM_CELLS)
        self.stored: dict[str, dict[str, StoredColumn]] = {
            table: self._stored(source, table) for table, source in sources.items()
        }
        self._lock([path for source in sources.values() for path in source.paths])

    def _viewed(self, source: TableSource, alias: str, view: str, table: str) -> dict[str, str]:
        """Make a view of a source, and return its columns with DuckDB's types."""
        native = run_sanitized(
            lambda: self._described(source, alias, view),
            lambda _: unreadable(
                f"the data of table {table} cannot be read.",
                do="check that the file is whole; write it again, with NULL for moments that no "
                "calendar has.",
            ),
        )
        if view not in self._slow:  # CSV files are checked byte by byte
            check_cells(self._connection, view, native, table=table)
        elif isinstance(source, CsvFiles) and source.packed:
            check_packed(self._connection, view, native, table=table)
        return native

    def _described(self, source: TableSource, alias: str, view: str) -> dict[str, str]:
        sql = source.attach(self._connection, alias)
        self._connection.execute(f"CREATE TEMP VIEW {name(view)} AS SELECT * FROM {sql}")  # noqa: S608 (quoted names)
        described = self._connection.execute(f"DESCRIBE {name(view)}").fetchall()
        if not described:
            raise LookupError
        cell = source.cell if isinstance(source, CsvFiles) else None
        return {column: cell or kind for column, kind, *_ in described}

    def _stored(self, source: TableSource, table: str) -> dict[str, StoredColumn]:
        """Return how a source holds its columns."""
        native, view = self._native[folded(table)], self._views[folded(table)]
        texts = [column for column, kind in native.items() if kind == "VARCHAR"]
        blurred: frozenset[str] = frozenset()
        cells = source.form.words if isinstance(source, CsvFiles) else None
        if isinstance(source, DatabaseTable):
            blurred = collated(self._connection, view, texts)
        return {
            column: StoredColumn(
                source=source.kind,
                native=source.types.get(column) or ("ENUM" if kind.startswith("ENUM") else kind),
                form=stored_form(kind),
                blurred=column in blurred or kind in {"TIMESTAMP_NS", *ZONED},  # as microseconds
                cells=cells,
            )
            for column, kind in native.items()
        }

    def normalize(self, schema: Schema) -> None:
        """Read texts that are declared to be UUIDs in their one usual form from now on."""
        for table, native in self._native.items():
            facts = schema.table(table)
            for column, kind in native.items():
                known = None if facts is None else facts.column(column)
                if known is not None and known.form == "uuid" and kind != "UUID":
                    native[column] = UUID_TEXT

    def identities(self, tables: Iterable[str]) -> dict[str, Identity]:
        """Return the state that some tables were opened in; refuse what has changed since."""
        wished = {folded(table) for table in tables}
        return identified(
            {
                table: (stamp, tuple(self._native[table].items()))
                for table, stamp in self._stamps.items()
                if table in wished
            }
        )

    def _lock(self, paths: list[str]) -> None:
        names = dict.fromkeys(each for path in paths for each in (pattern(path), path))
        listed = ", ".join(map(text, names))
        self._connection.execute(f"SET allowed_paths = [{listed}]")
        self._connection.execute("SET enable_external_access = false;SET lock_configuration = true")

    def scan(self, scan: Scan) -> exp.Select:
        """Return how a table is read: its columns as values of our types."""
        native = self._native.get(folded(scan.table))
        if native is None:
            raise unknown_table(scan.table)
        columns = read_columns(
            DUCKDB, scan, native, lambda name, kind: reading(name, native[name], kind)
        )
        return select(columns, self._views[folded(scan.table)])

    def set_salt(self, salt: int) -> None:
        """Set the salt of the statements that follow."""
        self._connection.execute(f"SET VARIABLE salt = {salt}::BIGINT")

    def fetch(
        self, statement: str, tables: Mapping[str, pa.Table] = _NONE, *, chunk: int = _CHUNK
    ) -> pa.Table:
        """Run a statement, with some tables in memory at hand, by their quoted names.

        ``chunk`` is how many rows a chunk of the answer has; small ones are written faster.
        """
        for alias, table in tables.items():
            self._connection.register(alias.strip('"'), table)
        try:
            return self._connection.sql(statement).to_arrow_table(chunk)
        finally:
            for alias in tables:
                self._connection.unregister(alias.strip('"'))

    def cell_counts(self, table: str) -> dict[str, int]:
        """Count the cells of each column that are not NULL as they are stored; for the owner."""
        names = list(self._native[folded(table)])
        counts = ", ".join(f"count({name(each)})" for each in names)
        view = name(self._views[folded(table)])
        found = self._connection.sql(f"SELECT {counts} FROM {view}").fetchall()  # noqa: S608
        return dict(zip(names, map(int, found[0]), strict=True))

    def memory(self) -> tuple[int, int]:
        """Return how many bytes DuckDB may use, and how many threads share them."""
        settings = "SELECT current_setting('memory_limit'), current_setting('threads')"
        limit, threads = self._connection.execute(settings).fetchall()[0]
        return _bytes(str(limit)), int(threads)

    def interrupt(self) -> None:
        """Stop the statement that is being run, if one is."""
        self._connection.interrupt()

    def close(self) -> None:
        """Let go of the data, and of what was spilled to disk."""
        self._sources = {}
        self._connection.close()
        self._swept()


def _remove(folder: str, owner: int) -> None:
    """Remove a folder, unless a fork of its process ends."""
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)


def _bytes(limit: str) -> int:
    """Read a size as DuckDB writes it, such as 1.5 GiB."""
    number, unit = limit.split()
    return int(float(number) * 1024 ** ("bytes", "KiB", "MiB", "GiB", "TiB").index(unit))


def _limits(performance: Performance) -> dict[str, str | int]:
    limits = {"threads": performance.threads, "memory_limit": performance.memory}
    return {setting: value for setting, value in limits.items() if value is not None}


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

    def check_possible(self, request: EngineRequest) -> None:
        """Refuse what may need more memory than there is: all else can be printed, and is later."""
        check_memory(request, self._connection.memory)

    def check(self, request: EngineRequest) -> PreparedRequest:
        """Refuse what cannot be printed, and what may need more memory than there is."""
        self.check_possible(request)
        return super().check(request)

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
