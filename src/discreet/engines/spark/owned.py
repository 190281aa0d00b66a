"""Private tables of a question: which of their columns are sent, and whose rows they hold.

Trust: kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import pyarrow as pa

from discreet.engines.sources.native import UUID_TEXT, base_type, reading
from discreet.engines.spark.reading import View
from discreet.engines.spark.sending import in_tasks, spark_schema
from discreet.engines.spark.sources import SparkSource, functions_of
from discreet.engines.spark.task import ROWS, Job, with_values
from discreet.engines.sql.words import name
from discreet.plan.raw import ARROW_TYPES
from discreet.query.relations import folded
from discreet.query.types import Type

if TYPE_CHECKING:  # an optional library
    from pyspark.sql import DataFrame

__all__ = ["Linked", "Owned", "Place", "as_declared"]

Place = tuple[int, Type]
"""The place of a column in its table, and the type that it is declared as."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Owned:
    """A private table, the places of the columns that are sent, and what names the unit of a row.

    That is columns of its own, or a link to another table.
    """

    table: str
    source: SparkSource
    number: int
    sent: tuple[int, ...]
    unit: tuple[Place, ...] = ()
    link: Linked | None = None

    @property
    def prefix(self) -> str:
        """How the names of its columns begin."""
        return f"t{self.number}c"

    @property
    def view(self) -> View:
        """How its rows are called in a task."""
        columns = list(self.source.natives)
        return View(
            f"rows {self.number}",
            {folded(column): native for column, native in self.source.natives.items()},
            {folded(columns[place]): f"{self.prefix}{place}" for place in self.sent},
        )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Linked:
    """A row belongs to the units of the rows of another table in which the key has its value."""

    column: Place
    parent: Owned
    key: Place


def as_declared(
    frame: DataFrame, owned: Owned, places: Sequence[Place], job: Job
) -> tuple[DataFrame, list[Any]]:
    """Return columns as values of the types that they are declared as, and rows that have them.

    Where a column has another type in the source, DuckDB reads it, as in all statements.
    """
    functions = functions_of(frame)
    natives = [owned.source.native(place) or "" for place, _ in places]
    pairs = list(zip(natives, places, strict=True))
    if all(base_type(one) is kind and one != UUID_TEXT for one, (_, kind) in pairs):
        columns = [functions.col(f"{owned.prefix}{place}") for place, _ in places]
        return frame, [
            column.cast("bigint") if kind is Type.INTEGER else column
            for column, (_, kind) in zip(columns, places, strict=True)
        ]
    added = pa.schema([(f"d{at}", ARROW_TYPES[kind]) for at, (_, kind) in enumerate(places)])
    read = [
        f"{reading(f'{owned.prefix}{place}', native, kind)} AS d{at}"
        for at, (native, (place, kind)) in enumerate(zip(natives, places, strict=True))
    ]
    statement = f"SELECT *, {', '.join(read)} FROM {name(ROWS)}"  # noqa: S608 (quoted names)
    form = pa.schema([*_arrow_fields(frame), *added])
    whole = type(frame.schema)([*frame.schema.fields, *spark_schema(added).fields])
    found = in_tasks(frame, with_values, whole, job=job, statement=statement, form=form)
    return found, [functions.col(each.name) for each in added]


def _arrow_fields(frame: DataFrame) -> list[pa.Field]:
    from pyspark.sql.pandas.types import to_arrow_schema  # noqa: PLC0415  an optional library

    return list(to_arrow_schema(frame.schema))
