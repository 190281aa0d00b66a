"""The statement of totals: one scan, one row for each unit and group, one row for each group.

Trust: kernel.
"""

# ruff: noqa: S608 (all text here is printed by us, and names and literals are quoted)

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, final

from discreet.engines.sql.contribution_bounding import ContributionBounding, listed
from discreet.engines.sql.whole_floats import EXACT, WholeFloat, whole_float
from discreet.query.expressions import Expression, Literal
from discreet.requests.engine_request import Total
from discreet.requests.raw_totals import LARGEST_TOTAL

__all__ = ["TotalStatements"]

_FEW_ROWS: Final = 2**10
_WIDTHS: Final = ((16, "SMALLINT"), (32, "INTEGER"), (64, "BIGINT"))


@final
@dataclass(frozen=True, slots=True)
class TotalStatements:
    """The totals t0, t1, ... of a request, and what is measured for them in floats."""

    bounding: ContributionBounding
    floats: Mapping[Expression, WholeFloat] = field(default_factory=dict)

    @classmethod
    def in_floats(cls, bounding: ContributionBounding) -> TotalStatements:
        """Measure in floats what can be, and needs no clamp for a single row."""
        totals = bounding.request.totals
        candidates = {row: whole_float(row, bounding.types) for row in _measured(totals)}
        bounds = {row: [total for total in totals if total.row == row] for row in candidates}
        floats = {
            row: whole
            for row, whole in candidates.items()
            if whole is not None
            and all(total.low <= whole.low and whole.high <= total.high for total in bounds[row])
        }
        return cls(bounding, floats)

    @property
    def exact_rows(self) -> int | None:
        """How many rows of a group, or of a cell, can be added up exactly; None for all."""
        return min((EXACT // whole.most for whole in self.floats.values()), default=None)

    @property
    def has_short_sums(self) -> bool:
        """Whether the sums of all cells are numbers of 64 bits."""
        return all(row in self.floats for row in self._measured)

    @property
    def _totals(self) -> Sequence[Total]:
        return self.bounding.request.totals

    @property
    def _measured(self) -> list[Expression]:
        return _measured(self._totals)

    def totals(self) -> str:
        """Print the keys, the number of units, and the totals of every group."""
        if not self.bounding.unit:  # each row is a unit
            return self._answer([self.row_sum(total) for total in self._totals], self.rows())
        cells = self.cells(self.rows())
        return self.group_totals(self.bounding.keep_groups(cells, rank="row_number"))

    def group_totals(self, kept: str) -> str:
        """Print the same totals from the cells that are kept."""
        return self._answer([f"sum(t{index})" for index in range(len(self._totals))], kept)

    def _answer(self, sums: Sequence[str], rows: str) -> str:
        names = [f"t{index}" for index in range(len(sums))]
        clamped = [f"{_added(sql)} AS {name}" for name, sql in zip(names, sums, strict=True)]
        groups = self.bounding.by_group(["count(*) AS units", *clamped], rows)
        return self.bounding.in_group_order(groups, ["units", *names])

    def row_sum(self, total: Total) -> str:
        """Print the sum of what the rows of a group add, each within the bounds."""
        column = self._column(total)
        if column is None:
            return f"CAST(count(*) AS HUGEINT) * ({min(max(1, total.low), total.high)})"
        whole = self.floats.get(total.row)
        return f"sum({_clamped(total, column) if whole is None else _inside(whole, column)})"

    def _column(self, total: Total, letter: str = "x") -> str | None:
        return None if total.row == Literal(1) else f"{letter}{self._measured.index(total.row)}"

    def rows(self) -> str:
        """Print the rows with all that is measured in them."""
        return self.bounding.rows([self.floats.get(row, row) for row in self._measured])

    def cells(self, rows: str) -> str:
        """Print one row for each unit and group of some rows, with what the unit adds to the group.

        How many rows it has, n, is there where floats are added up.
        """
        return self.cell_totals(self.cell_sums(rows))

    def cell_sums(self, rows: str) -> str:
        """Print the sums of each unit and group of some rows, before anything is bounded."""
        measured = self._measured
        cell = listed(self.bounding.unit + self.bounding.keys)
        capped = [total.row for total in self._totals if total.rows is not None]
        sums = ["count(*) AS n"]
        for index, row in enumerate(measured):
            added = f"sum(x{index})"
            if row in self.floats:
                added = f"TRY_CAST({added} AS BIGINT)"
            sums.append(f"{added} AS s{index}")
        sums += [
            f"count(x{index}) AS n{index}" for index, row in enumerate(measured) if row in capped
        ]
        return f"SELECT {cell}, {listed(sums)} FROM ({rows}) GROUP BY {cell}"

    def cell_totals(self, sums: str) -> str:
        """Print what each unit adds to each group, from its sums there."""
        named = list(enumerate(self._totals))
        means = [
            f"{self._scaled(total)} AS m{index}"
            for index, total in named
            if total.rows is not None and total.row != Literal(1)
        ]
        if means:
            sums = f"SELECT *, {listed(means)} FROM ({sums})"
        parts = [
            f"{_clamped(total, self._summed(total, f'm{index}'))} AS t{index}"
            for index, total in named
        ]
        count = ["n"] if self.floats else []
        cell = [*self.bounding.unit, *self.bounding.keys]
        return f"SELECT {listed([*cell, *parts, *count])} FROM ({sums})"

    def _summed(self, total: Total, mean: str) -> str:
        """Print the sum of a unit's rows in a group, of not more rows than may count."""
        column = self._column(total, "s")
        if column is None:
            return "n" if total.rows is None else f"least(n, {total.rows})"
        return column if total.rows is None else mean

    def _scaled(self, total: Total) -> str:
        """Print floor(sum rows / count); the quotient goes first, so that nothing overflows."""
        index, most = self._measured.index(total.row), total.rows or 0
        kind = "BIGINT" if total.row in self.floats and most <= _FEW_ROWS else "HUGEINT"
        sums, count = f"s{index}", f"CAST(n{index} AS {kind})"
        rest = f"((({sums} % {count}) + {count}) % {count})"
        rows = f"CAST({most} AS {kind})"
        scaled = f"(({sums} - {rest}) // {count}) * {rows} + ({rest} * {rows}) // {count}"
        return f"CASE WHEN n{index} > {most} THEN {scaled} ELSE {sums} END"


def _measured(totals: Sequence[Total]) -> list[Expression]:
    """Return each different expression once; ones need not be computed to be counted."""
    return list(dict.fromkeys(total.row for total in totals if total.row != Literal(1)))


def _inside(whole: WholeFloat, column: str) -> str:
    """Print a float within its range, on which the exactness of the sum rests, too.

    The range follows from the text of the float; a number outside would add nothing.
    """
    low, high = f"({whole.low})::DOUBLE", f"({whole.high})::DOUBLE"
    inside = f"{column} BETWEEN {low} AND {high}"
    if whole.low == -whole.high:  # one comparison is faster than two
        inside = f"abs({column}) <= {high}"
    return f"CASE WHEN {inside} THEN {column} END"


def _clamped(total: Total, sql: str) -> str:
    """Print a number within the bounds, in a type that holds them; NULL adds nothing."""
    low, high = f"({total.low})", f"({total.high})"
    inside = f"CASE WHEN {sql} >= {high} THEN {high} WHEN {sql} <= {low} THEN {low} ELSE {sql} END"
    return f"CAST(coalesce({inside}, 0) AS {_width(total)})"


def _width(total: Total) -> str:
    most = max(total.low, -total.low - 1, total.high, -total.high - 1)
    return next(name for bits, name in _WIDTHS if most < 2 ** (bits - 1))


def _added(sums: str) -> str:
    """Print a sum over units, clamped to what noise can be added to."""
    return (
        f"CAST(least(greatest(coalesce({sums}, 0), -{LARGEST_TOTAL}), {LARGEST_TOTAL}) AS BIGINT)"
    )
