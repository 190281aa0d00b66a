"""CSV and Parquet files.

Trust: kernel.

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
from collections.abc import Mapping, Sequence
from glob import glob, has_magic
from pathlib import Path
from typing import Final, final

from duckdb import DuckDBPyConnection

from discreet.engines.sources.source import check_names, type_name, unreadable
from discreet.engines.sql.words import text

__all__ = ["CsvFiles", "ParquetFiles", "found_files"]

_LONGEST_HEADER: Final = 2**20
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

    kind: Final = "csv"

    __slots__ = ("_delimiter", "_names", "paths")

    def __init__(self, paths: tuple[str, ...]) -> None:
        """Read the first line of every file, and nothing else."""
        self.paths = paths
        self._delimiter = _DELIMITERS[Path(paths[0].removesuffix(".gz")).suffix]
        headers = {_header(path, self._delimiter) for path in paths}
        if len(headers) != 1 or not (names := headers.pop()):
            raise unreadable(
                "the files have no line of names, or not all the same one.",
                do="give files whose first lines are equal.",
            )
        check_names(names, what="columns")
        self._names = names

    @property
    def types(self) -> Mapping[str, str]:
        """All columns are texts."""
        return dict.fromkeys(self._names, "text")

    def attached(self, connection: DuckDBPyConnection, alias: str) -> str:  # noqa: ARG002
        """Print how to read the files."""
        columns = ", ".join(f"{text(name)}: 'VARCHAR'" for name in self._names)
        options = (
            f"columns = {{{columns}}}, auto_detect = false, header = true, "
            f"delim = {text(self._delimiter)}, quote = '\"', escape = '\"', nullstr = '', "
            "strict_mode = false, ignore_errors = true, null_padding = true, parallel = false, "
            "encoding = 'utf-8', hive_partitioning = false"
        )
        return f"read_csv({_listed(self.paths)}, {options})"


def _header(path: str, delimiter: str) -> tuple[str, ...]:
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8-sig", newline="", errors="replace") as file:
        lines = iter(file.read(_LONGEST_HEADER).splitlines(keepends=True)[:1])
    return tuple(next(csv.reader(lines, delimiter=delimiter), ()))


@final
class ParquetFiles:
    """Files of columns, which carry their own schema."""

    kind: Final = "parquet"

    __slots__ = ("paths", "types")

    def __init__(self, paths: tuple[str, ...]) -> None:
        """Read the schema of every file, and nothing else."""
        import pyarrow.parquet as pq  # noqa: PLC0415  takes its time, and few sources need it

        self.paths = paths
        first = pq.read_schema(paths[0])
        check_names(first.names, what="columns")
        self.types: Mapping[str, str] = {field.name: type_name(field.type) for field in first}
        if any(not pq.read_schema(path).equals(first) for path in paths[1:]):
            raise unreadable(
                "the files do not have the same columns.",
                do="give files of one schema, or name them as several tables.",
            )

    def attached(self, connection: DuckDBPyConnection, alias: str) -> str:  # noqa: ARG002
        """Print how to read the files."""
        return f"read_parquet({_listed(self.paths)}, hive_partitioning = false)"
