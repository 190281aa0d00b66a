"""Tables in tasks: how they are read, and public ones, which are collected and sent along.

Trust: kernel.

How tasks read tables: rows that were sent to them, and public tables that came along.

 Columns that are not sent make no difference, and are read as NULL.

Public tables: collected once, and sent to every task.

 Only tables that the owner calls public are collected whole.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, final

import pyarrow as pa

from discreet.engines.backends import reason
from discreet.engines.connection import Connection, Performance
from discreet.engines.duckdb import DuckDB
from discreet.engines.hash_order import HashOrder
from discreet.engines.sources.source import unreadable
from discreet.engines.spark.data_frames import SparkSource
from discreet.engines.sql.casts import reading
from discreet.engines.sql.fragments import SQL_TYPES, literal, name
from discreet.errors import UnknownName, UnreadableSource, WrongType
from discreet.query.relations import Scan, folded
from discreet.query.types import Type
from discreet.requests.engine_request import EngineRequest
from discreet.requests.raw_totals import RawTotals

__all__ = ["MOST_BYTES", "MOST_ROWS", "CollectedTables", "TaskReader", "TaskView", "unknown_table"]


@final
@dataclass(frozen=True, slots=True)
class TaskView:
    """A table in a task: what it is called there, and by name its columns and DuckDB's types.

    ``sent`` are the columns that are there, by their folded names: what each is called, and its
    type; ``known`` are the types of all columns.
    """

    alias: str
    known: Mapping[str, str | None]
    sent: Mapping[str, str]


@final
@dataclass(frozen=True, slots=True)
class TaskReader:
    """The tables of a question, by their folded names."""

    views: Mapping[str, TaskView]

    def scan(self, scan: Scan) -> str:
        """Print how a table is read: its columns as values of our types."""
        return self._scan(scan, reading)

    def open_scan(self, scan: Scan) -> str:
        """Print how a table is read, with floats as they are, finite or not."""
        return self._scan(scan, _open_reading)

    def _scan(self, scan: Scan, read: Callable[[str, str, Type], str | None]) -> str:
        view = self.views.get(folded(scan.table))
        if view is None:
            raise unknown_table(scan.table)
        parts = []
        for column, kind in scan.columns:
            native = view.known.get(folded(column))
            own = view.sent.get(folded(column))
            sql = None if native is None else read(own or column, native, kind)
            if sql is None:
                raise WrongType(
                    what=f"the column {column} of {scan.table} is not there as {kind.value}.",
                    why="a value is read only in ways that cannot fail.",
                    do="declare the column with a type that it can be read as.",
                )
            parts.append(f"{literal(None, kind) if own is None else sql} AS {name(column)}")
        return f"SELECT {', '.join(parts) or '1 AS one'} FROM {name(view.alias)}"  # noqa: S608


def unknown_table(table: str) -> UnknownName:
    """Return the error for a table that is not there.

    >>> unknown_table("visits").code
    'E503'
    """
    return UnknownName(
        what=f"there is no table {table}.",
        why="only tables that were opened can be read.",
        do="open it first.",
    )


def _open_reading(column: str, native: str, to: Type) -> str | None:
    """Print a column like :func:`reading`, but a float as it is."""
    if to is Type.FLOAT and native in {"DOUBLE", "FLOAT"}:
        sql = name(column)
        return sql if native == "DOUBLE" else f"CAST({sql} AS {SQL_TYPES[to]})"
    return reading(column, native, to)


MOST_ROWS: Final = 2**22
MOST_BYTES: Final = 2**26
"""What a public table may have, and what all columns that a question reads may take."""

_ONE: Final = Performance(threads=1)

Watched = Callable[[Callable[[], pa.Table]], pa.Table]
"""Runs something that starts jobs."""


@final
class CollectedTables:
    """Public tables of Spark, and others from anywhere, in a DuckDB of their own."""

    __slots__ = ("_engine", "_local", "_reader", "_sources", "_tables", "_watched")

    def __init__(
        self, sources: Mapping[str, SparkSource], local: Mapping[str, object], watched: Watched
    ) -> None:
        """Take the tables of Spark, others, and who runs jobs."""
        self._watched = watched
        self._sources = dict(sources)
        self._local = dict(local)
        self._tables: dict[str, object] | None = None
        self._engine: DuckDB | None = None
        self._reader: Connection | None = None

    def run(self, lowered: EngineRequest, *, order: HashOrder) -> RawTotals:
        """Compute a question about public tables alone."""
        if self._engine is None:
            self._engine = DuckDB(self._opened(), _ONE)
        return self._engine.run(lowered, order=order)

    def read(self, scan: Scan) -> pa.Table:
        """Return some columns of a table, as values of the types that they are declared as."""
        if self._reader is None:
            self._reader = Connection(self._opened(), _ONE)
        found = self._reader.fetched(self._reader.scan(scan))
        if found.nbytes > MOST_BYTES:
            raise _too_large(scan.table)
        return found

    def close(self) -> None:
        """Let go of the tables."""
        for each in (self._engine, self._reader):
            if each is not None:
                each.close()

    def _opened(self) -> dict[str, object]:
        if self._tables is None:
            found = {
                name: _collected(name, source, self._watched)
                for name, source in self._sources.items()
            }
            self._tables = {**self._local, **found}
        return self._tables


def _collected(table: str, source: SparkSource, watched: Watched) -> pa.Table:
    """Collect a table, in which columns that cannot be named are NULL."""
    places = [at for at, native in enumerate(source.natives.values()) if native is not None]
    found: pa.Table | None = None
    with contextlib.suppress(Exception):  # replaced below, as for any other table
        found = watched(source.sent(places).limit(MOST_ROWS + 1).toArrow)
    if found is None:
        raise unreadable(
            f"the public table {table} cannot be collected.",
            do="see whether Spark can compute it.",
        )
    if found.num_rows > MOST_ROWS:
        raise _too_large(table)
    arrays = dict(zip(places, found.columns, strict=True))
    hidden = pa.nulls(found.num_rows, pa.binary())
    columns = {name: arrays.get(at, hidden) for at, name in enumerate(source.natives)}
    return pa.table(columns)


def _too_large(table: str) -> UnreadableSource:
    return UnreadableSource(
        what=f"the public table {table} is too large.",
        why=reason("public tables of more than 64 MiB", "Spark"),
        do=f"give one with at most {MOST_ROWS} rows, and {MOST_BYTES // 2**20} MiB in the columns "
        "that a question reads.",
    )
