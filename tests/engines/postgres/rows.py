"""Rows in tables of a PostgreSQL server."""

import psycopg

from discreet.query.types import Type
from tests.engines.questions import TYPES

NATIVE = {
    Type.INTEGER: "bigint",
    Type.FLOAT: "double precision",
    Type.TEXT: "text",
    Type.BOOLEAN: "boolean",
    Type.DATE: "date",
    Type.TIMESTAMP: "timestamp",
}


def quoted(name):
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def connect(server, **options):
    """Connect as the owner of everything; each statement is committed."""
    return psycopg.connect(server.address(), autocommit=True, **options)


def make(server, table, types):
    """Make an empty table; the types are ours, or the server's."""
    parts = ", ".join(f"{quoted(name)} {NATIVE.get(kind, kind)}" for name, kind in types.items())
    with connect(server) as connection:
        connection.execute(f"DROP TABLE IF EXISTS {table}")
        connection.execute(f"CREATE TABLE {table} ({parts})")


def fill(server, tables, types=TYPES):
    """Put other rows into tables that are there."""
    with connect(server) as connection:
        for table, columns in types.items():
            connection.execute(f"TRUNCATE {table}")
            names = ", ".join(map(quoted, columns))
            with connection.cursor().copy(f"COPY {table} ({names}) FROM STDIN") as copy:
                for row in tables[table]:
                    copy.write_row([row[name] for name in columns])


def storable(tables):
    """Return rows that such a server can hold: no text has a zero in it."""

    def changed(value):
        return value.replace("\0", "\1") if isinstance(value, str) else value

    return {
        table: [{name: changed(value) for name, value in row.items()} for row in rows]
        for table, rows in tables.items()
    }
