"""The statements of different values: how many there are in a group, and what they add up to.

Trust: kernel (T7).

A unit shows so many of its values and no more, whatever is believed of them.
"""

# ruff: noqa: S608 (all text here is printed by us, and names and literals are quoted)

from __future__ import annotations

from discreet.engines.hash_order import VALUES
from discreet.engines.sql.contribution_bounding import ContributionBounding, listed, place
from discreet.query.expression_types import columns, typed
from discreet.query.types import Type
from discreet.requests.distinct_sum import DistinctSum
from discreet.requests.engine_request import DistinctCount
from discreet.requests.raw_totals import LARGEST_TOTAL


def distinct(bounding: ContributionBounding, measure: DistinctCount | DistinctSum) -> str:
    """Print the keys and the number, or the sum, of different values of every group, t0."""
    rows = shown_values(bounding, measure)
    total = "count(DISTINCT x0)"
    if isinstance(measure, DistinctSum):
        total = added_values("sum(DISTINCT x0)")
    return bounding.in_group_order(bounding.by_group([f"{total} AS t0"], rows), ["t0"])


def added_values(sums: str) -> str:
    """Print a sum of different values, clamped to what noise can be added to."""
    whole = f"CAST(coalesce({sums}, 0) AS HUGEINT)"
    return f"CAST(least(greatest({whole}, -{LARGEST_TOTAL}), {LARGEST_TOTAL}) AS BIGINT)"


def shown_values(bounding: ContributionBounding, measure: DistinctCount | DistinctSum) -> str:
    """Print the values x0 that count, with the keys of their groups; each may come again."""
    if isinstance(measure, DistinctSum):
        low, high = f"({measure.low})", f"({measure.high})"
        inside = f"CASE WHEN x0 >= {high} THEN {high} WHEN x0 <= {low} THEN {low} ELSE x0 END"
        measured = bounding.rows([measure.row])
        rows = f"SELECT * REPLACE (CAST({inside} AS BIGINT) AS x0) FROM ({measured})"
        kind = Type.INTEGER
    else:
        rows = bounding.rows([measure.expression])
        kind = typed(measure.expression, dict(columns(bounding.request.relation)))
    if not bounding.unit:
        return rows
    cells = f"SELECT DISTINCT {listed(bounding.unit + bounding.keys)}, x0 FROM ({rows})"
    kept = bounding.keep_groups(cells, rank="dense_rank")
    return _shown(bounding, kept, kind, measure.most)


def _shown(bounding: ContributionBounding, cells: str, kind: Type, most: int) -> str:
    """Print at most so many values of each unit; NULL stays, to show that the group is there."""
    hashed = place(VALUES, [*bounding.cell_columns, ("x0", kind)], portable=bounding.portable)
    within = f"PARTITION BY {listed(bounding.unit + bounding.keys)}"
    ranked = f"row_number() OVER ({within} ORDER BY x0 IS NULL, h, x0) AS place"
    placed = f"SELECT *, {ranked} FROM (SELECT *, {hashed} AS h FROM ({cells}))"
    return f"SELECT * FROM ({placed}) WHERE x0 IS NULL OR place <= {most}"
