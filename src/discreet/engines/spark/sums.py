"""Parts added up by group, in Spark.

Trust: kernel.

Theorem (key ``division-by-unit``, for sums).  If all rows of a unit are seen by one task, the sum
over tasks of what each computes is the sum over units.  This is checked: a part that two tasks have
seen ends the job, however Spark came to divide them, and so do more tasks than limbs can be added
up of.  Both conditions stand in one filter with what is kept, so that no part of it is computed
before rows are added up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from discreet.engines.spark.limbs import MOST_PARTS
from discreet.engines.spark.sources import functions_of
from discreet.engines.spark.statements import GROUP, SEEN, names
from discreet.plan.lowered import Distinct, Lowered

if TYPE_CHECKING:  # an optional library
    from pyspark.sql import DataFrame

__all__ = ["group_totals", "summed"]

_BROKEN: Final = "the rows of a unit were not brought together"
_PARTS: Final = "parts added"


def summed(rows: DataFrame, lowered: Lowered) -> DataFrame:
    """Return all rows of tasks, added up; different values are one row with their number."""
    functions = functions_of(rows)
    return _added(rows, lowered).filter(_checked(functions, functions.col("kind") != SEEN))


def group_totals(rows: DataFrame, lowered: Lowered) -> DataFrame:
    """Return the keys, units and limbs of all groups."""
    functions = functions_of(rows)
    kept = _added(rows, lowered).filter(_checked(functions, functions.col("kind") == GROUP))
    return kept.select(*names(lowered)[3:])


def _added(rows: DataFrame, lowered: Lowered) -> DataFrame:
    functions = functions_of(rows)
    _, leaf, value, *rest = names(lowered)
    keys, counts = rest[: len(lowered.keys)], rest[len(lowered.keys) :]
    sums = {name: functions.sum(name) for name in counts}
    parts = {_PARTS: functions.count(functions.lit(1))}
    found = _grouped(rows, ("kind", leaf, value, *keys), {**sums, **parts})
    if any(isinstance(each, Distinct) for each in lowered.measures):
        units = functions.when(functions.col(value).isNull(), functions.col("units")).otherwise(1)
        sums["units"] = functions.sum(units)
        parts = {_PARTS: functions.max(_PARTS)}
        found = _grouped(found, ("kind", leaf, *keys), {**sums, **parts})
    return found


def _grouped(rows: DataFrame, by: Sequence[str], values: Mapping[str, Any]) -> DataFrame:
    """Return what rows are grouped by, and one value of each name for every group.

    Whether a group keeps what it is grouped by is a setting of the session; here it does.
    """
    functions = functions_of(rows)
    kept = [functions.col(each).alias(f"by_{each}") for each in by]
    found = rows.groupBy(*by).agg(*kept, *(value.alias(each) for each, value in values.items()))
    named = [functions.col(f"by_{each}").alias(each) for each in by]
    return found.select(*named, *(functions.col(each) for each in values))


def _checked(functions: Any, kept: Any) -> Any:
    """Return the condition of rows that are kept; it fails where parts were not kept apart."""
    twice = (functions.col("kind") == SEEN) & (functions.col("units") > 1)
    many = functions.col(_PARTS) > MOST_PARTS
    broken = functions.raise_error(functions.lit(_BROKEN))
    return functions.when(twice | many, broken).otherwise(kept)
