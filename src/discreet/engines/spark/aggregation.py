"""Aggregation: parts added up by group in Spark, and the answer from their sums.

Trust: kernel.

Parts added up by group, in Spark.

Theorem (key ``division-by-unit``, for sums).  If all rows of a unit are seen by one task, the sum
over tasks of what each computes is the sum over units.  This is checked: a part that two tasks have
seen ends the job, however Spark came to divide them, and so do more tasks than limbs can be added
up of.  Both conditions stand in one filter with what is kept, so that no part of it is computed
before rows are added up.

The answer, from rows that all parts have been added up to.

 Here totals are clamped, once, and groups get their order.
"""

# ruff: noqa: S608 (all text here is printed by us, and names and literals are quoted)

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from discreet.engines.connection import Connection, Performance
from discreet.engines.spark.data_frames import functions_of
from discreet.engines.spark.statements import (
    GROUP,
    MEASURES,
    MOST_PARTS,
    SEEN,
    joined_limbs,
    limb_names,
    names,
    totals_of,
)
from discreet.engines.sql.contribution_bounding import (
    PUBLIC,
    ContributionBounding,
    listed,
    public_tables,
)
from discreet.requests.engine_request import Distinct, EngineRequest, Leaves
from discreet.requests.raw_totals import ARROW_TYPES, LARGEST_TOTAL, Integers, RawTotals, numbers

if TYPE_CHECKING:  # loaded when first used, because a plain question needs none of it
    from pyspark.sql import DataFrame

__all__ = ["group_totals", "raw_answer", "summed"]

_BROKEN: Final = "the rows of a unit were not brought together"
_PARTS: Final = "parts added"


def summed(rows: DataFrame, lowered: EngineRequest) -> DataFrame:
    """Return all rows of tasks, added up; different values are one row with their number."""
    functions = functions_of(rows)
    return _added(rows, lowered).filter(_checked(functions, functions.col("kind") != SEEN))


def group_totals(rows: DataFrame, lowered: EngineRequest) -> DataFrame:
    """Return the keys, units and limbs of all groups."""
    functions = functions_of(rows)
    kept = _added(rows, lowered).filter(_checked(functions, functions.col("kind") == GROUP))
    return kept.select(*names(lowered)[3:])


def _added(rows: DataFrame, lowered: EngineRequest) -> DataFrame:
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


_ROWS: Final = '"added rows"'


def raw_answer(rows: pa.Table, bounding: ContributionBounding) -> RawTotals:
    """Return the answer from all rows, in the order of groups."""
    lowered = bounding.lowered
    connection = Connection({}, Performance(threads=1))
    try:
        tables = {
            **public_tables(lowered),
            _ROWS: rows.select(names(lowered)[:2] + _counts(lowered)),
        }
        first = connection.fetched(_groups(bounding), tables)
        leaves = {
            each.name: connection.fetched(_leaves(bounding, kind), tables)
            for kind, each in enumerate(lowered.measures, start=MEASURES)
            if isinstance(each, Leaves)
        }
    finally:
        connection.close()
    named = first if lowered.listed is None else tables[PUBLIC]
    totals = {each.name: _integers(first, f"t{at}") for at, each in enumerate(totals_of(lowered))}
    return RawTotals(
        keys=tuple(
            named.column(at).cast(ARROW_TYPES[key.type]).combine_chunks()
            for at, key in enumerate(lowered.keys)
        ),
        units=_integers(first, "units"),
        totals=totals
        | {
            each.name: _integers(first, f"d{kind}")
            for kind, each in enumerate(lowered.measures, start=MEASURES)
            if isinstance(each, Distinct)
        },
        leaves={
            name: (_integers(found, "g"), _integers(found, "leaf"), _integers(found, "c"))
            for name, found in leaves.items()
        },
    )


def _counts(lowered: EngineRequest) -> list[str]:
    return names(lowered)[3:]


def _groups(bounding: ContributionBounding) -> str:
    """Print the units, totals and numbers of different values of every group."""
    lowered = bounding.lowered
    values = {"units": _of_kind(GROUP)}
    for at, _ in enumerate(totals_of(lowered)):
        whole = f"coalesce(sum({joined_limbs(limb_names(at))}), 0)"
        values[f"t{at}"] = f"least(greatest({whole}, -{LARGEST_TOTAL}), {LARGEST_TOTAL})"
    for kind, each in enumerate(lowered.measures, start=MEASURES):
        if isinstance(each, Distinct):
            values[f"d{kind}"] = _of_kind(kind)
    shown = [f"CAST({sql} AS BIGINT) AS {name}" for name, sql in values.items()]
    by = f" GROUP BY {listed(bounding.keys)}" if bounding.keys else ""
    kinds = [GROUP, *(_kinds(lowered, Distinct))]
    rows = f"SELECT * FROM {_ROWS} WHERE kind IN ({listed([str(kind) for kind in kinds])})"
    groups = f"SELECT {listed([*bounding.keys, *shown])} FROM ({rows}){by}"
    return bounding.answer(groups, list(values))


def _of_kind(kind: int) -> str:
    return f"coalesce(sum(CASE WHEN kind = {kind} THEN units END), 0)"


def _kinds(lowered: EngineRequest, which: type) -> list[int]:
    return [
        kind
        for kind, each in enumerate(lowered.measures, start=MEASURES)
        if isinstance(each, which)
    ]


def _leaves(bounding: ContributionBounding, kind: int) -> str:
    """Print the leaves of a measure that are not empty, with the numbers of their groups."""
    rows = f"SELECT * FROM {_ROWS} WHERE kind = {kind}"
    if bounding.lowered.listed is not None:
        found = f"SELECT *, position AS g FROM ({rows}) JOIN {PUBLIC} ON {bounding.same_group('p')}"
    elif not bounding.keys:
        found = f"SELECT *, CAST(0 AS BIGINT) AS g FROM ({rows})"
    else:
        renamed = [f"{key} AS p{at}" for at, key in enumerate(bounding.keys)]
        place = f"row_number() OVER (ORDER BY {bounding.by_key}) - 1 AS g"
        groups = f"SELECT {listed(renamed)}, {place} FROM {_ROWS} WHERE kind = {GROUP}"
        found = f"SELECT * FROM ({rows}) JOIN ({groups}) ON {bounding.same_group('p')}"
    return f"SELECT g, leaf, units AS c FROM ({found}) ORDER BY g, leaf"


def _integers(table: pa.Table, name: str) -> Integers:
    column = table.column(name)
    if column.null_count:
        message = "a total is missing"
        raise RuntimeError(message)
    found: Integers = numbers(column)
    return found
