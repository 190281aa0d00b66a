"""A source: something that a connection can read as a table.

Trust: kernel.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from duckdb import DuckDBPyConnection

from discreet.errors import UnreadableSource
from discreet.query.relations import folded

if TYPE_CHECKING:  # takes its time, and few sources need it
    import pyarrow as pa


Places = frozenset[tuple[object, ...]]
"""Files by device and inode, or by whatever identifies where rows are read."""


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

    @property
    def places(self) -> Places:
        """What the source is read from; none for a copy in memory."""
        ...

    def is_unchanged(self) -> bool:
        """Look again, and say whether the source is in the state that it was opened in."""
        ...

    @property
    def content(self) -> Callable[[], str] | None:
        """What returns a digest of everything in the source; None if that cannot be read here."""
        ...


class TableSource(ABC):
    """Files, a table of a database, or a frame in memory."""

    __slots__ = ()

    kind: str
    """What kind of source it is."""
    stamp: Stamp
    """What was seen of it before anything was read."""
    types: Mapping[str, str] = MappingProxyType({})
    """What the source itself calls the types of its columns, if DuckDB does not tell."""
    paths: tuple[str, ...] = ()
    """The files that a connection may open later; none if it holds all that it needs."""

    @abstractmethod
    def attach(self, connection: DuckDBPyConnection, alias: str) -> str:
        """Make the table known to a connection, and print what to select from."""


def quoted_name(identifier: str) -> str:
    """Return an identifier in quotes.

    >>> quoted_name('the "old" ward')
    '"the ""old"" ward"'
    """
    doubled = identifier.replace('"', '""')
    return f'"{doubled}"'


def quoted_text(value: str) -> str:
    """Return a string in quotes.

    >>> quoted_text("it's")
    "'it''s'"
    """
    doubled = value.replace("'", "''")
    return f"'{doubled}'"


def unreadable(what: str, *, do: str) -> UnreadableSource:
    """Return the error for something that cannot be opened.

    >>> print(unreadable("the file is of an unknown kind.", do="Give a Parquet file."))
    UnreadableSource[E702]: the file is of an unknown kind.
      Why: a table is read only in ways that no row of it can disturb.
      Do:  Give a Parquet file.
    """
    why = "a table is read only in ways that no row of it can disturb."
    return UnreadableSource(what=what, why=why, do=do)


def type_name(kind: pa.DataType) -> str:
    """Return what Arrow calls a type; how it numbers repeated values depends on their count.

    >>> import pyarrow as pa
    >>> type_name(pa.dictionary(pa.int8(), pa.string())), type_name(pa.float32())
    ('dictionary of string', 'float')
    """
    values = getattr(kind, "value_type", None)
    return f"dictionary of {values}" if str(kind).startswith("dictionary") else str(kind)


def check_names(names: Sequence[str], *, what: str) -> None:
    """Refuse names that a question cannot distinguish, since the case of letters does not count.

    >>> check_names(["ward", "beds"], what="columns")
    """
    if len(set(map(folded, names))) != len(names):
        raise unreadable(
            f"two of the {what} have one name, if the case of letters does not count.",
            do=f"give all {what} names of their own.",
        )
