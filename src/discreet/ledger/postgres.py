"""A ledger on a PostgreSQL server: many hosts, one record.

Trust: kernel (T4).  Messages of the driver can hold stored values or a password: they are replaced
by errors of this package and never passed on.

``entry`` holds the rows; the server refuses to change, delete or truncate them, and a second charge
or release of a key.  ``turn`` is empty: anyone who has locked it is the one writer.  (A lock on
``entry`` would have to wait for the server's own upkeep of that table.)  A role that uses a ledger
needs SELECT on ``meta``, SELECT and INSERT on ``entry``, UPDATE on ``turn``.

Theorem (key ``postgres-durable``).  What a reader sees is on the server's disk.
    Proof.  Writers commit with ``synchronous_commit=on``.  The server then shows a transaction to
    others only after its log has been synced, and shows no part of it otherwise; servers that do
    not sync, or may tear pages, are refused.
There is one writer at a time: it locks the table ``turn`` before it reads what to append to; those
who wait are queued in order of arrival.  A session that ends in any way gives the turn back and
leaves nothing behind, unless its commit was under way; anyone who has the turn next sees which.  A
session lost while idle is begun again silently; one lost in a transaction is an error.
Assumes: a disk that keeps what it has synced and, if a standby may take over, that it is one of
``synchronous_standby_names``: what a standby has not received is lost with the server.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, ClassVar, Final, final

import psycopg
from psycopg import conninfo, sql

from discreet.errors import DamagedLedger, LedgerError, LedgerUnavailable, NotALedger, WrongKind
from discreet.ledger.entries import EntryRow
from discreet.ledger.failures import (
    RETRY,
    absent_ledger_error,
    closed_ledger_error,
    newer_version_error,
    unavailable_error,
)
from discreet.ledger.table import EntryTable

_APPLICATION: Final = "discreet ledger"
_FORMAT: Final = 1
_NAMES: Final = ("meta", "entry", "turn", "append_only")
_DEFAULT: Final = "discreet"
_SCHEMA: Final = re.compile(r"(?!pg_|information_schema$)[a-z_][a-z0-9_]{0,62}", re.ASCII)
_LONGEST: Final = 2_000_000  # seconds: the server counts milliseconds in 31 bits
_LEASE: Final = 60

# Text is compared byte by byte ("C"): the order of a language may change with the server's system.
_TABLES: Final = """
CREATE TABLE {meta} (application text NOT NULL, format integer NOT NULL);
CREATE TABLE {entry} (
    seq bigint PRIMARY KEY,
    kind text COLLATE "C" NOT NULL,
    key text COLLATE "C",
    question text COLLATE "C",
    line text COLLATE "C" NOT NULL,
    head text COLLATE "C" NOT NULL UNIQUE,
    answer bytea,
    CHECK ((answer IS NOT NULL) = (kind = 'release'))
);
CREATE UNIQUE INDEX one_charge ON {entry} (key) WHERE kind = 'charge';
CREATE UNIQUE INDEX one_release ON {entry} (key) WHERE kind = 'release';
CREATE INDEX of_key ON {entry} (key) WHERE key IS NOT NULL;
CREATE INDEX asked ON {entry} (question) WHERE kind = 'charge' AND question <> '';
CREATE TABLE {turn} (nobody boolean CHECK (false));
CREATE FUNCTION {append_only}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'entries are only ever appended' USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {entry}
    FOR EACH STATEMENT EXECUTE FUNCTION {append_only}();
