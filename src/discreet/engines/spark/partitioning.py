"""Partitioning by unit: which relations can be divided, and how rows of a unit meet.

Trust: kernel.

A relation can be divided by unit, or row by row where each row is a unit.

Definition.  The part of a unit is a number that follows from the values of the columns that name
it, as values of their declared types.  A row is sent to the part of its unit; a row of a linked
table to every part to which a row with its value in the key is sent.  Rows whose unit is NULL, or
that point to nothing, belong to nobody and are left out.
Theorem (key ``division-by-unit``).  Let each part be computed from its rows and all public tables.
Then the totals of a request are the sums of those of the parts, and its different values
their union.
Proof.  The relation is the union over units of what is computed from the rows of each and from
public tables (key ``unit-local``), where linked rows are joined to those that they point to, and
belong to their units.  All rows of a unit are in its part.  A row that names its unit is in no
other part, so that nothing of the unit is computed elsewhere.  Hence the rows of the relation are
divided by the parts, too; what a unit keeps and adds to a group follows from its own rows there
(key ``bounded-contribution``).
Several parts are one larger part, and may be computed together, if each row is in one part only.  A
linked row may be in several, if a promise is broken; together they would hold it several times, and
what one unit adds would depend on another.  So where there are linked rows, each part is computed
by itself.
Equal values have equal parts: a value is hashed as it is declared, and where it has another type in
the source, it is read by DuckDB first, with the reading of all other statements.
If each row is a unit, every division is one by unit, and rows stay where they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast, final

import pyarrow as pa

from discreet.engines.spark.data_frames import SparkSource, functions_of
from discreet.engines.spark.task import PART, ROWS, Job, with_values
from discreet.engines.spark.workers import in_tasks, spark_schema
from discreet.engines.sql.casts import UUID_TEXT, TableView, base_type, reading, unknown_table
from discreet.engines.sql.fragments import name
from discreet.errors import NotPerUnit
from discreet.query.expressions import Window, walk
from discreet.query.relations import (
    Filter,
    Join,
    Named,
    Project,
    Relation,
    Scan,
    SemiJoin,
    descend,
    folded,
)
from discreet.query.types import Type
from discreet.requests.engine_request import EngineRequest
from discreet.requests.raw_totals import ARROW_TYPES
from discreet.requests.table_schema import Schema, TableFacts

if TYPE_CHECKING:  # an optional library
    from pyspark.sql import DataFrame


def scans(relation: Relation) -> Iterator[Scan]:
    """Yield all places where a table is read.

    >>> [scan.table for scan in scans(Named(Scan("visits", ()), "v"))]
    ['visits']
    """
    return (node for node in descend(relation) if isinstance(node, Scan))


def private_tables(request: EngineRequest, schema: Schema) -> tuple[TableFacts, ...]:
    """Return the private tables that a question reads, each once."""
    private = {}
    for scan in scans(request.relation):
        table = schema.table(scan.table)
        if table is None:
            raise unknown_table(scan.table)
        if not table.public:
            private[folded(scan.table)] = table
    return tuple(private.values())


def check_shape(request: EngineRequest, schema: Schema) -> None:
    """Refuse what cannot be computed from parts."""
    private = private_tables(request, schema)
    if request.unit:
        if not all(_names_units(table, schema) for table in private):
            raise NotPerUnit(
                what="this question reads a table that does not name the unit, or by a float.",
                why="the rows of a unit could not be brought together.",
                do="name the unit of every private table by whole numbers, texts or days, or link "
                "it to one that does.",
            )
    elif private and not _by_row(request.relation, schema):
        raise NotPerUnit(
            what="this question puts rows together, each of which is a unit.",
            why="the rows of several people would meet.",
            do="ask about single rows, perhaps joined with public tables.",
        )


def _names_units(table: TableFacts, schema: Schema) -> bool:
    """Whether every row names its unit by exact values, perhaps through other tables."""
    names = table.unit if table.link is None else (table.link.column,)
    if not names or not all(_is_exact(table, name) for name in names):
        return False
    if table.link is None:
        return True
    parent = schema.table(table.link.parent)
    return parent is not None and _is_exact(parent, table.link.key) and _names_units(parent, schema)


def _is_exact(table: TableFacts, name: str) -> bool:
    column = table.column(name)
    return column is not None and column.type is not Type.FLOAT


def _by_row(node: Relation, schema: Schema) -> bool:  # noqa: PLR0911  one for each kind
    """Whether every output row follows from one private row, and from public tables."""
    match node:
        case Scan():
            return True
        case Filter(child=child) | Named(child=child):
            return _by_row(child, schema)
        case Project(child=child, outputs=outputs):
            windows = any(isinstance(part, Window) for _, value in outputs for part in walk(value))
            return not windows and _by_row(child, schema)
        case Join(left=left, right=right, kind=kind):
            for one, other, keeps in ((left, right, "left"), (right, left, "right")):
                if _public(other, schema) and kind in {"inner", "cross", keeps}:
                    return _by_row(one, schema)
            return False
        case SemiJoin(left=left, right=right):
            return _public(right, schema) and _by_row(left, schema)
        case _:
            return False


def _public(node: Relation, schema: Schema) -> bool:
    tables = [schema.table(scan.table) for scan in scans(node)]
    return all(table is not None and table.public for table in tables)


Place = tuple[int, Type]
"""The place of a column in its table, and the type that it is declared as."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateTable:
    """A private table, the places of the columns that are sent, and what names the unit of a row.

    That is columns of its own, or a link to another table.
    """

    table: str
    source: SparkSource
    number: int
    columns_sent: tuple[int, ...]
    unit: tuple[Place, ...] = ()
    link: UnitLink | None = None

    @property
    def prefix(self) -> str:
        """How the names of its columns begin."""
        return f"t{self.number}c"

    @property
    def view(self) -> TableView:
        """How its rows are called in a task."""
        columns = list(self.source.natives)
        return TableView(
            f"rows {self.number}",
            {folded(column): native for column, native in self.source.natives.items()},
            {folded(columns[place]): f"{self.prefix}{place}" for place in self.columns_sent},
        )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class UnitLink:
    """A row belongs to the units of the rows of another table in which the key has its value."""

    column: Place
    parent: PrivateTable
    key: Place


