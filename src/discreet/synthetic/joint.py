"""The joint histogram of a table: one bounded read; every marginal is a projection of it.

Trust: kernel (T7).  Proofs are in docs/proofs/synthetic.md.

The engine bounds the contribution of one unit to it, for any data.

Definition.  The request turns each row into the codes of its columns, packed into few integers, and
counts the rows of each distinct combination; rows without a code in some column are left out.  A
unit counts in at most ``groups`` combinations, with at most ``high`` rows in each.  The histogram
is what comes back, as codes and counts, and a *marginal* adds up the counts of some columns.

Theorem (key ``joint-histogram``).  Let one unit be added or removed, and let the request bound it
to m groups of r rows; m = r = 1 if each row is a unit.  Then every marginal moves by at most
m r in L1, and therefore in L2, always in one direction; if one unit replaces another, by at most 2
m r in L1 and by the root of 2 times m r in L2, and a single cell by at most m r.

How one unit moves each measurement and each selection of a program, as a leaf with its price.

Programs are planned and carried out with the same leaves.

Definition.  A *measurement* adds noise to all counts of a marginal, or to one of them.  A *score*
of a marginal is a weight times (the L1 distance between its counts and public numbers, less a
public number); a score of a cell is the distance between its count and a public number.  Public
numbers are rounded to a fixed grid of 2**-20 rows first, so that scores are integers on the grid.

Theorem (key ``synthetic-scores``).  Let one unit move the joint histogram by at most d rows (key
``joint-histogram``).  Then a score of weight w moves by at most w d, and by 2 w d if one unit
replaces another; the score of a cell moves by at most d either way.
Proof.  By the triangle inequality a distance to fixed numbers moves by at most as much as the
counts do in L1; for one cell, by as much as its count does.  Rounding concerns public numbers
alone.  Clamping a score to 62 bits moves no two scores apart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, Self, final

import numpy as np
from numpy.typing import NDArray

from discreet.accounting import Leaf
from discreet.errors import OutOfRange, TooLarge
from discreet.loss import ZeroConcentrated
from discreet.mechanisms import Exponential, Gaussian, Laplace
from discreet.plan.pricing.group_sensitivity import root_up
from discreet.plan.statistics.contribution_bounds import OneRow, one_row_of
from discreet.query.expressions import Call, Case, Cast, Expression, Literal
from discreet.query.types import Type
from discreet.requests.engine_request import EngineRequest, KeyColumn, Total
from discreet.requests.raw_totals import RawTotals
from discreet.requests.table_schema import key_literal
from discreet.requests.text_limits import check_text_work
from discreet.synthetic.domain import Categories, CodedColumn, Domain, NumberBins, Periods
from discreet.synthetic.inference.inference import Marginal
from discreet.units import PrivacyUnit, Relation

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
_EXACT: Final = 1 << 53  # floats up to here are integers


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
            "a request does not bound what one unit adds to the histogram; make requests with "
            "joint_request."
        )
    return total.most * (1 if request.groups is None else request.groups)


def code_expression(column: CodedColumn, value: Expression) -> Expression:
    """Return the code of a value as engines compute it; NULL if it has no code.

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
        """Unpack the counts of an engine; drop rows that are not a combination of codes."""
        packs = packed_columns(sizes)
        counts = np.asarray(raw.totals[ROWS], dtype=np.int64)
        if counts.size > MOST_COMBINATIONS:
            raise TooLarge(
                f"the table has more than {MOST_COMBINATIONS} different rows; use fewer columns or "
                "fewer bins."
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


GRID: Final = 1 << 20
"""Steps of the grid of public numbers in scores, for each row."""


@final
@dataclass(frozen=True, slots=True)
class UnitMoves:
    """How far one unit moves what a program measures, and under which relation.

    >>> from discreet.units import row
    >>> UnitMoves(2, row()).measured(Gaussian(variance=8)).source.concentrated(distance=2).rho
    Fraction(1, 4)
    """

    rows: int
    unit: PrivacyUnit

    @property
    def replaces(self) -> bool:
        """Whether one unit may take the place of another."""
        return self.unit.relation.replaces

    @property
    def l1(self) -> int:
        """How far a marginal moves in L1 between neighbors."""
        return 2 * self.rows if self.replaces else self.rows

    @property
    def l2_squared(self) -> int:
        """How far a marginal moves in L2 between neighbors, squared."""
        return 2 * self.rows**2 if self.replaces else self.rows**2

    def measured(self, noise: Gaussian | Laplace, *, single: bool = False) -> Leaf:
        """Return the leaf of noise on all counts of a marginal, or on a single one."""
        if isinstance(noise, Laplace):
            far = Fraction(self.rows if single else 2 * self.rows)
            return self._leaf(noise, "count", Fraction(self.rows), far)
        far = root_up(self.rows**2 if single else 2 * self.rows**2)
        return self._leaf(
            noise, "count", Fraction(self.rows), far, coordinates=1 if single else self.l1
        )

    def selected(self, scale: Fraction, *, candidates: int, weight: int) -> Leaf:
        """Return the leaf of a selection among marginals, by scores of at most this weight.

        ``scale`` is in rows times weights.
        """
        far = Fraction(weight * self.rows * GRID)
        return self._leaf(_choice(scale, candidates), "choice", far, 2 * far)

    def selected_cell(self, scale: Fraction, *, candidates: int) -> Leaf:
        """Return the leaf of a selection among cells."""
        far = Fraction(self.rows * GRID)
        return self._leaf(_choice(scale, candidates), "choice", far, far)

    def chosen(self, choice: Exponential, *, added: int, replaced: int) -> Leaf:
        """Return the leaf of a selection by scores that move as far as these."""
        return self._leaf(choice, "choice", Fraction(added), Fraction(replaced))

    def _leaf(
        self,
        source: Gaussian | Laplace | Exponential,
        name: str,
        added: Fraction,
        replaced: Fraction,
        coordinates: int = 1,
    ) -> Leaf:
        whose = PrivacyUnit(
            name=self.unit.name, columns=self.unit.columns, relation=Relation.ADD_REMOVE
        )
        return Leaf(
            source,
            name=name,
            unit=whose,
            added=added,
            replaced=replaced if self.replaces else None,
            coordinates=coordinates,
        )


def concentrated_leaf(rho: Fraction, unit: PrivacyUnit) -> Leaf:
    """Return a leaf of a zero-concentrated loss between neighbors of the unit's own relation.

    A certificate for replacing one unit by another also holds for adding or removing one.
    """
    whose = PrivacyUnit(name=unit.name, columns=unit.columns, relation=Relation.ADD_REMOVE)
    loss = ZeroConcentrated(rho=rho)
    return Leaf(loss, unit=whose, replaced=loss if unit.relation.replaces else None)


def _choice(scale: Fraction, candidates: int) -> Exponential:
    return Exponential(candidates=candidates, scale=scale * GRID)
