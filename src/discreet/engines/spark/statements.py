"""The statements of a task: what the units of some parts add to every group, in limbs.

Trust: kernel.

All statements give rows of one form (:func:`names`), told apart by their ``kind``: a part that was
seen (its number stands in ``leaf``), the totals of a group, or for a measure the rows of a leaf or
one different value: in ``leaf`` where values are added up, else as a text that no other value has.
Only what one unit adds is clamped here: parts are added up first.

Limbs are whole numbers of 127 bits in three of 64, which can be added up without a carry.
Definition.  The limbs of a number t are t_0, t_1 and t_2 with t = t_0 + 2^42 t_1 + 2^84 t_2, where
t_0 and t_1 lie in [0, 2^42).
Theorem (key ``limbs``).  If |t| < 2^126, there are such limbs, and -2^42 <= t_2 < 2^42.  If the
limbs of at most 2^20 numbers are added up, no sum needs more than 62 bits and a sign; put together,
the sums are the sum of the numbers, and nothing on the way needs more than 127 bits and a sign if
that sum is below 2^126 in size, too.  Proof.  Let w = t + 2^126, which is not negative and below
2^127.  Its digits to the base 2^42 are t_0, t_1 and t_2 + 2^42, the last of them below 2^43.  A
limb is at most 2^42 in size, and 2^20 of them are at most 2^62.  Putting together is linear.  The
two lower sums stand for less than 2^105, and so the highest for less than 2^126 + 2^105.
A total, of a part or of all, is below 2^126: fewer than 2^63 rows add at most 2^63 in size each.
"""

# ruff: noqa: S608 (all text here is printed by us, and names and literals are quoted)

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from discreet.engines.sql.cell_sums import split_sums, summed_cells
from discreet.engines.sql.contribution_bounding import ContributionBounding, listed, value_text
from discreet.engines.sql.distinct_values import shown_values
from discreet.engines.sql.totals import TotalStatements, counted_leaves
from discreet.query.expression_types import columns, typed
from discreet.requests.cell_sums import CellSums
from discreet.requests.distinct_sum import DistinctSum
from discreet.requests.engine_request import DistinctCount, EngineRequest, Leaves, Total

BITS: Final = 42
LIMBS: Final = 3
MOST_PARTS: Final = 2**20
"""How many limbs may be added up."""

_BASE: Final = 2**BITS
_SHIFT: Final = 2 ** (BITS * LIMBS)


def limb_names(total: int) -> list[str]:
    """Return the names of the columns of limbs.

    >>> limb_names(7)
    ['t7_0', 't7_1', 't7_2']
    """
    return [f"t{total}_{place}" for place in range(LIMBS)]


def split_limbs(sql: str) -> list[str]:
    """Print the limbs of a number, lowest first.

    >>> split_limbs("t")[0]
    'CAST((t + 85070591730234615865843651857942052864::HUGEINT) % 4398046511104 AS BIGINT)'
    """
    shifted = f"({sql} + {_SHIFT}::HUGEINT)"
    return [
        f"CAST({shifted} % {_BASE} AS BIGINT)",
        f"CAST(({shifted} // {_BASE}) % {_BASE} AS BIGINT)",
        f"CAST({shifted} // {_BASE**2} - {_BASE} AS BIGINT)",
    ]


def joined_limbs(names: Sequence[str]) -> str:
    """Print the number that limbs, or their sums, stand for.

    >>> joined_limbs(["a", "b"])
    '(CAST(a AS HUGEINT) * 1 + CAST(b AS HUGEINT) * 4398046511104)'
    """
    parts = [f"CAST({name} AS HUGEINT) * {_BASE**place}" for place, name in enumerate(names)]
    return f"({' + '.join(parts)})"


SEEN: Final = 0
GROUP: Final = 1
MEASURES: Final = 2
"""The kind of the first measure; those of others follow."""

SUMS: Final = '"sums of groups"'
"""The table in which a task keeps the totals of its groups."""


