"""A connection that can read some sources, and do nothing else.

Trust: kernel.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, final
from weakref import finalize

import duckdb
import pyarrow as pa
from sqlglot import exp

from discreet.engines.engine import Columns, Performance
from discreet.engines.execution import run_sanitized
from discreet.engines.sources.cell_checks import (
    FROM_CELLS,
    check_cells,
    check_packed,
    statistics_hold,
)
from discreet.engines.sources.database import DatabaseTable, collated
from discreet.engines.sources.files import CsvFiles, ParquetFiles, pattern
from discreet.engines.sources.identity import Identity, identified
from discreet.engines.sources.open_source import open_source
from discreet.engines.sources.source import TableSource, check_names, unreadable
from discreet.engines.sources.source import quoted_name as name
from discreet.engines.sources.source import quoted_text as text
from discreet.engines.sources.stored_columns import (
    UUID_TEXT,
    ZONED,
    TableView,
    base_type,
    print_scan,
    stored_form,
)
from discreet.engines.spilling import SpillFolder
from discreet.query.relations import Scan, folded
from discreet.requests.table_schema import Schema, StoredColumn

__all__ = ["SETTINGS", "Connection"]

SETTINGS: Final[Mapping[str, Any]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "python_enable_replacements": False,
    "order_by_non_integer_literal": True,  # a sum of constants is added up in order, too
}
"""What every DuckDB runs with, here and in the tasks of Spark."""

_NONE: Final[Mapping[str, pa.Table]] = {}
_ALL_ROWS: Final = 2**63 - 1
_CHUNK: Final = 10**6


@final
class Connection:
    """The sources as views, in a database of their own that nobody can change."""

    __slots__ = (
        "__weakref__",
        "_connection",
        "_native",
        "_slow",
        "_sources",
        "_stamps",
        "_swept",
        "_unpruned",
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
        folder = SpillFolder()  # for what does not fit in memory
        self._swept = finalize(self, folder.remove)
        self._connection = duckdb.connect(
            config={**SETTINGS, "temp_directory": folder.path, **_limits(performance)}
        )
        self._connection.execute("SET enable_progress_bar = false")  # stdout is for answers
        self._views: dict[str, str] = {}
        self._slow: set[str] = set()
        self._unpruned: dict[str, str] = {}
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
        self._check_statistics(sources)
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
        self._unpruned[view] = f"{sql} LIMIT {_ALL_ROWS}"
        described = self._connection.execute(f"DESCRIBE {name(view)}").fetchall()
        if not described:
            raise LookupError
        cell = source.cell if isinstance(source, CsvFiles) else None
        return {column: cell or kind for column, kind, *_ in described}

    def _check_statistics(self, sources: Mapping[str, TableSource]) -> None:
        """Let DuckDB use no statistics of files if some of them are not true of the cells."""
        for table, source in sources.items():
            if isinstance(source, ParquetFiles):
                native = self._native[folded(table)]
                if not statistics_hold(self._connection, source.paths, native):
                    self._read_all_pages()
                    self._connection.execute(FROM_CELLS)
                    return

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
        return print_scan(scan, self._table_view(scan))

    def _table_view(self, scan: Scan) -> TableView | None:
        native = self._native.get(folded(scan.table))
        if native is None:
            return None
        return TableView(
            self._views[folded(scan.table)],
            {folded(column): kind for column, kind in native.items()},
            {folded(column): column for column in native},
        )

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
            return self._read(statement, chunk)
        finally:
            for alias in tables:
                self._connection.unregister(alias.strip('"'))

    def _read(self, statement: str, chunk: int) -> pa.Table:
        """Run a statement; if it fails, run it once more on cells alone.

        To pass over pages, a reader looks at statistics and Bloom filters, which lie beside the
        cells and are not read when a source is opened: if those are damaged, only questions with
        some filters fail.  A limit that no table reaches keeps filters from the reader, which then
        reads what it read at opening.
        """
        try:
            return self._connection.sql(statement).to_arrow_table(chunk)
        except (duckdb.InterruptException, duckdb.OutOfMemoryException):
            raise
        except duckdb.Error:
            pass
        self._read_all_pages()
        return self._connection.sql(statement).to_arrow_table(chunk)

    def _read_all_pages(self) -> None:
        """Keep filters from the readers of all sources."""
        while self._unpruned:
            view, sql = self._unpruned.popitem()
            self._connection.execute(
                f"CREATE OR REPLACE TEMP VIEW {name(view)} AS SELECT * FROM {sql}"  # noqa: S608
            )

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


def _bytes(limit: str) -> int:
    """Read a size as DuckDB writes it, such as 1.5 GiB."""
    number, unit = limit.split()
    return int(float(number) * 1024 ** ("bytes", "KiB", "MiB", "GiB", "TiB").index(unit))


def _limits(performance: Performance) -> dict[str, str | int]:
    limits = {"threads": performance.threads, "memory_limit": performance.memory}
    return {setting: value for setting, value in limits.items() if value is not None}
