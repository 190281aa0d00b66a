"""The engine on Spark: the bounded statement runs as Spark SQL.

Trust: kernel.

Spark shuffles rows by unit, bounds them and adds them up in decimals of 38 digits, or in integers
of 64 bits that cannot overflow; only totals are collected.  Data frames have no snapshot: they are
looked at before and after, and statements of one question must see the same groups.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, final

import pyarrow as pa
from sqlglot import exp

from discreet.engines.dialect import Value
from discreet.engines.engine import Columns, HashOrder, SparkPerformance
from discreet.engines.execution import run_sanitized
from discreet.engines.expressions import Expressions, in_years
from discreet.engines.fragments import Node, select
from discreet.engines.local_tables import LocalTables
from discreet.engines.sources.identity import Identity, identified
from discreet.engines.sources.source import check_names
from discreet.engines.sources.stored_columns import (
    UUID_TEXT,
    base_type,
    read_columns,
    unknown_table,
)
from discreet.engines.spark_dialect import SPARK
from discreet.engines.spark_frames import SparkSource, check_settings, is_spark
from discreet.engines.spark_jobs import JobMonitor
from discreet.engines.sql_engine import PreparedRequest, SqlEngine
from discreet.errors import WrongKind
from discreet.noise import SYSTEM
from discreet.query.expression_types import CASTS
from discreet.query.relations import Scan, folded
from discreet.query.types import Type
from discreet.requests.engine_request import EngineRequest
from discreet.requests.raw_totals import RawTotals
from discreet.requests.table_schema import Schema, StoredColumn

if TYPE_CHECKING:  # an optional library
    from pyspark.sql import DataFrame, SparkSession

T = TypeVar("T")


@final
class Spark(SqlEngine):
    """Tables by name: data frames of one Spark session, and perhaps public tables from elsewhere.

    >>> Spark({"visits": "visits.parquet"})
    Traceback (most recent call last):
    discreet.errors.WrongKind: ...
    """

    __slots__ = ("_closed", "_local", "_names", "_session", "_sources", "_views", "_watch")

    dialect = SPARK
    registers = True
    performance = SparkPerformance

    def __init__(
        self, tables: Mapping[str, object], performance: SparkPerformance | None = None
    ) -> None:
        """Open the tables; only their descriptions are read."""
        super().__init__()
        check_names(list(tables), what="tables")
        options = performance or SparkPerformance()
        self._sources = {
            name: SparkSource.of(data, table=name)  # type: ignore[arg-type]
            for name, data in tables.items()
            if is_spark(data)
        }
        self._session: Any = _session(self._sources)
        check_settings(self._session)
        self._watch = JobMonitor(self._session, options.progress)
        self._local = LocalTables({n: d for n, d in tables.items() if n not in self._sources})
        self._names = tuple(tables)
        self._views: dict[object, str] = {}
        self._closed = False

    def tables(self) -> Mapping[str, Columns]:
        """Return the columns of every table."""
        return {
            name: self._sources[name].columns
            if name in self._sources
            else self._local.columns[name]
            for name in self._names
        }

    def stored(self) -> Mapping[str, Mapping[str, StoredColumn]]:
        """Return how the source of every table stores its columns."""
        own = {name: source.stored for name, source in self._sources.items()}
        return {**self._local.stored, **own}

    def learn_schema(self, schema: Schema) -> None:
        """Learn whose rows the tables hold; private tables must be Spark's."""
        super().learn_schema(schema)
        self._local.check_public(schema, "Spark")
        self._sources = {
            name: source.normalized(schema.table(name)) for name, source in self._sources.items()
        }

    def identities(self, tables: Iterable[str]) -> Mapping[str, Identity]:
        """Return the state that tables were opened in; refuse what has changed since."""
        wished = {folded(table) for table in tables}
        own = {
            folded(name): (
                source.stamp,
                tuple((n, "" if k is None else k.value) for n, k in source.columns.items()),
            )
            for name, source in self._sources.items()
            if folded(name) in wished
        }
        return {**self._local.identities(wished), **identified(own)}

    def scan(self, scan: Scan) -> exp.Select:
        """Return how a data frame is read."""
        if scan.table in self._local:
            view = self._view(("local", scan), lambda: self._frame(scan))
            return select([SPARK.column(name) for name, _ in scan.columns], view)
        sources = {folded(name): source for name, source in self._sources.items()}
        source = sources.get(folded(scan.table))
        if source is None:
            raise unknown_table(scan.table)

        def reading(name: str, kind: Type) -> Node | None:
            native, place = source.natives[name], source.place(name)
            own = SPARK.column(f"c{place}")
            return None if native is None else _reading(own, native, kind)

        columns = read_columns(SPARK, scan, source.natives, reading)
        return select(columns, self._view(id(source.frame), source.selected))

    def _view(self, key: object, made: Callable[[], DataFrame]) -> str:
        """Return an unguessable name for a temporary view."""
        if key not in self._views:
            name = _view_name()
            made().createOrReplaceTempView(name)
            self._views[key] = name
        return self._views[key]

    def _frame(self, scan: Scan) -> DataFrame:
        frame: DataFrame = self._session.createDataFrame(self._local.read(scan, "Spark"))
        return frame

    def check(self, request: EngineRequest) -> PreparedRequest:
        """Refuse what cannot be printed, and what Spark cannot plan."""
        if self._closed:
            message = "the engine is closed"
            raise TypeError(message)
        check_settings(self._session)
        return super().check(request)

    def cell_counts(self, table: str) -> Mapping[str, int]:
        """Count the cells of each column that the source holds; for the owner's check alone."""
        sources = {folded(name): source for name, source in self._sources.items()}
        source = sources.get(folded(table))
        if source is None:  # a public table from elsewhere
            return {}
        return run_sanitized(lambda: self.run_monitored(source.cell_counts))

    def fetch(self, statement: str, tables: Mapping[str, pa.Table]) -> pa.Table:
        """Run a statement, with tables of public groups as temporary views."""
        views = {name: _view_name() for name in tables}
        try:
            for name, view in views.items():
                self._session.createDataFrame(tables[name]).createOrReplaceTempView(view)
                statement = statement.replace(f"`{name}`", f"`{view}`")
            found: pa.Table = self._session.sql(statement).toArrow()
            return found
        finally:
            for view in views.values():
                with contextlib.suppress(Exception):
                    self._session.catalog.dropTempView(view)

    def _run(self, request: EngineRequest, order: HashOrder) -> RawTotals:
        if self._closed:
            message = "the engine is closed"
            raise TypeError(message)
        return super()._run(request, order)

    def _guarded(self, action: Callable[[], T]) -> T:
        """Run an action whose jobs report their progress together, and can be stopped."""
        return self.run_monitored(action)

    def run_monitored(self, action: Callable[[], T]) -> T:
        """Run an action that starts jobs, which report their progress and can be stopped."""
        return self._watch.run(action)

    def cancel(self) -> None:
        """Stop what is being computed, from another thread.

        The charge stays, and asking again costs nothing more.
        """
        self._watch.cancel()

    def interrupt(self) -> None:
        """Stop the jobs of a statement that is being run."""
        self._watch.cancel()

    def close(self) -> None:
        """Release the data; the Spark session belongs to the caller, and goes on."""
        if self._closed:
            return
        self._closed = True
        self.cancel()
        for view in self._views.values():
            with contextlib.suppress(Exception):
                self._session.catalog.dropTempView(view)
        self._local.close()


