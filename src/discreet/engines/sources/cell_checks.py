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
"""

# ruff: noqa: S608 (names and literals are quoted)

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from duckdb import DuckDBPyConnection

from discreet.engines.execution import run_interruptibly
from discreet.engines.sources.source import quoted_name as name
from discreet.engines.sources.source import unreadable
from discreet.engines.sources.stored_columns import base_type
from discreet.errors import UnreadableSource

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
