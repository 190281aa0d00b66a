"""Addresses of tables on a PostgreSQL server, and connections to it.

Trust: kernel.  A password stands in an address; it is handed to the server, and shown nowhere.
The driver's error messages can contain a password or values of the data: it is read here
at most, and never passed on.

Definition.  An address is ``postgresql://role:password@host:port/database/table?option=value``, as
PostgreSQL has it, with a table after the database: ``visits``, which is in the schema ``public``,
or ``clinic.visits``.  Everything but host and database may be left out; the environment provides
the rest (``PGPASSWORD``, a password file, a service).  Characters with a meaning in an address are
percent-encoded, as in %2F.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Final, final
from urllib.parse import parse_qsl, quote, unquote

from discreet.engines.sources.source import quoted_name as name
from discreet.errors import UnreadableSource, WrongKind

if TYPE_CHECKING:  # an optional driver
    from adbc_driver_manager.dbapi import Connection

SCHEMES: Final = ("postgresql://", "postgres://")
_SCHEMA: Final = "public"
_LONGEST: Final = 63
_PARTS: Final = 2  # database and table, or schema and table
_HOST: Final = r"(\[[^\[\],@]*\]|[^\[\],:?#@]*)(:[0-9]*)?"
_HOSTS: Final = re.compile(f"{_HOST}(,{_HOST})*", re.ASCII)
_SECRETS: Final = {
    "oauth_client_secret",
    "password",
    "scram_client_key",
    "scram_server_key",
    "sslpassword",
}
_OPTIONS: Final = {
    "connect_timeout": "15",
    "fallback_application_name": "discreet",
    "keepalives_count": "3",
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "tcp_user_timeout": "60000",
}
"""What a connection is opened with unless the address says otherwise."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """A database on a server, and perhaps a table in it.

    >>> address_of("postgresql://ana:secret@db.example/clinic/visits")
    Address(postgresql://ana@db.example/clinic/visits)
    """

    engine: ClassVar = "postgresql"
    role: str
    password: str
    host: str
    database: str
    options: str
    schema: str = _SCHEMA
    table: str | None = None

    @property
    def server(self) -> tuple[str, str, str, str, str]:
        """What two tables share if one connection can read both."""
        return self.role, self.password, self.host, self.database, self.options

    @property
    def uri(self) -> str:
        """What a connection is opened with; it holds the password."""
        given = dict(parse_qsl(self.options, keep_blank_values=True))
        more = [f"{key}={value}" for key, value in _OPTIONS.items() if key not in given]
        options = "&".join([self.options, *more] if self.options else more)
        secret = f":{self.password}" if self.password else ""
        role = f"{self.role}{secret}@" if self.role or secret else ""
        return f"{SCHEMES[0]}{role}{self.host}/{self.database}?{options}"

    @property
    def sql(self) -> str:
        """The table, as a statement names it: always with its schema, always in quotes."""
        return f"{name(self.schema)}.{name(str(self.table))}"

    def __str__(self) -> str:
        """Show where it is, without the password and without options, which may hold one."""
        role = f"{self.role}@" if self.role else ""
        shown = f"{SCHEMES[0]}{role}{self.host}/{self.database}"
        if self.table is None:
            return shown
        schema = "" if self.schema == _SCHEMA else f"{_written(self.schema)}."
        return f"{shown}/{schema}{_written(self.table)}"

    def without_password(self) -> str:
        """Return an address of the same table, for users who provide the password elsewhere.

        >>> address_of("postgresql://ana:secret@db/clinic/visits?port=1").without_password()
        'postgresql://ana@db/clinic/visits?port=1'
        """
        kept = [
            option
            for option in self.options.split("&")
            if option and unquote(option.partition("=")[0]).lower() not in _SECRETS
        ]
        return f"{self}?{'&'.join(kept)}" if kept else str(self)

    def __repr__(self) -> str:
        """Show what ``str`` shows."""
        return f"Address({self})"

    def with_table(self, table: str) -> Address:
        """Return the address of a table, perhaps with its schema, in the same database.

        >>> address_of("postgresql://db.example/clinic").with_table("flu.visits").sql
        '"flu"."visits"'
        """
        names = [unquote(part) for part in table.split(".")]
        if len(names) > _PARTS or not all(map(_is_name, names)):
            raise _unreadable()
        schema = names[0] if len(names) == _PARTS else _SCHEMA
        return replace(self, schema=schema, table=names[-1])


def is_address(source: object) -> bool:
    """Whether something is the address of a PostgreSQL server, read or not.

    >>> is_address("postgresql://db.example/clinic/visits"), is_address("visits.parquet")
    (True, False)
    """
    return isinstance(source, Address) or (isinstance(source, str) and source.startswith(SCHEMES))


def address_of(text: str) -> Address:
    """Read an address; no part of one that cannot be read is quoted, as it may be a password.

    >>> address_of("postgresql://ana:se/cret@db.example/clinic/visits")
    Traceback (most recent call last):
    discreet.errors.WrongKind: ...
    """
    rest = text.partition("://")[2]
    slash = rest.find("/")
    place = rest if slash < 0 else rest[:slash]
    userinfo, separator, hosts = place.rpartition("@")
    path, _, options = ("" if slash < 0 else rest[slash + 1 :]).partition("?")
    if slash < 0 and "?" in hosts:
        hosts, _, options = hosts.partition("?")
    parts = path.rstrip("/").split("/")
    clear = rest.count("@") == len(separator) and not any(sign in rest for sign in "\0\n\r")
    if not clear or not _HOSTS.fullmatch(hosts) or "#" in path + options or len(parts) > _PARTS:
        raise _unreadable()
    role, _, password = userinfo.partition(":")
    address = Address(role=role, password=password, host=hosts, database=parts[0], options=options)
    return address if len(parts) == 1 else address.with_table(parts[1])


def _is_name(part: str) -> bool:
    return 0 < len(part.encode("utf-8", "replace")) <= _LONGEST and "\0" not in part


def _written(part: str) -> str:
    return quote(part, safe="").replace(".", "%2E")


def _unreadable() -> WrongKind:
    return WrongKind(
        what="the address of a PostgreSQL server cannot be read.",
        why="it says which table is opened; it is not shown here, as a password may be in it.",
        do="give 'postgresql://role@host/database/table', or '.../database/schema.table'; write "
        "other signs in a password or a name as %2F and the like.",
    )


_SETTINGS: Final = (
    "SET LOCAL client_min_messages = 'error'",  # a library may print what the server remarks
    "SET LOCAL search_path = pg_catalog, pg_temp",
    "SET LOCAL client_encoding = 'UTF8'",
    "SET LOCAL DateStyle = 'ISO'",
    "SET LOCAL TimeZone = 'UTC'",
    "SET LOCAL row_security = off",
    "SET LOCAL statement_timeout = 0",
)
"""The settings of a transaction, which override role, database and environment.

``row_security = off`` is no way around policies: if one would hide rows, the server refuses.
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
    found: Connection = dbapi.connect(address.uri, autocommit=True)
    return found


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
    return UnreadableSource(what=f"there is no connection to {address}.", why=f"{why}.", do=do)
