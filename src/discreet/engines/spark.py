"""The engine on Spark: the bounded statement runs as Spark SQL.

Trust: kernel.

Spark shuffles rows by unit, bounds them and adds them up in decimals of 38 digits, or in integers
of 64 bits that cannot overflow; only totals are collected.  Functions are those that give NULL in
place of an error, under ANSI rules and without them.  Data frames have no snapshot: they are looked
at before and after, and statements of one question must see the same groups.

Silence.  An error of Spark may quote a value of a row.  When pyspark makes such an error, it also
writes it to stderr through loggers of its own, whatever the level of Spark's logs is; the analyst
may see that screen.  These loggers say nothing while they work for us.

Progress is the share of tasks that are done, which is no answer, but may depend on how the data is
stored.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar, final

import pyarrow as pa
from sqlglot import exp

from discreet.engines.dialect import Dialect, Node, Value, column, named, number, select
from discreet.engines.engine import Columns, Progress, SparkPerformance
from discreet.engines.execution import PAUSE, run_in_thread, run_sanitized, stopped_error
from discreet.engines.expressions import Expressions, in_years
from discreet.engines.hash_order import HashOrder
from discreet.engines.local_tables import LocalTables
from discreet.engines.sources.identity import Identity, identified
from discreet.engines.sources.source import check_names
from discreet.engines.sources.stored_columns import (
    UUID_TEXT,
    base_type,
    unknown_table,
    unreadable_as,
)
from discreet.engines.spark_frames import SparkSource, check_settings, is_spark
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

_NUMBERS: Final = itertools.count()
_LOGGERS: Final = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")
_THREAD: Final = threading.local()


@contextmanager
def silenced_loggers() -> Iterator[None]:
    """Let pyspark's loggers drop what this thread says; other threads are heard as before."""
    from pyspark.logger import PySparkLogger  # noqa: PLC0415  an optional library

    for name in _LOGGERS:
        PySparkLogger.getLogger(name).addFilter(_passes)  # once, however often it is added
    before = getattr(_THREAD, "hushed", False)
    _THREAD.hushed = True
    try:
        yield
    finally:
        _THREAD.hushed = before


def _passes(_: logging.LogRecord) -> bool:
    return not getattr(_THREAD, "hushed", False)


T = TypeVar("T")


@final
class JobMonitor:
    """The jobs of an engine that run now, by their tags."""

    __slots__ = ("_progress", "_session", "_tags")

    def __init__(self, session: SparkSession, progress: Progress | None) -> None:
        """Take the session, and the function that progress is reported to."""
        self._session: Any = session
        self._progress = progress
        self._tags: dict[str, bool] = {}

    def run(self, action: Callable[[], T]) -> T:
        """Run an action that starts jobs; an interrupt stops them, and so does ``cancel``.

        It runs in another thread: one that waits for Spark cannot stop its own jobs.
        """
        tag = f"discreet-{os.getpid()}-{next(_NUMBERS)}"
        self._tags[tag] = True
        try:
            done = run_in_thread(
                lambda: self._tagged(tag, action),
                stop=lambda: self._stop(tag),
                thread=self._thread,
                tick=lambda: None if self._tags[tag] else self._stop(tag),
            )
        finally:
            goes_on = self._tags.pop(tag)
        if not goes_on and done.exception() is not None:
            raise stopped_error()
        return done.result()

    def cancel(self) -> None:
        """Stop all jobs; their answers can be asked for again."""
        for tag in tuple(self._tags):
            self._tags[tag] = False

    @property
    def _remote(self) -> bool:
        return type(self._session).__module__.startswith("pyspark.sql.connect.")

    def _thread(self, work: Callable[[], None]) -> threading.Thread:
        """Return a thread that inherits what this one has set for its jobs."""
        from pyspark import InheritableThread  # noqa: PLC0415  an optional library

        return InheritableThread(work, session=self._session, daemon=True)

    def _tagged(self, tag: str, action: Callable[[], T]) -> T:
        """Run an action in this thread; tag its jobs, and report their progress."""
        if self._remote:
            self._session.addTag(tag)
        else:
            self._session.sparkContext.addJobTag(tag)
            self._session.sparkContext.setInterruptOnCancel(interruptOnCancel=True)
        with silenced_loggers():
            return self._reported(tag, action)

    def _reported(self, tag: str, action: Callable[[], T]) -> T:
        if self._progress is None:
            return action()
        reporter = _ProgressReporter(self._progress)
        with (
            _server(self._session, reporter)
            if self._remote
            else _polled(self._session, reporter, tag)
        ):
            result = action()
        reporter.report(1, 1)
        return result

    def _stop(self, tag: str) -> None:
        with contextlib.suppress(Exception):  # there may be nothing left to stop
            if self._remote:
                self._session.interruptTag(tag)
            else:
                self._session.sparkContext.cancelJobsWithTag(tag)


