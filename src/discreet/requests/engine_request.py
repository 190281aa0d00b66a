"""What a plan asks of an engine: bounded integer totals, and nothing else.

Trust: kernel.  The sensitivity that noise is scaled to is the one that is stated here.

Definition.  The rows of the relation are those of the question, before any aggregation.  Each row
belongs to a unit: the rows that agree on the unit's expressions (a row with a NULL among them is
dropped), or the row alone if there are none.  A unit *touches* the groups of its rows; NULL is a
key like any other, and floats have one zero.  If public keys are given, rows of other groups
are dropped first.  Of the groups that a unit touches, at most ``groups`` are *kept*; which ones
depends on the unit's own rows and on public numbers alone.  What a unit adds to a kept group is
bounded by the measure, again from its own rows in this group alone.  The answers are sums over
units.

Theorem (key ``bounded-contribution``; the contribution bounding of Wilson et al. 2020,
Differentially Private SQL with Bounded User Contribution).  Add or remove one unit.  Then at most
``groups`` groups change, and in each of them the count of units moves by at most 1, a total by at
most max(|low|, |high|), a count of distinct values by at most ``most``, and the leaves of a
histogram by at most ``rows`` in L1; sums of cells as ``joint-sums`` says, sums of different values
as ``distinct-sum``.  If each row is a unit, one group changes, by at most as much with one row.
Proof.  What a unit keeps, and adds to a group, is a function of its own rows; so the answers
before the last clamp are sums over units, and differ by what the one unit adds: something in at
most ``groups`` groups, each time 0 or within the bounds of the measure.  A value that two units
show counts once either way, so that a count of distinct values moves by at most as many as one
shows. Clamping the answers to 62 bits brings no two of them further apart. Assumes: the relation
is the union over units of what is computed from the rows of each and from public tables.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from datetime import date, datetime
from typing import Final, final

from discreet.arrays import int64_range
from discreet.errors import OutOfRange, WrongKind
from discreet.exact import whole
from discreet.query.expression_types import check_bound, check_names
from discreet.query.expressions import Expression
from discreet.query.relations import Relation
from discreet.query.types import LARGEST, SMALLEST, Type
from discreet.requests.table_schema import KeyValue, Product

__all__ = [
    "CellSums",
    "DistinctCount",
    "DistinctSum",
    "EngineRequest",
    "KeyColumn",
    "KeyValue",
    "Leaves",
    "Measure",
    "PublicGroups",
    "ScalarMeasure",
    "Total",
    "measured_expressions",
]

_WIDEST: Final = 2**40
_CLASSES: Final[dict[Type, type]] = {
    Type.INTEGER: int,
    Type.FLOAT: float,
    Type.TEXT: str,
    Type.BOOLEAN: bool,
    Type.DATE: date,
    Type.TIMESTAMP: datetime,
}


@final
@dataclass(frozen=True, slots=True)
class KeyColumn:
    """One column of the groups: an expression over the relation, and its type.

    >>> from discreet.query.expressions import Column
    >>> KeyColumn("ward", Column("ward"), Type.TEXT).name
    'ward'
    """

    name: str
    expression: Expression
    type: Type

    def holds(self, value: object) -> bool:  # noqa: PLR0911  one for each type
        """Whether a value may be in this column.

        >>> from discreet.query.expressions import Column
        >>> KeyColumn("beds", Column("beds"), Type.INTEGER).holds(True)
        False
        """
        if value is None:
            return True
        if type(value) is not _CLASSES[self.type]:
            return False
        match value:
            case int():
                return SMALLEST <= value <= LARGEST
            case float():
                return math.isfinite(value)
            case str():
                return not any("\ud800" <= letter <= "\udfff" for letter in value)
            case datetime():
                return value.tzinfo is None
            case _:
                return True


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """A sum of whole numbers.

    Definition.  In a unit and a group let n be the number of rows that are not NULL, and t their
    exact sum.  With n = 0 the unit adds nothing.  If n > ``rows``, t becomes floor(t rows / n): the
    unit counts as ``rows`` rows of its own mean.  Then t is clamped to [``low``, ``high``].
    With ``per``, the name of an earlier total from 0 to k of which the unit adds c to the group, it
    is clamped once more, to [c ``low`` / k, c ``high`` / k]: k divides both.
    Theorem (key ``within-count``).  For any data, and whatever planning believed, a unit
    that adds c to the total named ``per`` adds a number from c low / k to c high / k.
    Proof.  Both are clamped in the same row of the unit and the group, the count first.

    >>> from discreet.query.expressions import Literal
    >>> Total(name="visits", row=Literal(1), low=0, high=5).most
    5
    """

    name: str
    row: Expression
    low: int
    high: int
    rows: int | None = None
    per: str | None = None

    def __post_init__(self) -> None:
        """Refuse bounds that bound nothing."""
        int64_range(whole(self.low, name="low"), name="low")
        int64_range(whole(self.high, name="high", low=self.low), name="high")
        if self.rows is not None:
            whole(self.rows, name="rows", low=1)

    @property
    def ends(self) -> tuple[int, int]:
        """Between which numbers one unit moves the total of one group."""
        return self.low, self.high

    @property
    def most(self) -> int:
        """How far one unit moves the total of one group."""
        return max(abs(self.low), abs(self.high))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class DistinctCount:
    """The number of different values among the kept units of a group.

    Definition.  Each unit shows at most ``most`` of its different values that are not NULL, those
    that come first in the order of hashes.  Values that several units show count once.

    >>> from discreet.query.expressions import Column
    >>> DistinctCount(name="drugs", expression=Column("drug"), most=3).most
    3
    """

    name: str
    expression: Expression
    most: int

    def __post_init__(self) -> None:
        """Refuse a bound that leaves nothing."""
        whole(self.most, name="most", low=1)

    @property
    def ends(self) -> tuple[int, int]:
        """Between which numbers one unit moves the number of one group."""
        return 0, self.most


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Leaves:
    """A histogram over leaves 0, 1, ..., ``leaves`` - 1, from which quantiles are read.

    Definition.  A row is in the leaf that its expression names; one that is NULL or outside counts
    nowhere.  In a unit and a group let n be the number of rows in leaves, and c(i) how many of them
    are in leaf i or below.  If n > ``rows``, leaf i keeps floor((c(i) rows + u) / n) -
    floor((c(i-1) rows + u) / n) rows, where 0 <= u < n comes from a hash: every row is as likely to
    stay as any other, and exactly ``rows`` of them do.

    >>> from discreet.query.expressions import Column
    >>> Leaves(name="age", row=Column("leaf"), leaves=256, rows=1).rows
    1
    """

    name: str
    row: Expression
    leaves: int
    rows: int

    def __post_init__(self) -> None:
        """Refuse a bound that leaves nothing."""
        int64_range(whole(self.leaves, name="leaves", low=1), name="leaves")
        int64_range(whole(self.rows, name="rows", low=1), name="rows")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class DistinctSum:
    """The sum of the different values among the kept units of a group.

    Definition.  Every value is clamped to [``low``, ``high``]; NULL counts nowhere.  Each unit
    shows at most ``most`` of its different values after that, those that come first in the order
    of hashes.  Values that several units show are added once.
    Theorem (key ``distinct-sum``).  Add one unit: the sum moves by a number within ``ends``, the
    least and the largest sum of at most ``most`` different whole numbers from ``low`` to ``high``.
    Proof.  The values that are shown are the union of what units show, and each unit decides by its
    own rows.  So the sum grows by the values that this unit shows and no other does: at most
    ``most`` different whole numbers between the bounds.  The largest sum of so many takes the
    largest ones above zero, the least sum the smallest ones below it.

    >>> from discreet.query.expressions import Column
    >>> DistinctSum(name="beds", row=Column("beds"), low=0, high=5, most=3).ends
    (0, 12)
    """

    name: str
    row: Expression
    low: int
    high: int
    most: int

    def __post_init__(self) -> None:
        """Refuse bounds that bound nothing."""
        int64_range(whole(self.low, name="low"), name="low")
        int64_range(whole(self.high, name="high", low=self.low), name="high")
        whole(self.most, name="most", low=1)
        low, high = self.ends
        int64_range(low, name="the least sum")
        int64_range(high, name="the largest sum")

    @property
    def ends(self) -> tuple[int, int]:
        """Between which numbers one unit moves the sum of one group."""
        lowest = -_largest_sum(-self.high, -self.low, self.most)
        return lowest, _largest_sum(self.low, self.high, self.most)


def _largest_sum(low: int, high: int, most: int) -> int:
    """Return the largest sum of so many different whole numbers between two, or of fewer."""
    count = max(0, min(most, high - max(low, 1) + 1))
    return count * high - count * (count - 1) // 2


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CellSums:
    """Sums of whole numbers in cells 0, 1, ..., ``cells`` - 1.

    Definition.  A row is in the cell that its expression names; one that is NULL or outside counts
    nowhere.  Its value is clamped to [``low``, ``high``]; NULL is zero.  In a unit and a group let
    n be the number of rows in cells, regardless of their values, and t(c) the exact sum of the
    values in cell c.  If n > ``rows``, t(c) becomes t(c) rows / n, rounded toward zero: the unit
    counts as ``rows`` rows of its own mean.
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


