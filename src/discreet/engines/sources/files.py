"""CSV files, Parquet files and database files, and paths as DuckDB takes them.

Trust: kernel.

Columns are read by name: files of one table may have them in different orders.
The columns of CSV files are the words of their first line, and all of them are TEXT; what a policy
declares them to be is read from that text (:mod:`discreet.engines.sources.cells`), NULL if it
does not fit.  An empty field is NULL.
How a file is written follows from the policy, its ending and its first line, and from no row.
Definition.  If nothing is declared, the separator of a .csv file is the semicolon if its first
line has semicolons outside of quotes, and neither commas nor tabs; it is the tab if it has tabs
alone; and else it is the comma.
No line can make reading fail, or move the rows of others.  A line that is too short is filled up
with NULL, and of one that is too long the rest is left out.  Where lines end is beyond doubt,
because each file is checked as a whole when it is opened
(:mod:`discreet.engines.sources.csv_structure`). The name of a file says how
it is read, wherever a link leads from there.

If DuckDB is given a path to read, it takes ``*``, ``?`` and ``[`` for signs of a pattern: a file
called ``a?.csv`` would stand for ``ab.csv`` too, whose rows would count twice.
Definition.  The pattern of a path has ``[*]``, ``[?]`` and ``[[]`` in place of these signs.
Proposition.  It matches this path, and no other.  Proof.  A class of one sign matches that sign
alone, and every other sign but the backslash matches itself.
Paths with a backslash are refused: DuckDB takes it for a slash, or for an escape.  So are those of
databases with a question mark: DuckDB puts the name of the log before it, where nobody looks.
"""

from __future__ import annotations

import csv
import gzip
import re
from codecs import BOM_UTF8
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO, Final, cast, final

import duckdb
import pyarrow as pa
from duckdb import DuckDBPyConnection

from discreet.engines.sources.cells import cell_type
from discreet.engines.sources.csv_structure import (
    CHUNK,
    LONGEST_RECORD,
    CsvStructure,
    check_header,
    not_encoded,
)
from discreet.engines.sources.identity import FileStamp
from discreet.engines.sources.source import TableSource, check_names, type_name, unreadable
from discreet.engines.sources.source import quoted_name as name
from discreet.engines.sources.source import quoted_text as text
from discreet.query.relations import folded
from discreet.requests.table_schema import CsvFormat

_ALIKE: Final = (("a", "A"), ("a", "\u00e1"), ("\u00e9", "e\u0301"), ("a", "a\u00ad"))
"""Pairs of texts: every collation but the bytewise one takes some pair for equal."""


def collated(connection: DuckDBPyConnection, view: str, columns: Iterable[str]) -> frozenset[str]:
    """Return the columns in which DuckDB takes different texts for equal; no row is read.

    A collation is part of a column's type, and stays with a text that takes the column's place.
    """
    return frozenset(column for column in columns if _is_collated(connection, view, column))


def _is_collated(connection: DuckDBPyConnection, view: str, column: str) -> bool:
    equal = " OR ".join(
        f"coalesce(any_value({name(column)}), {text(one)}) = {text(other)}" for one, other in _ALIKE
    )
    try:
        ((is_equal,),) = connection.execute(
            f"SELECT {equal} FROM {name(view)} WHERE false"  # noqa: S608 (quoted names)
        ).fetchall()
    except duckdb.Error:  # a collation that is not installed here
        return True
    return bool(is_equal)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """A table of a database file, opened for reading only.

    Views are refused: they may hold anything, and be something else at every look.

    >>> Database(path="clinic.duckdb", table="visits").schema
    'main'
    """

    path: str
    table: str
    schema: str = "main"


@final
class DatabaseTable(TableSource):
    """A table of a database file that was looked at, to be attached; the file then stays open."""

    kind = "duckdb"

    __slots__ = ("_database", "_path", "stamp")

    def __init__(self, database: Database) -> None:
        """Look at the file, and at the log beside it, which holds what was written last."""
        self._database = database
        self._path = str(Path(database.path).resolve())
        if not Path(self._path).is_file():
            raise unreadable("there is no such file.", do="give the path of a database file.")
        check_path(self._path, database=True)
        part = (folded(database.schema), folded(database.table))
        self.stamp = FileStamp(self._files, kind="duckdb", part=part)

    def _files(self) -> tuple[str, ...]:
        path = str(Path(self._database.path).resolve())
        return (path, f"{path}.wal")

    def attach(self, connection: DuckDBPyConnection, alias: str) -> str:
        """Attach the file, and print which table to select from."""
        schema, table = self._database.schema, self._database.table
        connection.execute(f"ATTACH {text(self._path)} AS {name(alias)} (TYPE duckdb, READ_ONLY)")
        matches = connection.execute(
            "SELECT 1 FROM duckdb_tables() WHERE database_name = ? AND schema_name = ?"
            " AND table_name = ?",
            [alias, schema, table],
        ).fetchall()
        if not matches:
            raise unreadable(
                f"there is no table {table} in the database.",
                do="name a table that is there; views cannot be opened.",
            )
        return f"{name(alias)}.{name(schema)}.{name(table)}"


