"""The joint histogram of a table: one bounded read, of which every marginal is a projection.

Trust: kernel (T7).

What one unit adds to it is bounded by the engine, whatever the data is.

Definition.  The request turns each row into the codes of its columns, packed into few integers, and
counts the rows of each distinct combination; rows without a code in some column are left out.  A
unit counts in at most ``groups`` combinations, with at most ``high`` rows in each.  The histogram
is what comes back, as codes and counts, and a *marginal* adds up the counts of some columns.

Theorem (key ``joint-histogram``).  Let one unit be added or removed, and let the request bound it
to m groups of r rows; m = r = 1 where each row is a unit.  Then every marginal moves by at most
m r in L1, and therefore in L2, always in one direction; where one unit replaces another, by at most
2 m r in L1 and by the root of 2 times m r in L2, and a single cell by at most m r.
Proof.  By ``bounded-contribution`` the unit changes at most m counts, each by at most r and upward
when it is added.  Summing counts over cells, leaving out combinations that are no codes, and
clamping sums from above bring no two histograms further apart in L1, and keep the direction.  An L2
norm is at most the L1 norm.  A replacement removes b and adds a, vectors without negative entries
and of norms up to m r: ||a - b||_1 <= 2 m r, ||a - b||_2**2 <= ||a||_2**2 + ||b||_2**2, which is at
most 2 (m r)**2, and each entry of a - b is between -m r and m r.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Self, final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import OutOfRange, TooLarge
from discreet.plan.statistics.contribution_bounds import OneRow, one_row_of
from discreet.query.expressions import Call, Case, Cast, Expression, Literal
from discreet.query.types import Type
from discreet.requests.engine_request import EngineRequest, KeyColumn, Total
from discreet.requests.raw_totals import RawTotals
from discreet.requests.table_schema import key_literal
from discreet.requests.text_limits import check_text_work
from discreet.synthetic.coded_columns import Categories, CodedColumn, NumberBins, Periods
from discreet.synthetic.domain import Domain
from discreet.synthetic.inference.values import Marginal

if TYPE_CHECKING:  # handed in
    from discreet.session.programs import ProgramRows

ROWS: Final = "rows"
"""What the measure of the request is called."""
MOST_COMBINATIONS: Final = 1 << 28
"""So many different rows are held at most."""
LARGEST_COUNT: Final = 1 << 40
"""Counts are clamped to this size, so that scores are integers of 64 bits."""
_WIDEST: Final = 1 << 62
_LARGEST_CELL: Final = 1 << 34
"""Counts of single combinations are clamped to this size: sums of 2**28 of them fit 64 bits."""
_EXACT: Final = 1 << 53  # floats up to here are whole numbers


def packed_columns(sizes: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Return which columns share an integer: as many as fit, in their order.

    >>> packed_columns((2**40, 2**20, 2**20))
    ((0, 1), (2,))
    """
    packs: list[list[int]] = [[]]
    product = 1
    for column, size in enumerate(sizes):
        if packs[-1] and product * size > _WIDEST:
            packs.append([])
            product = 1
        packs[-1].append(column)
        product *= size
    return tuple(tuple(pack) for pack in packs)


def joint_request(rows: ProgramRows, domain: Domain) -> EngineRequest:
    """Ask for the joint histogram of the columns of a domain, one key of the rows for each."""
    sizes = domain.coded.sizes
    values = [key.key.expression for key in rows.bound.keys]
    codes = [
        code_expression(column, value) for column, value in zip(domain.columns, values, strict=True)
    ]
    packed = [
        _packed([codes[c] for c in pack], [sizes[c] for c in pack])
        for pack in packed_columns(sizes)
    ]
    limits = rows.contributions
    kept = [
        key
        for key, column in zip(rows.bound.keys, domain.columns, strict=True)
        if column.one_to_one
    ]
    single = one_row_of(rows.bound.rows, kept) is not OneRow.UNKNOWN
    request = rows.request(
        keys=tuple(
            KeyColumn(f"code {place}", code, Type.INTEGER) for place, code in enumerate(packed)
        ),
        measures=(
            Total(name=ROWS, row=Literal(1), low=0, high=1 if single else limits.most_rows(None)),
        ),
        conditions=tuple(Call("NOT", (Call("IS NULL", (code,)),)) for code in packed),
        groups=limits.groups,
    )
    check_text_work(request)
    return request


def moved_by(request: EngineRequest) -> int:
    """Return by how many rows one unit moves the histogram, as the engine enforces it.

    >>> from discreet.query.relations import Scan
    >>> one = EngineRequest(relation=Scan("visits", (("ward", Type.TEXT),)), unit=(), keys=(),
    ...     groups=None, measures=(Total(name=ROWS, row=Literal(1), low=0, high=1),))
    >>> moved_by(one)
    1
    """
    (total,) = request.totals
    if total.low != 0:  # a unit without a number of groups makes no request
        raise OutOfRange(
            what="a request does not bound what one unit adds to the histogram.",
            why="noise is scaled to that bound.",
            do="make requests with joint_request.",
        )
    return total.most * (1 if request.groups is None else request.groups)


