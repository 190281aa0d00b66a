"""Data frames of Spark: their identity, and the types that DuckDB gives to their columns.

Trust: kernel.  No value of a table may make a task fail before DuckDB reads it.

A data frame is a plan, which does not change; Spark lists its files when it is made, and reads CSV
files by the places of their columns.  So files of this machine are looked at like any others.
Files elsewhere are known by their names, and by the size and time that their file system tells;
if there are more than 1,000, or on a server of Spark Connect, by their names alone.  Rows that
come from a database, or from functions that give something else each time, may change unseen.

Nothing is computed to learn names and types.  Texts that are not Unicode are NULL; texts of any
collation are compared byte by byte.

Settings.  The owner of a session sets it, and may set it again at any time.  Under most settings
nothing changes for us; under some, one row can make reading fail, or hide others.  With EXCEPTION
for a calendar, one day before the year 1582 makes every job fail that reads its column.  Where
Spark ignores files that are damaged, one record that it cannot read hides all that follow in its
file.  So a session with such a setting is refused when its tables are opened, and before anything
is charged.
"""

from __future__ import annotations

import importlib
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Self, final
from urllib.parse import unquote, urlsplit

from discreet.engines.engine import Columns
from discreet.engines.execution import run_sanitized
from discreet.engines.sources.identity import FileStamp, digest_of
from discreet.engines.sources.source import Places, check_names, unreadable
from discreet.engines.sources.stored_columns import UUID_TEXT, base_type, stored_form
from discreet.errors import UnreadableSource
from discreet.query.relations import folded
from discreet.requests.table_schema import StoredColumn, TableFacts

if TYPE_CHECKING:  # an optional library
    from pyspark.sql import DataFrame, SparkSession

_REFUSED: Final = {
    "spark.sql.avro.datetimeRebaseModeInRead": "EXCEPTION",
    "spark.sql.files.ignoreCorruptFiles": "true",
    "spark.sql.files.ignoreMissingFiles": "true",
    "spark.sql.parquet.datetimeRebaseModeInRead": "EXCEPTION",
    "spark.sql.parquet.int96RebaseModeInRead": "EXCEPTION",
}
_INSTEAD: Final = {"EXCEPTION": "CORRECTED", "true": "false"}


def check_settings(session: SparkSession) -> None:
    """Refuse a session in which a row could make reading fail, or hide the rows of others."""
    for setting, refused in _REFUSED.items():
        value = session.conf.get(setting, None)
        if value is not None and value.lower() == refused.lower():
            raise UnreadableSource(
                what=f"the Spark session has {setting} = {refused}.",
                why="then one row can make every question fail, or hide the rows of others.",
                do=f"set it to {_INSTEAD[refused]}, and write files again that Spark then cannot "
                "read.",
            )


_LOCAL: Final = ("", "file")
_MOST: Final = 1000

FileStatuses = tuple[tuple[object, ...], ...]


@final
class SparkStamp:
    """A data frame, and its files as they were when it was opened."""

    __slots__ = ("_elsewhere", "_frame", "_local", "_statuses", "content", "kind", "state")

    def __init__(self, frame: DataFrame) -> None:
        """List the files, and look at them; no row is read."""
        self.kind = "spark"
        self.content = None  # which only Spark could compute
        self._frame = frame
        files = sorted(frame.inputFiles())
        here = tuple(unquote(urlsplit(file).path) for file in files if _is_local(file))
        self._local = FileStamp(lambda: here, kind=self.kind)
        self._elsewhere = tuple(file for file in files if not _is_local(file))
        self._statuses = self._look()
        self.state = self._state() if files else None

    def _state(self) -> str:
        plan = (self._frame.semanticHash(), self._frame.schema.json())
        return digest_of((plan, self._statuses, self._local.state))

    @property
    def places(self) -> Places:
        """The question that the data frame is, of the files as they were."""
        return frozenset() if self.state is None else frozenset({(self.kind, self.state)})

    def _look(self) -> FileStatuses:
        """Return what is known of files elsewhere."""
        if len(self._elsewhere) > _MOST:
            return tuple((file,) for file in self._elsewhere)
        return tuple(file_status(self._frame, file) for file in self._elsewhere)

    def is_unchanged(self) -> bool:
        """Look at the files again; a frame that cannot be asked any more has changed."""
        try:
            return self._local.is_unchanged() and self._look() == self._statuses
        except Exception:  # noqa: BLE001 (whatever Spark says may quote the data)
            return False


def _is_local(file: str) -> bool:
    return urlsplit(file).scheme in _LOCAL


def file_status(frame: DataFrame, file: str) -> tuple[object, ...]:
    """Return the name, size and time of modification of a file, as its file system has them."""
    session: Any = getattr(frame.sparkSession, "_jsparkSession", None)
    if session is None:  # on a server, whose file systems cannot be asked from here
        return (file,)
    virtual: Any = frame.sparkSession._jvm  # noqa: SLF001
    path = virtual.org.apache.hadoop.fs.Path(virtual.java.net.URI(file))
    status = path.getFileSystem(session.sessionState().newHadoopConf()).getFileStatus(path)
    return (file, status.getLen(), status.getModificationTime())


