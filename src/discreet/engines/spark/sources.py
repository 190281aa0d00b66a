"""Tables of Spark: data frames, with the types that DuckDB gives to their columns in a task.

Trust: kernel.  No value of a table may make a task fail before DuckDB reads it.

Nothing is computed to learn names and types.  Columns are renamed by their places before anything
else, so that no name is ever looked up.  Texts that are not Unicode are NULL; texts of any
collation are compared byte by byte.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Self, final

from discreet.engines.sources.native import UUID_TEXT, base_type, stored_form
from discreet.engines.sources.source import check_names, unreadable
from discreet.engines.spark.identity import SparkStamp
from discreet.errors import DiscreetError
from discreet.plan.stored import Stored
from discreet.query.relations import folded

if TYPE_CHECKING:  # an optional library, and a type that is needed nowhere else
    from pyspark.sql import DataFrame

    from discreet.engines.engine import Columns
    from discreet.plan.schema import TableFacts

__all__ = ["SparkSource", "functions_of", "is_spark"]

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
    """Tell a data frame of Spark, whose library is not loaded for it.

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
    """A data frame, and the columns of it by their names; None is the type of those in no table."""

    frame: DataFrame
    natives: dict[str, str | None]
    stamp: SparkStamp
    types: dict[str, str] = field(default_factory=dict)
    """What Spark calls the types, collations among them."""

    @classmethod
    def of(cls, frame: DataFrame, *, table: str) -> Self:
        """Take a data frame; only what describes it is read."""
        found: Self | None = None
        streams = False
        try:
            streams = bool(frame.isStreaming)
            fields = frame.schema.fields
            check_names([each.name for each in fields], what="columns")
            natives = {each.name: _native(each.dataType) for each in fields}
            types = {each.name: _type_name(each) for each in fields}
            found = None if streams else cls(frame, natives, SparkStamp(frame), types)
        except DiscreetError:
            raise
        except Exception:  # noqa: BLE001, S110 (whatever Spark says may quote the data)
            pass
        if streams:
            raise unreadable(f"table {table} is a stream.", do="give a data frame that has an end.")
        if found is None:  # raised here, where the other error is out of sight
            raise unreadable(
                f"the data frame of table {table} cannot be described.",
                do="check that its Spark session runs, that its tables are still there, and that "
                "Spark can optimize it.",
            )
        return found

    @property
    def columns(self) -> Columns:
        """The columns with our types."""
        return {
            name: None if native is None else base_type(native)
            for name, native in self.natives.items()
        }

    @property
    def stored(self) -> dict[str, Stored]:
        """How Spark holds the columns."""
        return {
            name: Stored(
                source="spark",
                native=self.types[name],
                form=None if native is None else stored_form(native),
                blurred=native == "VARCHAR" and _BYTEWISE.fullmatch(self.types[name]) is None,
            )
            for name, native in self.natives.items()
        }

    def normalized(self, table: TableFacts | None) -> SparkSource:
        """Return the same, with texts that are declared to be UUIDs read in one form."""
        uuids = () if table is None else (each for each in table.columns if each.form == "uuid")
        changed = {each.name: UUID_TEXT for each in uuids}
        return replace(self, natives={**self.natives, **changed})

    def place(self, column: str) -> int:
        """Return the place of a column, named in any case."""
        wanted = folded(column)
        return next(at for at, name in enumerate(self.natives) if folded(name) == wanted)

    def native(self, place: int) -> str | None:
        """Return DuckDB's type for the column at a place."""
        return list(self.natives.values())[place]

    def sent(self, places: Iterable[int], prefix: str = "c") -> DataFrame:
        """Return some columns, named after their places, as tasks can read them."""
        functions = functions_of(self.frame)
        renamed = self.frame.toDF(*(f"c{at}" for at in range(len(self.natives))))
        return renamed.select(
            *(self._cleaned(functions, at).alias(f"{prefix}{at}") for at in places)
        )

    def cell_counts(self) -> dict[str, int]:
        """Count the cells of each column that are not NULL in the frame; for the owner."""
        functions = functions_of(self.frame)
        renamed = self.frame.toDF(*(f"c{at}" for at in range(len(self.natives))))
        counts = (functions.count(f"c{at}").alias(f"c{at}") for at in range(len(self.natives)))
        (found,) = renamed.agg(*counts).toArrow().to_pylist()
        return {name: int(found[f"c{at}"]) for at, name in enumerate(self.natives)}

    def _cleaned(self, functions: Any, place: int) -> Any:
        column = functions.col(f"c{place}")
        if self.native(place) in {"VARCHAR", UUID_TEXT}:
            return functions.try_validate_utf8(column.cast("string"))
        return column


def _type_name(field: Any) -> str:
    """Return what Spark calls the type of a column, also where it is a filled-up text."""
    told = (field.metadata or {}).get("__CHAR_VARCHAR_TYPE_STRING")
    return str(told or field.dataType.simpleString())


def _native(kind: Any) -> str | None:
    """Return DuckDB's type for one of Spark's, or None if it is no type of ours."""
    if kind.typeName() == "decimal":
        return f"DECIMAL({kind.precision},{kind.scale})" if kind.scale >= 0 else None
    return _PLAIN.get(kind.typeName())
