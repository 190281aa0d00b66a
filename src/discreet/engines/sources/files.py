"""CSV and Parquet files.

Trust: kernel.

Columns are read by name: files of one table may have them in different orders.
The columns of CSV files are the words of their first line, and all of them are TEXT; what a policy
declares them to be is read from that text, NULL where it does not fit.  No line can make reading
fail: a line that is too short is filled up with NULL, of one that is too long the rest is left out,
and a line that is not UTF-8 or longer than two megabytes is dropped.  An empty field is NULL.  A
quote that is never closed takes everything up to the end of its file into one field, as the format
has it: files that others may write into should be Parquet.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import Final, final

import pyarrow as pa
from duckdb import DuckDBPyConnection

from discreet.engines.sources.headers import check_header
from discreet.engines.sources.identity import FileStamp
from discreet.engines.sources.source import check_names, unreadable
from discreet.engines.sql.words import text

__all__ = ["CsvFiles", "ParquetFiles"]

_LONGEST_HEADER: Final = 2**20
_DELIMITERS: Final = {".csv": ",", ".tsv": "\t"}


def _listed(values: Sequence[str]) -> str:
    return f"[{', '.join(map(text, values))}]"


@final
class CsvFiles:
    """Files with a line of names and one line for each row."""

    __slots__ = ("_delimiter", "_headers", "paths", "stamp")

    def __init__(self, stamp: FileStamp) -> None:
        """Read the first line of every file, and nothing else."""
        self.paths = stamp.paths
        self.stamp = stamp
        self._delimiter = _DELIMITERS[Path(self.paths[0].removesuffix(".gz")).suffix]
        self._headers: dict[tuple[str, ...], list[str]] = {}
        for path in self.paths:
            self._headers.setdefault(_header(path, self._delimiter), []).append(path)
        if len({frozenset(header) for header in self._headers}) != 1 or () in self._headers:
            raise unreadable(
                "the files have no line of names, or not all the same names.",
                do="give files whose first lines hold the same names, in any order.",
            )
        for header in self._headers:
            check_header(header)

    def attached(self, connection: DuckDBPyConnection, alias: str) -> str:  # noqa: ARG002
        """Print how to read the files: those with their names in one order together."""
        parts = [f"FROM {self._read(*each)}" for each in self._headers.items()]
        return f"({' UNION ALL BY NAME '.join(parts)})"

    def _read(self, header: tuple[str, ...], paths: Sequence[str]) -> str:
        columns = ", ".join(f"{text(name)}: 'VARCHAR'" for name in header)
        options = (
            f"columns = {{{columns}}}, auto_detect = false, header = true, "
            f"delim = {text(self._delimiter)}, quote = '\"', escape = '\"', nullstr = '', "
            "strict_mode = false, ignore_errors = true, null_padding = true, parallel = false, "
            "encoding = 'utf-8', hive_partitioning = false"
        )
        return f"read_csv({_listed(paths)}, {options})"


def _header(path: str, delimiter: str) -> tuple[str, ...]:
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8-sig", newline="", errors="replace") as file:
        lines = iter(file.read(_LONGEST_HEADER).splitlines(keepends=True)[:1])
    return tuple(next(csv.reader(lines, delimiter=delimiter), ()))


@final
class ParquetFiles:
    """Files of columns, which carry their own schema."""

    __slots__ = ("paths", "stamp")

    def __init__(self, stamp: FileStamp) -> None:
        """Read the schema of every file, and nothing else."""
        import pyarrow.parquet as pq  # noqa: PLC0415  takes its time, and few sources need it

        self.paths = stamp.paths
        self.stamp = stamp
        schemas = [pq.read_schema(path) for path in self.paths]
        check_names(schemas[0].names, what="columns")
        if any(_fields(schema) != _fields(schemas[0]) for schema in schemas[1:]):
            raise unreadable(
                "the files do not have the same columns.",
                do="give files whose columns have the same names and types, in any order; or name "
                "them as several tables.",
            )

    def attached(self, connection: DuckDBPyConnection, alias: str) -> str:  # noqa: ARG002
        """Print how to read the files, in which columns are found by their names."""
        return f"read_parquet({_listed(self.paths)}, hive_partitioning = false)"


def _fields(schema: pa.Schema) -> list[tuple[str, str]]:
    return sorted((field.name, str(field.type)) for field in schema)
