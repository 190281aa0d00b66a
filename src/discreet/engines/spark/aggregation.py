"""Aggregation: parts added up by group in Spark, and the answer from their sums.

Trust: kernel.

Totals are clamped once, and groups get their order, when all parts have been added up.

Theorem (key ``division-by-unit``, for sums).  If all rows of a unit are seen by one task, the sum
over tasks of what each computes is the sum over units.  This is checked: a part that two tasks have
seen ends the job, however Spark came to divide them, and so do more tasks than limbs have room for.
One filter holds both conditions and chooses the rows to keep, so that no part of it is computed
before rows are added up.
"""

# ruff: noqa: S608 (all text here is printed by us, and names and literals are quoted)

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

import pyarrow as pa

from discreet.engines.connection import Connection
from discreet.engines.engine import Performance
from discreet.engines.spark.data_frames import functions_of
from discreet.engines.spark.statements import (
    GROUP,
    MEASURES,
    MOST_PARTS,
    SEEN,
    joined_limbs,
    limb_names,
    names,
)
from discreet.engines.sql.cell_sums import joined_sums
from discreet.engines.sql.contribution_bounding import (
    PUBLIC,
    ContributionBounding,
    listed,
    public_tables,
)
from discreet.engines.sql.distinct_values import added_values
from discreet.requests.cell_sums import CellSums
from discreet.requests.distinct_sum import DistinctSum
from discreet.requests.engine_request import DistinctCount, EngineRequest, Leaves
from discreet.requests.raw_totals import (
    ARROW_TYPES,
    LARGEST_TOTAL,
    RawTotals,
    integers,
    sparse_leaves,
)

if TYPE_CHECKING:  # an optional library
    from pyspark.sql import DataFrame

_BROKEN: Final = "the rows of a unit were not brought together"
_PARTS: Final = "parts added"

M = TypeVar("M", DistinctCount, DistinctSum, Leaves, CellSums)


def summed(rows: DataFrame, request: EngineRequest) -> DataFrame:
    """Return all rows of tasks, added up; different values are one row with their number."""
    functions = functions_of(rows)
    return _added(rows, request).filter(_checked(functions, functions.col("kind") != SEEN))


def group_totals(rows: DataFrame, request: EngineRequest) -> DataFrame:
    """Return the keys, units and limbs of all groups."""
    functions = functions_of(rows)
    kept = _added(rows, request).filter(_checked(functions, functions.col("kind") == GROUP))
    return kept.select(*names(request)[3:])


def _added(rows: DataFrame, request: EngineRequest) -> DataFrame:
    functions = functions_of(rows)
    _, leaf, value, *rest = names(request)
    keys, counts = rest[: len(request.keys)], rest[len(request.keys) :]
    sums = {name: functions.sum(name) for name in counts}
    parts = {_PARTS: functions.count(functions.lit(1))}
    summed_rows = _grouped(rows, ("kind", leaf, value, *keys), {**sums, **parts})
    if any(isinstance(measure, DistinctCount) for measure in request.measures):
        units = functions.when(functions.col(value).isNull(), functions.col("units")).otherwise(1)
        sums["units"] = functions.sum(units)
        parts = {_PARTS: functions.max(_PARTS)}
        summed_rows = _grouped(summed_rows, ("kind", leaf, *keys), {**sums, **parts})
    return summed_rows


def _grouped(rows: DataFrame, by: Sequence[str], values: Mapping[str, Any]) -> DataFrame:
    """Return what rows are grouped by, and one value of each name for every group.

    Sessions differ in whether a group keeps its grouping columns; here it does.
    """
    functions = functions_of(rows)
    kept = [functions.col(column).alias(f"by_{column}") for column in by]
    grouped = rows.groupBy(*by).agg(
        *kept, *(value.alias(column) for column, value in values.items())
    )
    named = [functions.col(f"by_{column}").alias(column) for column in by]
    return grouped.select(*named, *(functions.col(column) for column in values))


def _checked(functions: Any, kept: Any) -> Any:
    """Return the condition of rows that are kept; it fails where parts were not kept apart."""
    twice = (functions.col("kind") == SEEN) & (functions.col("units") > 1)
    many = functions.col(_PARTS) > MOST_PARTS
    broken = functions.raise_error(functions.lit(_BROKEN))
    return functions.when(twice | many, broken).otherwise(kept)


