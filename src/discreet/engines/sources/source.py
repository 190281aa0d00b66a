"""A source: something that a connection can read as a table.

Trust: kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from duckdb import DuckDBPyConnection

from discreet.errors import UnreadableSource
from discreet.query.relations import folded

__all__ = ["Source", "Stamp", "check_names", "unreadable"]


class Stamp(Protocol):
    """What was seen of a source when it was opened."""

    @property
    def kind(self) -> str:
        """What the source is."""
        ...

    @property
    def state(self) -> str | None:
        """A digest of the state at opening; None for what nobody else can change."""
        ...

    def holds(self) -> bool:
        """Look again, and say whether the source is in the state that it was opened in."""
        ...

    @property
    def content(self) -> Callable[[], str] | None:
        """What returns a digest of everything in the source; None if that cannot be read here."""
        ...


class Source(Protocol):
    """Files, a table of a database, or a frame in memory."""

    @property
    def paths(self) -> tuple[str, ...]:
        """The files that may be read from now on."""
        ...

    @property
    def stamp(self) -> Stamp:
        """What was seen of it before anything was read."""
        ...

    def attached(self, connection: DuckDBPyConnection, alias: str) -> str:
        """Make the table known to a connection, and print what to select from."""
        ...


def unreadable(what: str, *, do: str) -> UnreadableSource:
    """Return the error for something that cannot be opened.

    >>> print(unreadable("the file is of an unknown kind.", do="Give a Parquet file."))
    UnreadableSource[E702]: the file is of an unknown kind.
      Why: a table is read only in ways that no row of it can disturb.
      Do:  Give a Parquet file.
    """
    why = "a table is read only in ways that no row of it can disturb."
    return UnreadableSource(what=what, why=why, do=do)


def check_names(names: Sequence[str], *, what: str) -> None:
    """Refuse names that a question cannot tell apart, since the case of letters does not count.

    >>> check_names(["ward", "beds"], what="columns")
    """
    if len(set(map(folded, names))) != len(names):
        raise unreadable(
            f"two of the {what} have one name, if the case of letters does not count.",
            do=f"give all {what} names of their own.",
        )