def as_declared(
    frame: DataFrame, owned: PrivateTable, places: Sequence[Place], job: Job
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
    added = pa.schema([(f"d{index}", ARROW_TYPES[kind]) for index, (_, kind) in enumerate(places)])
    read = [
        f"{reading(f'{owned.prefix}{place}', native, kind)} AS d{index}"
        for index, (native, (place, kind)) in enumerate(zip(natives, places, strict=True))
    ]
    statement = f"SELECT *, {', '.join(read)} FROM {name(ROWS)}"  # noqa: S608 (quoted names)
    form = pa.schema([*_arrow_fields(frame), *added])
    whole = type(frame.schema)([*frame.schema.fields, *spark_schema(added).fields])
    with_added = in_tasks(frame, with_values, whole, job=job, statement=statement, form=form)
    return with_added, [functions.col(field.name) for field in added]


def _arrow_fields(frame: DataFrame) -> list[pa.Field]:
    from pyspark.sql.pandas.types import to_arrow_schema  # noqa: PLC0415  an optional library

    return list(to_arrow_schema(frame.schema))


_FEWEST: Final = 2**12
_EACH: Final = 16
_MOST: Final = 2**20
TAG: Final = "tag"
_KEY: Final = "link key"
_END: Final = "link end"


def parts_for(tasks: int) -> int:
    """Return how many parts there are: several for each task, so that work is shared evenly.

    >>> parts_for(2), parts_for(1000)
    (4096, 16000)
    """
    return min(max(_FEWEST, _EACH * tasks), _MOST)


def shuffled_by_unit(tables: Sequence[PrivateTable], *, job: Job, tasks: int | None) -> DataFrame:
    """Return the rows of all tables, each with a tag, so that one task sees all rows of a part.

    Spark decides how many tasks there are, unless ``tasks`` says so.
    """
    usual = str(tables[0].source.frame.sparkSession.conf.get("spark.sql.shuffle.partitions"))
    known = tasks or (int(usual) if usual.isdecimal() else 1)
    parts = min(known, _MOST) if job["apart"] else parts_for(known)
    union: DataFrame | None = None
    for table in tables:
        functions = functions_of(table.source.frame)
        rows = _placed(table, job, parts)
        if len(tables) > 1:
            rows = rows.withColumn(TAG, functions.lit(table.number))
        union = rows if union is None else union.unionByName(rows, allowMissingColumns=True)
    return divided(cast("DataFrame", union), tasks)


def divided(rows: DataFrame, tasks: int | None) -> DataFrame:
    """Bring all rows of a part together; :mod:`.aggregation` checks that Spark has done so."""
    return rows.repartition(PART) if tasks is None else rows.repartition(tasks, PART)


def left_in_place(table: PrivateTable) -> DataFrame:
    """Return the rows of a table as they lie, where each of them is a unit."""
    functions = functions_of(table.source.frame)
    if table.columns_sent:
        return table.source.selected(table.columns_sent, table.prefix)
    return table.source.frame.select(functions.lit(0).alias(PART))  # rows that are only counted


def _placed(table: PrivateTable, job: Job, parts: int, key: Place | None = None) -> DataFrame:
    """Return the rows of a table with their parts, and perhaps with the value of a key."""
    functions = functions_of(table.source.frame)
    owner = list(table.unit) if table.link is None else [table.link.column]
    named = [*owner, *([] if key is None else [key])]
    places = dict.fromkeys([*table.columns_sent, *(place for place, _ in named)])
    frame, columns = as_declared(table.source.selected(places, table.prefix), table, named, job)
    kept = [functions.col(f"{table.prefix}{place}") for place in table.columns_sent]
    if key is not None:
        kept = [columns.pop().alias(_KEY)]
    for column in columns:
        frame = frame.filter(column.isNotNull())
    if table.link is None:
        part = functions.pmod(functions.xxhash64(*columns), functions.lit(parts))
        return frame.select(part.cast("int").alias(PART), *kept)
    ends = _placed(table.link.parent, job, parts, table.link.key).select(_KEY, PART).distinct()
    return _led(frame, columns[0], ends).select(PART, *kept)


def _led(frame: DataFrame, pointer: Any, ends: DataFrame) -> DataFrame:
    """Return rows with the parts of those that they point to, each part once."""
    renamed = ends.withColumnRenamed(_KEY, _END)
    return frame.join(renamed, pointer == functions_of(frame).col(_END))
