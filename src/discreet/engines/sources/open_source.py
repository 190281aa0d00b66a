"""Opening sources, regardless of their kind.

Trust: kernel.

A dataset of Arrow lists its files when it is made, and that list stays.  Of files on this machine
the state is that of every file; of others it is their size and time of modification.
A dataset in memory is copied, as a frame is.  One that lists a file twice is refused: each row of
it would count twice.
A frame is read once, here: a lazy one is computed now, and a table of a database is copied.
"""

from __future__ import annotations

import hashlib
import os
import posixpath
import sys
from functools import partial
from typing import TYPE_CHECKING, Any, Final, final

import pyarrow as pa

from discreet.engines.execution import run_sanitized
from discreet.engines.sources.files import (
    CSV_ENDINGS,
    CsvFiles,
    Database,
    DatabaseTable,
    DeclaredCsv,
    ParquetFiles,
)
from discreet.engines.sources.frames import Frame, from_arrow, from_pandas, is_readable
from discreet.engines.sources.identity import FileStamp, digest_of, found_files, joined_digest
from discreet.engines.sources.source import (
    Places,
    Stamp,
    TableSource,
    check_names,
    type_name,
    unreadable,
)
from discreet.requests.table_schema import CsvFormat

if TYPE_CHECKING:  # loaded by anyone who makes a dataset, because it takes pandas along
    import pyarrow.dataset as ds


def from_dataset(dataset: ds.Dataset) -> Frame:
    """Take a dataset all of whose columns can be read."""
    check_names(dataset.schema.names, what="columns")
    if not all(is_readable(field.type) for field in dataset.schema):
        raise unreadable(
            "the dataset has columns of types that cannot be read.",
            do="leave these columns out, or give an Arrow table.",
        )
    match type(dataset).__name__:
        case "InMemoryDataset":
            return from_arrow(dataset.to_table(), kind="dataset")
        case "FileSystemDataset":
            stamp = _stamp(dataset)
            _check_twice(dataset)
            for batch in dataset.to_batches():  # as they are read later, unchecked
                batch.validate(full=True)
            types = {field.name: type_name(field.type) for field in dataset.schema}
            return Frame(dataset, (), stamp, kind="dataset", types=types)
        case _:
            raise unreadable(
                "the dataset is made of several datasets.",
                do="give the paths of all files as one dataset, or several tables.",
            )


def _stamp(dataset: Any) -> Stamp:
    files = tuple(dataset.files)
    if dataset.filesystem.type_name == "local":
        return FileStamp(lambda: files, kind="dataset")
    return _ElsewhereStamp(dataset.filesystem, files)


def _check_twice(dataset: Any) -> None:
    """Refuse a dataset that has one file under two names, if the names or inodes show it."""
    local = dataset.filesystem.type_name == "local"
    files: set[object] = set()
    for path in dataset.files:
        seen = os.stat(path) if local else None  # noqa: PTH116  as Arrow names it
        files.add(posixpath.normpath(path) if seen is None else (seen.st_dev, seen.st_ino))
    if len(files) != len(dataset.files):
        raise unreadable(
            "the dataset lists a file twice.",
            do="list each file once; links to a file are that file.",
        )


@final
class _ElsewhereStamp:
    """Files on another machine, as they were when they were opened."""

    __slots__ = ("_files", "_infos", "_system", "kind")

    def __init__(self, system: Any, files: tuple[str, ...]) -> None:
        self.kind = "dataset"
        self._system = system
        self._files = files
        self._infos = self._look()

    @property
    def state(self) -> str:
        return digest_of(self._infos)

    @property
    def places(self) -> Places:
        return frozenset((self._system.type_name, path) for path in self._files)

    def _look(self) -> tuple[tuple[object, ...], ...]:
        infos = self._system.get_file_info(list(self._files))
        return tuple((info.path, str(info.type), info.size, info.mtime_ns) for info in infos)

    def is_unchanged(self) -> bool:
        try:
            return self._look() == self._infos
        except OSError:
            return False

    def content(self) -> str:
        digests = []
        for path in self._files:
            with self._system.open_input_stream(path, compression=None) as file:
                digests.append(hashlib.sha256(file.read()).hexdigest())
        return joined_digest(digests)


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
        case DeclaredCsv(address, form):
            return _csv(address, form)
        case Database():
            return DatabaseTable(data)
        case TableSource():  # opened before
            return data
        case _:
            return _frame(data)


def _file(address: str, table: str) -> TableSource:
    lower = address.lower()
    if lower.endswith(_DATABASES):
        return DatabaseTable(Database(path=address, table=table))
    if lower.endswith(_PARQUET):
        return ParquetFiles(FileStamp(partial(found_files, address), kind="parquet"))
    if lower.endswith(CSV_ENDINGS):
        return _csv(address, None)
    raise unreadable(
        "the file is of an unknown kind.",
        do="give a .parquet, .csv or .tsv file, or a .duckdb database; a CSV file with another "
        "ending is declared by [tables.NAME.csv] in the policy.",
    )


def _csv(address: str, form: CsvFormat | None) -> CsvFiles:
    lower = address.lower()
    ending = next((known for known in CSV_ENDINGS if lower.endswith(known)), lower[-3:])
    return CsvFiles(FileStamp(partial(found_files, address), kind="csv"), form, ending=ending)


def _frame(data: Any) -> TableSource:
    """Take a dataset, or a data frame of any library that hands out Arrow's stream.

    pandas hands one out as well, which fails if a column of objects holds other things than text.
    """
    if _is(data, "pyarrow.dataset", "Dataset"):
        return from_dataset(data)
    if _is(data, "pandas", "DataFrame"):
        return from_pandas(data)
    frame = data.collect() if type(data).__name__ == "LazyFrame" else data
    if hasattr(frame, "__next__"):
        raise unreadable(
            f"a {type(data).__name__} can be read only once.",
            do="give all of it as a table, such as reader.read_all().",
        )
    if not hasattr(frame, "__arrow_c_stream__"):
        raise unreadable(
            f"a {type(data).__name__} is not a table.",
            do="give a path, an Arrow table or dataset, or a data frame of a library that hands "
            "out Arrow's stream, such as pandas, Polars, DuckDB or Ibis.",
        )
    return from_arrow(pa.table(frame))


def _is(data: object, library: str, kind: str) -> bool:
    """Recognize a class of a library; anyone who made the value has loaded it."""
    loaded = sys.modules.get(library)
    return loaded is not None and isinstance(data, getattr(loaded, kind))
