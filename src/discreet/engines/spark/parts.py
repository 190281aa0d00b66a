"""The division of private tables: all rows of a unit are brought together.

Trust: kernel.

Definition.  The part of a unit is a number that follows from the values of the columns that name
it, as values of their declared types.  A row is sent to the part of its unit; a row of a linked
table to every part to which a row with its value in the key is sent.  Rows whose unit is NULL, or
that point to nothing, belong to nobody and are left out.
Theorem (key ``division-by-unit``).  Let each part be computed from its rows and all public tables.
Then the totals of a lowered question are the sums of those of the parts, and its different values
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

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from discreet.engines.spark.owned import Owned, Place, as_declared
from discreet.engines.spark.sources import functions_of
from discreet.engines.spark.task import PART, Job

if TYPE_CHECKING:  # an optional library
    from pyspark.sql import DataFrame

__all__ = ["TAG", "brought_together", "divided", "left_in_place", "parts_for"]

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


def brought_together(tables: Sequence[Owned], *, job: Job, tasks: int | None) -> DataFrame:
    """Return the rows of all tables, each with a tag, such that a part is seen by one task.

    Spark decides how many tasks there are, unless it is told.
    """
    usual = str(tables[0].source.frame.sparkSession.conf.get("spark.sql.shuffle.partitions"))
    known = tasks or (int(usual) if usual.isdecimal() else 1)
    parts = min(known, _MOST) if job["apart"] else parts_for(known)
    found: DataFrame | None = None
    for table in tables:
        functions = functions_of(table.source.frame)
        rows = _placed(table, job, parts)
        if len(tables) > 1:
            rows = rows.withColumn(TAG, functions.lit(table.number))
        found = rows if found is None else found.unionByName(rows, allowMissingColumns=True)
    return divided(cast("DataFrame", found), tasks)


def divided(rows: DataFrame, tasks: int | None) -> DataFrame:
    """Bring all rows of a part together; the shuffle is not trusted, see ``sums``."""
    return rows.repartition(PART) if tasks is None else rows.repartition(tasks, PART)


def left_in_place(table: Owned) -> DataFrame:
    """Return the rows of a table as they lie, where each of them is a unit."""
    functions = functions_of(table.source.frame)
    if table.sent:
        return table.source.sent(table.sent, table.prefix)
    return table.source.frame.select(functions.lit(0).alias(PART))  # rows that are only counted


def _placed(table: Owned, job: Job, parts: int, key: Place | None = None) -> DataFrame:
    """Return the rows of a table with their parts, and perhaps with the value of a key."""
    functions = functions_of(table.source.frame)
    owner = list(table.unit) if table.link is None else [table.link.column]
    named = [*owner, *([] if key is None else [key])]
    places = dict.fromkeys([*table.sent, *(place for place, _ in named)])
    frame, columns = as_declared(table.source.sent(places, table.prefix), table, named, job)
    kept = [functions.col(f"{table.prefix}{place}") for place in table.sent]
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
