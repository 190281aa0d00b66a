"""Tables of Spark: data frames, with the types that DuckDB gives to their columns in a task.

Trust: kernel.  No value of a table may make a task fail before DuckDB reads it.

Nothing is computed to learn names and types.  Columns are renamed by their places before anything
else, so that no name is ever looked up.  Texts that are not Unicode are NULL; texts of any
collation are compared byte by byte.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self, final

from discreet.engines.sources.native import base_type
from discreet.engines.sources.source import check_names, unreadable
from discreet.engines.spark.identity import SparkStamp
from discreet.query.relations import folded

if TYPE_CHECKING:  # an optional library, and a type that is needed nowhere else
    from pyspark.sql import DataFrame

    from discreet.engines.engine import Columns

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

    @classmethod
    def of(cls, frame: DataFrame, *, table: str) -> Self:
        """Take a data frame; only what describes it is read."""
        found: list[tuple[str, str | None]] | None = None
        try:
            found = [(field.name, _native(field.dataType)) for field in frame.schema.fields]
            streams = bool(frame.isStreaming)
            stamp = None if streams else SparkStamp(frame)
        except Exception:  # noqa: BLE001, S110 (whatever Spark says may quote the data)
            pass
        if found is None:  # raised here, where the other error is out of sight
            raise unreadable(
                f"the data frame of table {table} cannot be described.",
                do="check that its Spark session runs, and that its tables are still there.",
            )
        if streams or stamp is None:
            raise unreadable(f"table {table} is a stream.", do="give a data frame that has an end.")
        check_names([name for name, _ in found], what="columns")
        return cls(frame, dict(found), stamp)

    @property
    def columns(self) -> Columns:
        """The columns with our types."""
        return {
            name: None if native is None else base_type(native)
            for name, native in self.natives.items()
        }

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

    def _cleaned(self, functions: Any, place: int) -> Any:
        column = functions.col(f"c{place}")
        if self.native(place) == "VARCHAR":
            return functions.try_validate_utf8(column.cast("string"))
        return column


def _native(kind: Any) -> str | None:
    """Return DuckDB's type for one of Spark's, or None if it is no type of ours."""
    if kind.typeName() == "decimal":
        return f"DECIMAL({kind.precision},{kind.scale})" if kind.scale >= 0 else None
    return _PLAIN.get(kind.typeName())
