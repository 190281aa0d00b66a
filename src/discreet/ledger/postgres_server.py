"""A PostgreSQL server as the place of a ledger: its address, and whether it is fit for one.

Trust: kernel.
"""

from __future__ import annotations

import math
import re
from typing import Any, Final, final

import psycopg
from psycopg import conninfo

from discreet.errors import LedgerUnavailable, WrongKind
from discreet.ledger.postgres_session import SETTINGS, Session, refuse_forgetful, unfit

__all__ = ["Server"]

_DEFAULT: Final = "discreet"
_NAME: Final = re.compile(r"(?!pg_|information_schema$)[a-z_][a-z0-9_]{0,62}", re.ASCII)
_OLDEST: Final = 120_000
_LONGEST: Final = 2_000_000  # seconds: the server counts milliseconds in 31 bits


@final
class Server:
    """Where a ledger lies: a database, a role, and the name of a schema in it.

    >>> Server("postgresql://ana:secret@db.example/clinic#flu", timeout=60)
    Server(#flu)
    """

    __slots__ = ("_options", "name", "timeout")

    def __init__(self, address: str, *, timeout: float) -> None:
        """Read the address; nothing is connected yet."""
        place, _, name = address.partition("#")
        self.name = name or _DEFAULT
        self.timeout = timeout
        options = _parsed(place)
        if options is None or _NAME.fullmatch(self.name) is None:
            raise WrongKind(  # without quoting it: a password may stand anywhere in it
                what="the address of a PostgreSQL server, or the name after '#', cannot be read.",
                why="it says where the record of all charges lies.",
                do="give 'postgresql://role@host/database#name', where the name has up to 63 small "
                "letters, digits or '_'; write other signs in a password as %23 and the like.",
            )
        patience = str(max(2, math.ceil(min(timeout, _LONGEST))))
        self._options: dict[str, Any] = {
            "application_name": "discreet",
            "connect_timeout": patience,
            "keepalives_idle": "30",
            "tcp_user_timeout": f"{patience}000",
            "target_session_attrs": "read-write",
            **options,
            "client_encoding": "UTF8",
        }

    def __repr__(self) -> str:
        """Show the name alone; the rest of an address may hold a password."""
        return f"Server(#{self.name})"

    def connect(self) -> Session:
        """Begin a session on a server that keeps what it has committed."""
        try:
            connection = psycopg.connect(autocommit=True, prepare_threshold=None, **self._options)
        except psycopg.Error:
            connection = None
        if connection is None:
            raise LedgerUnavailable(
                what="there is no connection to the PostgreSQL server.",
                why="nothing is charged or answered without the record.",
                do="check the address, the role and its password, and that the server runs and "
                "accepts changes; psql, with the same address up to '#', says more.",
            )
        session = Session(connection, name=self.name, timeout=self.timeout)
        try:
            _refuse_unfit(connection.info.server_version, session)
        except BaseException:
            session.close()
            raise
        return session


def _parsed(place: str) -> dict[str, Any] | None:
    try:
        return conninfo.conninfo_to_dict(place)
    except (psycopg.Error, UnicodeError):
        return None


def _refuse_unfit(version: int, session: Session) -> None:
    if version < _OLDEST:
        raise unfit("it is older than version 12")
    if session.ask("SELECT current_setting('server_encoding')") != [("UTF8",)]:
        raise unfit("its database is not encoded in UTF8, and cannot hold every key")
    refuse_forgetful(session.ask(SETTINGS))
