"""Every cell of a source is read once when it is opened, before any budget is touched.

Trust: kernel (T2).

Some formats cannot be read row by row: a page of a Parquet file is decoded as a whole, and one cell
that cannot be decoded (a text that is not UTF-8, a moment beyond the range of the reader) would
make every question fail that reads its column.  Whether a question fails would then tell an analyst
about one row.  So the columns that a question can name are read once, all of them, at opening: a
source with a cell that cannot be read is refused as a whole, and its owner is told which columns
to mend.  After that a question reads only cells that have been read before.
CSV files are checked byte by byte.  Those that are packed are unpacked once by DuckDB too, which
refuses some that Python unpacks, such as those with padding behind them.

Definition.  A Parquet file keeps, for each column of each row group, the least and the greatest
value and the number of NULLs.  These *hold* if every cell, as DuckDB reads it, is between the two
values, and as many cells are NULL.
DuckDB trusts them: it drops filters and clamps that they make superfluous, and packs keys into the
bits that they leave.  So a damaged page could undo the bounds that a price rests on.  And in sound
files no statistics reveal NaN, which DuckDB takes to be above all numbers.
If some statistics do not hold, DuckDB answers from the cells alone, which takes longer.  A file
that changes after that is refused (:mod:`discreet.engines.sources.identity`).
"""

# ruff: noqa: S608 (names and literals are quoted)

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import duckdb
from duckdb import DuckDBPyConnection

from discreet.engines.execution import run_interruptibly
from discreet.engines.sources.files import listed
from discreet.engines.sources.source import quoted_name as name
from discreet.engines.sources.source import quoted_text as text
from discreet.engines.sources.source import unreadable
from discreet.engines.sources.stored_columns import base_type
from discreet.errors import UnreadableSource

FROM_CELLS: Final = "SET disabled_optimizers = 'statistics_propagation'"
"""Makes DuckDB leave all statistics of columns alone."""
_FROM_BOTH: Final = "SET disabled_optimizers = ''"
_ENDS: Final = (
    ("stats_min", "stats_min_value", "<=", "low"),
    ("stats_max", "stats_max_value", ">=", "high"),
)


def statistics_hold(
    connection: DuckDBPyConnection, paths: Sequence[str], native: Mapping[str, str]
) -> bool:
    """Return whether the statistics of some files hold for all columns that can be named."""
    named = {column: kind for column, kind in native.items() if base_type(kind) is not None}
    connection.execute(FROM_CELLS)  # or else they would be compared with themselves
    try:
        return all(_hold(connection, path, named) for path in paths)
    finally:
        connection.execute(_FROM_BOTH)


def _hold(connection: DuckDBPyConnection, path: str, named: Mapping[str, str]) -> bool:
    file = listed(connection, [path])
    try:
        rows = connection.execute(
            "SELECT row_group_id, any_value(row_group_num_rows) "
            f"FROM parquet_metadata({file}) GROUP BY 1 ORDER BY 1"
        ).fetchall()
        sizes = [size for _, size in rows if size]
        if not sizes or not named:
            return True
        if any(size != sizes[0] for size in sizes[:-1]) or sizes[-1] > sizes[0]:
            return False  # the number of a row does not tell its group
        statement = _statement(file, sizes[0], named)
        counts = run_interruptibly(
            lambda: connection.execute(statement).fetchall(), stop=connection.interrupt
        )
    except duckdb.InterruptException:
        raise
    except duckdb.Error:  # its text may quote the data
        return False
    return counts == [(len(sizes) * len(named), 0)]


def _statement(file: str, size: int, named: Mapping[str, str]) -> str:
    """Print how many statistics there are, and how many of them do not hold."""
    cells, wrong = [], []
    for place, (column, kind) in enumerate(named.items()):
        cell = name(column)
        cells.append(
            f"min({cell}) AS low{place}, max({cell}) AS high{place}, "
            f"count(*) - count({cell}) AS nulls{place}"
        )
        held = [f"coalesce(stats_null_count = nulls{place}, true)"]
        for *stored, compared, end in _ENDS:
            held += [
                f"({value} IS NULL OR {end}{place} IS NULL OR "
                f"coalesce(TRY_CAST({value} AS {kind}) {compared} {end}{place}, false))"
                for value in stored
            ]
        wrong.append(f"(path_in_schema = {text(column)} AND NOT ({' AND '.join(held)}))")
    columns = ", ".join(text(column) for column in named)
    return (
        f"SELECT count(*), count(*) FILTER (WHERE {' OR '.join(wrong)}) "
        f"FROM (SELECT file_row_number // {size} AS number, {', '.join(cells)} "
        f"FROM read_parquet({file}, file_row_number = true, hive_partitioning = false) GROUP BY 1) "
        f"JOIN parquet_metadata({file}) ON row_group_id = number "
        f"WHERE path_in_schema IN ({columns})"
    )


_TEXT: Final = "VARCHAR"


def check_cells(
    connection: DuckDBPyConnection, view: str, native: Mapping[str, str], *, table: str
) -> None:
    """Refuse a view in which some cell of a column that can be named cannot be read."""
    named = [column for column, kind in native.items() if base_type(kind) is not None]
    if _can_be_read(connection, view, native, named):
        return
    bad = [column for column in named if not _can_be_read(connection, view, native, [column])]
    raise _damaged(table, bad)


def check_packed(
    connection: DuckDBPyConnection, view: str, native: Mapping[str, str], *, table: str
) -> None:
    """Refuse a view of packed files that DuckDB cannot unpack to their ends."""
    if not _can_be_read(connection, view, native, list(native)):
        raise unreadable(
            f"the files of table {table} cannot be unpacked.",
            do="pack them again with gzip, with nothing behind the packed bytes.",
        )


def _can_be_read(
    connection: DuckDBPyConnection, view: str, native: Mapping[str, str], columns: Sequence[str]
) -> bool:
    parts = ["count(*) >= 0", *(_read(column, native[column]) for column in columns)]
    statement = f"SELECT {' AND '.join(parts)} FROM {name(view)}"
    try:
        rows = run_interruptibly(
            lambda: connection.execute(statement).fetchall(), stop=connection.interrupt
        )
    except Exception:  # noqa: BLE001 (its text may quote the data)
        return False
    return rows == [(True,)]


def _read(column: str, kind: str) -> str:
    """Print a condition that is true if all cells of a column can be read, and looks at each.

    No statistics can be in for a hash.  Texts in a database file are handed out as they lie
    there, so it is decoded whether they are texts at all.
    """
    cell = name(column)
    if kind == _TEXT:
        return (
            f"coalesce(bool_and({cell} IS NULL OR TRY(decode(encode({cell}))) IS NOT NULL), true)"
        )
    return f"coalesce(bit_xor(hash({cell})), 0) >= 0"


def _damaged(table: str, columns: Sequence[str]) -> UnreadableSource:
    where = f" in {', '.join(columns)}" if columns else ""
    return unreadable(
        f"table {table} holds cells{where} that cannot be read.",
        do="write the table again, with NULL for texts that are not UTF-8 and for moments that no "
        "calendar has; if the file is damaged, restore it.",
    )
