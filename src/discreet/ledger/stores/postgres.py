"""A ledger on a PostgreSQL server: many hosts, one record.

Trust: kernel (T4).

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

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, Final, LiteralString, final

from discreet.errors import LedgerUnavailable
from discreet.ledger.canonical_lines import EntryRow
from discreet.ledger.stores.failures import absent_ledger_error
from discreet.ledger.stores.postgres_server import PostgresSession, Server
from discreet.ledger.stores.postgres_tables import create_tables, has_tables

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
