"""The engine on tables of a PostgreSQL server, which runs the bounded statement itself.

Trust: kernel.

Only totals leave the server.  All statements of a question run in one transaction that changes
nothing and sees one snapshot; tables whose form is not that at opening end it.  A connection lasts
for one question: none is idle, lost or inherited between two.  Every failure once rows are read
reads the same, and closes the question.  # T2
Public tables may be files or frames as well; their rows are written into the statement.

The counts of the owner's check have no noise.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, final

import pyarrow as pa
from sqlglot import exp

from discreet.engines.engine import Columns, HashOrder
from discreet.engines.execution import run_sanitized, stopped_error
from discreet.engines.fragments import Node, select
from discreet.engines.local_tables import LocalTables
from discreet.engines.postgres.address import begin, is_address, open_connection
from discreet.engines.postgres.catalogue import (
    TableDescription,
    addresses_of,
    cell_counts,
    described,
    is_gone,
    look_up_tables,
)
from discreet.engines.postgres.dialect import POSTGRES, UUID_TEXT
from discreet.engines.sources.identity import Identity, changed, digest_of
from discreet.engines.sources.source import check_names, quoted_name
from discreet.engines.sources.stored_columns import read_columns, unknown_table
from discreet.engines.sql_engine import SqlEngine
from discreet.errors import UnreadableSource
from discreet.query.relations import Scan, folded
from discreet.query.types import Type
from discreet.requests.table_schema import Schema, StoredColumn

if TYPE_CHECKING:  # an optional driver
    from adbc_driver_manager.dbapi import Connection, Cursor


@final
class Postgres(SqlEngine):
    """Tables by name: addresses on one server, and perhaps public files and frames.

    >>> Postgres({"visits": "postgresql://db.example/clinic"})
    Traceback (most recent call last):
    discreet.errors.WrongKind: ...
    """

    __slots__ = (
        "_addresses",
        "_closed",
        "_cursor",
        "_described",
        "_keys",
        "_local",
        "_names",
        "_texts",
    )

    dialect = POSTGRES

    def __init__(self, tables: Mapping[str, object], performance: None = None) -> None:  # noqa: ARG002
        """Look the tables up; no row is read."""
        super().__init__()
        check_names(list(tables), what="tables")
        self._addresses = addresses_of(tables)
        self._described = look_up_tables(self._addresses)
        for known in self._described.values():
            check_names(list(known.columns), what="columns")
        self._local = LocalTables({n: d for n, d in tables.items() if not is_address(d)})
        self._names = tuple(tables)
        self._keys: dict[str, tuple[str, ...]] = {}
        self._texts: frozenset[tuple[str, str]] = frozenset()
        self._cursor: Cursor | None = None
        self._closed = False

    def __repr__(self) -> str:
        """Show where the tables are, without a password."""
        return f"Postgres({', '.join(map(str, self._addresses.values()))})"

    def tables(self) -> Mapping[str, Columns]:
        """Return the columns of every table."""
        known = self._described
        return {
            name: known[folded(name)].types if folded(name) in known else self._local.columns[name]
            for name in self._names
        }

    def stored(self) -> Mapping[str, Mapping[str, StoredColumn]]:
        """Return how the server stores the columns of its tables, and how others store theirs."""
        own = {
            n: self._described[folded(n)].stored
            for n in self._names
            if folded(n) in self._described
        }
        return {**self._local.stored, **own}

    def learn_schema(self, schema: Schema) -> None:
        """Learn which columns are keys of public tables, and which strings are UUIDs."""
        super().learn_schema(schema)
        self._local.check_public(schema, "PostgreSQL")
        self._keys = {folded(table.name): table.key for table in schema.tables if table.public}
        self._texts = frozenset(
            (folded(table.name), folded(each.name))
            for table in schema.tables
            for each in table.columns
            if each.form == "uuid"
        )

    def identities(self, tables: Iterable[str]) -> Mapping[str, Identity]:
        """Return the state that tables were opened in; refuse what has changed since.

        For a table on a server this is its form; changes of rows leave no trace.
        """
        wished = {folded(table) for table in tables}
        known = {table: seen for table, seen in self._described.items() if table in wished}
        if known:
            now = look_up_tables({table: self._addresses[table] for table in known})
            others = [table for table, then in known.items() if now[table] != then]
            if others:
                raise changed(others)
        local = self._local.identities(wished - set(known))
        return {**local, **{table: _identity(seen) for table, seen in known.items()}}

    def cell_counts(self, table: str) -> Mapping[str, int]:
        """Count the cells of each column that the source holds; for the owner's check alone."""
        known = self._described.get(folded(table))
        if known is None:
            return {}
        address = self._addresses[folded(table)]
        return run_sanitized(lambda: cell_counts(address, known))

    def scan(self, scan: Scan) -> exp.Select:
        """Return how a table is read."""
        if scan.table in self._local:
            return self.dialect.values(*self._local.rows(scan, "PostgreSQL"))
        known = self._described.get(folded(scan.table))
        if known is None:
            raise unknown_table(scan.table)

        def reading(name: str, kind: Type) -> Node | None:
            form, texts = known.columns[name], {"text", "varchar", "bpchar"}
            if form in texts and (folded(scan.table), folded(name)) in self._texts:
                form = UUID_TEXT
            return POSTGRES.reading(POSTGRES.column(name), form, kind)

        address = self._addresses[folded(scan.table)]
        table = exp.Table(
            this=exp.to_identifier(str(address.table), quoted=True),
            db=exp.to_identifier(address.schema, quoted=True),
        )
        return select(read_columns(POSTGRES, scan, known.columns, reading), table)

    @contextmanager
    def snapshot(self, order: HashOrder, tables: Sequence[str] = ()) -> Iterator[None]:  # noqa: ARG002
        """Open a transaction that changes nothing, in which all tables are as they were opened."""
        if self._closed:
            message = "the engine is closed"
            raise RuntimeError(message)
        read = [table for table in tables if table in self._addresses]
        wanted = read or list(self._addresses)[:1]
        try:
            opened = open_connection(self._addresses[wanted[0]])
        except Exception:  # noqa: BLE001  (no row was read: the server cannot be reached)
            raise stopped_error() from None
        with opened as connection:
            begin(connection)
            with connection.cursor() as cursor:
                self._cursor = cursor
                try:
                    seen = self._lock_tables(connection, cursor, wanted)
                    yield
                    cursor.execute("COMMIT")
                finally:
                    self._cursor = None
            self._look_again(connection, wanted, seen)

    def _lock_tables(
        self, connection: Connection, cursor: Cursor, tables: Sequence[str]
    ) -> list[TableDescription]:
        """Refuse tables with another form than at opening, and keys that are none any more.

        A join is taken not to multiply rows if it compares all columns of a key.
        """
        whole = [self._addresses[t].sql for t in tables if self._described[t].whole]
        if whole:
            cursor.execute(f"LOCK TABLE {', '.join(whole)} IN ACCESS SHARE MODE")
        seen = self._compare(connection, tables)
        for table in tables:
            key = self._keys.get(table, ()) if len(tables) > 1 else ()
            own = {folded(name): name for name in self._described[table].columns}
            if key:
                names = [quoted_name(own[folded(name)]) for name in key]
                there = " AND ".join(f"{name} IS NOT NULL" for name in names)
                listed = ", ".join(names)
                twice = (
                    f"SELECT 1 FROM {self._addresses[table].sql} WHERE {there} GROUP BY {listed}"  # noqa: S608
                    " HAVING COUNT(*) > 1 LIMIT 1"
                )
                if cursor.execute(twice).fetchall():  # of a public table, which all may see
                    raise changed([table])
        return seen

    def _compare(self, connection: Connection, tables: Sequence[str]) -> list[TableDescription]:
        """Look tables up again; refuse those with other columns."""
        try:
            now = [described(connection, self._addresses[table]) for table in tables]
        except UnreadableSource:  # it is gone, or a view, or hides rows
            raise changed(tables) from None
        for table, seen in zip(tables, now, strict=True):
            then = self._described[table]
            if (seen.columns, seen.blurred) != (then.columns, then.blurred):
                raise changed([table])
        return now

    def _look_again(
        self, connection: Connection, tables: Sequence[str], seen: Sequence[TableDescription]
    ) -> None:
        """Refuse tables that could not be locked, and have changed meanwhile."""
        unlocked = {
            table: then.state
            for table, then in zip(tables, seen, strict=True)
            if not self._described[table].whole
        }
        if unlocked:
            begin(connection)  # at a later moment, which sees what has changed since
            now = self._compare(connection, list(unlocked))
            if [each.state for each in now] != list(unlocked.values()):
                raise changed(unlocked)

    def fetch(self, statement: str, tables: Mapping[str, pa.Table]) -> pa.Table:  # noqa: ARG002
        """Run a statement in the transaction."""
        cursor = self._cursor
        if cursor is None:
            message = "there is no transaction"
            raise RuntimeError(message)
        cursor.execute(statement)
        return cursor.fetch_arrow_table()

    def check_unchanged(self, tables: Sequence[str]) -> None:
        """Refuse local tables that have changed; others are compared in the snapshot."""
        self._local.identities(table for table in tables if table not in self._described)

    def look(self, tables: Sequence[str]) -> None:
        """Refuse tables that are seen to have changed, after a failure.

        If the server cannot say, a row may have made it fail: the failure stays what it is.  # T2
        """
        with contextlib.suppress(UnreadableSource):
            self.identities(tables)
            return
        wished = {folded(table) for table in tables}
        if is_gone(at for table, at in self._addresses.items() if table in wished):
            raise changed(tables)

    def interrupt(self) -> None:
        """Cancel the statement on the server."""
        cursor = self._cursor
        if cursor is not None:
            with contextlib.suppress(Exception):
                cursor.adbc_cancel()

    def close(self) -> None:
        """Release the data; a question that is being computed fails."""
        self._closed = True
        self.interrupt()
        self._local.close()


def _identity(known: TableDescription) -> Identity:
    columns = tuple(known.columns.items())
    state = digest_of((columns, known.state))
    places = frozenset({("postgresql", state)})
    return Identity(kind="postgresql", columns=columns, state=state, places=places)
