"""Connections to a PostgreSQL server.

Trust: kernel.  What the driver says when something fails can hold a password or values of the data:
it is read here at most, and never passed on.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, unquote

from discreet.engines.postgres.address import Address
from discreet.errors import UnreadableSource, WrongKind

if TYPE_CHECKING:  # an optional driver
    from adbc_driver_manager.dbapi import Connection

__all__ = ["begin", "open_connection", "opening_error", "query_rows", "quiet"]

_SETTINGS: Final = (
    "SET LOCAL client_min_messages = 'error'",  # a library may print what the server remarks
    "SET LOCAL search_path = pg_catalog, pg_temp",
    "SET LOCAL client_encoding = 'UTF8'",
    "SET LOCAL DateStyle = 'ISO'",
    "SET LOCAL TimeZone = 'UTC'",
    "SET LOCAL row_security = off",
    "SET LOCAL statement_timeout = 0",
)
"""What a transaction runs with, whatever role, database and environment say.

``row_security = off`` is no way around policies: where one would hide rows, the server refuses.
"""


def open_connection(address: Address) -> Connection:
    """Open a connection outside any transaction; the caller drops what the driver says of it."""
    try:
        from adbc_driver_postgresql import (  # type: ignore[import-untyped]  # noqa: PLC0415
            dbapi,  # an optional driver
        )
    except ImportError:
        raise WrongKind(
            what="adbc-driver-postgresql is not installed.",
            why="it is loaded only by those who open a table on a PostgreSQL server.",
            do="install discreet with its extra: pip install 'discreet[postgres]'.",
        ) from None
    return _opened(lambda uri: dbapi.connect(uri, autocommit=True), address)


def _opened(connect: Callable[[str], Connection], address: Address) -> Connection:
    """Connect; the driver prints the notices of the server, so the server is asked for none.

    A pool between here and there may refuse to pass that on.  Then only transactions are silent.
    """
    try:
        return connect(quiet(address).uri)
    except Exception as error:
        if "startup parameter" not in str(error):
            raise
    return connect(address.uri)


def quiet(address: Address) -> Address:
    """Return an address that opens a connection on which the server says nothing but errors.

    >>> from discreet.engines.postgres.address import address_of
    >>> quiet(address_of("postgresql://db/clinic?port=1&options=-c%20jit%3Doff")).options
    'port=1&options=-c%20jit%3Doff%20-c%20client_min_messages%3Derror'
    """
    listed = [option for option in address.options.split("&") if option]
    index = next(
        (index for index, option in enumerate(listed) if _key(option) == "options"), len(listed)
    )
    listed[index:] = listed[index:] or [
        f"options={quote(os.environ.get('PGOPTIONS', ''), safe='')}"
    ]
    listed[index] += quote(" -c client_min_messages=error", safe="")
    return replace(address, options="&".join(listed))


def _key(option: str) -> str:
    return unquote(option.partition("=")[0])


def begin(connection: Connection) -> None:
    """Begin a transaction that changes nothing, and in which all tables stand still."""
    with connection.cursor() as cursor:
        cursor.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        for setting in _SETTINGS:
            cursor.execute(setting)


def query_rows(connection: Connection, statement: str, *values: str) -> list[tuple[Any, ...]]:
    """Run a statement with values, and return its rows."""
    with connection.cursor() as cursor:
        return cursor.execute(statement, values or None).fetchall()


def opening_error(error: Exception, address: Address) -> UnreadableSource:
    """Say why there is no connection, without quoting the server or the driver."""
    said = str(error)
    why = "the server cannot be reached"
    do = "check host and port, and that the server runs; psql, with the same address up to the "
    do += "table, says more."
    if "password" in said:
        why = "the server does not accept the password of the role, or there is none"
        do = "mend it in the address, or set PGPASSWORD or a password file."
    elif "FATAL" in said:
        why = "the server refuses it: it may not know the role or the database, or be busy"
        do = "check role and database; psql, with the same address up to the table, says more."
    return UnreadableSource(
        what=f"there is no connection to {address}.",
        why=f"{why}.",
        do=do,
    )
