"""Public tables: collected once, and sent to every task.

Trust: kernel.  Only tables that the owner calls public are collected whole.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Final, final

import pyarrow as pa

from discreet.engines.backends import reason
from discreet.engines.connection import Connection
from discreet.engines.engine import Engine, Performance
from discreet.engines.hash_order import HashOrder
from discreet.engines.sources.source import unreadable
from discreet.engines.spark.data_frames import SparkSource
from discreet.engines.spark.workers import RunJob
from discreet.errors import UnreadableSource
from discreet.query.relations import Scan
from discreet.requests.engine_request import EngineRequest
from discreet.requests.raw_totals import RawTotals

MOST_ROWS: Final = 2**22
MOST_BYTES: Final = 2**26
"""The most rows of a public table, and the most bytes of the columns that a question reads."""

_ONE: Final = Performance(threads=1)


@final
class CollectedTables:
    """Public tables of Spark, and others from anywhere, in an engine of their own."""

    __slots__ = ("_engine", "_local", "_open_engine", "_reader", "_run_job", "_sources", "_tables")

    def __init__(
        self,
        sources: Mapping[str, SparkSource],
        local: Mapping[str, object],
        run_job: RunJob,
        open_engine: Callable[[Mapping[str, object], Performance], Engine],
    ) -> None:
        """Take the tables of Spark, others, who runs jobs, and what opens tables in memory."""
        self._run_job = run_job
        self._open_engine = open_engine
        self._sources = dict(sources)
        self._local = dict(local)
        self._tables: dict[str, object] | None = None
        self._engine: Engine | None = None
        self._reader: Connection | None = None

    def run(self, request: EngineRequest, *, order: HashOrder) -> RawTotals:
        """Compute a question about public tables alone."""
        if self._engine is None:
            self._engine = self._open_engine(self._opened(), _ONE)
        return self._engine.run(request, order=order)

    def read(self, scan: Scan) -> pa.Table:
        """Return some columns of a table, as values of the types that they are declared as."""
        if self._reader is None:
            self._reader = Connection(self._opened(), _ONE)
        table = self._reader.fetch(self._reader.scan(scan))
        if table.nbytes > MOST_BYTES:
            raise _too_large(scan.table)
        return table

    def close(self) -> None:
        """Release the tables."""
        for opened in (self._engine, self._reader):
            if opened is not None:
                opened.close()

    def _opened(self) -> dict[str, object]:
        if self._tables is None:
            collected = {
                name: _collected(name, source, self._run_job)
                for name, source in self._sources.items()
            }
            self._tables = {**self._local, **collected}
        return self._tables


def _collected(table: str, source: SparkSource, run_job: RunJob) -> pa.Table:
    """Collect a table, in which columns that cannot be named are NULL."""
    places = [place for place, native in enumerate(source.natives.values()) if native is not None]
    collected: pa.Table | None = None
    with contextlib.suppress(Exception):  # replaced below, as for any other table
        collected = run_job(source.selected(places).limit(MOST_ROWS + 1).toArrow)
    if collected is None:
        raise unreadable(
            f"the public table {table} cannot be collected.", do="see whether Spark can compute it."
        )
    if collected.num_rows > MOST_ROWS:
        raise _too_large(table)
    arrays = dict(zip(places, collected.columns, strict=True))
    hidden = pa.nulls(collected.num_rows, pa.binary())
    columns = {name: arrays.get(place, hidden) for place, name in enumerate(source.natives)}
    return pa.table(columns)


def _too_large(table: str) -> UnreadableSource:
    return UnreadableSource(
        what=f"the public table {table} is too large.",
        why=reason("public tables of more than 64 MiB", "Spark"),
        do=f"give one with at most {MOST_ROWS} rows, and {MOST_BYTES // 2**20} MiB in the columns "
        "that a question reads.",
    )
