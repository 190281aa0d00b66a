"""Opening sources, whatever their kind.

Trust: kernel.
"""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import Final

import pyarrow as pa

from discreet.engines.execution import run_sanitized
from discreet.engines.sources.database import Database, DatabaseTable
from discreet.engines.sources.datasets import from_dataset
from discreet.engines.sources.files import CSV_ENDINGS, CsvFiles, ParquetFiles
from discreet.engines.sources.frames import from_arrow, from_pandas
from discreet.engines.sources.identity import FileStamp, found_files
from discreet.engines.sources.source import TableSource, unreadable

__all__ = ["open_source"]

_PARQUET: Final = (".parquet", ".pq")
_DATABASES: Final = (".duckdb", ".ddb", ".db")


def open_source(data: object, *, table: str) -> TableSource:
    """Open data as a table: a path or pattern, a table of a database, or a frame.

    A path to a database file means the table of this name in it.

    >>> open_source({"a": [1]}, table="t")
    Traceback (most recent call last):
    discreet.errors.UnreadableSource: ...
    """
    return run_sanitized(
        lambda: _opened(data, table),
        lambda _: unreadable(
            f"the data of table {table} cannot be opened.",
            do="check that the file is whole, or convert the data to Arrow or Parquet.",
        ),
    )


def _opened(data: object, table: str) -> TableSource:
    match data:
        case str() | os.PathLike():
            return _file(os.fspath(data), table)
        case Database():
            return DatabaseTable(data)
        case TableSource():  # opened before
            return data
        case pa.Table():
            return from_arrow(data)
        case pa.RecordBatch():
            return from_arrow(pa.Table.from_batches([data]))
        case _:
            return from_dataset(data) if _is_dataset(data) else _frame(data)


def _is_dataset(data: object) -> bool:
    """Recognize a dataset; its maker has loaded the library, which is slow to load."""
    library = sys.modules.get("pyarrow.dataset")
    return library is not None and isinstance(data, library.Dataset)


def _file(address: str, table: str) -> TableSource:
    lower = address.lower()
    if lower.endswith(_DATABASES):
        return DatabaseTable(Database(path=address, table=table))
    if lower.endswith(_PARQUET):
        return ParquetFiles(FileStamp(partial(found_files, address), kind="parquet"))
    for ending in CSV_ENDINGS:
        if lower.endswith(ending):
            return CsvFiles(FileStamp(partial(found_files, address), kind="csv"), ending=ending)
    raise unreadable(
        "the file is of an unknown kind.",
        do="give a .parquet, .csv or .tsv file, or a .duckdb database.",
    )


def _frame(data: object) -> TableSource:
    """Take a data frame, recognized by the package of its class without importing any."""
    kind = type(data)
    match kind.__module__.partition(".")[0], kind.__name__:
        case "pandas", "DataFrame":
            return from_pandas(data)
        case "polars", "DataFrame":
            listed = data.schema.items()  # type: ignore[attr-defined]
            types = {name: str(of).partition("(categories")[0] for name, of in listed}
            return from_arrow(data.to_arrow(), kind="polars", types=types)  # type: ignore[attr-defined]
        case _:
            raise unreadable(
                f"a {kind.__name__} is not a table.",
                do="give a path, an Arrow table or dataset, or a pandas or Polars data frame.",
            )
