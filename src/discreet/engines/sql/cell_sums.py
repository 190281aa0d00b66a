"""The statement of sums by cells: one scan, over the same groups as all other statements.

Trust: kernel (T7).

What a row adds is clamped here, and of a unit with more rows than may count all
sums are scaled by the same number; so no belief about conditions or values can raise them.
"""

# ruff: noqa: S608 (all text here is printed by us, and names and literals are quoted)

from __future__ import annotations

from typing import Final

from discreet.engines.sql.contribution_bounding import ContributionBounding, listed
from discreet.requests.cell_sums import CellSums
from discreet.requests.raw_totals import LARGEST_TOTAL

_HALF: Final = 2**31


def cell_sums(bounding: ContributionBounding, measure: CellSums) -> str:
    """Print the cells whose sums are not zero: number of the group, cell, sum."""
    added = summed_cells(bounding, measure)
    ranked = f"SELECT *, dense_rank() OVER (ORDER BY {bounding.by_key}) - 1 AS g FROM ({added})"
    placed = bounding.numbered(added) or ranked
    return f"SELECT g, leaf, c FROM ({placed}) WHERE leaf IS NOT NULL AND c <> 0 ORDER BY g, leaf"


def summed_cells(bounding: ContributionBounding, measure: CellSums) -> str:
    """Print the sum c of each cell of each group, and a row of those in none."""
    inside = f"CASE WHEN x0 BETWEEN 0 AND {measure.cells - 1} THEN x0 END AS leaf"
    low, high = f"({measure.low})", f"({measure.high})"
    clamped = f"CASE WHEN x1 >= {high} THEN {high} WHEN x1 <= {low} THEN {low} ELSE x1 END"
    value = f"CAST(coalesce({clamped}, 0) AS BIGINT) AS v"
    cell = bounding.unit + bounding.keys
    measured = bounding.rows([measure.row, measure.value])
    rows = f"SELECT {listed(cell, after=', ')}{inside}, {value} FROM ({measured})"
    sums = "CAST(sum(v) AS HUGEINT) AS s, count(*) AS n"
    added = f"SELECT {listed(cell, after=', ')}leaf, {sums} FROM ({rows}) GROUP BY ALL"
    if bounding.unit:
        added = _scaled(bounding, measure, bounding.keep_groups(added, rank="dense_rank"))
    by = listed([*bounding.keys, "leaf"])
    total = f"least(greatest(coalesce(sum(s), 0), -{LARGEST_TOTAL}), {LARGEST_TOTAL})"
    return f"SELECT {by}, CAST({total} AS BIGINT) AS c FROM ({added}) GROUP BY {by}"


def _scaled(bounding: ContributionBounding, measure: CellSums, cells: str) -> str:
    """Print what is left of the sums of each unit: a share of rows, rounded toward zero."""
    within = f"PARTITION BY {listed(bounding.unit + bounding.keys)}"
    rows = f"sum(CASE WHEN leaf IS NOT NULL THEN n END) OVER ({within}) AS inside"
    most = f"CAST({measure.rows} AS HUGEINT)"
    share = f"CASE WHEN s < 0 THEN -((-s * {most}) // inside) ELSE (s * {most}) // inside END"
    kept = f"CASE WHEN leaf IS NOT NULL AND inside > {measure.rows} THEN {share} ELSE s END AS s"
    counted = f"SELECT *, {rows} FROM ({cells})"
    return f"SELECT {listed(bounding.keys, after=', ')}leaf, {kept} FROM ({counted})"


def split_sums(cells: str) -> str:
    """Print each sum in two halves, at twice its cell and the place after it.

    So many of them can be added up in 64 bits; the low one is never negative.
    """
    low = f"((c % {_HALF}) + {_HALF}) % {_HALF}"
    halves = f"SELECT * EXCLUDE (c), {low} AS low, (c - {low}) // {_HALF} AS high FROM ({cells})"
    there = f"SELECT * FROM ({halves}) WHERE leaf IS NOT NULL"
    first = f"SELECT * EXCLUDE (leaf, low, high), 2 * leaf AS leaf, low AS c FROM ({there})"
    second = f"SELECT * EXCLUDE (leaf, low, high), 2 * leaf + 1 AS leaf, high AS c FROM ({there})"
    return f"{first} UNION ALL {second}"


def joined_sums(halves: str) -> str:
    """Print the sums g, leaf, c of halves that were added up."""
    weighted = f"CASE WHEN leaf % 2 = 0 THEN c ELSE CAST(c AS HUGEINT) * {_HALF} END"
    whole = f"least(greatest(sum({weighted}), -{LARGEST_TOTAL}), {LARGEST_TOTAL})"
    added = (
        f"SELECT g, leaf // 2 AS leaf, CAST({whole} AS BIGINT) AS c FROM ({halves}) GROUP BY ALL"
    )
    return f"SELECT * FROM ({added}) WHERE c <> 0 ORDER BY g, leaf"