@final
class _ProgressReporter:
    """Reports shares that never fall."""

    __slots__ = ("_last", "_progress")

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._last = 0.0

    def report(self, done: int, known: int) -> None:
        share = done / known if known else 0.0
        if share > self._last:
            self._last = share
            self._progress(share)

    def stages(self, counts: Iterable[tuple[int, int]]) -> None:
        """Report the share of some stages: never all of it, because more stages may follow."""
        listed = list(counts)
        self.report(sum(done for done, _ in listed), 1 + sum(known for _, known in listed))


@contextmanager
def _server(session: Any, reporter: _ProgressReporter) -> Iterator[None]:
    """Receive progress from a server."""

    def heard(stages: Any, **_: object) -> None:
        reporter.stages((stage.num_completed_tasks, stage.num_tasks) for stage in stages or ())

    session.registerProgressHandler(heard)
    try:
        yield
    finally:
        session.removeProgressHandler(heard)


@contextmanager
def _polled(session: Any, reporter: _ProgressReporter, tag: str) -> Iterator[None]:
    """Poll the progress of the jobs of this thread."""
    context, ended = session.sparkContext, threading.Event()
    context.setJobGroup(tag, "discreet", interruptOnCancel=True)

    def look() -> None:
        tracker = context.statusTracker()
        while not ended.wait(PAUSE):
            with contextlib.suppress(Exception):  # jobs end while they are looked at
                reporter.stages(_stages(tracker, tag))

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _stages(tracker: Any, tag: str) -> Iterator[tuple[int, int]]:
    for job in tracker.getJobIdsForGroup(tag):
        for stage in getattr(tracker.getJobInfo(job), "stageIds", ()):
            info = tracker.getStageInfo(stage)
            if info is not None:
                yield info.numCompletedTasks, info.numTasks


_PARTS: Final = (
    "YEAR",
    "QUARTER",
    "MONTH",
    "DAY",
    "DAYOFWEEK",
    "DAYOFYEAR",
    "HOUR",
    "MINUTE",
    "SECOND",
)
_WHOLE: Final = 2**52
"""Floats of this size have no fraction; FLOOR and CEIL of Spark return integers of 64 bits."""


def _rounded(function: str) -> str:
    return f"CASE WHEN ABS(:x) < {_WHOLE} THEN CAST({function} AS DOUBLE) ELSE :x END"


def _read_as(native: str) -> str:
    """Read a string of some form; the dot matches no line break, so none may follow."""
    return f"CASE WHEN :x RLIKE :form AND NOT :x RLIKE '[^ -~]' THEN TRY_CAST(:x AS {native}) END"


