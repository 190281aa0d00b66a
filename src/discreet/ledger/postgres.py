"""A ledger on a PostgreSQL server: many hosts, one record.

Trust: kernel (T4).  Messages of the driver can hold stored values or a password: they are replaced
by errors of this package and never passed on.

``entry`` holds the rows.  The server itself refuses to change, delete or truncate them, a second
charge or release of a key, and a row that is not the next one or whose head does not follow; these
guards hold in replication sessions too, for every role that does not own the tables.
``turn`` is empty: whoever has locked it is the one writer.  (A lock on ``entry`` would have to wait
for the server's own upkeep of that table.)  ``checkpoint`` has at most one row, and ``meta`` one.
All of them lie in a schema of their own.  A role that uses a ledger needs SELECT on ``meta``,
SELECT and INSERT on ``entry``, SELECT, INSERT and UPDATE on ``checkpoint``, UPDATE on ``turn``.

Theorem (key ``postgres-durable``).  What a reader sees is on the server's disk.
    Proof.  Writers commit with ``synchronous_commit=on``.  The server then shows a transaction to
    others only after its log has been synced, and shows no part of it otherwise; servers that do
    not sync, or may tear pages, are refused.
There is one writer at a time: it locks the table ``turn`` before it reads what to append to, in a
mode that excludes itself, and the server queues those who wait in order of arrival.  A session that
ends in any way gives the turn back and leaves nothing behind, unless its commit was under way;
whoever has the turn next sees which.  A session lost while idle is begun again silently; one lost
in a transaction is an error.
Assumes: a disk that keeps what it has synced and, if a standby may take over, that it is one of
``synchronous_standby_names``: what a standby has not received is lost with the server.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, Final, LiteralString, final

import psycopg
from psycopg import conninfo, sql

from discreet.errors import DamagedLedger, LedgerError, LedgerUnavailable, NotALedger, WrongKind
from discreet.ledger.entries import EntryRow
from discreet.ledger.failures import absent_ledger_error, newer_version_error

_APPLICATION: Final = "discreet ledger"
_FORMAT: Final = 1
_ALONE: Final = "SELECT pg_advisory_xact_lock(hashtextextended('discreet ledger {schema}', 0))"

_COLUMNS: Final = {
    "meta": ["application text", "format integer", "single boolean"],
    "entry": [
        "seq bigint",
        "kind text",
        "key text",
        "question text",
        "line text",
        "head text",
        "answer bytea",
    ],
    "checkpoint": ["seq bigint", "state text", "single boolean"],
    "turn": ["nobody boolean"],
}
_GUARDS: Final = {
    "trigger append_only",
    "trigger in_order",
    "unique entry_pkey",
    "unique entry_head_key",
    "unique one_charge",
    "unique one_release",
    "plain table",
}

# Text is compared byte by byte ("C"): the order of a language may change with the server's system.
_TABLES: Final = """
CREATE TABLE {meta} (
    application text NOT NULL,
    format integer NOT NULL,
    single boolean PRIMARY KEY DEFAULT true CHECK (single)
);
CREATE TABLE {entry} (
    seq bigint CONSTRAINT entry_pkey PRIMARY KEY,
    kind text COLLATE "C" NOT NULL,
    key text COLLATE "C",
    question text COLLATE "C",
    line text COLLATE "C" NOT NULL,
    head text COLLATE "C" NOT NULL CONSTRAINT entry_head_key UNIQUE,
    answer bytea,
    CONSTRAINT of_release CHECK ((answer IS NOT NULL) = (kind = 'release'))
);
CREATE UNIQUE INDEX one_charge ON {entry} (key) WHERE kind = 'charge';
CREATE UNIQUE INDEX one_release ON {entry} (key) WHERE kind = 'release';
CREATE INDEX of_key ON {entry} (key) WHERE key IS NOT NULL;
CREATE INDEX asked ON {entry} (question) WHERE kind = 'charge' AND question <> '';
CREATE TABLE {checkpoint} (
    seq bigint NOT NULL,
    state text NOT NULL,
    single boolean PRIMARY KEY DEFAULT true CHECK (single)
);
CREATE TABLE {turn} (nobody boolean CHECK (false));

CREATE FUNCTION {append_only}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'entries are only ever appended' USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {entry}
    FOR EACH STATEMENT EXECUTE FUNCTION {append_only}();

CREATE FUNCTION {in_order}() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
    last_seq bigint;
    last_head text;
BEGIN
    SELECT seq, head INTO last_seq, last_head FROM {entry} ORDER BY seq DESC LIMIT 1;
    last_head := coalesce(last_head, repeat('0', 64)) || chr(10);
    IF NEW.seq <> coalesce(last_seq, 0) + 1
        OR NEW.head <> encode(sha256(convert_to(last_head || NEW.line, 'UTF8')), 'hex')
    THEN
        RAISE EXCEPTION 'an entry follows from the last one' USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER in_order BEFORE INSERT ON {entry} FOR EACH ROW EXECUTE FUNCTION {in_order}();

