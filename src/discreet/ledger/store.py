"""Stores: where the rows of a ledger lie.

Trust: kernel.  A store that loses what it called durable gives spent privacy back.

Definition.  A store keeps rows, which are only ever appended, and one checkpoint that can be
derived from them.  One writer at a time: inside ``exclusive`` nobody else appends, what it appends
is durable once it ends normally, and none of it is there if it ends with an error that says so.
An error while it ends may leave either; the rows say which.
Whatever goes wrong is one of ``NotALedger``, ``NewerFormat``, ``DamagedLedger`` and
``LedgerUnavailable``; no text of a driver, which could hold stored values, is passed on.
A store is used by one thread at a time, and by the process that opened it.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from discreet.errors import LedgerUnavailable, WrongKind
from discreet.ledger.addresses import is_server
from discreet.ledger.entry import Row
from discreet.ledger.sqlite import SQLiteStore

__all__ = ["Address", "Store", "settled", "store_for"]

Address = str | os.PathLike[str]
"""A path; or ``postgresql://...`` or ``host=... dbname=...``, with a schema after ``#``."""


class Store(Protocol):
    """Rows of one ledger, kept for good."""

    def create(self, rows: Iterable[Row]) -> bool:
        """Make a store that holds its first rows; say whether there was nothing yet.

        It is there with all of these rows, or not at all.  What is there already is left alone,
        and where something is left of a store that is gone, DamagedLedger is raised.
        """
        ...

    def open(self) -> None:
        """Connect to a store that is there; raise NotALedger where there is none."""
        ...

    def exclusive(self) -> AbstractContextManager[None]:
        """Be the only writer until the block ends; then everything appended is durable.

        If the block raises, nothing that it appended stays.  Others are waited for; a store may
        give up after the time that it was made with, and raise LedgerUnavailable.
        """
        ...

    def rows(self, after: int, *, answers: bool = False) -> Iterator[Row]:
        """Return the rows after a number, in order; with the answers of releases if asked.

        It may be read slowly, and left before its end; outside ``exclusive`` too.
        """
        ...

    def rows_of(self, keys: Collection[str]) -> list[Row]:
        """Return all charges, starts and releases of some keys, with answers, in order."""
        ...

    def answered(self, question: str) -> Row | None:
        """Return the first release, with its answer, whose key was charged for a question.

        An empty question is none, and has no answer.
        """
        ...

    def append(self, rows: Sequence[Row]) -> None:
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


def settled(address: object) -> str:
    """Return an address that means the same from now on; refuse what is none.

    A path depends on the working directory and on links; what it leads to now is the address.
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


def store_for(address: object, *, timeout: float) -> Store:
    """Return the store of an address, not yet opened.

    Args:
        address: a path, or the address of a PostgreSQL server.
        timeout: how many seconds to wait for other writers.
    """
    place = settled(address)
    return _server(place, timeout) if is_server(place) else SQLiteStore(place, timeout=timeout)


def _server(address: str, timeout: float) -> Store:
    try:
        from discreet.ledger.postgres import PostgresStore  # noqa: PLC0415  an optional engine
    except ImportError:
        raise LedgerUnavailable(
            what="the address is that of a PostgreSQL server, and its driver is not installed.",
            why="without the driver the ledger can neither be read nor written.",
            do="install discreet with its extra: pip install 'discreet[postgres]'.",
        ) from None
    return PostgresStore(address, timeout=timeout)
