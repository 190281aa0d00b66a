"""What tasks are sent: statements, public tables, and columns of private ones.

Trust: kernel.  Only tables that the owner calls public are collected whole, and once.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, final

import duckdb
import pyarrow as pa

from discreet.engines.backends import reason
from discreet.engines.connection import SETTINGS, Connection
from discreet.engines.engine import Engine, Performance
from discreet.engines.hash_order import HashOrder
from discreet.engines.required_columns import required_columns
from discreet.engines.sources.source import unreadable
from discreet.engines.spark.data_frames import SparkSource
from discreet.engines.spark.partitioning import (
    TAG,
    Place,
    PrivateTable,
    UnitLink,
    private_tables,
    scans,
)
from discreet.engines.spark.statements import SEEN, SUMS, added, group_sums, names, others
from discreet.engines.spark.task import ROWS, Job
from discreet.engines.spark.workers import RunJob
from discreet.engines.sql.casts import TableView, print_scan
from discreet.engines.sql.contribution_bounding import ContributionBounding, public_tables
from discreet.engines.sql.fragments import SQL_TYPES, name
from discreet.errors import UnreadableSource
from discreet.query.relations import Scan, folded
from discreet.requests.engine_request import EngineRequest
from discreet.requests.raw_totals import ARROW_TYPES, RawTotals
from discreet.requests.table_schema import Link, Schema, TableFacts

MOST_ROWS: Final = 2**22
MOST_BYTES: Final = 2**26
"""The most rows of a public table, and the most bytes of the columns that a question reads."""

_ONE: Final = Performance(threads=1)


@final
class CollectedTables:
    """Public tables of Spark, and others from anywhere, in an engine of their own."""

    __slots__ = ("_engine", "_local", "_open_engine", "_reader", "_run_job", "_sources", "_tables")

    def __init__(
        self,
        sources: Mapping[str, SparkSource],
        local: Mapping[str, object],
        run_job: RunJob,
        open_engine: Callable[[Mapping[str, object], Performance], Engine],
    ) -> None:
        """Take the tables of Spark, others, who runs jobs, and what opens tables in memory."""
        self._run_job = run_job
        self._open_engine = open_engine
        self._sources = dict(sources)
        self._local = dict(local)
        self._tables: dict[str, object] | None = None
        self._engine: Engine | None = None
        self._reader: Connection | None = None

    def run(self, request: EngineRequest, *, order: HashOrder) -> RawTotals:
        """Compute a question about public tables alone."""
        if self._engine is None:
            self._engine = self._open_engine(self._opened(), _ONE)
        return self._engine.run(request, order=order)

    def read(self, scan: Scan) -> pa.Table:
        """Return some columns of a table, as values of the types that they are declared as."""
        if self._reader is None:
            self._reader = Connection(self._opened(), _ONE)
        table = self._reader.fetch(self._reader.scan(scan))
        if table.nbytes > MOST_BYTES:
            raise _too_large(scan.table)
        return table

    def close(self) -> None:
        """Release the tables."""
        for opened in (self._engine, self._reader):
            if opened is not None:
                opened.close()

    def _opened(self) -> dict[str, object]:
        if self._tables is None:
            collected = {
                name: _collected(name, source, self._run_job)
                for name, source in self._sources.items()
            }
            self._tables = {**self._local, **collected}
        return self._tables


def _collected(table: str, source: SparkSource, run_job: RunJob) -> pa.Table:
    """Collect a table, in which columns that cannot be named are NULL."""
    places = [place for place, native in enumerate(source.natives.values()) if native is not None]
    collected: pa.Table | None = None
    with contextlib.suppress(Exception):  # replaced below, as for any other table
        collected = run_job(source.selected(places).limit(MOST_ROWS + 1).toArrow)
    if collected is None:
        raise unreadable(
            f"the public table {table} cannot be collected.", do="see whether Spark can compute it."
        )
    if collected.num_rows > MOST_ROWS:
        raise _too_large(table)
    arrays = dict(zip(places, collected.columns, strict=True))
    hidden = pa.nulls(collected.num_rows, pa.binary())
    columns = {name: arrays.get(place, hidden) for place, name in enumerate(source.natives)}
    return pa.table(columns)


def _too_large(table: str) -> UnreadableSource:
    return UnreadableSource(
        what=f"the public table {table} is too large.",
        why=reason("public tables of more than 64 MiB", "Spark"),
        do=f"give one with at most {MOST_ROWS} rows, and {MOST_BYTES // 2**20} MiB in the columns "
        "that a question reads.",
    )


_ONE_CORE: Final[Mapping[str, Any]] = {**SETTINGS, "threads": 1}  # which Spark gives to a task


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedJob:
    """A request for tasks: its private tables, its statements, and what else they need."""

    bounding: ContributionBounding
    tables: tuple[PrivateTable, ...]
    job: Job

    @property
    def request(self) -> EngineRequest:
        """What the job computes."""
        return self.bounding.request

    def with_salt(self, salt: int) -> PreparedJob:
        """Return the same job, for a run of its own."""
        return replace(self, job=Job(**{**self.job, "salt": salt}))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class JobBuilder:
    """What is known before a question: whose rows these are, and how tables are read."""

    schema: Schema
    sources: Mapping[str, SparkSource]
    """The tables of Spark, by their folded names."""
    public: Callable[[Scan], pa.Table]
    """Reads columns of a public table."""
    memory: str
    rows: int

    def build(self, request: EngineRequest, *, portable: bool = False) -> PreparedJob:
        """Print all statements, and put together what tasks need; no private row is read."""
        needed = required_columns(request)
        owned = tuple(
            self._owned(number, table, needed[folded(table.name)], by_unit=bool(request.unit))
            for number, table in enumerate(private_tables(request, self.schema))
        )
        views = {table.table: table.view for table in owned}
        sent = public_tables(request)
        for scan in self._public_scans(request):
            columns = tuple(
                column for column in scan.columns if folded(column[0]) in needed[folded(scan.table)]
            )
            view = _public_view(f"public table {len(views)}", scan, columns)
            views[folded(scan.table)] = view
            sent[name(view.alias)] = self.public(Scan(scan.table, columns))

        def scan_of(scan: Scan, *, open_floats: bool = False) -> str:
            return print_scan(scan, views.get(folded(scan.table)), open_floats=open_floats)

        open_scan = partial(scan_of, open_floats=True)
        bounding = ContributionBounding(request, scan_of, open_scan, portable)
        job = Job(
            version=duckdb.__version__,
            settings={**_ONE_CORE, "memory_limit": self.memory},
            salt=0,
            tables={alias: _stream(table) for alias, table in sent.items()},
            views={name(table.view.alias): _selected(table, len(owned)) for table in owned},
            sums=group_sums(bounding),
            into=SUMS,
            added=added(bounding),
            others=others(bounding),
            schema=_schema(request),
            apart=any(table.link is not None for table in owned),
            seen=SEEN,
            rows=self.rows,
        )
        return PreparedJob(bounding=bounding, tables=owned, job=job)

    def _owned(
        self, number: int, table: TableFacts, needed: frozenset[str], *, by_unit: bool
    ) -> PrivateTable:
        source = self.sources[folded(table.name)]
        link = table.link if by_unit else None
        return PrivateTable(
            table=folded(table.name),
            source=source,
            number=number,
            columns_sent=tuple(
                place for place, column in enumerate(source.natives) if folded(column) in needed
            ),
            unit=tuple(self._place(table, column) for column in table.unit) if by_unit else (),
            link=None if link is None else self._linked(table, link),
        )

    def _linked(self, table: TableFacts, link: Link) -> UnitLink:
        parent = self.schema.table(link.parent)
        if parent is None:
            message = "a table is linked to one that is missing"
            raise LookupError(message)
        return UnitLink(
            column=self._place(table, link.column),
            parent=self._owned(0, parent, frozenset(), by_unit=True),
            key=self._place(parent, link.key),
        )

    def _place(self, table: TableFacts, column: str) -> Place:
        facts = table.column(column)
        if facts is None:
            message = "a column that names the unit is missing"
            raise LookupError(message)
        return self.sources[folded(table.name)].place(column), facts.type

    def _public_scans(self, request: EngineRequest) -> list[Scan]:
        """Return each public table once; a scan names all of its columns."""
        private = {folded(table.name) for table in private_tables(request, self.schema)}
        by_table = {folded(scan.table): scan for scan in scans(request.relation)}
        return [scan for table, scan in by_table.items() if table not in private]


def _public_view(alias: str, scan: Scan, columns: tuple[tuple[str, Any], ...]) -> TableView:
    return TableView(
        alias,
        {folded(column): SQL_TYPES[kind] for column, kind in scan.columns},
        {folded(column): column for column, _ in columns},
    )


def _selected(owned: PrivateTable, tables: int) -> str:
    """Print how to select the rows of one of several tables."""
    where = f" WHERE {TAG} = {owned.number}" if tables > 1 else ""
    return f"SELECT * FROM {name(ROWS)}{where}"  # noqa: S608 (quoted names)


def _stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    stream: bytes = sink.getvalue().to_pybytes()
    return stream


def _schema(request: EngineRequest) -> pa.Schema:
    """Return the form of the rows that tasks give."""
    kinds = {"kind": pa.int32(), "value": pa.string()}
    kinds |= {f"k{index}": ARROW_TYPES[key.type] for index, key in enumerate(request.keys)}
    return pa.schema([(label, kinds.get(label, pa.int64())) for label in names(request)])
