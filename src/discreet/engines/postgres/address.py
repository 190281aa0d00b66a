"""Addresses of tables on a PostgreSQL server.

Trust: kernel.  A password stands in an address; it is handed to the server, and shown nowhere.

Definition.  An address is ``postgresql://role:password@host:port/database/table?option=value``, as
PostgreSQL has it, with a table after the database: ``visits``, which is in the schema ``public``,
or ``clinic.visits``.  Everything but host and database may be left out; the environment provides
the rest (``PGPASSWORD``, a password file, a service).  Characters with a meaning in an address are
percent-encoded, as in %2F.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final, final
from urllib.parse import parse_qsl, quote, unquote

from discreet.engines.sql.fragments import name
from discreet.errors import WrongKind

__all__ = ["Address", "address_of", "is_address"]

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
