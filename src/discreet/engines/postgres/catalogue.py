"""What the catalogue of a PostgreSQL server says of tables, and which of them can be opened.

Trust: kernel.

When tables are opened no row is read.  Only plain and partitioned tables are opened, with all of
their parts on the server itself.  A view may hold anything, and be something else at every look; so
may a foreign table, a column that is computed when it is read, and the rows that a policy of the
server lets a role see: which these are may depend on the rows of other people.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, final

from discreet.engines.execution import run_sanitized
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
from discreet.engines.sources.source import quoted_name, unreadable
from discreet.errors import UnreadableSource, WrongKind
from discreet.query.relations import folded
from discreet.query.types import Type
from discreet.requests.table_schema import StoredColumn

if TYPE_CHECKING:  # an optional driver
    from adbc_driver_manager.dbapi import Connection

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
"""A table, and all that is below it."""

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
