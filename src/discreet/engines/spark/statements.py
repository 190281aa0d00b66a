"""The statements of a task: what the units of some parts add to every group.

Trust: kernel.  Nothing is clamped here but what one unit adds: parts are added up first.

All statements give rows of one form (:func:`names`), told apart by their ``kind``: a part that was
seen (its number stands in ``leaf``), the totals of a group, or for a measure the rows of a leaf or
one different value, as a text that no other value has.
"""

# ruff: noqa: S608 (all text here is printed by us, and names and literals are quoted)

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from discreet.engines.spark.limbs import LIMBS, limb_names, split
from discreet.engines.sql.bounding import Bounding, listed
from discreet.engines.sql.cells import counted_leaves, shown_values
from discreet.engines.sql.hashing import value_text
from discreet.engines.sql.totals import NONE, cells, measured_rows, row_sum
from discreet.plan.lowered import Distinct, Leaves, Lowered, Total
from discreet.query.functions import typed
from discreet.query.shape import columns

__all__ = ["GROUP", "MEASURES", "SEEN", "SUMS", "added", "group_sums", "names", "others"]

SEEN: Final = 0
GROUP: Final = 1
MEASURES: Final = 2
"""The kind of the first measure; those of others follow."""

SUMS: Final = '"sums of groups"'
"""The table in which a task keeps the totals of its groups."""


def names(lowered: Lowered) -> list[str]:
    """Return the columns of all rows that tasks give.

    >>> from discreet.query.relations import Scan
    >>> names(Lowered(relation=Scan("t", ()), unit=(), keys=(), groups=None, measures=()))
    ['kind', 'leaf', 'value', 'units']
    """
    keys = [f"k{at}" for at in range(len(lowered.keys))]
    limbs = [name for at in range(len(totals_of(lowered))) for name in limb_names(at)]
    return ["kind", "leaf", "value", *keys, "units", *limbs]


def totals_of(lowered: Lowered) -> list[Total]:
    """Return the measures that are added up."""
    return [each for each in lowered.measures if isinstance(each, Total)]


def group_sums(bounding: Bounding) -> str:
    """Print the keys, the number of units, and the exact totals t0, t1, ... of every group."""
    measures = totals_of(bounding.lowered)
    rows = measured_rows(bounding, measures, NONE)
    sums = [row_sum(each, measures, NONE) for each in measures]
    if bounding.unit:
        found = cells(bounding, measures, NONE, rows)
        rows = bounding.kept(found, rank="row_number")
        sums = [f"sum(t{at})" for at in range(len(measures))]
    shown = [f"CAST(coalesce({sql}, 0) AS HUGEINT) AS t{at}" for at, sql in enumerate(sums)]
    return _grouped(bounding, ["count(*) AS units", *shown], rows)


def added(bounding: Bounding) -> str:
    """Print the rows of all groups, from the table of sums."""
    count = len(totals_of(bounding.lowered))
    sums = [f"CAST(sum(t{at}) AS HUGEINT) AS t{at}" for at in range(count)]
    sums = ["CAST(sum(units) AS BIGINT) AS units", *sums]
    limbs = [sql for at in range(count) for sql in split(f"t{at}")]
    return _rows(bounding, _grouped(bounding, sums, f"SELECT * FROM {SUMS}"), GROUP, limbs=limbs)


def others(bounding: Bounding) -> list[str]:
    """Print the rows of all measures that are no totals."""
    found = []
    types = dict(columns(bounding.lowered.relation))
    for kind, measure in enumerate(bounding.lowered.measures, start=MEASURES):
        match measure:
            case Distinct(expression=expression):
                shown = value_text(("x0", typed(expression, types)))
                rows = f"SELECT * FROM ({shown_values(bounding, measure)}) WHERE x0 IS NOT NULL"
                printed = _rows(bounding, rows, kind, value=shown, units="1::BIGINT")
                found.append(f"SELECT DISTINCT * FROM ({printed})")
            case Leaves():
                rows = f"SELECT * FROM ({counted_leaves(bounding, measure)})"
                there = f"{rows} WHERE leaf IS NOT NULL AND c > 0"
                found.append(_rows(bounding, there, kind, leaf="leaf", units="c"))
            case Total():
                pass
    return found


def _grouped(bounding: Bounding, sums: Sequence[str], rows: str) -> str:
    by = f" GROUP BY {listed(bounding.keys)}" if bounding.keys else ""
    return f"SELECT {listed([*bounding.keys, *sums])} FROM ({rows}){by}"


def _rows(  # noqa: PLR0913  (one for each column)
    bounding: Bounding,
    rows: str,
    kind: int,
    *,
    leaf: str = "NULL",
    value: str = "NULL",
    units: str = "units",
    limbs: Sequence[str] = (),
) -> str:
    """Print rows in the one form."""
    count = LIMBS * len(totals_of(bounding.lowered))
    values = [
        f"CAST({kind} AS INTEGER)",
        f"CAST({leaf} AS BIGINT)",
        f"CAST({value} AS VARCHAR)",
        *bounding.keys,
        f"CAST({units} AS BIGINT)",
        *(limbs or ["CAST(0 AS BIGINT)"] * count),
    ]
    shown = zip(values, names(bounding.lowered), strict=True)
    return f"SELECT {listed([f'{sql} AS {name}' for sql, name in shown])} FROM ({rows})"
