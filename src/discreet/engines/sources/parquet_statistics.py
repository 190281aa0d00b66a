"""Statistics of Parquet files are used only if they are true of the cells.

Trust: kernel.

Definition.  A Parquet file keeps, for each column of each row group, the least and the greatest
value and the number of NULLs.  These *hold* if every cell, as DuckDB reads it, lies between the two
values, and as many cells are NULL.
DuckDB trusts them: it drops filters and clamps that they make superfluous, and packs keys into the
bits that they leave.  So a damaged page could undo the bounds that a price rests on.  And in sound
files no statistics tell of NaN, which DuckDB takes to be above all numbers.
All cells are read once when a file is opened, before any budget is touched.  Where some statistics
do not hold, DuckDB answers from the cells alone, which takes longer.  A file that changes after
that is refused (:mod:`discreet.engines.sources.identity`).
"""

# ruff: noqa: S608 (names and literals are quoted)

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import duckdb
from duckdb import DuckDBPyConnection

from discreet.engines.execution import run_interruptibly
from discreet.engines.sources.paths import listed
from discreet.engines.sql.casts import base_type
from discreet.engines.sql.fragments import name, text

__all__ = ["FROM_CELLS", "statistics_hold"]

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
        found = run_interruptibly(
            lambda: connection.execute(statement).fetchall(), stop=connection.interrupt
        )
    except duckdb.InterruptException:
        raise
    except duckdb.Error:  # its text may quote the data
        return False
    return found == [(len(sizes) * len(named), 0)]


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