ALTER TABLE {entry} ENABLE ALWAYS TRIGGER append_only;
ALTER TABLE {entry} ENABLE ALWAYS TRIGGER in_order;
"""


def has_tables(session: PostgresSession) -> bool:
    """Return whether there is a ledger; refuse other things in its place and later formats."""
    tables = dict(
        session.ask(
            "SELECT c.relname::text, array(SELECT a.attname || ' ' || format_type(a.atttypid, NULL)"
            " FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped"
            " ORDER BY a.attnum) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            " WHERE n.nspname = %s AND c.relkind IN ('r', 'p', 'v', 'm', 'f')",
            session.name,
        )
    )
    if not tables:
        return False
    if tables.get("meta") != _COLUMNS["meta"]:
        raise _something_else()
    match session.ask("SELECT application, format FROM {meta}"):
        case [(application, int(version))] if application == _APPLICATION and version > 0:
            if version > _FORMAT:
                raise newer_version_error(version, _FORMAT)
        case _:
            raise _something_else()
    if any(tables.get(name) != columns for name, columns in _COLUMNS.items()):
        raise _unguarded()
    if _guards(session) != _GUARDS:
        raise _unguarded()
    return True


def create_tables(session: PostgresSession, fill: Callable[[], None]) -> bool:
    """Make the tables and fill them in one transaction; return whether there were none."""
    if has_tables(session):
        return False
    session.begin(_ALONE)
    try:
        new = not has_tables(session)
        if new:
            if not session.ask("SELECT 1 FROM pg_namespace WHERE nspname = %s", session.name):
                session.ask("CREATE SCHEMA {schema}")
            session.ask(_TABLES)
            session.ask(
                "INSERT INTO {meta} (application, format) VALUES (%s, %s)", _APPLICATION, _FORMAT
            )
            fill()
    except BaseException:
        session.roll_back()
        raise
    session.commit()
    return new


def _guards(session: PostgresSession) -> set[str]:
    """Return which guards of the entries are in force."""
    rows = session.ask(
        "SELECT 'trigger ' || tgname FROM pg_trigger WHERE tgrelid = '{entry}'::regclass"
        " AND NOT tgisinternal AND tgenabled = 'A' "
        "UNION SELECT 'unique ' || relname FROM pg_index JOIN pg_class ON oid = indexrelid"
        " WHERE indrelid = '{entry}'::regclass AND indisunique AND indisvalid "
        "UNION SELECT 'plain table' FROM pg_class WHERE oid = '{entry}'::regclass"
        " AND relkind = 'r' AND relpersistence = 'p' AND NOT relrowsecurity AND NOT relhasrules"
    )
    return {name for (name,) in rows}


def _something_else() -> NotALedger:
    return NotALedger(
        what="the schema holds tables that are not those of a ledger.",
        why="a ledger is never written over something else.",
        do="give another name after '#' in the address.",
    )


def _unguarded() -> DamagedLedger:
    return DamagedLedger(
        what="the tables of the ledger, or the guards on its entries, are not as they were made.",
        why="entries that can be changed or lost do not tell what was spent.",
        do="verify the ledger with your receipts, and restore it from an export or a backup.",
    )


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


_PAGE: Final = 500
_PAGE_OF_ANSWERS: Final = 32


@final
class PostgresStore:
    """The rows of a ledger in a schema of a PostgreSQL database.

    >>> PostgresStore("postgresql://ana:secret@db.example/clinic#flu", timeout=60)
    PostgresStore(#flu)
    """

    __slots__ = ("_inside", "_server", "_session")

    def __init__(self, address: str, *, timeout: float) -> None:
        """Take an address, with the name of the schema after ``#``; nothing is connected yet."""
        self._server = Server(address, timeout=timeout)
        self._session: PostgresSession | None = None
        self._inside = False

    def __repr__(self) -> str:
        """Show the name alone; the rest of an address may hold a password."""
        return f"PostgresStore(#{self._server.name})"

    def create(self, rows: Iterable[EntryRow]) -> bool:
        """Make the tables with their first rows, in one transaction, unless they exist."""
        session = self._server.connect()
        try:
            return create_tables(session, lambda: _insert_all(session, rows))
        finally:
            session.close()

    def open(self) -> None:
        """Connect to existing tables."""
        self.close()
        self._session = self._connected()

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Be the only writer until the block ends; then everything appended is durable."""
        session = self._begun()
        self._inside = True
        try:
            yield
        except BaseException:
            session.roll_back()
            raise
        finally:
            self._inside = False
        session.commit()

    def rows(self, after: int, *, answers: bool = False) -> Iterator[EntryRow]:
        """Return the rows after a number, in order; with the answers of releases if asked."""
        size = _PAGE_OF_ANSWERS if answers else _PAGE
        while True:
            page = self._ask(
                "SELECT seq, kind, key, question, line, head, CASE WHEN %s THEN answer END"
                " FROM {entry} WHERE seq > %s ORDER BY seq LIMIT %s",
                answers,
                after,
                size,
            )
            yield from (EntryRow(*values) for values in page)
            if len(page) < size:
                return
            after = page[-1][0]

    def rows_of(self, keys: Collection[str]) -> list[EntryRow]:
        """Return all charges, starts and releases of some keys, with answers, in order."""
        rows = self._ask(
            "SELECT seq, kind, key, question, line, head, answer FROM {entry}"
            " WHERE key = ANY (%s::text[]) AND kind IN ('charge', 'start', 'release') ORDER BY seq",
            list(keys),
        )
        return [EntryRow(*values) for values in rows]

    def first_answer(self, question: str) -> EntryRow | None:
        """Return the first release, with its answer, whose key was charged for a question."""
        rows = self._ask(
            "WITH released AS MATERIALIZED ("
            "SELECT r.seq FROM {entry} c JOIN {entry} r ON r.key = c.key AND r.kind = 'release'"
            " WHERE c.kind = 'charge' AND c.question = %s AND c.question <> '') "
            "SELECT seq, kind, key, question, line, head, answer FROM {entry}"
            " WHERE seq = (SELECT min(seq) FROM released)",
            question,
        )
        return EntryRow(*rows[0]) if rows else None

    def append(self, rows: Sequence[EntryRow]) -> None:
        """Add rows at the end; only inside ``exclusive``."""
        _insert(self._writing(), rows)

    def checkpoint(self) -> tuple[int, str] | None:
        """Return the last kept state and the number of its entry, if there is one."""
        rows = self._ask("SELECT seq, state FROM {checkpoint}")
        return (rows[0][0], rows[0][1]) if rows else None

    def keep_checkpoint(self, seq: int, state: str) -> None:
        """Replace the kept state; only inside ``exclusive``."""
        self._writing().ask(
            "INSERT INTO {checkpoint} (seq, state) VALUES (%s, %s)"
            " ON CONFLICT (single) DO UPDATE SET seq = excluded.seq, state = excluded.state",
            seq,
            state,
        )

    def close(self) -> None:
        """End the session; closing twice does nothing."""
        session, self._session = self._session, None
        if session is not None:
            session.close()

    def _begun(self) -> PostgresSession:
        """Return a session that has the turn."""
        session = self._current()
        try:
            return _with_turn(session)
        except LedgerUnavailable:
            if not session.lost:
                raise
        return _with_turn(self._current())

    def _ask(self, text: LiteralString, *values: object) -> list[tuple[Any, ...]]:
        """Ask in this session, or in a new one if this one was lost while it was idle."""
        session = self._current()
        try:
            return session.ask(text, *values)
        except LedgerUnavailable:
            if self._inside or not session.lost:
                raise
        return self._current().ask(text, *values)

    def _current(self) -> PostgresSession:
        if self._session is None:
            raise _not_open()
        if self._session.lost and not self._inside:
            self._session = self._connected()
        return self._session

    def _connected(self) -> PostgresSession:
        session = self._server.connect()
        try:
            _refuse_absent(session)
        except BaseException:
            session.close()
            raise
        return session

    def _writing(self) -> PostgresSession:
        if self._session is None or not self._inside:
            raise _not_open()
        return self._session


def _insert_all(session: PostgresSession, rows: Iterable[EntryRow]) -> None:
    waiting = iter(rows)
    while page := list(islice(waiting, _PAGE)):
        _insert(session, page)


def _insert(session: PostgresSession, rows: Sequence[EntryRow]) -> None:
    session.ask(
        "INSERT INTO {entry} SELECT * FROM unnest(%s::bigint[], %s::text[], %s::text[],"
        " %s::text[], %s::text[], %s::text[], %s::bytea[]) AS r (seq) ORDER BY seq",
        [row.seq for row in rows],
        [row.kind for row in rows],
        [row.key for row in rows],
        [row.question for row in rows],
        [row.line for row in rows],
        [row.head for row in rows],
        [row.answer for row in rows],
    )


def _refuse_absent(session: PostgresSession) -> None:
    if not has_tables(session):
        raise absent_ledger_error()


def _with_turn(session: PostgresSession) -> PostgresSession:
    session.begin("LOCK TABLE {turn} IN SHARE ROW EXCLUSIVE MODE")
    return session


def _not_open() -> LedgerUnavailable:
    return LedgerUnavailable(
        what="the store is closed, or is written to outside its turn.",
        why="only one writer at a time can tell what is left.",
        do="open the ledger again.",
    )
