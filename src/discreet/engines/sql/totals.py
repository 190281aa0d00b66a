"""The statements of totals and of leaves: one scan each, over the same groups.

Trust: kernel (T2, T7).

A group is kept by the order of its hash alone, and so alike in all statements.

Totals come from one row for each unit and group, which are added up to one row for each group.
"""

# ruff: noqa: S608 (all text here is printed by us, and names and literals are quoted)

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, final

from discreet.engines.hash_order import LEAVES
from discreet.engines.sql.contribution_bounding import ContributionBounding, below, listed
from discreet.engines.sql.expressions import EXACT, WholeFloat, whole_float
from discreet.query.expressions import Expression, Literal
from discreet.requests.engine_request import Leaves, Total
from discreet.requests.raw_totals import LARGEST_TOTAL

__all__ = ["TotalStatements", "counted_leaves", "leaves"]

_FEW_ROWS: Final = 2**10
_ONE: Final = Literal(1)
NumberedRows = tuple[list[Expression], list[int | None]]
"""Different expressions, and for each total the place of its own; ones have none."""
_WIDTHS: Final = ((16, "SMALLINT"), (32, "INTEGER"), (64, "BIGINT"))


@final
@dataclass(frozen=True, slots=True)
class TotalStatements:
    """The totals t0, t1, ... of a request, and what is measured for them in floats."""

    bounding: ContributionBounding
    floats: Mapping[int, WholeFloat] = field(default_factory=dict)
    """By its place, what is measured as a float."""
    _numbered: NumberedRows | None = None
    """What is measured in a row; it follows from the request, and may be handed in."""

    def __post_init__(self) -> None:
        """Number what is measured, once for all statements."""
        if self._numbered is None:
            object.__setattr__(self, "_numbered", _numbered_rows(self._totals))

    @classmethod
    def in_floats(cls, bounding: ContributionBounding) -> TotalStatements:
        """Measure in floats what can be, and needs no clamp for a single row."""
        totals = bounding.request.totals
        measured, places = _numbered_rows(totals)
        types = bounding.types
        candidates = [whole_float(row, types) for row in measured]
        clamped = {
            place
            for total, place in zip(totals, places, strict=True)
            if place is not None and _clamps(total, candidates[place])
        }
        floats = {
            place: whole
            for place, whole in enumerate(candidates)
            if whole is not None and place not in clamped
        }
        return cls(bounding, floats, (measured, places))

    @property
    def _measured(self) -> Sequence[Expression]:
        """What is measured in a row, each of it once."""
        return self._rows_and_places[0]

    @property
    def _places(self) -> Sequence[int | None]:
        """The place of each total there; ones need not be computed to be counted."""
        return self._rows_and_places[1]

    @property
    def _rows_and_places(self) -> NumberedRows:
        assert self._numbered is not None  # noqa: S101  (it is set above)
        return self._numbered

    @property
    def exact_rows(self) -> int | None:
        """How many rows of a group, or of a cell, can be added up exactly; None for all."""
        return min((EXACT // whole.most for whole in self.floats.values()), default=None)

    @property
    def has_short_sums(self) -> bool:
        """Whether the sums of all cells are numbers of 64 bits."""
        return len(self.floats) == len(self._measured)

    @property
    def _totals(self) -> Sequence[Total]:
        return self.bounding.request.totals

    def totals(self) -> str:
        """Print the keys, the number of units, and the totals of every group.

        Where floats are added up, :attr:`longest` tells how many in one sum, at most.
        """
        if not self.bounding.unit:  # each row is a unit
            return self._answer(self.row_sums(), self.rows())
        longest = ["coalesce(max(n), 0) AS n"] if self.floats else []
        return self._answer(self._cell_sums, self._kept(), longest)

    def parts(self) -> str:
        """Print the same of every cell that is kept, and merge none of different units."""
        return self.cell_parts(self._kept())

    def _kept(self) -> str:
        return self.bounding.keep_groups(self.cells(self.rows()), rank="row_number")

    def cell_parts(self, kept: str) -> str:
        """Print cells that are kept as the parts of their groups, in no order."""
        count = ["n"] if self.floats else []
        totals = [f"CAST(t{index} AS BIGINT) AS t{index}" for index in range(len(self._totals))]
        shown = [*self.bounding.keys, "CAST(1 AS BIGINT) AS units", *count, *totals]
        return f"SELECT {listed(shown)} FROM ({kept})"

    @property
    def longest(self) -> str:
        """The column with how many rows of a group, or of a cell, are added up at most."""
        return "n" if self.bounding.unit else "units"

    def group_totals(self, kept: str) -> str:
        """Print the same totals from the cells that are kept."""
        return self._answer(self._cell_sums, kept)

    @property
    def _cell_sums(self) -> list[str]:
        return [f"sum(t{index})" for index in range(len(self._totals))]

    def _answer(self, sums: Sequence[str], rows: str, longest: Sequence[str] = ()) -> str:
        names = [f"t{index}" for index in range(len(sums))]
        clamped = [f"{_added(sql)} AS {name}" for name, sql in zip(names, sums, strict=True)]
        groups = self.bounding.by_group(["count(*) AS units", *longest, *clamped], rows)
        return self.bounding.in_group_order(groups, ["units", *["n" for _ in longest], *names])

    def row_sums(self) -> list[str]:
        """Print the sums of what the rows of a group add, each within the bounds."""
        placed = zip(self._totals, self._places, strict=True)
        return [self._row_sum(total, place) for total, place in placed]

    def _row_sum(self, total: Total, place: int | None) -> str:
        if place is None:
            return f"CAST(count(*) AS HUGEINT) * ({min(max(1, total.low), total.high)})"
        whole = self.floats.get(place)
        added = _clamped(total, f"x{place}") if whole is None else _inside(whole, place)
        return f"sum({added})"

    def rows(self) -> str:
        """Print the rows with all that is measured in them."""
        return self.bounding.rows(
            [self.floats.get(place, row) for place, row in enumerate(self._measured)]
        )

    def cells(self, rows: str) -> str:
        """Print one row for each unit and group of some rows, with what the unit adds to the group.

        How many rows it has, n, is there where floats are added up.
        """
        return self.cell_totals(self.cell_sums(rows))

    def cell_sums(self, rows: str) -> str:
        """Print the sums of each unit and group of some rows, before anything is bounded."""
        cell = listed(self.bounding.unit + self.bounding.keys)
        placed = zip(self._totals, self._places, strict=True)
        capped = {place for total, place in placed if total.rows is not None}
        sums = ["count(*) AS n"]
        for place in range(len(self._measured)):
            whole = self.floats.get(place)
            value = f"x{place}" if whole is None else _inside(whole, place)
            added = f"sum({value})" if whole is None else f"TRY_CAST(sum({value}) AS BIGINT)"
            sums.append(f"{added} AS s{place}")
            if place in capped:
                sums.append(f"count({value}) AS n{place}")
        return f"SELECT {cell}, {listed(sums)} FROM ({rows}) GROUP BY {cell}"

    def cell_totals(self, sums: str) -> str:
        """Print what each unit adds to each group, from its sums there."""
        placed = list(enumerate(zip(self._totals, self._places, strict=True)))
        means = [
            f"{self._scaled(place, total.rows)} AS m{index}"
            for index, (total, place) in placed
            if total.rows is not None and place is not None
        ]
        if means:
            sums = f"SELECT *, {listed(means)} FROM ({sums})"
        parts = [
            f"{_clamped(total, _summed(total, place, f'm{index}'))} AS t{index}"
            for index, (total, place) in placed
        ]
        count = ["n"] if self.floats else []
        cell = [*self.bounding.unit, *self.bounding.keys]
        return f"SELECT {listed([*cell, *parts, *count])} FROM ({sums})"

    def _scaled(self, place: int, most: int) -> str:
        """Print floor(sum rows / count); the quotient goes first, so that nothing overflows."""
        kind = "BIGINT" if place in self.floats and most <= _FEW_ROWS else "HUGEINT"
        sums, count = f"s{place}", f"CAST(n{place} AS {kind})"
        rest = f"((({sums} % {count}) + {count}) % {count})"
        rows = f"CAST({most} AS {kind})"
        scaled = f"(({sums} - {rest}) // {count}) * {rows} + ({rest} * {rows}) // {count}"
        return f"CASE WHEN n{place} > {most} THEN {scaled} ELSE {sums} END"


def _numbered_rows(totals: Sequence[Total]) -> NumberedRows:
    """Number each different expression, and return the numbers of totals; ones have none."""
    numbers: dict[Expression, int] = {}
    places = [
        None if total.row == _ONE else numbers.setdefault(total.row, len(numbers))
        for total in totals
    ]
    return list(numbers), places


def _summed(total: Total, place: int | None, mean: str) -> str:
    """Print the sum of a unit's rows in a group, of not more rows than may count."""
    if place is None:
        return "n" if total.rows is None else f"least(n, {total.rows})"
    return f"s{place}" if total.rows is None else mean


def _clamps(total: Total, whole: WholeFloat | None) -> bool:
    """Say whether the bounds of a total change some number of a range."""
    return whole is not None and not (total.low <= whole.low and whole.high <= total.high)


def _inside(whole: WholeFloat, place: int) -> str:
    """Print a float within its range, on which the exactness of the sum rests, too.

    A number outside is moved to the nearer end where its source is finite, and else adds nothing.
    """
    column, low, high = f"x{place}", f"({whole.low})::DOUBLE", f"({whole.high})::DOUBLE"
    in_range = f"{column} BETWEEN {low} AND {high}"
    if whole.low == -whole.high:
        in_range = f"abs({column}) <= {high}"  # the same, and quicker
    inside = f"WHEN {in_range} THEN {column}"
    if whole.source is None:
        return f"CASE {inside} END"
    above = f"WHEN {column} > {high} AND y{place} < 'inf'::DOUBLE THEN {high}"
    below = f"WHEN {column} < {low} AND y{place} > '-inf'::DOUBLE THEN {low}"
    return f"CASE {inside} {above} {below} END"


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