_CLASSES: Final = str.maketrans({sign: f"[{sign}]" for sign in "*?["})


def pattern(path: str) -> str:
    """Return a pattern that matches one path.

    >>> pattern("/data[1]/a*.csv"), pattern("/data/visits.csv")
    ('/data[[]1]/a[*].csv', '/data/visits.csv')
    """
    return path.translate(_CLASSES)


def check_path(path: str, *, database: bool = False) -> None:
    """Refuse a path that DuckDB would read as another one.

    >>> check_path("/data[1]/visits.csv")
    """
    if "\\" in path or (database and "?" in path):
        raise unreadable(
            f"the path of a file has a {'question mark or ' if database else ''}backslash in it.",
            do="rename the file, or the folder that it is in.",
        )


def listed(connection: DuckDBPyConnection, paths: Sequence[str]) -> str:
    """Print a list of files to read; refuse those that DuckDB does not find, each alone."""
    for path in paths:
        check_path(path)
        if pattern(path) != path and _found(connection, pattern(path)) != [path]:
            raise unreadable(
                "a file with *, ? or [ in its path cannot be found by DuckDB.",
                do="rename the file or its folder, or let this user list the folders above it.",
            )
    return f"[{', '.join(text(pattern(path)) for path in paths)}]"


def _found(connection: DuckDBPyConnection, searched: str) -> list[str]:
    rows = connection.execute("SELECT file FROM glob(?)", [searched]).fetchall()
    return [path for (path,) in rows]


_LONGEST_HEADER: Final = LONGEST_RECORD + 2
_PACKED: Final = ".gz"
_UTF8: Final = "utf-8"
_DELIMITERS: Final = {".csv": ",", ".tsv": "\t", ".csv.gz": ",", ".tsv.gz": "\t"}
CSV_ENDINGS: Final = tuple(_DELIMITERS)
_QUOTED: Final = re.compile('"[^"]*"')


@final
@dataclass(frozen=True, slots=True)
class DeclaredCsv:
    """CSV files, and how a policy says that they are written.

    >>> DeclaredCsv("visits.txt", CsvFormat(separator=";")).form.separator
    ';'
    """

    address: str = field(repr=False)
    form: CsvFormat


@final
class CsvFiles(TableSource):
    """Files with a line of names and one line for each row."""

    kind = "csv"

    __slots__ = (
        "_delimiter",
        "_encoding",
        "_headers",
        "cell",
        "form",
        "packed",
        "paths",
        "stamp",
        "types",
    )

    def __init__(self, stamp: FileStamp, form: CsvFormat | None = None, *, ending: str) -> None:
        """Read every file once, to check its structure; keep the names in its first line.

        ``ending`` is how the files are called, mostly one of ``CSV_ENDINGS``.
        """
        declared = form or CsvFormat()
        self.paths = stamp.paths
        self.stamp = stamp
        self.packed = ending.endswith(_PACKED)
        self._encoding = declared.encoding
        self._headers: dict[tuple[str, ...], list[str]] = {}
        lines = {path: self._first_line(path) for path in self.paths}
        self._delimiter = declared.separator or _shown(lines.values(), ending)
        for path, line in lines.items():
            with self._unpacked(path) as file:
                _check_structure(file, self._delimiter, self._encoding)
            header = _named(next(csv.reader([line], delimiter=self._delimiter, strict=True), ()))
            self._headers.setdefault(header, []).append(path)
        usual = self._delimiter == _DELIMITERS.get(ending, ",")
        self.form = replace(declared, separator=None if usual else self._delimiter)
        self.cell = cell_type(self.form)
        if len({frozenset(header) for header in self._headers}) != 1 or () in self._headers:
            raise unreadable(
                "the files have no line of names, or not all the same names.",
                do="give files whose first lines hold the same names, in any order.",
            )
        for header in self._headers:
            check_header(header)
        self.types = dict.fromkeys(header, "text")

    def attach(self, connection: DuckDBPyConnection, alias: str) -> str:  # noqa: ARG002 (alias)
        """Print how to read the files: those with their names in one order together."""
        parts = [
            f"FROM {self._read(header, listed(connection, paths))}"
            for header, paths in self._headers.items()
        ]
        return f"({' UNION ALL BY NAME '.join(parts)})"

    def _unpacked(self, path: str) -> BinaryIO:
        if self.packed:
            return cast("BinaryIO", gzip.open(path))
        return open(path, "rb")  # noqa: PTH123 (the caller closes it)

    def _first_line(self, path: str) -> str:
        with self._unpacked(path) as file:
            line = file.readline(_LONGEST_HEADER)
        try:
            return (line if self._encoding != _UTF8 else line.removeprefix(BOM_UTF8)).decode(
                self._encoding
            )
        except UnicodeDecodeError:
            pass
        raise not_encoded(self._encoding)

    def _read(self, header: Sequence[str], files: str) -> str:
        columns = ", ".join(f"{text(name)}: 'VARCHAR'" for name in header)
        options = (
            f"columns = {{{columns}}}, auto_detect = false, header = true, "
            f"delim = {text(self._delimiter)}, quote = '\"', escape = '\"', nullstr = '', "
            "strict_mode = false, ignore_errors = true, null_padding = true, parallel = false, "
            f"encoding = {text(self._encoding)}, max_line_size = {4 * LONGEST_RECORD}, "
            "hive_partitioning = false, "
            f"compression = {text('gzip' if self.packed else 'none')}"
        )
        return f"read_csv({files}, {options})"


