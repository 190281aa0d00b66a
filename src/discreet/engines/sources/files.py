"""CSV and Parquet files.

Trust: kernel.

The columns of CSV files are the words of their first line, and all of them are TEXT; what a policy
declares them to be is read from that text, NULL where it does not fit.  An empty field is NULL.
No line can make reading fail, or move the rows of others.  A line that is too short is filled up
with NULL, and of one that is too long the rest is left out.  Where lines end is beyond doubt,
because each file is checked as a whole when it is opened (:mod:`discreet.engines.sources.quoting`).
"""

from __future__ import annotations

import csv
import gzip
from codecs import BOM_UTF8
from collections.abc import Sequence
from glob import glob, has_magic
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, cast, final

from duckdb import DuckDBPyConnection

from discreet.engines.sources.quoting import CHUNK, LONGEST_RECORD, Structure
from discreet.engines.sources.source import check_names, unreadable
from discreet.engines.sql.words import text

if TYPE_CHECKING:  # loaded when first used, because few sources need it
    from pyarrow.parquet import FileMetaData

__all__ = ["CsvFiles", "ParquetFiles", "found_files"]

_LONGEST_HEADER: Final = LONGEST_RECORD + 2
_DELIMITERS: Final = {".csv": ",", ".tsv": "\t"}


def found_files(address: str) -> tuple[str, ...]:
    """Return the files that an address names, which may be a pattern, sorted by name."""
    paths = glob(address, recursive=True) if has_magic(address) else [address]  # noqa: PTH207
    files = sorted(str(Path(path).resolve()) for path in paths if Path(path).is_file())
    if not files:
        raise unreadable(
            "there is no such file.",
            do="give the path of a file that is there, or a pattern that some files match.",
        )
    return tuple(files)


def _listed(values: Sequence[str]) -> str:
    return f"[{', '.join(map(text, values))}]"


@final
class CsvFiles:
    """Files with a line of names and one line for each row."""

    __slots__ = ("_delimiter", "_names", "paths")

    def __init__(self, paths: tuple[str, ...]) -> None:
        """Read every file once, to check its structure; keep the names in its first line."""
        self.paths = paths
        self._delimiter = _DELIMITERS[Path(paths[0].removesuffix(".gz")).suffix]
        for path in paths:
            _check_structure(path, self._delimiter)
        headers = {_header(path, self._delimiter) for path in paths}
        if len(headers) != 1 or not (names := headers.pop()):
            raise unreadable(
                "the files have no line of names, or not all the same one.",
                do="give files whose first lines are equal.",
            )
        check_names(names, what="columns")
        self._names = names

    def attached(self, connection: DuckDBPyConnection, alias: str) -> str:  # noqa: ARG002
        """Print how to read the files."""
        columns = ", ".join(f"{text(name)}: 'VARCHAR'" for name in self._names)
        options = (
            f"columns = {{{columns}}}, auto_detect = false, header = true, "
            f"delim = {text(self._delimiter)}, quote = '\"', escape = '\"', nullstr = '', "
            "strict_mode = false, ignore_errors = true, null_padding = true, parallel = false, "
            f"encoding = 'utf-8', max_line_size = {2 * LONGEST_RECORD}, hive_partitioning = false"
        )
        return f"read_csv({_listed(self.paths)}, {options})"


def _check_structure(path: str, delimiter: str) -> None:
    """Refuse a file in which the end of a line may be in doubt."""
    check = Structure(delimiter)
    with _unpacked(path) as file:
        check.take(file.read(len(BOM_UTF8)).removeprefix(BOM_UTF8))
        while chunk := file.read(CHUNK):
            check.take(chunk)
    check.end()


def _header(path: str, delimiter: str) -> tuple[str, ...]:
    with _unpacked(path) as file:
        first = file.readline(_LONGEST_HEADER).removeprefix(BOM_UTF8).decode()
    return tuple(next(csv.reader([first], delimiter=delimiter, strict=True), ()))


def _unpacked(path: str) -> BinaryIO:
    if path.endswith(".gz"):
        return cast("BinaryIO", gzip.open(path))
    return open(path, "rb")  # noqa: PTH123, SIM115 (the caller closes it)


@final
class ParquetFiles:
    """Files of columns, which carry their own schema."""

    __slots__ = ("paths",)

    def __init__(self, paths: tuple[str, ...]) -> None:
        """Read what describes every file, and nothing else."""
        import pyarrow.parquet as pq  # noqa: PLC0415  takes its time, and few sources need it

        self.paths = paths
        described = [pq.read_metadata(path) for path in paths]
        for path, metadata in zip(paths, described, strict=True):
            _check_places(metadata, Path(path).stat().st_size)
        schemas = [metadata.schema.to_arrow_schema() for metadata in described]
        check_names(schemas[0].names, what="columns")
        if any(not schema.equals(schemas[0]) for schema in schemas[1:]):
            raise unreadable(
                "the files do not have the same columns.",
                do="give files of one schema, or name them as several tables.",
            )

    def attached(self, connection: DuckDBPyConnection, alias: str) -> str:  # noqa: ARG002
        """Print how to read the files."""
        return f"read_parquet({_listed(self.paths)}, hive_partitioning = false)"


def _check_places(metadata: FileMetaData, size: int) -> None:
    """Refuse a file that describes parts of itself which are not there.

    The reader may fetch bytes of columns that nobody asked for, and fails where there are none.
    """
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        for chunk in map(group.column, range(group.num_columns)):
            starts = (chunk.dictionary_page_offset, chunk.data_page_offset)
            first = min(start for start in starts if start is not None)
            if first < 0 or not 0 <= chunk.total_compressed_size <= size - first:
                raise unreadable(
                    "a Parquet file describes columns that it does not hold.",
                    do="write the file again, or restore it.",
                )
