"""Limits for one question: given, or proposed from how rows and groups of units are spread.

Trust: public.  Limits are enforced whatever they are; those that are too small or too large cost
accuracy alone.  What is computed here from noisy numbers is post-processing.

Definition.  A *cell* is the rows of one unit in one group of a question.  The *spread of rows* is
the number of units by the rows of their largest cell, and the *spread of groups* that by how many
cells they have, both in public bins: 1 to 5 one by one, and then ten to each power of ten, up to a
million.  Bins that do not stand out from the noise count as empty.

Definition.  With noise that is off by 3 k g / epsilon for limits of k rows and g groups (the 95 %
of a Laplace law), the *proposed* limits are those ends of bins that make this, and what is left out
of an average group, smallest together.  What is left out is taken from the upper ends of bins, with
rows and groups as if they were independent, and every cell as large as a unit's largest: it is
rather too large than too small.

Definition.  The *share that is cut* is the part of all rows that limits leave out: that beyond the
limit of each cell (:mod:`discreet.plan.statistics.limit_choice`), and of units with more cells than
count, the part of their cells that does not.  It is read from two noisy sums: of rows that are cut,
whose bounds are found, and of rows that are kept, at most as many as limits allow.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final, final

from discreet.errors import UnsupportedSQL, WrongKind
from discreet.exact import decimal
from discreet.plan.statistics.partition_selection import one_of
from discreet.query.expressions import Aggregate, Call, Cast, Column, Expression, Grouped, Literal
from discreet.query.question import Clause, Question
from discreet.query.relations import Aggregated, Filter, Output, Project, Relation
from discreet.query.types import Type

if TYPE_CHECKING:  # for annotations alone
    from discreet.mechanisms.mechanism import Number
    from discreet.plan.binding.bound_question import BoundQuestion


_STEPS: Final = (10, 13, 16, 20, 25, 32, 40, 50, 64, 80)
EDGES: Final = (
    *(1, 2, 3, 4, 5, 6, 8),
    *(step * 10**power for power in range(5) for step in _STEPS),
    10**6,
)
"""Where bins begin; the last one has no end."""

_FAR: Final = 3
_LEVELS: Final = (Fraction(1, 2), Fraction(9, 10), Fraction(99, 100))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionLimits:
    """Limits for one question, in place of those of the policy; None leaves one as it is.

    >>> limits(max_rows=5)
    QuestionLimits(max_rows=5, max_groups=None)
    """

    max_rows: int | None = None
    max_groups: int | None = None

    def __post_init__(self) -> None:
        """Refuse what a clause refuses."""
        Clause(max_rows_per_group=self.max_rows, max_groups_contributed=self.max_groups)

    def applied(self, question: Question) -> Question:
        """Return a question with these limits in its clause."""
        clause = question.clause or Clause()
        return replace(
            question,
            clause=replace(
                clause,
                max_rows_per_group=self.max_rows or clause.max_rows_per_group,
                max_groups_contributed=self.max_groups or clause.max_groups_contributed,
            ),
        )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LimitsPrice:
    """What finding limits may cost, as a charge of its own."""

    epsilon: Fraction

    def __post_init__(self) -> None:
        """Read the price, or refuse it."""
        price = _epsilon(self.epsilon, "limits=dp.estimate_limits(epsilon=0.1)")
        object.__setattr__(self, "epsilon", price)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SharePrice:
    """What an estimate of the share that was cut may cost, as a charge of its own."""

    epsilon: Fraction

    def __post_init__(self) -> None:
        """Read the price, or refuse it."""
        price = _epsilon(self.epsilon, "share_cut=dp.share_cut(epsilon=0.1)")
        object.__setattr__(self, "epsilon", price)


def limits(*, max_rows: int | None = None, max_groups: int | None = None) -> QuestionLimits:
    """Limit the rows and groups of a unit for one question.

    Args:
        max_rows: rows of a unit that count in a group.
        max_groups: groups in which a unit counts.

    >>> limits(max_rows=5, max_groups=2).max_groups
    2
    """
    return QuestionLimits(max_rows=max_rows, max_groups=max_groups)


def estimate_limits(*, epsilon: Number) -> LimitsPrice:
    """Buy how rows and groups of units are spread, and use the limits that they propose.

    Args:
        epsilon: what both spreads cost together, in addition to the answer.

    >>> estimate_limits(epsilon="0.1").epsilon
    Fraction(1, 10)
    """
    return LimitsPrice(epsilon=epsilon)  # type: ignore[arg-type]  # read there


def share_cut(*, epsilon: Number) -> SharePrice:
    """Buy an estimate of the share of rows that limits leave out, next to an answer.

    Args:
        epsilon: what it costs, in addition to the answer.

    >>> share_cut(epsilon="0.1").epsilon
    Fraction(1, 10)
    """
    return SharePrice(epsilon=epsilon)  # type: ignore[arg-type]  # read there


def _epsilon(value: Number, example: str) -> Fraction:
    number = decimal(value, name="epsilon")
    if number > 0:
        return number
    raise WrongKind(
        what="epsilon is not above zero.",
        why="what is bought has a price.",
        do=f"write {example}, say.",
    )


@final
@dataclass(frozen=True, slots=True)
class BinnedSpread:
    """How many units there are in each bin, about; those that do not stand out have none.

    >>> spread = BinnedSpread((0, 900, 0, 90, 0, 0, 0, 0, 0, 8, *[0] * 48))
    >>> spread.quantile(Fraction(1, 2)), spread.quantile(Fraction(99, 100)), spread.most
    (2, 4, 19)
    >>> spread.words
    'half have at most 2, 90 % at most 2, 99 % at most 4'
    """

    units: tuple[int, ...]

    @classmethod
    def of(cls, counts: Mapping[int, int], least: int) -> BinnedSpread:
        """Take noisy numbers of units by bin, and above what they stand out."""
        places = range(len(EDGES))
        return cls(tuple(found if (found := counts.get(at, 0)) > least else 0 for at in places))

    @property
    def ends(self) -> tuple[tuple[int, int], ...]:
        """The upper end and the count of each occupied bin."""
        last = [edge - 1 for edge in EDGES[1:]] + [EDGES[-1]]
        return tuple((end, count) for end, count in zip(last, self.units, strict=True) if count)

    @property
    def most(self) -> int:
        """The upper end of the last occupied bin."""
        return max((end for end, _ in self.ends), default=1)

    def mean(self) -> Fraction:
        """Return the mean of the upper ends."""
        return Fraction(sum(end * count for end, count in self.ends), self.number or 1)

    def over(self, limit: int) -> Fraction:
        """Return how far units are above a limit, on average."""
        beyond = sum((end - limit) * count for end, count in self.ends if end > limit)
        return Fraction(beyond, self.number or 1)

    @property
    def number(self) -> int:
        """How many units there are, about."""
        return sum(self.units)

    def quantile(self, level: Fraction) -> int:
        """Return the end of the bin in which this share of units is reached."""
        seen = 0
        for end, count in self.ends:
            seen += count
            if seen >= level * self.number:
                return end
        return 1

    @property
    def words(self) -> str:
        """Say the quantiles in a line."""
        half, most, nearly = map(self.quantile, _LEVELS)
        return f"half have at most {half}, 90 % at most {most}, 99 % at most {nearly}"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FoundLimits:
    """Limits that were proposed, from spreads that were bought for a price."""

    limits: QuestionLimits
    rows: BinnedSpread
    groups: BinnedSpread | None
    epsilon: Fraction

    @property
    def words(self) -> tuple[str, ...]:
        """Say what was found, and what follows from it; the ends of bins are meant."""
        found = [f"rows of a unit in its largest group: {self.rows.words}"]
        used = f"max_rows = {self.limits.max_rows}"
        if self.groups is not None:
            found.append(f"groups of a unit: {self.groups.words}")
            used += f" and max_groups = {self.limits.max_groups}"
        return (*found, f"{used}: noise and what is cut are smallest together")


def proposed(
    rows: BinnedSpread,
    groups: BinnedSpread | None,
    *,
    epsilon: Fraction,
    available: int | None,
    ceilings: QuestionLimits | None = None,
) -> QuestionLimits:
    """Return the limits that make noise and what is cut smallest together, for an average group.

    None of them is above its ceiling.

    >>> few, many = (BinnedSpread((0, 0, 0, 1000, *[0] * 5, more, *[0] * 48)) for more in (2, 5))
    >>> [proposed(rows, None, epsilon=Fraction(1), available=1).max_rows for rows in (few, many)]
    [4, 19]
    """
    one = BinnedSpread((1, *[0] * (len(EDGES) - 1)))
    spread = one if groups is None else groups
    number = available or spread.most
    highest = ceilings or QuestionLimits()
    candidates = itertools.product(_ends(rows, highest.max_rows), _ends(spread, highest.max_groups))

    def off(pair: tuple[int, int]) -> Fraction:
        most, kept = pair
        cut = rows.over(most) * spread.mean() + spread.over(kept) * min(rows.mean(), Fraction(most))
        return _FAR * most * kept / epsilon + cut * rows.number / number

    most, kept = min(candidates, key=off)
    return QuestionLimits(max_rows=most, max_groups=None if groups is None else kept)


def _ends(spread: BinnedSpread, most: int | None) -> list[int]:
    ends = [end for end, _ in spread.ends] or [1]
    return ends if most is None else sorted({min(end, most) for end in ends})


ROWS, GROUPS, UNITS, CUT, KEPT = "rows", "groups", "units", "rows_cut", "rows_kept"


def spread_questions(bound: BoundQuestion) -> Mapping[str, Question]:
    """Return the questions that count units by the rows of their largest cell, and by cells."""
    units = _by_unit(bound, (ROWS, Aggregate("MAX", Column(ROWS))), (GROUPS, Aggregate("COUNT")))
    edges = tuple(Literal(edge) for edge in EDGES[1:])
    names = (ROWS, GROUPS) if bound.keys else (ROWS,)
    return {
        name: Question(
            relation=units,
            keys=((name, Call("RANGE_BUCKET", (Column(name), *edges))),),
            outputs=((name, Grouped(0)), (UNITS, Aggregate("COUNT"))),
        )
        for name in names
    }


def share_question(bound: BoundQuestion, *, rows: int, groups: int | None) -> Question:
    """Return the question that adds up the rows that limits cut, and those that they keep.

    ``groups`` is None if a unit can be in no more groups than count.
    """
    small = Call("LEAST", (Column(ROWS), Literal(rows)))
    units = _by_unit(
        bound,
        (ROWS, Aggregate("SUM", Column(ROWS))),
        (KEPT, Aggregate("SUM", small)),
        (GROUPS, Aggregate("COUNT")),
    )
    kept: Expression = Column(KEPT)
    if groups is not None:
        part = Call("LEAST", (Literal(Fraction(1)), Call("/", (Literal(groups), Column(GROUPS)))))
        product = Call("*", (Cast(kept, Type.FLOAT), part))
        kept = Cast(Call("FLOOR", (product,)), Type.INTEGER)
    cut = Call("-", (Column(ROWS), kept))
    holders = [(name, Column(name)) for name in _unit_names(bound)]
    cells = groups or math.prod(max(1, len(key.values or ())) for key in bound.keys)
    most = Fraction(rows * cells)
    return Question(
        relation=Project(units, (*holders, (CUT, cut), (KEPT, kept))),
        outputs=(
            (CUT, Aggregate("SUM", Column(CUT))),
            (KEPT, Aggregate("SUM", Column(KEPT), bounds_per_row=(Fraction(0), most))),
        ),
    )


def _by_unit(bound: BoundQuestion, *outputs: tuple[str, Aggregate]) -> Relation:
    """Return one row for each unit, with aggregates over the numbers of rows of its cells."""
    question, names = bound.question, _unit_names(bound)
    unit = tuple(zip(names, _unit_columns(bound), strict=True))
    groups: tuple[Output, ...] = tuple(
        (f"group{place}", value) for place, (_, value) in enumerate(question.keys)
    )
    cells: Relation = Aggregated(question.relation, (*unit, *groups), ((ROWS, Aggregate("COUNT")),))
    for (name, _), key in zip(groups, bound.keys, strict=True):
        if key.values is not None:  # rows of other groups are left out before limits are applied
            cells = Filter(cells, one_of(Column(name), key.values))
    return Aggregated(cells, tuple((name, Column(name)) for name in names), outputs)


def _unit_names(bound: BoundQuestion) -> list[str]:
    return [f"unit{place}" for place, _ in enumerate(bound.rows.unit or ())]


def _unit_columns(bound: BoundQuestion) -> list[Expression]:
    """Return what the question calls the columns of the unit, or refuse it."""
    found: list[Expression] = []
    for holders in bound.rows.holders:
        seen = [field for field in bound.rows.visible if field.column in holders]
        if not seen or bound.groups is not None:
            raise UnsupportedSQL(
                what="the rows of a unit cannot be counted for this question.",
                why="the rows of a linked table, of some subqueries and of joins that list public "
                "groups do not name their unit.",
                do="ask about a table, a join or a subquery that has the columns of the unit.",
            )
        found.append(Column(str(seen[0].name), table=seen[0].table))
    return found
