"""Sums of values by cells: what an engine adds up where several sums are measured together.

Trust: kernel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from discreet.arrays import int64_range
from discreet.errors import OutOfRange
from discreet.exact import whole
from discreet.query.expressions import Expression

_WIDEST: Final = 2**40


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CellSums:
    """Sums of whole numbers in cells 0, 1, ..., ``cells`` - 1.

    Definition.  A row is in the cell that its expression names; one that is NULL or outside counts
    nowhere.  Its value is clamped to [``low``, ``high``]; NULL is zero.  In a unit and a group let
    n be the number of rows in cells, whatever their values, and t(c) the exact sum of the values in
    cell c.  If n > ``rows``, t(c) becomes t(c) rows / n, rounded toward zero: the unit counts as
    ``rows`` rows of its own mean.
    Theorem (key ``joint-sums``).  With w(c) = min(1, rows / n) times the unit's rows in cell c, all
    w(c) of a unit and a group add up to at most ``rows``, and the unit adds a number between
    w(c) min(low, 0) and w(c) max(high, 0) to cell c.  Measures with the same cells and the same
    ``rows`` share the w(c).
    Proof.  There are as many values between these bounds as rows in the cell, and rounding toward
    zero leaves no interval around it.  Neither n nor the cells depend on values.

    >>> from discreet.query.expressions import Column
    >>> c, pay = Column("c"), Column("pay")
    >>> CellSums(name="pay", row=c, cells=2, value=pay, low=0, high=9, rows=1).high
    9
    """

    name: str
    row: Expression
    cells: int
    value: Expression
    low: int
    high: int
    rows: int

    def __post_init__(self) -> None:
        """Refuse bounds that bound nothing, or that leave no room for sums."""
        int64_range(whole(self.cells, name="cells", low=1), name="cells")
        int64_range(whole(self.rows, name="rows", low=1), name="rows")
        whole(self.low, name="low")
        whole(self.high, name="high", low=self.low)
        if self.rows * max(abs(self.low), abs(self.high)) > _WIDEST:
            raise OutOfRange(
                what="what one unit adds to a sum has more than forty bits.",
                why="sums of many rows must fit into numbers of a fixed size.",
                do="measure in coarser steps.",
            )