ScalarMeasure = Total | DistinctCount | DistinctSum
"""The measures that are one number in each group."""
Measure = ScalarMeasure | Leaves | CellSums


def measured_expressions(measure: Measure) -> tuple[Expression, ...]:
    """Return what a measure reads of each row.

    >>> from discreet.query.expressions import Column
    >>> measured_expressions(DistinctCount(name="drugs", expression=Column("drug"), most=3))
    (Column(name='drug', table=None),)
    """
    found = (getattr(measure, item.name) for item in fields(measure))
    return tuple(each for each in found if isinstance(each, Expression))


PublicGroups = tuple[tuple[KeyValue, ...], ...] | Product
"""A list of groups, or all combinations of some values."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class EngineRequest:
    """A bound relation, whose rows belong to units and groups, and what is measured in each group.

    ``unit`` is empty if each row is a unit, and then ``groups`` is None.  ``public`` are all
    possible groups, if these are known beforehand.  If they are listed, all of them
    have an answer, in their order.  If they are a product, those have one that some kept unit
    touches, in the order of their keys.

    >>> from discreet.query.expressions import Column, Literal
    >>> from discreet.query.relations import Scan
    >>> visits = Scan("visits", (("patient", Type.INTEGER), ("ward", Type.TEXT)))
    >>> request = EngineRequest(
    ...     relation=visits,
    ...     unit=(Column("patient"),),
    ...     keys=(KeyColumn("ward", Column("ward"), Type.TEXT),),
    ...     groups=3,
    ...     measures=(Total(name="visits", row=Literal(1), low=0, high=5),),
    ... )
    >>> request.chooses
    True
    """

    relation: Relation
    unit: tuple[Expression, ...]
    keys: tuple[KeyColumn, ...]
    groups: int | None
    public: PublicGroups | None = None
    measures: tuple[Measure, ...]

    def __post_init__(self) -> None:
        """Refuse what leaves a contribution unbounded or a name unclear."""
        if (self.groups is None) != (not self.unit):
            raise OutOfRange(
                what="the number of groups of a unit is missing, or given for single rows.",
                why="a unit of many rows may touch many groups; one row is in exactly one.",
                do="give groups if, and only if, there are columns that name the unit.",
            )
        if self.groups is not None:
            whole(self.groups, name="groups", low=1)
        check_bound(self.relation)
        check_names(self.relation)
        _once([key.name for key in self.keys], what="key")
        _once([measure.name for measure in self.measures], what="measure")
        _check_counts(self.totals)
        if self.public is not None:
            _check_public(self.keys, self.public)

    @property
    def chooses(self) -> bool:
        """Whether a unit may touch more groups than it may keep."""
        if self.groups is None or not self.keys:
            return False
        return self.public is None or len(self.public) > self.groups

    @property
    def totals(self) -> tuple[Total, ...]:
        """The measures that are sums."""
        return tuple(measure for measure in self.measures if isinstance(measure, Total))

    @property
    def listed(self) -> tuple[tuple[KeyValue, ...], ...] | None:
        """The groups of the answer, if they are listed: only then are empty ones among them."""
        return None if isinstance(self.public, Product) else self.public

    @property
    def product(self) -> Product | None:
        """All possible groups, if they are too many to be listed."""
        return self.public if isinstance(self.public, Product) else None


def _check_counts(totals: tuple[Total, ...]) -> None:
    """Refuse a total within a count that is not there before it, or that has other bounds."""
    known: dict[str, Total] = {}
    for total in totals:
        count = None if total.per is None else known.get(total.per)
        if total.per is not None and (
            count is None
            or count.low < 0
            or count.high < 1
            or total.low % count.high
            or total.high % count.high
            or not total.low <= 0 <= total.high
        ):
            raise OutOfRange(
                what="a total is to be within a count that does not fit it.",
                why="what one unit may add for each row it counts must be a whole number.",
                do="report this as a bug.",
            )
        known[total.name] = total


def _once(names: list[str], *, what: str) -> None:
    if len(set(names)) != len(names):
        raise OutOfRange(
            what=f"two of the {what}s have one name.",
            why="answers are found by their names.",
            do=f"give each {what} a name of its own.",
        )


def _check_public(keys: tuple[KeyColumn, ...], public: PublicGroups) -> None:
    if isinstance(public, Product):
        fits = len(public.lists) == len(keys) and all(
            all(map(key.holds, values)) for key, values in zip(keys, public.lists, strict=True)
        )
        once = all(len(set(values)) == len(values) for values in public.lists)
    else:
        fits = all(
            len(group) == len(keys)
            and all(key.holds(value) for key, value in zip(keys, group, strict=True))
            for group in public
        )
        once = len(set(public)) == len(public)
    if not fits:
        raise WrongKind(
            what="a public group does not fit the keys.",
            why="each group is one value of every key.",
            do="give every public group as a tuple of values of the types of the keys.",
        )
    if not once:
        raise OutOfRange(
            what="a public group is given twice.",
            why="each group has one answer.",
            do="list every public group once.",
        )