def _shown(lines: Iterable[str], ending: str) -> str:
    """Return the separator that first lines show; refuse files that show different ones."""
    usual = _DELIMITERS.get(ending, ",")
    found = {_separator(line) if usual == "," else usual for line in lines}
    if len(found) != 1:
        raise unreadable(
            "the first lines of the files have different separators.",
            do="give files with one separator, or name them as several tables.",
        )
    return found.pop()


def _separator(line: str) -> str:
    r"""Return the separator of a line of names.

    >>> [_separator(line) for line in ("a,b;c", "a;b", '"a,b";c', "a", "a\tb")]
    [',', ';', ';', ',', '\t']
    """
    bare = _QUOTED.sub("", line)
    found = [sign for sign in ",;\t" if sign in bare]
    return found[0] if len(found) == 1 else ","


def _named(header: Sequence[str]) -> tuple[str, ...]:
    """Name the first column of a file that R or pandas wrote with the numbers of its rows.

    >>> _named(["", "age"]), _named(["age", ""]), _named([""])
    (('unnamed', 'age'), ('age', ''), ('',))
    """
    if len(header) > 1 and not header[0]:
        return ("unnamed", *header[1:])
    return tuple(header)


def _check_structure(file: BinaryIO, delimiter: str, encoding: str) -> None:
    """Refuse a file in which the end of a line may be in doubt."""
    check = CsvStructure(delimiter, encoding)
    first = file.read(len(BOM_UTF8))
    check.feed(first if encoding != _UTF8 else first.removeprefix(BOM_UTF8))
    while chunk := file.read(CHUNK):
        check.feed(chunk)
    check.finish()


@final
class ParquetFiles(TableSource):
    """Files of columns, which carry their own schema."""

    kind = "parquet"

    __slots__ = ("_first", "paths", "stamp", "types")

    def __init__(self, stamp: FileStamp) -> None:
        """Read the metadata of every file, and nothing else."""
        import pyarrow.parquet as pq  # noqa: PLC0415  takes its time, and few sources need it

        self.paths = stamp.paths
        self.stamp = stamp
        self._first = pq.read_metadata(self.paths[0])
        schemas = [self._first.schema.to_arrow_schema(), *map(pq.read_schema, self.paths[1:])]
        check_names(schemas[0].names, what="columns")
        self.types = {field.name: type_name(field.type) for field in schemas[0]}
        if any(_fields(schema) != _fields(schemas[0]) for schema in schemas[1:]):
            raise unreadable(
                "the files do not have the same columns.",
                do="give files whose columns have the same names and types, in any order; or name "
                "them as several tables.",
            )

    def attach(self, connection: DuckDBPyConnection, alias: str) -> str:  # noqa: ARG002 (alias)
        """Print how to read the files, in which columns are found by their names.

        Bytes of one column are not fetched along with those of others: each column can be read by
        itself if all can be read together.
        """
        connection.execute("SET disable_parquet_prefetching = true")
        return f"read_parquet({listed(connection, self.paths)}, hive_partitioning = false)"


def _fields(schema: pa.Schema) -> list[tuple[str, str]]:
    return sorted((field.name, str(field.type)) for field in schema)
