"""Stores: where the rows of a ledger are kept, and the addresses that lead there.

Trust: kernel.  A store that loses what it called durable gives spent privacy back; an address
mistaken for a file name makes a second ledger.

Definition.  A store keeps rows, which are only appended, and one checkpoint that can be derived
from them.  It has one writer at a time: inside ``exclusive`` nobody else appends, what it appends
is durable once it ends normally, and none of it stays if it ends with an error that says so.  An
error while it ends may leave either; the rows say which.
Every failure is one of ``NotALedger``, ``NewerFormat``, ``DamagedLedger`` and
``LedgerUnavailable``; no text of a driver, which could hold stored values, is passed on.
A store is used by one thread at a time, and by the process that opened it.
An address is a path, or a PostgreSQL server in one of the two forms of libpq.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final, Protocol

from discreet.errors import LedgerUnavailable, WrongKind
from discreet.ledger.entries import EntryRow
from discreet.ledger.sqlite import SQLiteStore

_SCHEMES: Final = ("postgresql://", "postgres://")
_KEYWORDS: Final = (
    "application_name|channel_binding|client_encoding|connect_timeout|dbname|fallback_application_"
    "name|gssencmode|host|hostaddr|keepalives[a-z_]*|krbsrvname|load_balance_hosts|options|passfile|"
    "password|port|replication|require_auth|service|ssl[a-z_]*|target_session_attrs|"
    "tcp_user_timeout|user"
)
_KEY_VALUE: Final = re.compile(rf"\s*(?:{_KEYWORDS})\s*=", re.ASCII)


def is_server(address: object) -> bool:
    """Whether an address leads to a PostgreSQL server, and is no path.

    >>> is_server("postgresql://db/clinic#flu"), is_server("host=db dbname=clinic#flu")
    (True, True)
    >>> is_server("study.ledger"), is_server("a=b.ledger")
    (False, False)
    """
    return isinstance(address, str) and (
        address.startswith(_SCHEMES) or _KEY_VALUE.match(address) is not None
    )


LedgerAddress = str | os.PathLike[str]
"""A path; or ``postgresql://...`` or ``host=... dbname=...``, with a schema after ``#``."""


class LedgerStore(Protocol):
    """Rows of one ledger, kept for good."""

    def create(self, rows: Iterable[EntryRow]) -> bool:
        """Make a store with its first rows; return whether there was nothing yet.

        It exists with all of these rows, or not at all.  An existing store is left alone, and what
        is left of one that is gone raises DamagedLedger.
        """
        ...

    def open(self) -> None:
        """Connect to an existing store; raise NotALedger where there is none."""
        ...

    def exclusive(self) -> AbstractContextManager[None]:
        """Be the only writer until the block ends; then everything appended is durable.

        If the block raises, nothing that it appended stays.  It waits for other writers; a store
        may give up after its timeout and raise LedgerUnavailable.
        """
        ...

    def rows(self, after: int, *, answers: bool = False) -> Iterator[EntryRow]:
        """Return the rows after a number, in order; with the answers of releases if asked.

        It may be read slowly, or only in part, also outside ``exclusive``.
        """
        ...

    def rows_of(self, keys: Collection[str]) -> list[EntryRow]:
        """Return all charges, starts and releases of some keys, with answers, in order."""
        ...

    def first_answer(self, question: str) -> EntryRow | None:
        """Return the first release, with its answer, whose key was charged for a question.

        An empty question is none, and has no answer.
        """
        ...

    def append(self, rows: Sequence[EntryRow]) -> None:
        """Add rows at the end; only inside ``exclusive``."""
        ...

    def checkpoint(self) -> tuple[int, str] | None:
        """Return the last kept state and the number of its entry, if there is one."""
        ...

    def keep_checkpoint(self, seq: int, state: str) -> None:
        """Replace the kept state; only inside ``exclusive``."""
        ...

    def close(self) -> None:
        """Let go of everything; closing twice does nothing."""
        ...


def resolve_address(address: object) -> str:
    """Return an address that means the same from now on; refuse anything else.

    A path depends on the working directory and on links, so it is resolved now.
    """
    if isinstance(address, str) and is_server(address):
        return address
    path = os.fspath(address) if isinstance(address, str | os.PathLike) else None
    if not isinstance(path, str) or not path or "\0" in path:
        raise WrongKind(
            what=f"the address of a ledger is a {type(address).__name__}, empty, or no path.",
            why="it says where the record of all charges lies.",
            do="give a path such as 'study.ledger', or 'postgresql://host/database#name'.",
        )
    return str(Path(path).resolve())


def store_for(address: object, *, timeout: float) -> LedgerStore:
    """Return the unopened store of an address; it waits ``timeout`` seconds for other writers."""
    place = resolve_address(address)
    return _server(place, timeout) if is_server(place) else SQLiteStore(place, timeout=timeout)


def _server(address: str, timeout: float) -> LedgerStore:
    try:
        from discreet.ledger.postgres import PostgresStore  # noqa: PLC0415  an optional engine
    except ImportError:
        raise LedgerUnavailable(
            what="the address is that of a PostgreSQL server, and its driver is not installed.",
            why="without the driver the ledger can neither be read nor written.",
            do="install discreet with its extra: pip install 'discreet[postgres]'.",
        ) from None
    return PostgresStore(address, timeout=timeout)
