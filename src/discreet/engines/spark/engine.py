"""The engine on Spark.

Trust: kernel.

A shuffle brings all rows of a unit together, and DuckDB computes in every task, with the statements
that it computes with alone; Spark adds up what tasks give.  So the integers are the same, whatever
the settings of Spark are.  What tasks give, and Spark keeps while it adds up, are totals of groups
and different values of what is counted; nothing else is collected but public tables.
Every failure reads the same.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, TypeVar, final

from discreet.engines.connection import Connection
from discreet.engines.duckdb import DuckDB
from discreet.engines.engine import ClosingEngine, Columns, Performance, SparkPerformance
from discreet.engines.execution import run_sanitized
from discreet.engines.hash_order import HashOrder
from discreet.engines.sources.identity import Identity, identified, run_if_unchanged, scanned_tables
from discreet.engines.sources.open_source import open_source
from discreet.engines.sources.source import Stamp, TableSource, check_names
from discreet.engines.spark import task
from discreet.engines.spark.aggregation import group_totals, raw_answer, summed
from discreet.engines.spark.data_frames import SparkSource, is_spark
from discreet.engines.spark.job_monitor import JobMonitor
from discreet.engines.spark.jobs import CollectedTables, JobBuilder, PreparedJob
from discreet.engines.spark.partitioning import (
    check_shape,
    left_in_place,
    private_tables,
    shuffled_by_unit,
)
from discreet.engines.spark.workers import check_settings, check_workers, in_tasks, spark_schema
from discreet.errors import BadPolicy, WrongKind
from discreet.query.relations import folded
from discreet.requests.engine_request import EngineRequest
from discreet.requests.raw_totals import RawTotals
from discreet.requests.table_schema import Schema, StoredColumn

if TYPE_CHECKING:  # an optional library
    from pyspark.sql import DataFrame, SparkSession

T = TypeVar("T")


@final
class Spark(ClosingEngine):
    """Tables by name: data frames of one Spark session, and perhaps public tables from elsewhere.

    >>> Spark({"visits": "visits.parquet"})
    Traceback (most recent call last):
    discreet.errors.WrongKind: ...
    """

    __slots__ = (
        "_checked",
        "_closed",
        "_columns",
        "_local",
        "_lock",
        "_performance",
        "_public",
        "_schema",
        "_session",
        "_sources",
        "_stored",
        "_watch",
    )

    def __init__(
        self, tables: Mapping[str, object], performance: SparkPerformance | None = None
    ) -> None:
        """Open the tables; only their descriptions are read."""
        check_names(list(tables), what="tables")
        self._performance = performance or SparkPerformance()
        self._sources = {
            name: SparkSource.of(data, table=name)  # type: ignore[arg-type]
            for name, data in tables.items()
            if is_spark(data)
        }
        self._session = _session(self._sources)
        check_settings(self._session)
        self._watch = JobMonitor(self._session, self._performance.progress)
        self._local: dict[str, TableSource] = {
            name: open_source(data, table=name)
            for name, data in tables.items()
            if name not in self._sources
        }
        described, self._stored = _described(self._local)
        self._columns: dict[str, Columns] = {
            name: self._sources[name].columns if name in self._sources else described[name]
            for name in tables
        }
        self._schema: Schema | None = None
        self._public: CollectedTables | None = None
        self._checked: PreparedJob | None = None
        self._lock = threading.Lock()
        self._closed = False

    def tables(self) -> Mapping[str, Columns]:
        """Return the columns of every table."""
        return self._columns

    def stored(self) -> Mapping[str, Mapping[str, StoredColumn]]:
        """Return how the source of every table stores its columns."""
        return {**self._stored, **{name: source.stored for name, source in self._sources.items()}}

    def learn_schema(self, schema: Schema) -> None:
        """Learn whose rows the tables hold; private tables must be Spark's."""
        public = {folded(table.name) for table in schema.tables if table.public}
        for name in self._local:
            if folded(name) not in public:
                raise BadPolicy(
                    what=f"table {name} is private, and not one of Spark.",
                    why="rows of a person are brought together by Spark, from all private tables.",
                    do="read it with Spark, or declare public = true for it in the policy.",
                )
        self._sources = {
            name: source.normalized(schema.table(name)) for name, source in self._sources.items()
        }
        shared = {name: source for name, source in self._sources.items() if folded(name) in public}
        self._schema = schema
        self._checked = None
        self._public = CollectedTables(shared, self._local, self.run_monitored, DuckDB)

    def identities(self, tables: Iterable[str]) -> Mapping[str, Identity]:
        """Return the state that tables were opened in; refuse what has changed since."""
        wished = {folded(table) for table in tables}
        stamps: dict[str, Stamp] = {name: source.stamp for name, source in self._local.items()}
        stamps |= {name: source.stamp for name, source in self._sources.items()}
        return identified(
            {
                folded(name): (stamp, _described_columns(self._columns[name]))
                for name, stamp in stamps.items()
                if folded(name) in wished
            }
        )

    def check(self, request: EngineRequest) -> PreparedJob | None:
        """Refuse what cannot be computed from parts, or printed."""
        schema, _ = self._known()
        check_shape(request, schema)
        check_settings(self._session)
        if not private_tables(request, schema):
            return None
        checked = self._checked
        if checked is None or checked.request != request:  # at another price it is the same job
            checked = self._checked = run_sanitized(lambda: self._planned(request))
        check_workers(self._session, self.run_monitored)
        return checked

    def _planned(self, request: EngineRequest) -> PreparedJob:
        """Return the job of a request that Spark can plan."""
        job = self._build(request)
        summed(self._rows(job), request)
        return job

    def cell_counts(self, table: str) -> Mapping[str, int]:
        """Count the cells of each column that the source holds; for the owner's check alone."""
        sources = {folded(name): source for name, source in self._sources.items()}
        source = sources.get(folded(table))
        if source is None:  # a public table from elsewhere
            return {}
        return run_sanitized(lambda: self.run_monitored(source.cell_counts))

    def run(self, request: EngineRequest, *, order: HashOrder) -> RawTotals:
        """Compute the answers."""
        tables = scanned_tables(request.relation)
        with self._lock:
            return run_if_unchanged(
                lambda: self.identities(tables),
                lambda: run_sanitized(lambda: self._run(request, order)),
            )

    def groups(self, request: EngineRequest, *, order: HashOrder) -> DataFrame:
        """Return the totals of all groups, which stay in Spark: keys, units and limbs.

        Columns are k0, k1, ..., units, and t0_0, t0_1, t0_2, t1_0, ...: the limbs of each total
        (:mod:`discreet.engines.spark.statements`), added up and not clamped.  There is no row for a
        public group that nobody touches.
        """
        schema, _ = self._known()
        check_shape(request, schema)
        return group_totals(self._rows(self._prepared(request, order)), request)

    def _run(self, request: EngineRequest, order: HashOrder) -> RawTotals:
        schema, public = self._known()
        check_shape(request, schema)
        if not private_tables(request, schema):
            return public.run(request, order=order)
        prepared = self._prepared(request, order)
        rows = self.run_monitored(lambda: summed(self._rows(prepared), request).toArrow())
        return raw_answer(rows, prepared.bounding)

    def _prepared(self, request: EngineRequest, order: HashOrder) -> PreparedJob:
        """Return the job that the last check has built, if it was for this very request."""
        checked = self._checked
        if checked is None or checked.request is not request or order.portable:
            checked = self._build(request, portable=order.portable)
        return checked.with_salt(order.salt)

    def _build(self, request: EngineRequest, *, portable: bool = False) -> PreparedJob:
        schema, public = self._known()
        builder = JobBuilder(
            schema=schema,
            sources={folded(name): source for name, source in self._sources.items()},
            public=public.read,
            memory=self._performance.memory,
            rows=self._performance.rows,
        )
        return builder.build(request, portable=portable)

    def _rows(self, prepared: PreparedJob) -> DataFrame:
        """Return the rows that tasks give."""
        job = prepared.job
        if prepared.bounding.unit:
            tasks = self._performance.tasks
            rows, work = shuffled_by_unit(prepared.tables, job=job, tasks=tasks), task.by_unit
        else:
            rows, work = left_in_place(prepared.tables[0]), task.by_row
        return in_tasks(rows, work, spark_schema(job["schema"]), job=job)

    def run_monitored(self, action: Callable[[], T]) -> T:
        """Run an action that starts jobs, which report their progress and can be stopped."""
        return self._watch.run(action)

    def cancel(self) -> None:
        """Stop what is being computed, from another thread.

        What was charged stays charged, and asking again costs nothing more.
        """
        self._watch.cancel()

    def _known(self) -> tuple[Schema, CollectedTables]:
        if self._schema is None or self._public is None or self._closed:
            message = "the engine is closed, or nobody has said whose rows the tables hold"
            raise TypeError(message)
        return self._schema, self._public

    def close(self) -> None:
        """Release the data; the Spark session belongs to the caller, and goes on."""
        self._closed = True
        self.cancel()
        if self._public is not None:
            self._public.close()


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


def _described_columns(columns: Columns) -> tuple[tuple[str, str], ...]:
    return tuple((name, "" if kind is None else kind.value) for name, kind in columns.items())


def _described(
    local: Mapping[str, TableSource],
) -> tuple[dict[str, Columns], dict[str, dict[str, StoredColumn]]]:
    """Return the columns of tables that are not Spark's, and how they are stored."""
    if not local:
        return {}, {}
    connection = Connection(local, Performance(threads=1))
    try:
        return connection.columns, connection.stored
    finally:
        connection.close()