_PLAIN: Final = {
    "byte": "TINYINT",
    "short": "SMALLINT",
    "integer": "INTEGER",
    "long": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "string": "VARCHAR",
    "char": "VARCHAR",
    "varchar": "VARCHAR",
    "boolean": "BOOLEAN",
    "date": "DATE",
    "timestamp_ntz": "TIMESTAMP",
}
"""What Spark calls a type, and what DuckDB makes of it."""

_BYTEWISE: Final = re.compile(r"string( collate UTF8_BINARY)?|varchar\(\d+\)")
"""Texts that are compared byte by byte: those of other collations, and ``char``, are not."""


def is_spark(data: object) -> bool:
    """Recognize a data frame of Spark without loading its library.

    >>> is_spark("visits.parquet")
    False
    """
    kind = type(data)
    return kind.__module__.startswith("pyspark.sql.") and kind.__name__ == "DataFrame"


def functions_of(frame: DataFrame) -> Any:
    """Return the functions that go with a data frame: a classic one, or one on a server."""
    remote = type(frame).__module__.startswith("pyspark.sql.connect.")
    return importlib.import_module(f"pyspark.sql{'.connect' if remote else ''}.functions")


@final
@dataclass(frozen=True, slots=True, repr=False)
class SparkSource:
    """A data frame and its columns by name; the type is None for those that cannot be read."""

    frame: DataFrame
    natives: dict[str, str | None]
    stamp: SparkStamp
    types: dict[str, str] = field(default_factory=dict)
    """What Spark calls the types, collations among them."""

    @classmethod
    def of(cls, frame: DataFrame, *, table: str) -> Self:
        """Take a data frame; only its description is read."""
        return run_sanitized(
            lambda: cls._described(frame, table),
            lambda _: unreadable(
                f"the data frame of table {table} cannot be described.",
                do="check that its Spark session runs, that its tables are still there, and that "
                "Spark can optimize it.",
            ),
        )

    @classmethod
    def _described(cls, frame: DataFrame, table: str) -> Self:
        fields = frame.schema.fields
        check_names([column.name for column in fields], what="columns")
        if frame.isStreaming:
            raise unreadable(f"table {table} is a stream.", do="give a data frame that has an end.")
        natives = {column.name: _native(column.dataType) for column in fields}
        types = {column.name: _type_name(column) for column in fields}
        return cls(frame, natives, SparkStamp(frame), types)

    @property
    def columns(self) -> Columns:
        """The columns with our types."""
        return {
            name: None if native is None else base_type(native)
            for name, native in self.natives.items()
        }

    @property
    def stored(self) -> dict[str, StoredColumn]:
        """How Spark stores the columns."""
        return {
            name: StoredColumn(
                source="spark",
                native=self.types[name],
                form=None if native is None else stored_form(native),
                blurred=native == "VARCHAR" and _BYTEWISE.fullmatch(self.types[name]) is None,
            )
            for name, native in self.natives.items()
        }

    def normalized(self, table: TableFacts | None) -> SparkSource:
        """Return the same, with texts that are declared to be UUIDs read in one form."""
        uuids = (
            () if table is None else (column for column in table.columns if column.form == "uuid")
        )
        changed = {column.name: UUID_TEXT for column in uuids}
        return replace(self, natives={**self.natives, **changed})

    def place(self, column: str) -> int:
        """Return the place of a column, named in any case."""
        wanted = folded(column)
        return next(place for place, name in enumerate(self.natives) if folded(name) == wanted)

    def selected(self) -> DataFrame:
        """Return the columns, named after their places, as statements can read them.

        Columns are renamed before anything else, so that no name is ever looked up.
        """
        functions = functions_of(self.frame)
        found = []
        for place, native in enumerate(self.natives.values()):
            column = functions.col(f"c{place}")
            if native in {"VARCHAR", UUID_TEXT}:
                column = functions.try_validate_utf8(column.cast("string"))
            found.append(column.alias(f"c{place}"))
        return self._renamed().select(*found)

    def cell_counts(self) -> dict[str, int]:
        """Count the cells of each column that are not NULL in the frame; for the owner."""
        count, places = functions_of(self.frame).count, range(len(self.natives))
        counts = (count(f"c{place}").alias(f"c{place}") for place in places)
        (row,) = self._renamed().agg(*counts).toArrow().to_pylist()
        return {name: int(row[f"c{place}"]) for place, name in enumerate(self.natives)}

    def _renamed(self) -> DataFrame:
        return self.frame.toDF(*(f"c{place}" for place in range(len(self.natives))))


def _type_name(field: Any) -> str:
    """Return what Spark calls the type of a column, also if it is a filled-up text."""
    declared = (field.metadata or {}).get("__CHAR_VARCHAR_TYPE_STRING")
    return str(declared or field.dataType.simpleString())


def _native(kind: Any) -> str | None:
    """Return DuckDB's type for one of Spark's, or None if it is not a type of ours."""
    if kind.typeName() == "decimal":
        return f"DECIMAL({kind.precision},{kind.scale})" if kind.scale >= 0 else None
    return _PLAIN.get(kind.typeName())