def _view_name() -> str:
    return f"discreet_{SYSTEM.bits(128):032x}"


def _reading(node: Node, native: str, to: Type) -> Node | None:
    """Return a column of a data frame as a value of one of our types; None if it cannot be one."""
    kind = base_type(native)
    if kind is None or to not in CASTS[kind]:
        return None
    match kind:
        case Type.FLOAT:
            value = Value(SPARK.cast(node, kind), kind, open=True)
        case Type.DATE | Type.TIMESTAMP:
            value = Value(in_years(SPARK, node, kind), kind)
        case Type.TEXT if native == UUID_TEXT:
            value = Value(SPARK.uuid(node), kind)
        case Type.BOOLEAN:
            value = Value(node, kind)
        case _:
            value = Value(SPARK.cast(node, kind), kind)
    return Expressions(SPARK, {}).read(value, to)


def _session(sources: Mapping[str, SparkSource]) -> SparkSession:
    sessions = [source.frame.sparkSession for source in sources.values()]
    if not sessions or any(_identity(session) != _identity(sessions[0]) for session in sessions):
        raise WrongKind(
            what="the tables belong to no Spark session, or to several.",
            why="the rows of a person are brought together by one session.",
            do="give data frames of one session.",
        )
    return sessions[0]


def _identity(session: SparkSession) -> object:
    """Return what identifies a session, which may have several objects here."""
    return getattr(session, "_jsparkSession", None) or getattr(session, "session_id", session)
