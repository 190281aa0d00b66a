"""The engine on Spark.

Trust: kernel.

A shuffle brings all rows of a unit together, and DuckDB computes in every task, with the statements
that it computes with alone; Spark adds up what tasks give.  So the integers are the same, whatever
the settings of Spark are.  What tasks give, and Spark keeps while it adds up, are totals of groups
and different values of what is counted; nothing else is collected but public tables.
Whatever fails, fails with one and the same sentence.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final, Self, TypeVar, final

from discreet.engines.connection import Connection, Performance
from discreet.engines.failing import in_one_sentence
from discreet.engines.order import HashOrder
from discreet.engines.sources.identity import Identity, identified, scanned, unchanged
from discreet.engines.sources.opening import opened
from discreet.engines.sources.source import Source, Stamp, check_names
from discreet.engines.spark import task
from discreet.engines.spark.answers import answered
from discreet.engines.spark.jobs import Prepared, Preparing
from discreet.engines.spark.parts import brought_together, left_in_place
from discreet.engines.spark.performance import SparkPerformance
from discreet.engines.spark.public import PublicTables
from discreet.engines.spark.sending import in_tasks, spark_schema
from discreet.engines.spark.shapes import check_shape, private_tables
from discreet.engines.spark.sources import SparkSource, is_spark
from discreet.engines.spark.sums import group_totals, summed
from discreet.engines.spark.watching import Watch
from discreet.engines.spark.workers import check_workers
from discreet.errors import BadPolicy, WrongKind
from discreet.plan.lowered import Lowered
from discreet.plan.raw import Raw
from discreet.plan.schema import Schema
from discreet.query.relations import folded

if TYPE_CHECKING:  # an optional library, and a type that is needed nowhere else
    from pyspark.sql import DataFrame, SparkSession

    from discreet.engines.engine import Columns
    from discreet.plan.stored import Stored

__all__ = ["Spark"]

_FIRST: Final = HashOrder(salt=0)

T = TypeVar("T")


@final
class Spark:
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
        """Open the tables; only what describes them is read."""
        check_names(list(tables), what="tables")
        self._performance = performance or SparkPerformance()
        self._sources = {
            name: SparkSource.of(data, table=name)  # type: ignore[arg-type]
            for name, data in tables.items()
            if is_spark(data)
        }
        self._session = _session(self._sources)
        self._watch = Watch(self._session, self._performance.progress)
        self._local: dict[str, Source] = {
            name: opened(data, table=name)
            for name, data in tables.items()
            if name not in self._sources
        }
        described, self._stored = _described(self._local)
        self._columns: dict[str, Columns] = {
            name: self._sources[name].columns if name in self._sources else described[name]
            for name in tables
        }
        self._schema: Schema | None = None
        self._public: PublicTables | None = None
        self._checked: Lowered | None = None
        self._lock = threading.Lock()
        self._closed = False

    def tables(self) -> Mapping[str, Columns]:
        """Return the columns of every table."""
        return self._columns

    def stored(self) -> Mapping[str, Mapping[str, Stored]]:
        """Return how the source of every table holds its columns."""
        return {**self._stored, **{name: each.stored for name, each in self._sources.items()}}

    def owned(self, schema: Schema) -> None:
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
            name: each.normalized(schema.table(name)) for name, each in self._sources.items()
        }
        shared = {name: each for name, each in self._sources.items() if folded(name) in public}
        self._schema = schema
        self._checked = None
        self._public = PublicTables(shared, self._local, self.watched)

    def identities(self, tables: Iterable[str]) -> Mapping[str, Identity]:
        """Return the state that tables were opened in; refuse what has changed since."""
        wished = {folded(table) for table in tables}
        stamps: dict[str, Stamp] = {name: each.stamp for name, each in self._local.items()}
        stamps |= {name: each.stamp for name, each in self._sources.items()}
        return identified(
            {
                folded(name): (stamp, _described_columns(self._columns[name]))
                for name, stamp in stamps.items()
                if folded(name) in wished
            }
        )

    def check(self, lowered: Lowered) -> None:
        """Refuse what cannot be computed from parts, or printed."""
        schema, _ = self._known()
        check_shape(lowered, schema)
        if private_tables(lowered, schema):
            if lowered != self._checked:  # at another price it is the same job
                in_one_sentence(
                    lambda: summed(self._rows(self._prepared(lowered, _FIRST)), lowered)
                )
                self._checked = lowered
            check_workers(self._session, self.watched)

    def cell_counts(self, table: str) -> Mapping[str, int]:
        """Count the cells of each column that the source holds; for the owner's check alone."""
        source = next(
            (each for name, each in self._sources.items() if folded(name) == folded(table)), None
        )
        if source is None:  # a public table from elsewhere
            return {}
        return in_one_sentence(lambda: self.watched(source.cell_counts))

    def run(self, lowered: Lowered, *, order: HashOrder) -> Raw:
        """Compute the answers."""
        tables = scanned(lowered.relation)
        with self._lock:
            return unchanged(
                lambda: self.identities(tables),
                lambda: in_one_sentence(lambda: self._run(lowered, order)),
            )

    def groups(self, lowered: Lowered, *, order: HashOrder) -> DataFrame:
        """Return the totals of all groups, which stay in Spark: keys, units and limbs.

        Columns are k0, k1, ..., units, and t0_0, t0_1, t0_2, t1_0, ...: the limbs of each total
        (:mod:`discreet.engines.spark.limbs`), added up and not clamped.  There is no row for a
        public group that nobody touches.
        """
        schema, _ = self._known()
        check_shape(lowered, schema)
        return group_totals(self._rows(self._prepared(lowered, order)), lowered)

    def _run(self, lowered: Lowered, order: HashOrder) -> Raw:
        schema, public = self._known()
        check_shape(lowered, schema)
        if not private_tables(lowered, schema):
            return public.run(lowered, order=order)
        found = self._prepared(lowered, order)
        rows = self.watched(lambda: summed(self._rows(found), lowered).toArrow())
        return answered(rows, found.bounding)

    def _prepared(self, lowered: Lowered, order: HashOrder) -> Prepared:
        schema, public = self._known()
        preparing = Preparing(
            schema=schema,
            sources={folded(name): source for name, source in self._sources.items()},
            public=public.read,
            memory=self._performance.memory,
            rows=self._performance.rows,
        )
        return preparing.prepared(lowered, order)

    def _rows(self, found: Prepared) -> DataFrame:
        """Return the rows that tasks give."""
        if found.bounding.unit:
            tasks = self._performance.tasks
            rows = brought_together(found.tables, job=found.job, tasks=tasks)
            work = task.by_unit
        else:
            rows, work = left_in_place(found.tables[0]), task.by_row
        return in_tasks(rows, work, spark_schema(found.job["schema"]), job=found.job)

    def watched(self, action: Callable[[], T]) -> T:
        """Do something that starts jobs: they tell how far they are, and can be stopped."""
        return self._watch.run(action)

    def cancel(self) -> None:
        """Stop what is being computed, from another thread.

        What was charged stays charged, and asking again costs nothing more.
        """
        self._watch.cancel()

    def _known(self) -> tuple[Schema, PublicTables]:
        if self._schema is None or self._public is None or self._closed:
            message = "the engine is closed, or nobody has said whose rows the tables hold"
            raise TypeError(message)
        return self._schema, self._public

    def close(self) -> None:
        """Let go of the data; the Spark session is somebody else's, and goes on."""
        self._closed = True
        self.cancel()
        if self._public is not None:
            self._public.close()

    def __enter__(self) -> Self:
        """Return the engine itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Let go of the data."""
        self.close()


def _session(sources: Mapping[str, SparkSource]) -> SparkSession:
    sessions = [source.frame.sparkSession for source in sources.values()]
    if not sessions or any(_told_apart(each) != _told_apart(sessions[0]) for each in sessions):
        raise WrongKind(
            what="the tables belong to no Spark session, or to several.",
            why="the rows of a person are brought together by one session.",
            do="give data frames of one session.",
        )
    return sessions[0]


def _told_apart(session: SparkSession) -> object:
    """Return what two sessions differ in; one session may have several objects here."""
    return getattr(session, "_jsparkSession", None) or getattr(session, "session_id", session)


def _described_columns(columns: Columns) -> tuple[tuple[str, str], ...]:
    return tuple((name, "" if kind is None else kind.value) for name, kind in columns.items())


def _described(
    local: Mapping[str, Source],
) -> tuple[dict[str, Columns], dict[str, dict[str, Stored]]]:
    """Return the columns of tables that are not Spark's, and how they are stored."""
    if not local:
        return {}, {}
    connection = Connection(local, Performance(threads=1))
    try:
        return connection.columns, connection.stored
    finally:
        connection.close()
