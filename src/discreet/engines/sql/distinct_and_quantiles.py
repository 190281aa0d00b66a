"""The statements of distinct values and of leaves: one scan each, over the same kept groups.

Trust: kernel.  A group is kept by the order of its hash alone, and so alike in all statements.
"""

# ruff: noqa: S608 (all text here is printed by us, and names and literals are quoted)

from __future__ import annotations

from discreet.engines.hash_order import LEAVES, VALUES
from discreet.engines.sql.contribution_bounding import ContributionBounding, below, listed, place
from discreet.query.expression_types import typed
from discreet.query.relation_columns import columns
from discreet.requests.engine_request import DistinctCount, Leaves

__all__ = ["counted_leaves", "distinct", "leaves", "shown_values"]


def distinct(bounding: ContributionBounding, measure: DistinctCount) -> str:
    """Print the keys and the number of different values, t0, of every group."""
    rows = shown_values(bounding, measure)
    return bounding.in_group_order(bounding.by_group(["count(DISTINCT x0) AS t0"], rows), ["t0"])


def shown_values(bounding: ContributionBounding, measure: DistinctCount) -> str:
    """Print the values x0 that count, with the keys of their groups; each may come again."""
    rows = bounding.rows([measure.expression])
    if not bounding.unit:
        return rows
    cells = f"SELECT DISTINCT {listed(bounding.unit + bounding.keys)}, x0 FROM ({rows})"
    return _shown(bounding, measure, bounding.keep_groups(cells, rank="dense_rank"))


def _shown(bounding: ContributionBounding, measure: DistinctCount, cells: str) -> str:
    """Print at most ``most`` values of each unit; NULL stays, to show that the group is there."""
    kind = typed(measure.expression, dict(columns(bounding.request.relation)))
    hashed = place(VALUES, [*bounding.cell_columns, ("x0", kind)], portable=bounding.portable)
    within = f"PARTITION BY {listed(bounding.unit + bounding.keys)}"
    ranked = f"row_number() OVER ({within} ORDER BY x0 IS NULL, h, x0) AS place"
    placed = f"SELECT *, {ranked} FROM (SELECT *, {hashed} AS h FROM ({cells}))"
    return f"SELECT * FROM ({placed}) WHERE x0 IS NULL OR place <= {measure.most}"


def leaves(bounding: ContributionBounding, measure: Leaves) -> str:
    """Print the leaves that are not empty: number of the group, leaf, rows."""
    placed = _numbered(bounding, counted_leaves(bounding, measure))
    return f"SELECT g, leaf, c FROM ({placed}) WHERE leaf IS NOT NULL AND c > 0 ORDER BY g, leaf"


def counted_leaves(bounding: ContributionBounding, measure: Leaves) -> str:
    """Print the rows c of each leaf of each group, and of those in none."""
    inside = f"CASE WHEN x0 BETWEEN 0 AND {measure.leaves - 1} THEN x0 END AS leaf"
    cell = bounding.unit + bounding.keys
    rows = f"SELECT {listed(cell, after=', ')}{inside} FROM ({bounding.rows([measure.row])})"
    counted = f"SELECT {listed(cell, after=', ')}leaf, count(*) AS c FROM ({rows}) GROUP BY ALL"
    if bounding.unit:
        counted = _thinned(bounding, measure, bounding.keep_groups(counted, rank="dense_rank"))
    by = listed([*bounding.keys, "leaf"])
    return f"SELECT {by}, CAST(sum(c) AS BIGINT) AS c FROM ({counted}) GROUP BY {by}"


def _numbered(bounding: ContributionBounding, added: str) -> str:
    """Print the number of each group; every group has a row here, if only one without a leaf."""
    ranked = f"SELECT *, dense_rank() OVER (ORDER BY {bounding.by_key}) - 1 AS g FROM ({added})"
    return bounding.numbered(added) or ranked


def _thinned(bounding: ContributionBounding, measure: Leaves, cells: str) -> str:
    """Print how many rows of each leaf of each unit stay."""
    within = f"PARTITION BY {listed(bounding.unit + bounding.keys)}"
    upto = f"{within} ORDER BY leaf NULLS FIRST"
    counts = f"sum(i) OVER ({within}) AS n, sum(i) OVER ({upto}) AS upto"
    inside = f"SELECT *, CASE WHEN leaf IS NOT NULL THEN c END AS i FROM ({cells})"
    start = below("n", LEAVES, bounding.cell_columns, portable=bounding.portable)
    started = f"SELECT *, CASE WHEN n > {measure.rows} THEN {start} END AS start"
    summed = f"{started} FROM (SELECT *, {counts} FROM ({inside}))"
    most = f"CAST({measure.rows} AS HUGEINT)"
    share = f"(upto * {most} + start) // n - ((upto - c) * {most} + start) // n"
    stay = f"CASE WHEN n > {measure.rows} AND leaf IS NOT NULL THEN {share} ELSE c END AS c"
    return f"SELECT {listed(bounding.keys, after=', ')}leaf, {stay} FROM ({summed})"