def names(request: EngineRequest) -> list[str]:
    """Return the columns of all rows that tasks give.

    >>> from discreet.query.relations import Scan
    >>> names(EngineRequest(relation=Scan("t", ()), unit=(), keys=(), groups=None, measures=()))
    ['kind', 'leaf', 'value', 'units']
    """
    keys = [f"k{index}" for index in range(len(request.keys))]
    limbs = [name for index in range(len(request.totals)) for name in limb_names(index)]
    return ["kind", "leaf", "value", *keys, "units", *limbs]


def group_sums(bounding: ContributionBounding) -> str:
    """Print the keys, the number of units, and the exact totals t0, t1, ... of every group."""
    statements, totals = TotalStatements(bounding), bounding.request.totals
    rows, sums = statements.rows(), statements.row_sums()
    if bounding.unit:
        rows = bounding.keep_groups(statements.cells(rows), rank="row_number")
        sums = [f"sum(t{index})" for index in range(len(totals))]
    shown = [f"CAST(coalesce({sql}, 0) AS HUGEINT) AS t{index}" for index, sql in enumerate(sums)]
    return bounding.by_group(["count(*) AS units", *shown], rows)


def added(bounding: ContributionBounding) -> str:
    """Print the rows of all groups, from the table of sums."""
    count = len(bounding.request.totals)
    sums = [f"CAST(sum(t{index}) AS HUGEINT) AS t{index}" for index in range(count)]
    sums = ["CAST(sum(units) AS BIGINT) AS units", *sums]
    limbs = [sql for index in range(count) for sql in split_limbs(f"t{index}")]
    return _rows(bounding, bounding.by_group(sums, f"SELECT * FROM {SUMS}"), GROUP, limbs=limbs)


def others(bounding: ContributionBounding) -> list[str]:
    """Print the rows of all measures that are no totals."""
    statements = []
    types = dict(columns(bounding.request.relation))
    for kind, measure in enumerate(bounding.request.measures, start=MEASURES):
        match measure:
            case DistinctCount(expression=expression):
                shown = value_text(("x0", typed(expression, types)))
                rows = f"SELECT * FROM ({shown_values(bounding, measure)}) WHERE x0 IS NOT NULL"
                printed = _rows(bounding, rows, kind, value=shown, units="1::BIGINT")
                statements.append(f"SELECT DISTINCT * FROM ({printed})")
            case DistinctSum():
                rows = f"SELECT * FROM ({shown_values(bounding, measure)}) WHERE x0 IS NOT NULL"
                printed = _rows(bounding, rows, kind, leaf="x0", units="1::BIGINT")
                statements.append(f"SELECT DISTINCT * FROM ({printed})")
            case Leaves():
                rows = f"SELECT * FROM ({counted_leaves(bounding, measure)})"
                there = f"{rows} WHERE leaf IS NOT NULL AND c > 0"
                statements.append(_rows(bounding, there, kind, leaf="leaf", units="c"))
            case CellSums():
                halves = split_sums(summed_cells(bounding, measure))
                statements.append(_rows(bounding, halves, kind, leaf="leaf", units="c"))
            case Total():
                pass
    return statements


def _rows(  # noqa: PLR0913  (one for each column)
    bounding: ContributionBounding,
    rows: str,
    kind: int,
    *,
    leaf: str = "NULL",
    value: str = "NULL",
    units: str = "units",
    limbs: Sequence[str] = (),
) -> str:
    """Print rows in the one form."""
    count = LIMBS * len(bounding.request.totals)
    values = [
        f"CAST({kind} AS INTEGER)",
        f"CAST({leaf} AS BIGINT)",
        f"CAST({value} AS VARCHAR)",
        *bounding.keys,
        f"CAST({units} AS BIGINT)",
        *(limbs or ["CAST(0 AS BIGINT)"] * count),
    ]
    shown = zip(values, names(bounding.request), strict=True)
    return f"SELECT {listed([f'{sql} AS {name}' for sql, name in shown])} FROM ({rows})"
