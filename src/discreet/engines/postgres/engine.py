"""The engine on tables of a PostgreSQL server, which runs the bounded statement itself.

Trust: kernel.

Only totals leave the server.  All statements of a question run in one transaction that changes
nothing and sees one snapshot; tables whose form is not that at opening end it.  A connection lasts
for one question: none is idle, lost or inherited between two.  Every failure once rows are read
reads the same, and closes the question.  # T2
Public tables may be files or frames as well; their rows are written into the statement.

When tables are opened no row is read.  The counts of the owner's check have no noise.

Only plain and partitioned tables are opened, with all of their parts on the server itself.  A view
may hold anything, and be something else at every look; so may a foreign table, a column that is
computed when it is read, and the rows that a policy of the server lets a role see: which these are
may depend on the rows of other people.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, final

import pyarrow as pa
from sqlglot import exp

from discreet.engines.dialect import column, named, number, select
from discreet.engines.engine import Columns
from discreet.engines.execution import run_sanitized, stopped_error
from discreet.engines.hash_order import HashOrder
from discreet.engines.local_tables import LocalTables
from discreet.engines.postgres.address import (
    Address,
    address_of,
    begin,
    is_address,
    open_connection,
    opening_error,
    query_rows,
)
from discreet.engines.postgres.dialect import FORMS as TYPES
from discreet.engines.postgres.dialect import POSTGRES, UUID_TEXT
from discreet.engines.sources.identity import Identity, changed, digest_of
from discreet.engines.sources.source import check_names, quoted_name, unreadable
from discreet.engines.sources.stored_columns import unknown_table, unreadable_as
from discreet.engines.sql_engine import SqlEngine
from discreet.errors import UnreadableSource, WrongKind
from discreet.query.relations import Scan, folded
from discreet.query.types import Type
from discreet.requests.table_schema import Schema, StoredColumn

if TYPE_CHECKING:  # an optional driver
    from adbc_driver_manager.dbapi import Connection, Cursor

_OLDEST: Final = 120_000
_SERVER: Final = (
    "SELECT CAST(current_setting('server_version_num') AS int8), current_setting('server_encoding')"
)
_PARTS: Final = """
WITH RECURSIVE part (oid) AS (
    SELECT c.oid FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE n.nspname = $1 AND c.relname = $2
    UNION SELECT i.inhrelid FROM pg_inherits AS i JOIN part ON i.inhparent = part.oid)
"""
"""A table, and all that lies below it."""

_TABLE: Final = f"""
{_PARTS}
SELECT row_security_active(c.oid),
       has_schema_privilege(n.oid, 'USAGE'),
       has_table_privilege(c.oid, 'SELECT'),
       (SELECT bool_and(p.relkind IN ('r', 'p'))
        FROM part JOIN pg_class AS p ON p.oid = part.oid),
       (SELECT encode(sha256(convert_to(string_agg(
            concat_ws(' ', p.oid, p.xmin, a.attnum, a.xmin), ',' ORDER BY p.oid, a.attnum
        ), 'UTF8')), 'hex')
        FROM part JOIN pg_class AS p ON p.oid = part.oid
             LEFT JOIN pg_attribute AS a ON a.attrelid = p.oid)
FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = $1 AND c.relname = $2
"""  # noqa: S608 (no names in it)
_COLUMNS: Final = f"""
{_PARTS}
SELECT CAST(a.attname AS text),
       CASE WHEN NOT has_column_privilege(c.oid, a.attnum, 'SELECT') OR a.attname IN (
                SELECT p.attname FROM part JOIN pg_attribute AS p ON p.attrelid = part.oid
                WHERE p.attgenerated = 'v') THEN ''
            WHEN t.typtype = 'e' THEN 'enum'
            WHEN t.typtype = 'b' AND t.typnamespace = CAST('pg_catalog' AS regnamespace)
            THEN CAST(t.typname AS text) ELSE '' END,
       COALESCE(NOT o.collisdeterministic, false),
       format_type(a.atttypid, a.atttypmod)
FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
     JOIN pg_attribute AS a ON a.attrelid = c.oid JOIN pg_type AS t ON t.oid = a.atttypid
     LEFT JOIN pg_collation AS o ON o.oid = a.attcollation