@final
class SparkDialect(Dialect):
    """Spark SQL, of version 4 and later."""

    name = "spark"
    title = "Spark"
    types: ClassVar[Mapping[Type, str]] = {
        **Dialect.types,
        Type.TEXT: "STRING",
        Type.TIMESTAMP: "TIMESTAMP_NTZ",
    }
    let = "TRANSFORM(:items, _v -> :body)[0]"
    templates: ClassVar[Mapping[str, str]] = {
        "same": ":x <=> :y",
        "+": "try_add(:x, :y)",
        "-": "try_subtract(:x, :y)",
        "*": "try_multiply(:x, :y)",
        "DIV": "CASE WHEN :y = -1 THEN try_subtract(CAST(0 AS BIGINT), :x)"
        " WHEN :y <> 0 THEN :x DIV :y END",
        "MOD": "CASE WHEN :y = -1 AND :x IS NOT NULL THEN CAST(0 AS BIGINT)"
        " WHEN :y <> 0 THEN :x % :y END",
        "quotient": ":x DIV :y",
        "FLOAT /": "try_divide(:x, :y)",
        "FLOAT FLOOR": _rounded("FLOOR(:x)"),
        "FLOAT CEIL": _rounded("CEIL(:x)"),
        "FLOAT ROUND": f"CASE WHEN ABS(:x) < {_WHOLE} THEN CAST(CASE WHEN :x >= 0 THEN"
        " CASE WHEN :x - FLOOR(:x) >= 0.5 THEN FLOOR(:x) + 1 ELSE FLOOR(:x) END"
        " ELSE CASE WHEN CEIL(:x) - :x >= 0.5 THEN CEIL(:x) - 1 ELSE CEIL(:x) END END"
        " AS DOUBLE) ELSE :x END",
        "FLOAT to INTEGER": "CASE WHEN :x >= -9.223372036854775808e18"
        " AND :x < 9.223372036854775808e18 THEN TRY_CAST(:x AS BIGINT) END",
        "INTEGER to BOOLEAN": ":x <> 0",
        "TEXT to INTEGER": _read_as("BIGINT"),
        "TEXT to FLOAT": _read_as("DOUBLE"),
        "TEXT to DATE": _read_as("DATE"),
        "TEXT to TIMESTAMP": _read_as("TIMESTAMP_NTZ"),
        "matches": ":x RLIKE :form",
        "bytes": "OCTET_LENGTH(:x)",
        "translate": "TRANSLATE(:x, :y, :z)",
        "LENGTH": "CHAR_LENGTH(:x)",
        "SUBSTR": "SUBSTRING(:x, :y, :z)",
        "CONCAT": "CONCAT(:x, :y)",
        "TRIM": "TRIM(:x)",
        "STARTS_WITH": "STARTSWITH(:x, :y)",
        "ENDS_WITH": "ENDSWITH(:x, :y)",
        **{f"EXTRACT {part}": f"EXTRACT({part} FROM :x)" for part in _PARTS},
        "EXTRACT SECOND": "SECOND(:x)",
        "EXTRACT DAYOFYEAR": "DAYOFYEAR(:x)",
        "EXTRACT DAYOFWEEK": "DAYOFWEEK(:x)",
        "DATE_TRUNC": "CASE WHEN :word = 'day' THEN CAST(:x AS DATE)"
        " ELSE TRUNC(CAST(:x AS DATE), :word) END",
        "DATE_DIFF": "DATEDIFF(:x, :y)",
        "DATE_ADD": "DATE_ADD(:x, :y)",
        "micros": "UNIX_MICROS(to_utc_timestamp(:x, 'UTC'))",
        "hash": "XXHASH64(:x, :y)",
        **{f"hash {kind.value}": "XXHASH64(:x, :y)" for kind in Type if kind is not Type.FLOAT},
        "hex number": "CAST(CONV(SUBSTRING(:x, 1, 15), 16, 10) AS BIGINT)",
        "sum": "SUM(CAST(:x AS DECIMAL(38, 0)))",
        "narrow": "TRY_CAST(:x AS BIGINT)",
        "fitting": "TRY_CAST(:x AS BIGINT)",
        "root": "POW(2e0, -8 * (FLOOR(LOG2(GREATEST(COALESCE(:x, 0e0), 4.9e-324)) / 16) + 1))",
        "LAG": "LAG",
    }


SPARK: Final = SparkDialect()


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
            return select([column(name) for name, _ in scan.columns], view)
        sources = {folded(name): source for name, source in self._sources.items()}
        source = sources.get(folded(scan.table))
        if source is None:
            raise unknown_table(scan.table)
        known = {folded(name): place for place, name in enumerate(source.natives)}
        parts = []
        for name, kind in scan.columns:
            place = known.get(folded(name))
            native = None if place is None else source.native(place)
            node = None if native is None else _reading(column(f"c{place}"), native, kind)
            if node is None:
                raise unreadable_as(name, scan.table, kind)
            parts.append(named(node, name))
        every = range(len(source.natives))
        view = self._view(id(source.frame), lambda: source.selected(every))
        return select(parts or [named(number(1), "one")], view)

    def _view(self, key: object, made: Callable[[], DataFrame]) -> str:
        """Return the name of a temporary view, which nobody else can guess."""
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

        What was charged stays charged, and asking again costs nothing more.
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
