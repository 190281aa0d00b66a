"""What runs in a task: DuckDB over the rows of some parts, and nothing else.

Trust: kernel.  This file is sent to the workers of Spark as it is, so that they need no more than
pyarrow and DuckDB; it may import nothing of ours that is not sent as well.

Statements and public tables come along.  Whatever fails says one sentence: Spark shows the errors
of tasks, and keeps them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypedDict

import duckdb
import pyarrow as pa
from pyarrow import compute

from discreet.engines.spilling import SpillFolder

PART = "part"
ROWS = "sent rows"


class Job(TypedDict):
    """What a task is to do."""

    version: str
    """Of DuckDB: another one might order hashes otherwise."""
    settings: dict[str, Any]
    salt: int
    """Of the order of hashes: statements read it from a variable."""
    tables: dict[str, bytes]
    """Public tables as Arrow streams, by the names that statements have for them."""
    views: dict[str, str]
    """How to select the rows of each private table, by the name that statements have for it."""
    sums: str
    """A statement: the totals of groups."""
    into: str
    """The table in which these are kept."""
    added: str
    """A statement: the rows of all groups, from this table."""
    others: list[str]
    """Statements: the rows of other measures."""
    schema: pa.Schema
    apart: bool
    """Whether parts are computed one by one: a linked row may be in several of them."""
    seen: int
    """The kind of rows that name the parts that were seen."""
    rows: int
    """How many rows are looked at together, where each is a unit."""


def by_unit(batches: Iterable[pa.RecordBatch], job: Job) -> Iterator[pa.RecordBatch]:
    """Answer from all rows of the units of some parts, and name these parts."""
    return quiet(_by_unit(batches, job))


def by_row(batches: Iterable[pa.RecordBatch], job: Job) -> Iterator[pa.RecordBatch]:
    """Answer from rows that are units each, some at a time."""
    return quiet(_answered(_chunks(batches, job["rows"]), job))


def with_values(
    batches: Iterable[pa.RecordBatch], job: Job, statement: str, form: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """Add columns to rows, as a statement says."""
    return quiet(_with_values(batches, job, statement, form))


def duckdb_version(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Report the version of DuckDB."""
    for batch in batches:
        if batch.num_rows:
            yield pa.record_batch([pa.array([duckdb.__version__])], names=["version"])


def quiet(rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Give rows; whatever fails says one sentence."""
    while True:
        batch: pa.RecordBatch | None = None
        try:
            batch = next(rows)
        except StopIteration:
            return
        except Exception:  # noqa: BLE001, S110 (its text may quote the data; replaced below)
            pass
        if batch is None:  # raised here, where the other error is out of sight
            message = "a task could not compute its part of an answer"
            raise RuntimeError(message)
        yield batch


def _by_unit(batches: Iterable[pa.RecordBatch], job: Job) -> Iterator[pa.RecordBatch]:
    rows = [batch for batch in batches if batch.num_rows]
    if rows:
        table = pa.Table.from_batches(rows)
        rows.clear()
        yield from _seen(table.column(PART), job)
        yield from _answered(_parts(table) if job["apart"] else iter([table]), job)


def _parts(table: pa.Table) -> Iterator[pa.Table]:
    """Give the rows of each part by themselves."""
    parts = table.column(PART)
    for part in parts.unique():
        yield table.filter(compute.equal(parts, part))


def _with_values(
    batches: Iterable[pa.RecordBatch], job: Job, statement: str, form: pa.Schema
) -> Iterator[pa.RecordBatch]:
    with _connection(job) as connection:
        for batch in batches:
            connection.register(ROWS, pa.Table.from_batches([batch]))
            yield from connection.sql(statement).to_arrow_table().cast(form).to_batches()


def _chunks(batches: Iterable[pa.RecordBatch], size: int) -> Iterator[pa.Table]:
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(part.num_rows for part in waiting) >= size:
            yield pa.Table.from_batches(waiting)
            waiting = []
    if waiting:
        yield pa.Table.from_batches(waiting)


def _seen(parts: pa.ChunkedArray, job: Job) -> Iterator[pa.RecordBatch]:
    """Give one row for each part that is here."""
    known = parts.unique().cast(pa.int64())
    size = len(known)
    filled = {
        "kind": pa.array([job["seen"]] * size, pa.int32()),
        "leaf": known,
        "units": pa.array([1] * size, pa.int64()),
    }
    zero = pa.array([0] * size, pa.int64())
    columns = []
    for field in job["schema"]:
        empty = zero if field.name.startswith("t") else pa.nulls(size, field.type)
        columns.append(filled.get(field.name, empty))
    yield from pa.table(columns, schema=job["schema"]).to_batches()


def _answered(chunks: Iterator[pa.Table], job: Job) -> Iterator[pa.RecordBatch]:
    """Run all statements over each chunk, and add up what the chunks give."""
    with _connection(job) as connection:
        some = False
        for table in chunks:
            connection.register(ROWS, table)
            for alias, rows in job["views"].items():
                connection.execute(f"CREATE OR REPLACE TEMP VIEW {alias} AS {rows}")
            before = f"INSERT INTO {job['into']}" if some else f"CREATE TABLE {job['into']} AS"
            connection.execute(f"{before} {job['sums']}")
            some = True
            for statement in job["others"]:
                yield from _found(connection, statement, job)
        if some:
            yield from _found(connection, job["added"], job)


def _found(
    connection: duckdb.DuckDBPyConnection, statement: str, job: Job
) -> Iterator[pa.RecordBatch]:
    table = connection.sql(statement).to_arrow_table()
    yield from table.cast(job["schema"]).to_batches()


@contextmanager
def _connection(job: Job) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a database in memory that can read nothing but what it is given."""
    if duckdb.__version__ != job["version"]:
        message = "another version of DuckDB"
        raise RuntimeError(message)
    folder = SpillFolder(_local())
    try:
        settings = {**job["settings"], "temp_directory": folder.path}
        with duckdb.connect(config=settings) as connection:
            connection.execute("SET enable_progress_bar = false")
            connection.execute("SET enable_external_access = false")
            connection.execute("SET lock_configuration = true")
            connection.execute(f"SET VARIABLE salt = {job['salt']}::BIGINT")
            for alias, stream in job["tables"].items():
                connection.register(alias.strip('"'), pa.ipc.open_stream(stream).read_all())
            yield connection
    finally:
        folder.remove()


def _local() -> str | None:
    """Return a folder that Spark has for what does not fit in memory, if it says which."""
    folders = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")
    return next((folder for folder in folders if folder and os.access(folder, os.W_OK)), None)