WHERE n.nspname = $1 AND c.relname = $2 AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum
"""  # noqa: S608 (no names in it)

_FORMS: Final = {
    **dict.fromkeys(("int2", "int4", "int8"), "integer"),
    **dict.fromkeys(("text", "varchar", "bpchar", "enum"), "text"),
    "uuid": "uuid",
    "bool": "boolean",
    "date": "date",
}


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TableDescription:
    """A table that can be read: its columns with their forms, and whether it can be locked.

    >>> found = TableDescription(columns={"age": "int4", "face": ""}, whole=True)
    >>> found.types
    {'age': INTEGER, 'face': None}
    """

    columns: dict[str, str]
    whole: bool
    """Whether the role may read all of it, and not some columns only."""
    natives: dict[str, str] = field(default_factory=dict)
    """What the server calls the types, with their precision."""
    blurred: frozenset[str] = frozenset()
    """Columns in which the server takes different texts for equal, by collation or by padding."""
    state: str = ""
    """Differs after every change of the table or its parts, unless only rows have changed.

    TRUNCATE makes a difference, and so does a change that is undone: the state names the
    transactions that wrote the entries of the catalogue.
    """

    @property
    def types(self) -> dict[str, Type | None]:
        """Our types of the columns."""
        return {column: TYPES.get(form) for column, form in self.columns.items()}

    @property
    def stored(self) -> dict[str, StoredColumn]:
        """How the server stores the columns."""
        return {
            column: StoredColumn(
                source="postgres",
                native=self.natives.get(column, form),
                form=_FORMS.get(form),
                blurred=column in self.blurred,
            )
            for column, form in self.columns.items()
        }


def check_server(connection: Connection) -> None:
    """Refuse a server whose texts may be no texts, or which is too old."""
    ((version, encoding),) = query_rows(connection, _SERVER)
    if version < _OLDEST or encoding != "UTF8":
        raise unreadable(
            "the server is older than version 12, or its database is not encoded in UTF8.",
            do="copy the table to a database made with ENCODING 'UTF8' on a newer server.",
        )


def described(connection: Connection, address: Address) -> TableDescription:
    """Look a table up, and refuse what cannot be read safely."""
    where = (address.schema, str(address.table))
    rows = query_rows(connection, _TABLE, *where)
    if not rows:
        raise unreadable(
            f"there is no table {address}.",
            do="name a table that is there, as schema.table if it is not in the schema public.",
        )
    ((secured, usable, whole, plain, state),) = rows
    if not plain:
        raise unreadable(
            f"{address} is a view, or has parts that lie elsewhere.",
            do="name a plain or partitioned table; what a view shows can be copied into one.",
        )
    if secured:
        raise unreadable(
            f"{address} is under row-level security for this role.",
            do="use a role that may see all rows (BYPASSRLS, or the owner of the table).",
        )
    listed = query_rows(connection, _COLUMNS, *where)
    if not usable or not any(TYPES.get(kind) for _, kind, _, _ in listed):
        raise _no_right(address)
    return TableDescription(
        columns={column: kind for column, kind, _, _ in listed},
        whole=whole,
        natives={column: native for column, _, _, native in listed},
        blurred=frozenset(
            column for column, kind, blurred, _ in listed if blurred or kind == "bpchar"
        ),
        state=state,
    )


def _no_right(address: Address) -> UnreadableSource:
    return unreadable(
        f"the role may not read {address}, or no column of it is of a type that can be read.",
        do="grant the role USAGE on the schema, and SELECT on the table or on some of its columns.",
    )


def addresses_of(tables: Mapping[str, object]) -> dict[str, Address]:
    """Return the addresses among some sources, by the folded names of their tables.

    >>> addresses_of({"Visits": "postgresql://db.example/clinic/visits", "wards": "wards.csv"})
    {'visits': Address(postgresql://db.example/clinic/visits)}
    """
    addresses = {
        folded(table): _table_address(source)
        for table, source in tables.items()
        if is_address(source)
    }
    if len({address.server for address in addresses.values()}) != 1:
        raise WrongKind(
            what="the tables are on several servers, or in several databases.",
            why="a question reads all of its tables as they are at one moment.",
            do="open tables of one database, with one role and the same options in all addresses.",
        )
    return addresses


def is_gone(addresses: Iterable[Address]) -> bool:
    """Say whether a server answers that one of its tables cannot be read any more."""
    for address in addresses:
        try:
            with closing(open_connection(address)) as connection:
                begin(connection)
                described(connection, address)
        except UnreadableSource:
            return True
        except Exception:  # noqa: BLE001  the server does not answer, and says nothing of the table
            return False
    return False


def look_up_tables(addresses: Mapping[str, Address]) -> dict[str, TableDescription]:
    """Return what the catalogue says of some tables of one database."""
    first = next(iter(addresses.values()))
    connection = run_sanitized(
        lambda: open_connection(first), lambda error: opening_error(error, first)
    )

    def look_up() -> dict[str, TableDescription]:
        with closing(connection):
            begin(connection)
            check_server(connection)
            return {table: described(connection, address) for table, address in addresses.items()}

    return run_sanitized(
        look_up,
        lambda _: unreadable(
            f"the catalogue of {first} cannot be read.",
            do="check that the server runs; its log says more.",
        ),
    )


def _table_address(source: object) -> Address:
    address = source if isinstance(source, Address) else address_of(str(source))
    if address.table is None:
        raise WrongKind(
            what=f"{address} names a database and no table.",
            why="a table is opened by the address of the table.",
            do="give '.../database/table', or tables=['visits'] beside the address.",
        )
    return address


def cell_counts(address: Address, known: TableDescription) -> dict[str, int]:
    """Count the cells that are not NULL of each column that can be read."""
    names = [column for column, kind in known.types.items() if kind is not None]
    counts = ", ".join(f'count("t".{quoted_name(column)})' for column in names)
    statement = f'SELECT {counts} FROM {address.sql} AS "t"'  # noqa: S608 (quoted names)
    with open_connection(address) as connection:
        begin(connection)
        rows = query_rows(connection, statement)
    return dict(zip(names, map(int, rows[0]), strict=True))


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
        names = {folded(name): name for name in known.columns}
        parts = []
        for name, kind in scan.columns:
            own = names.get(folded(name))
            form = None if own is None else known.columns[own]
            if (
                form in {"text", "varchar", "bpchar"}
                and (folded(scan.table), folded(name)) in self._texts
            ):
                form = UUID_TEXT
            node = (
                None if own is None or form is None else POSTGRES.reading(column(own), form, kind)
            )
            if node is None:
                raise unreadable_as(name, scan.table, kind)
            parts.append(named(node, name))
        address = self._addresses[folded(scan.table)]
        table = exp.Table(
            this=exp.to_identifier(str(address.table), quoted=True),
            db=exp.to_identifier(address.schema, quoted=True),
        )
        return select(parts or [named(number(1), "one")], table)

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

        A join is taken not to multiply rows where it compares all columns of a key.
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
