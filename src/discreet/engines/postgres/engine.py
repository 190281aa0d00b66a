"""The engine on tables of a PostgreSQL server.

Trust: kernel.

The server sends the columns that a question needs, and DuckDB computes here: so answers are the
same, bit for bit, as those of the engine on DuckDB, and the server sees neither a question nor a
count.  A connection lasts for one question: none is idle, lost or inherited between two.
Rows go into tables of DuckDB, batch by batch; what does not fit into memory goes to its private
folder on disk, and after the question all of it is gone.
Rows whose unit is NULL are not sent.  They belong to nobody: relations treat each unit by itself
(key ``unit-local``), so what is computed from such rows has no unit either, and would be dropped.
Every failure once rows are read reads the same.
Tables may be files or frames as well; all that are on a server are in one database.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, final

from discreet.engines.duckdb import DuckDB, PreparedRequest
from discreet.engines.engine import ClosingEngine, Columns, Performance
from discreet.engines.execution import run_sanitized
from discreet.engines.hash_order import HashOrder
from discreet.engines.postgres.catalogue import (
    TableDescription,
    addresses_of,
    cell_counts,
    is_gone,
    look_up_tables,
)
from discreet.engines.postgres.row_reader import ReadRequest, RowReader
from discreet.engines.required_columns import required_columns
from discreet.engines.sources.database import StagingTable
from discreet.engines.sources.identity import (
    Identity,
    changed,
    digest_of,
    run_if_unchanged,
    scanned_tables,
)
from discreet.errors import UnreadableSource
from discreet.query.expressions import Column
from discreet.query.relations import Join, Scan, descend, folded
from discreet.query.types import Type
from discreet.requests.engine_request import EngineRequest, KeyColumn
from discreet.requests.raw_totals import RawTotals
from discreet.requests.table_schema import Schema, StoredColumn, TableFacts

_FIRST: Final = HashOrder(salt=0)


@final
class Postgres(ClosingEngine):
    """Tables by name: addresses on one server, and perhaps public files and frames.

    >>> Postgres({"visits": "postgresql://db.example/clinic"})
    Traceback (most recent call last):
    discreet.errors.WrongKind: ...
    """

    __slots__ = (
        "_addresses",
        "_described",
        "_keys",
        "_local",
        "_lock",
        "_reading",
        "_staged",
        "_units",
    )

    def __init__(
        self, tables: Mapping[str, object], performance: Performance | None = None
    ) -> None:
        """Look the tables up; no row is read."""
        self._addresses = addresses_of(tables)
        self._described = look_up_tables(self._addresses)
        self._staged = {
            table: StagingTable(description.types) for table, description in self._described.items()
        }
        self._local = DuckDB(
            {table: self._staged.get(folded(table), source) for table, source in tables.items()},
            performance,
        )
        self._units: dict[str, tuple[str, ...]] = {}
        self._keys: dict[str, tuple[tuple[str, Type], ...]] = {}
        self._lock = threading.Lock()
        self._reading: RowReader | None = None

    def __repr__(self) -> str:
        """Show where the tables are, without a password."""
        return f"Postgres({', '.join(map(str, self._addresses.values()))})"

    def tables(self) -> Mapping[str, Columns]:
        """Return the columns of every table."""
        return self._local.tables()

    def stored(self) -> Mapping[str, Mapping[str, StoredColumn]]:
        """Return how the server stores the columns of its tables, and how others store theirs."""
        on_server = {
            table: known.stored
            for table in self._local.tables()
            if (known := self._described.get(folded(table))) is not None
        }
        return {**self._local.stored(), **on_server}

    def learn_schema(self, schema: Schema) -> None:
        """Learn which columns name the unit, and which are keys of public tables.

        Rows in which a column of the unit is NULL do not count, and need not be sent.
        """
        self._local.learn_schema(schema)
        self._units = {folded(table.name): table.unit for table in schema.tables}
        self._keys = {folded(table.name): _key(table) for table in schema.tables if table.public}

    def identities(self, tables: Iterable[str]) -> Mapping[str, Identity]:
        """Return the state that tables were opened in; refuse what has changed since.

        For a table on a server this is its form; changes of rows leave no trace.
        """
        wished = {folded(table) for table in tables}
        known = {
            table: description for table, description in self._described.items() if table in wished
        }
        if known:
            now = look_up_tables({table: self._addresses[table] for table in known})
            others = [table for table, then in known.items() if now[table] != then]
            if others:
                raise changed(others)
        local = dict(self._local.identities(wished))
        return local | {table: _identity(description) for table, description in known.items()}

    def check(self, request: EngineRequest) -> PreparedRequest:
        """Refuse what DuckDB cannot compute here."""
        return self._local.check(request)

    def cell_counts(self, table: str) -> Mapping[str, int]:
        """Count the cells of each column that the source holds; for the owner's check alone."""
        known = self._described.get(folded(table))
        if known is None:
            return self._local.cell_counts(table)
        address = self._addresses[folded(table)]
        return run_sanitized(lambda: cell_counts(address, known))

    def run(self, request: EngineRequest, *, order: HashOrder) -> RawTotals:
        """Compute the answers."""
        tables = scanned_tables(request.relation)
        with self._lock:
            return run_if_unchanged(
                lambda: self._local.identities(tables),
                lambda: run_sanitized(lambda: self._run(request, order)),
                failed=lambda: self._look(tables),
            )

    def _look(self, tables: Sequence[str]) -> None:
        """Refuse tables that are seen to have changed, after a failure.

        If the server cannot say, a row may have made it fail: the failure stays what it is.  # T2
        """
        with contextlib.suppress(UnreadableSource):
            self.identities(tables)
            return
        wished = {folded(table) for table in tables}
        if is_gone(at for table, at in self._addresses.items() if table in wished):
            raise changed(tables)

    def _run(self, request: EngineRequest, order: HashOrder) -> RawTotals:
        requests = self._requests(request)
        try:
            self._empty()  # an interrupt may have come while they were emptied
            self._fill(requests)
            if any(isinstance(node, Join) for node in descend(request.relation)):
                self._check_keys(requests)
            return self._local.run(request, order=order)
        finally:
            with contextlib.suppress(Exception):
                self._empty()

    def _empty(self) -> None:
        for staged in self._staged.values():
            staged.empty()

    def _fill(self, requests: Mapping[str, ReadRequest]) -> None:
        """Read the rows of all tables, as they are at one moment."""
        tables = list(requests)
        if not tables:
            return
        with RowReader(list(requests.values())) as reading:
            self._reading = reading
            try:
                for number, batch in reading:
                    table = tables[number]
                    self._staged[table].add(batch, requests[table].columns)
            finally:
                self._reading = None

    def _check_keys(self, requests: Mapping[str, ReadRequest]) -> None:
        """Make sure that the keys of public tables are keys at this moment, too.

        A join is taken not to multiply rows where it compares all columns of a key.
        """
        for table, request in requests.items():
            scan = Scan(table, self._keys.get(table, ()))
            if scan.columns and {folded(column) for column, _ in scan.columns} <= request.folded:
                keys = tuple(
                    KeyColumn(column, Column(column), kind) for column, kind in scan.columns
                )
                rows = EngineRequest(relation=scan, unit=(), keys=keys, groups=None, measures=())
                raw = self._local.run(rows, order=_FIRST)
                for count, *values in zip(
                    raw.units, *(key.to_pylist() for key in raw.keys), strict=True
                ):
                    if count > 1 and None not in values:  # of a public table, which all may see
                        raise changed([table])

    def _requests(self, request: EngineRequest) -> dict[str, ReadRequest]:
        """Return what to ask of the server."""
        requests = {}
        for table, names in required_columns(request).items():
            if (known := self._described.get(table)) is not None:
                unit = self._units.get(table, ()) if request.unit else ()
                requests[table] = ReadRequest(
                    address=self._addresses[table],
                    described=known,
                    columns=tuple(column for column in known.columns if folded(column) in names),
                    unit=_spelled(unit, known),
                )
        return requests

    def close(self) -> None:
        """Release the data; a question whose rows are being read fails."""
        if (reading := self._reading) is not None:
            reading.stop()
        with self._lock:
            self._local.close()


def _identity(known: TableDescription) -> Identity:
    columns = tuple(known.columns.items())
    state = digest_of((columns, known.state))
    places = frozenset({("postgresql", state)})
    return Identity(kind="postgresql", columns=columns, state=state, places=places)


def _key(table: TableFacts) -> tuple[tuple[str, Type], ...]:
    columns = (table.column(name) for name in table.key)
    return tuple((column.name, column.type) for column in columns if column is not None)


def _spelled(names: Sequence[str], known: TableDescription) -> tuple[str, ...]:
    """Return columns as the server spells them."""
    wished = {folded(name) for name in names}
    return tuple(column for column in known.columns if folded(column) in wished)
