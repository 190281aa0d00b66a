"""What tasks are sent: statements, public tables, and columns of private ones.

Trust: kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, final

import duckdb
import pyarrow as pa

from discreet.engines.connection import SETTINGS
from discreet.engines.required_columns import required_columns
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
from discreet.engines.sql.casts import TableView, print_scan
from discreet.engines.sql.contribution_bounding import ContributionBounding, public_tables
from discreet.engines.sql.fragments import SQL_TYPES, name
from discreet.query.relations import Scan, folded
from discreet.requests.engine_request import EngineRequest
from discreet.requests.raw_totals import ARROW_TYPES
from discreet.requests.table_schema import Link, Schema, TableFacts

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