def code_expression(column: CodedColumn, value: Expression) -> Expression:
    """Return the code of a value as engines compute it; NULL where there is none.

    >>> wards = CodedColumn(name="ward", type=Type.TEXT, coding=Categories(("A",)), nullable=False)
    >>> code_expression(wards, Literal("A")).branches[0][1]
    Literal(value=0)
    """
    code = _code(column, value)
    if not column.nullable:
        return code
    return Case(((Call("IS NULL", (value,)), Literal(column.coding.size)),), code)


def _code(column: CodedColumn, value: Expression) -> Expression:
    match column.coding:
        case Categories(values=listed):
            return Case(
                tuple(
                    (Call("=", (value, key_literal(each))), Literal(code))
                    for code, each in enumerate(listed)
                )
            )
        case NumberBins(edges=edges):
            return _bucket(value, tuple(Literal(edge) for edge in edges[1:-1]))
        case Periods(edges=edges):
            day = Cast(value, Type.DATE) if column.type is Type.TIMESTAMP else value
            days = Call("DATE_DIFF", (day, Literal(edges[0]), Literal("DAY")))
            ends = [(edge - edges[0]).days for edge in edges]
            inside = Call(
                "AND",
                (Call(">=", (days, Literal(0))), Call("<", (days, Literal(ends[-1])))),
            )
            return Case(((inside, _bucket(days, tuple(Literal(end) for end in ends[1:-1]))),))


def _bucket(value: Expression, edges: tuple[Literal, ...]) -> Expression:
    if edges:
        return Call("RANGE_BUCKET", (value, *edges))
    return Case(((Call("NOT", (Call("IS NULL", (value,)),)), Literal(0)),))


def _packed(codes: Sequence[Expression], sizes: Sequence[int]) -> Expression:
    """Number combinations of codes; that of the last column changes fastest."""
    total = codes[0]
    for code, size in zip(codes[1:], sizes[1:], strict=True):
        total = Call("+", (Call("*", (total, Literal(size))), code))
    return total


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class JointHistogram:
    """Counts of combinations of codes; one array of codes for each column."""

    sizes: tuple[int, ...]
    codes: tuple[NDArray[np.unsignedinteger[Any]], ...]
    counts: NDArray[np.int64]
    _marginals: dict[Marginal, NDArray[np.int64]] = field(default_factory=dict, init=False)

    @classmethod
    def of(cls, raw: RawTotals, sizes: Sequence[int]) -> Self:
        """Unpack what an engine has counted; what is no combination of codes is left out."""
        packs = packed_columns(sizes)
        counts = np.asarray(raw.totals[ROWS], dtype=np.int64)
        if counts.size > MOST_COMBINATIONS:
            raise TooLarge(
                what=f"the table has more than {MOST_COMBINATIONS} different rows.",
                why="all of them are held in memory while marginals are measured.",
                do="use fewer columns or fewer bins.",
            )
        packed = [key.fill_null(-1).to_numpy(zero_copy_only=False) for key in raw.keys]
        known = np.ones(counts.size, dtype=np.bool_)
        for pack, key in zip(packs, packed, strict=True):
            known &= (key >= 0) & (key < math.prod(sizes[column] for column in pack))
        codes: list[NDArray[np.unsignedinteger[Any]]] = []
        for pack, key in zip(packs, packed, strict=True):
            codes.extend(_unpacked(key[known], [sizes[column] for column in pack]))
        return cls(tuple(sizes), tuple(codes), np.clip(counts[known], 0, _LARGEST_CELL))

    def marginal(self, columns: Marginal) -> NDArray[np.int64]:
        """Return the counts of some columns, in C order; of none, the number of all rows."""
        known = self._marginals.get(columns)
        if known is None:
            known = self._projected(columns)
            self._marginals[columns] = known
        return known

    def coarsened(self, sizes: Sequence[int], maps: dict[int, NDArray[np.int64]]) -> JointHistogram:
        """Return the histogram with other codes in some columns: those that maps lead to."""
        codes = tuple(
            maps[place][code].astype(_narrowest(sizes[place])) if place in maps else code
            for place, code in enumerate(self.codes)
        )
        return JointHistogram(tuple(sizes), codes, self.counts)

    def __repr__(self) -> str:
        """Show nothing: these numbers are not protected by anything yet."""
        return "JointHistogram(hidden)"

    def _projected(self, columns: Marginal) -> NDArray[np.int64]:
        cells = math.prod(self.sizes[column] for column in columns)
        index = np.zeros(self.counts.size, dtype=np.int64)
        for column in columns:
            index *= self.sizes[column]
            index += self.codes[column]
        if int(self.counts.max(initial=0)) * self.counts.size < _EXACT:
            sums = np.bincount(index, weights=self.counts, minlength=cells).astype(np.int64)
        else:
            sums = np.zeros(cells, dtype=np.int64)
            np.add.at(sums, index, self.counts)
        return np.minimum(sums, LARGEST_COUNT)


def _narrowest(size: int) -> np.dtype[np.unsignedinteger[Any]]:
    return np.min_scalar_type(size - 1)


def _unpacked(
    key: NDArray[np.int64], sizes: Sequence[int]
) -> list[NDArray[np.unsignedinteger[Any]]]:
    codes = []
    for size in reversed(sizes):
        key, code = np.divmod(key, size)
        codes.append(code.astype(_narrowest(size)))
    return codes[::-1]