_ROWS: Final = '"added rows"'


def raw_answer(rows: pa.Table, bounding: ContributionBounding) -> RawTotals:
    """Return the answer from all rows, in the order of groups."""
    request = bounding.request
    connection = Connection({}, Performance(threads=1))
    try:
        tables = {
            **public_tables(request),
            _ROWS: rows.select([column for column in names(request) if column != "value"]),
        }
        first = connection.fetch(_groups(bounding), tables)
        leaves = {
            measure.name: connection.fetch(_leaves(bounding, kind), tables)
            for kind, measure in _of_class(request, Leaves)
        }
        leaves |= {
            measure.name: connection.fetch(joined_sums(_leaves(bounding, kind)), tables)
            for kind, measure in _of_class(request, CellSums)
        }
    finally:
        connection.close()
    named = first if request.listed is None else tables[PUBLIC]
    columns = {total.name: f"t{index}" for index, total in enumerate(request.totals)}
    columns |= {measure.name: f"d{kind}" for kind, measure in _of_class(request, DistinctCount)}
    columns |= {measure.name: f"v{kind}" for kind, measure in _of_class(request, DistinctSum)}
    return RawTotals(
        keys=tuple(
            named.column(index).cast(ARROW_TYPES[key.type]).combine_chunks()
            for index, key in enumerate(request.keys)
        ),
        units=integers(first, "units"),
        totals={name: integers(first, column) for name, column in columns.items()},
        leaves={name: sparse_leaves(table) for name, table in leaves.items()},
    )


def _groups(bounding: ContributionBounding) -> str:
    """Print the units, totals and numbers of different values of every group."""
    request = bounding.request
    values = {"units": _of_kind(GROUP)}
    for index, _ in enumerate(request.totals):
        whole = f"coalesce(sum({joined_limbs(limb_names(index))}), 0)"
        values[f"t{index}"] = f"least(greatest({whole}, -{LARGEST_TOTAL}), {LARGEST_TOTAL})"
    distinct = [kind for kind, _ in _of_class(request, DistinctCount)]
    values |= {f"d{kind}": _of_kind(kind) for kind in distinct}
    added = [kind for kind, _ in _of_class(request, DistinctSum)]
    values |= {f"v{kind}": added_values(_values_of(kind)) for kind in added}
    shown = [f"CAST({sql} AS BIGINT) AS {name}" for name, sql in values.items()]
    kinds = listed([str(kind) for kind in (GROUP, *distinct, *added)])
    rows = f"SELECT * FROM {_ROWS} WHERE kind IN ({kinds})"
    return bounding.in_group_order(bounding.by_group(shown, rows), list(values))


def _of_kind(kind: int) -> str:
    return f"coalesce(sum(CASE WHEN kind = {kind} THEN units END), 0)"


def _values_of(kind: int) -> str:
    """Print the sum of the values of a kind, of which every one has one row."""
    return f"sum(CASE WHEN kind = {kind} THEN leaf END)"


def _of_class(request: EngineRequest, which: type[M]) -> list[tuple[int, M]]:
    """Return the measures of one class, with the kinds of their rows."""
    numbered = enumerate(request.measures, start=MEASURES)
    return [(kind, measure) for kind, measure in numbered if isinstance(measure, which)]


def _leaves(bounding: ContributionBounding, kind: int) -> str:
    """Print the leaves of a measure that are not empty, with the numbers of their groups."""
    rows = f"SELECT * FROM {_ROWS} WHERE kind = {kind}"
    numbered = bounding.numbered(rows)
    if numbered is None:
        renamed = [f"{key} AS p{index}" for index, key in enumerate(bounding.keys)]
        place = f"row_number() OVER (ORDER BY {bounding.by_key}) - 1 AS g"
        groups = f"SELECT {listed(renamed)}, {place} FROM {_ROWS} WHERE kind = {GROUP}"
        numbered = f"SELECT * FROM ({rows}) JOIN ({groups}) ON {bounding.same_group('p')}"
    return f"SELECT g, leaf, units AS c FROM ({numbered}) ORDER BY g, leaf"