"""
_BEGIN: Final = """
BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;
SET LOCAL lock_timeout = {wait};
SET LOCAL idle_in_transaction_session_timeout = {lease};
SET LOCAL statement_timeout = 0;
SET LOCAL synchronous_commit = on;
"""
_ALONE: Final = "SELECT pg_advisory_xact_lock(hashtextextended('discreet ledger {schema}', 0))"
_TURN: Final = "LOCK TABLE {turn} IN SHARE ROW EXCLUSIVE MODE"
_DURABLE: Final = (
    "SELECT current_setting('fsync'), current_setting('full_page_writes'), "
    "current_setting('server_encoding')"
)

_LOST: Final = ("FATAL", "PANIC")
_DAMAGE: Final = {"23", "3F", "42", "XX"}  # constraints and guards, parts missing, corruption
_REASONS: Final = {
    "25006": ("the server accepts no changes; it may be a standby.", RETRY),
    "42501": (
        "the role lacks a right to the schema of the ledger, or to one of its tables.",
        "grant it SELECT on meta, SELECT and INSERT on entry, and UPDATE on turn.",
    ),
    "53100": ("the disk of the server is full.", f"make room on it, then {RETRY}"),
    "53300": ("the server has no connection left.", RETRY),
    "55P03": ("others kept the ledger for longer than the timeout.", RETRY),
}


@final
class PostgresStore(EntryTable):
    """The rows of a ledger in a schema of a PostgreSQL database.

    In the text of a statement, names in braces stand for the tables and functions of the ledger.

    >>> PostgresStore("postgresql://ana:secret@db.example/clinic#flu", timeout=60)
    PostgresStore(#flu)
    """

    __slots__ = ("_connection", "_inside", "_lost", "_names", "_options", "_schema")

    _EACH: ClassVar[str] = "SELECT json_array_elements_text(?::json)"

    def __init__(self, address: str, *, timeout: float) -> None:
        """Take an address, with the name of the schema after ``#``; nothing is connected yet."""
        place, _, name = address.partition("#")
        self._schema = name or _DEFAULT
        options = None
        with suppress(psycopg.Error, UnicodeError):
            options = conninfo.conninfo_to_dict(place)
        if options is None or _SCHEMA.fullmatch(self._schema) is None:
            raise WrongKind(  # without quoting it: a password may stand anywhere in it
                what="the address of a PostgreSQL server, or the name after '#', cannot be read.",
                why="it says where the record of all charges lies.",
                do="give 'postgresql://role@host/database#name', where the name has up to 63 small "
                "letters, digits or '_'; write other signs in a password as %23 and the like.",
            )
        seconds = min(timeout, _LONGEST)
        patience = max(2, math.ceil(seconds))
        self._options: dict[str, Any] = {
            "application_name": "discreet",
            "connect_timeout": str(patience),
            "keepalives_idle": "30",
            "tcp_user_timeout": f"{patience}000",
            "target_session_attrs": "read-write",
            **options,
            "client_encoding": "UTF8",
        }
        wait = max(1, math.ceil(seconds * 1000))
        self._names: dict[str, sql.Composable] = {
            **{part: sql.Identifier(self._schema, part) for part in _NAMES},
            "schema": sql.Identifier(self._schema),
            "wait": sql.Literal(wait),
            "lease": sql.Literal(max(wait, 1000 * _LEASE)),
        }
        self._connection: psycopg.Connection[Any] | None = None
        self._inside = self._lost = False

    def __repr__(self) -> str:
        """Show the name alone; the rest of an address may hold a password."""
        return f"PostgresStore(#{self._schema})"

    # --- opening ------------------------------------------------------------------------------

    def create(self, rows: Iterable[EntryRow]) -> bool:
        """Make the tables with their first rows, in one transaction, unless they exist."""
        self._connect()
        try:
            if self._has_tables():
                return False
            with self._transaction(_ALONE):
                new = not self._has_tables()
                if new:
                    self._make(rows)
            return new
        finally:
            self.close()

    def _make(self, rows: Iterable[EntryRow]) -> None:
        if not self._ask("SELECT 1 FROM pg_namespace WHERE nspname = ?", self._schema):
            self._ask("CREATE SCHEMA {schema}")
        self._ask(_TABLES)
        self._ask("INSERT INTO {meta} VALUES (?, ?)", _APPLICATION, _FORMAT)
        self.append(rows)

    def open(self) -> None:
        """Connect to existing tables."""
        self.close()
        self._connect()
        if not self._has_tables():
            self.close()
            raise absent_ledger_error()

    def _connect(self) -> None:
        """Begin a session on a server that keeps what it has committed."""
        connection = None
        with suppress(psycopg.Error):
            connection = psycopg.connect(autocommit=True, prepare_threshold=None, **self._options)
        if connection is None:
            raise unavailable_error(
                "there is no connection to the PostgreSQL server.",
                "check the address, the role and its password, and that the server runs and "
                "accepts changes; psql, with the same address up to '#', says more.",
            )
        self._connection, self._lost = connection, False
        try:
            _check_durable(self._ask(_DURABLE))
        except BaseException:
            self.close()
            raise

    def _has_tables(self) -> bool:
        """Return whether there is a ledger; refuse other things in its place and later formats."""
        found = self._ask(
            "SELECT c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            " WHERE n.nspname = ? AND c.relkind IN ('r', 'p', 'v', 'm', 'f')",
            self._schema,
        )
        tables = {name for (name,) in found}
        if not tables:
            return False
        marks = []
        if "meta" in tables:
            with suppress(DamagedLedger):  # a table with other columns
                marks = self._ask("SELECT application, format FROM {meta}")
        match marks:
            case [(application, int(version))] if application == _APPLICATION:
                if version != _FORMAT:
                    raise newer_version_error(version, _FORMAT)
                return True
        raise NotALedger(
            what="the schema holds tables that are not those of a ledger.",
            why="a ledger is never written over something else.",
            do="give another name after '#' in the address.",
        )

    def close(self) -> None:
        """End the session; closing twice does nothing."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    # --- statements ---------------------------------------------------------------------------

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Be the only writer until the block ends; then everything appended is durable."""
        with self._transaction(_TURN):
            yield

    @contextmanager
    def _transaction(self, lock: str) -> Iterator[None]:
        """Commit what is done with a lock; a process that stops amid it loses it after a minute."""
        try:
            durable = self._ask(f"{_BEGIN}{lock};{_DURABLE}")
            self._inside = True
            _check_durable(durable)
            yield
            self._commit()
        except BaseException:
            self._roll_back()
            raise
        finally:
            self._inside = False

    def _commit(self) -> None:
        connection = self._connection
        if connection is None:
            raise closed_ledger_error()
        try:
            done = connection.execute("COMMIT").statusmessage
        except psycopg.Error as error:
            failure = self._explained(error)
            if self._lost:
                failure = unavailable_error(
                    "the connection to the server was lost amid a commit, and whether it was "
                    "recorded cannot be known before the ledger is read again."
                )
        except BaseException:
            self.close()
            raise
        else:
            if done == "COMMIT":
                return
            failure = unavailable_error("a part of it failed, and nothing of it was recorded.")
        raise failure

    def _roll_back(self) -> None:
        """Undo everything since the transaction began, if need be by ending the session."""
        if self._connection is not None:
            try:
                self._connection.execute("ROLLBACK")
            except psycopg.Error:
                self.close()
            except BaseException:
                self.close()
                raise

    def _ask(self, text: str, *values: object) -> list[Any]:
        """Run a statement, in a new session if this one was lost while it was idle."""
        if self._connection is None:
            raise closed_ledger_error()
        try:
            return self._run(text, values)
        except LedgerUnavailable:
            if self._inside or not self._lost:
                raise
        self.open()
        return self._run(text, values)

    def _run(self, text: str, values: Sequence[object]) -> list[Any]:
        connection = self._connection
        if connection is None:
            raise closed_ledger_error()
        parts = text.replace("@entry", "{entry}").replace("?", "%s")
        statement = sql.SQL(parts).format(**self._names)
        try:
            cursor = connection.execute(statement, values or None)
            while cursor.nextset():
                pass
            return [] if cursor.description is None else cursor.fetchall()
        except psycopg.Error as error:
            failure = self._explained(error)
        raise failure

    def _explained(self, error: psycopg.Error) -> LedgerError:
        """Translate an error of the driver into words that hold nothing of what is stored."""
        lost = self._connection is None or self._connection.closed
        if lost or error.diag.severity_nonlocalized in _LOST:
            self.close()
            self._lost = True
            return unavailable_error("the connection to the server was lost.")
        state = error.sqlstate or "unknown"
        if state in _REASONS:
            return unavailable_error(*_REASONS[state])
        if state[:2] in _DAMAGE:
            return DamagedLedger(
                what=f"the server found that entries do not fit its tables (SQLSTATE {state}).",
                why="what was spent can only be told from entries that form one chain.",
                do="verify the ledger, keep the database, and see the log of the server.",
            )
        return unavailable_error(f"the server refused (SQLSTATE {state}; its log says why).")


def _check_durable(settings: list[Any]) -> None:
    """Refuse a server that may lose, at a power cut, what it confirmed."""
    if settings != [("on", "on", "UTF8")]:
        raise LedgerUnavailable(
            what="this server runs with fsync or full_page_writes off, or is not encoded in UTF8.",
            why="a charge that is forgotten, or cannot be written, gives spent privacy back.",
            do="use a server with both on, and a database made with ENCODING 'UTF8'.",
        )
