"""A PostgreSQL server: its address, whether it is fit for a ledger, and sessions on it.

Trust: kernel.  Messages of the driver can hold stored values or a password: they are replaced by
errors of this package and never passed on.
"""

from __future__ import annotations

import math
import re
from typing import Any, Final, LiteralString, final

import psycopg
from psycopg import conninfo, sql

from discreet.errors import DamagedLedger, LedgerError, LedgerUnavailable, WrongKind

DURABILITY_SETTINGS: Final = "SELECT current_setting('fsync'), current_setting('full_page_writes')"
"""What decides whether a server keeps what it has committed."""

_PARTS: Final = ("meta", "entry", "checkpoint", "turn", "append_only", "in_order")
_LONGEST_WAIT: Final = 2**31 - 1
_LEASE: Final = 60
_LOST: Final = ("FATAL", "PANIC")
_RETRY: Final = "try again with the same key: what was recorded is found, and never paid twice."
_DAMAGE: Final = {"23", "3F", "42", "XX"}  # constraints and guards, parts missing, corruption
_RIGHTS: Final = (
    "let the owner of the schema open the ledger first, and grant the role SELECT on meta, "
    "SELECT and INSERT on entry, SELECT, INSERT and UPDATE on checkpoint, UPDATE on turn."
)
_REASONS: Final = {
    "25006": ("the server accepts no changes; it may be a standby.", _RETRY),
    "42501": (
        "the role lacks a right to the schema of the ledger, or to one of its tables.",
        _RIGHTS,
    ),
    "53100": ("the disk of the server is full.", f"make room on it, then {_RETRY}"),
    "53300": ("the server has no connection left.", _RETRY),
    "55P03": ("others kept the ledger for longer than the timeout.", _RETRY),
}


@final
class PostgresSession:
    """One connection, outside any transaction until ``begin``; only this package's errors leave it.

    In the text of a statement, names in braces stand for the tables and functions of the ledger.
    """

    __slots__ = ("_connection", "_names", "lost", "name")

    def __init__(self, connection: psycopg.Connection[Any], *, name: str, timeout: float) -> None:
        """Take a connection that commits each statement."""
        wait = min(max(1, math.ceil(timeout * 1000)), _LONGEST_WAIT)
        self._connection = connection
        self._names: dict[str, sql.Composable] = {
            **{part: sql.Identifier(name, part) for part in _PARTS},
            "schema": sql.Identifier(name),
            "wait": sql.Literal(wait),
            "lease": sql.Literal(max(wait, 1000 * _LEASE)),
        }
        self.lost = False
        self.name = name

    def ask(self, text: LiteralString, *values: object) -> list[tuple[Any, ...]]:
        """Run one statement, or several that take no values; return the rows of the last one."""
        try:
            cursor = self._connection.execute(sql.SQL(text).format(**self._names), values or None)
            while cursor.nextset():
                pass
            return [] if cursor.description is None else cursor.fetchall()
        except psycopg.Error as error:
            failure = self._explained(error)
        raise failure

    def begin(self, lock: LiteralString) -> None:
        """Begin a transaction with a lock, waiting for others no longer than the timeout.

        It may be long; but a process that stops in it loses it, after a minute or the timeout,
        whichever is longer.
        """
        try:
            settings = self.ask(
                "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;"
                "SET LOCAL lock_timeout = {wait};"
                "SET LOCAL idle_in_transaction_session_timeout = {lease};"
                "SET LOCAL statement_timeout = 0;"
                "SET LOCAL synchronous_commit = on;" + lock + ";" + DURABILITY_SETTINGS
            )
            check_durability(settings)
        except BaseException:
            self.roll_back()
            raise

    def commit(self) -> None:
        """Make everything since ``begin`` durable."""
        try:
            done = self._connection.execute("COMMIT").statusmessage
        except psycopg.Error as error:
            failure = self._explained(error)
            if self.lost:
                failure = LedgerUnavailable(
                    what="the connection to the server was lost amid a commit.",
                    why="whether it was recorded cannot be known before the ledger is read again.",
                    do=_RETRY,
                )
        except BaseException:
            self.close()
            raise
        else:
            if done == "COMMIT":
                return
            failure = _unavailable("a part of it failed, and nothing of it was recorded.")
        raise failure

    def roll_back(self) -> None:
        """Undo everything since ``begin``, if need be by ending the session."""
        try:
            self._connection.execute("ROLLBACK")
        except psycopg.Error:
            self.close()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the session; closing twice does nothing."""
        self.lost = True
        self._connection.close()

    def _explained(self, error: psycopg.Error) -> LedgerError:
        """Translate an error of the driver into words that hold nothing of what is stored."""
        if self._connection.closed or error.diag.severity_nonlocalized in _LOST:
            self.close()
            return _unavailable("the connection to the server was lost.")
        state = error.sqlstate or "unknown"
        if state in _REASONS:
            return _unavailable(*_REASONS[state])
        if state[:2] in _DAMAGE:
            return DamagedLedger(
                what=f"the server found that entries do not fit its tables (SQLSTATE {state}).",
                why="what was spent can only be told from entries that form one chain.",
                do="verify the ledger, keep the database, and see the log of the server.",
            )
        return _unavailable(f"the server refused (SQLSTATE {state}; its log says why).")


def _unavailable(what: str, do: str = _RETRY) -> LedgerUnavailable:
    return LedgerUnavailable(
        what=what, why="nothing is charged or answered without the record.", do=do
    )


def check_durability(settings: list[tuple[Any, ...]]) -> None:
    """Refuse a server that may lose, at a power cut, what it confirmed."""
    if settings != [("on", "on")]:
        raise unfit_server_error("it runs with fsync or full_page_writes off")


def unfit_server_error(reason: str) -> LedgerUnavailable:
    """Return the error for a server that may lose what it confirmed."""
    return LedgerUnavailable(
        what=f"this server cannot keep a ledger: {reason}.",
        why="a charge that is forgotten gives spent privacy back.",
        do="use a server of version 12 or later with fsync and full_page_writes on, and a "
        "database made with ENCODING 'UTF8'.",
    )


_DEFAULT: Final = "discreet"
_NAME: Final = re.compile(r"(?!pg_|information_schema$)[a-z_][a-z0-9_]{0,62}", re.ASCII)
_OLDEST: Final = 120_000
_LONGEST: Final = 2_000_000  # seconds: the server counts milliseconds in 31 bits


@final
class Server:
    """Where a ledger is: a database, a role, and the name of a schema in it.

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

    def connect(self) -> PostgresSession:
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
        session = PostgresSession(connection, name=self.name, timeout=self.timeout)
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


def _refuse_unfit(version: int, session: PostgresSession) -> None:
    if version < _OLDEST:
        raise unfit_server_error("it is older than version 12")
    if session.ask("SELECT current_setting('server_encoding')") != [("UTF8",)]:
        raise unfit_server_error("its database is not encoded in UTF8, and cannot hold every key")
    check_durability(session.ask(DURABILITY_SETTINGS))
