"""Contribution bounding: in how many groups and rows a unit counts, and between which bounds.

Trust: kernel.  Without these limits one unit could change everything.

Definition.  ``groups`` is the most groups in which a unit counts, and ``rows`` the most rows with
which it counts in one of them.  They are enforced: what is more is left out, or scaled down.  They
are set in the clause of the question, or else in the policy.  A unit is in one group where there is
one, and where all its rows agree in the keys.  A row that is a unit of its own is in one group.

Values are clamped to the bounds of the question, else to those that are declared.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING, final

from discreet.errors import MissingBounds, UnsupportedSQL
from discreet.plan.binding.value_facts import Facts
from discreet.plan.statistics.fixed_point import check_magnitude
from discreet.plan.statistics.missing_bounds import missing_bounds
from discreet.query.expressions import Aggregate, Column, Expression
from discreet.query.question import Clause
from discreet.query.source_text import Span, pointed

if TYPE_CHECKING:  # made by earlier steps
    from discreet.plan.binding.names import BoundRelation
    from discreet.plan.binding.public_keys import GroupKey
    from discreet.plan.policy.policy import Limits


@final
class OneRow(Enum):
    """Whether a unit has one row in each of its groups, or even one in all."""

    UNKNOWN = "unknown"
    IN_GROUP = "in a group"
    IN_ALL = "in all groups"


def one_row_of(rows: BoundRelation, keys: Sequence[GroupKey]) -> OneRow:
    """Return what the key of a relation says of the rows of a unit."""
    if rows.key is None or not rows.unit:
        return OneRow.UNKNOWN
    facts = rows.facts
    held = frozenset[str]().union(*rows.holders)
    open_columns = {name for name in rows.key if not (name in held or facts[name].constant)}
    if not open_columns:
        return OneRow.IN_ALL
    grouped = {key.key.expression for key in keys}
    fixed = all(Column(name) in grouped for name in open_columns)
    return OneRow.IN_GROUP if fixed else OneRow.UNKNOWN


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ContributionBounds:
    """What one unit may add to an answer.

    ``available`` is how many groups there are, where that is public; ``single`` says that each row
    is a unit, ``all_rows`` that nothing hides one: their number is public, and does not move.
    ``one_row`` says that a unit is known to have one row in a group.

    >>> ContributionBounds(groups=1, rows=1, available=None, single=True).rows
    1
    """

    groups: int
    rows: int | None
    available: int | None
    single: bool
    all_rows: bool = False
    one_row: bool = False

    @property
    def cap(self) -> int | None:
        """The rows to which a unit is scaled down; a row alone is never scaled."""
        return None if self.single else self.rows

    def most_rows(self, span: Span | None) -> int:
        """Return how many rows of a unit count in a group, or ask for it."""
        if self.rows is not None:
            return self.rows
        raise MissingBounds(
            what=pointed("there is no limit on the rows that one person has in a group.", span),
            why="a person with many more rows than others would need that much more noise.",
            do="add max_rows_per_group = 10 to OPTIONS, or to the policy:\n"
            "    [limits]\n    max_rows = 10",
        )


def contribution_bounds(  # noqa: PLR0913  all that limits a unit
    keys: Sequence[GroupKey],
    *,
    clause: Clause,
    limits: Limits,
    available: int | None,
    single: bool,
    one_row: OneRow = OneRow.UNKNOWN,
) -> ContributionBounds:
    """Return what one unit may add, or ask for the limit on groups.

    >>> from discreet.plan.policy.policy import Limits
    >>> contribution_bounds((), clause=Clause(), limits=Limits(), available=1, single=False).groups
    1
    """
    rows = clause.max_rows_per_group or limits.max_rows
    if single:
        return ContributionBounds(groups=1, rows=1, available=available, single=True)
    groups = clause.max_groups_contributed or limits.max_groups
    if available == 1 or one_row is OneRow.IN_ALL or all(key.facts.constant for key in keys):
        groups = 1
    known = one_row is not OneRow.UNKNOWN
    if groups is None:
        span = keys[0].key.expression.span
        names = ", ".join(key.key.name for key in keys)
        raise MissingBounds(
            what=pointed(f"there is no limit on the groups of {names} for one person.", span),
            why="a person who is in every group would change all of them.",
            do="add max_groups_contributed = 3 to OPTIONS, or to the policy:\n"
            "    [limits]\n    max_groups = 3\n"
            "or declare the columns constant, if they are the same in all rows of a person.",
        )
    most = groups if available is None else max(1, min(groups, available))
    return ContributionBounds(
        groups=most,
        rows=1 if known else rows,
        available=available,
        single=False,
        one_row=known,
    )


Pair = tuple[Fraction, Fraction]


def bounds_by_row(
    aggregate: Aggregate,
    argument: Expression,
    facts: Facts,
    columns: Mapping[str, Facts] | None = None,
) -> Pair:
    """Return the bounds on each value, or ask for them; ``columns`` tells which of them lack any.

    >>> from discreet.query.expressions import Column
    >>> from discreet.query.types import Type
    >>> cost = Facts(type=Type.FLOAT, low=Fraction(0), high=Fraction(100))
    >>> bounds_by_row(Aggregate("SUM", Column("cost")), Column("cost"), cost)
    (Fraction(0, 1), Fraction(100, 1))
    """
    if aggregate.bounds_per_row is not None:
        return _rising(aggregate, aggregate.bounds_per_row)
    if facts.bounds is None:
        raise missing_bounds(aggregate, argument, columns or {})
    low, high = facts.bounds
    if low == high:  # a constant: between it and zero, which moves no total further
        return _rising(aggregate, (min(low, Fraction(0)), max(high, Fraction(0))))
    return _rising(aggregate, (low, high))


def bounds_by_group(aggregate: Aggregate) -> Pair | None:
    """Return the bounds on what one unit adds to a group, if the question gives them.

    >>> bounds_by_group(Aggregate("COUNT")) is None
    True
    """
    pair = aggregate.bounds_per_group
    if pair is None:
        return None
    if aggregate.bounds_per_row is not None:
        raise UnsupportedSQL(
            what=pointed("there are bounds both per row and per group.", aggregate.span),
            why="each changes what is added up, and one of them would be ignored.",
            do="give either contribution_bounds_per_row or contribution_bounds_per_group.",
        )
    return _rising(aggregate, pair)


def whole_bounds(aggregate: Aggregate) -> tuple[int, int] | None:
    """Return the bounds on how many rows of one unit count in a group, if there are any.

    >>> whole_bounds(Aggregate("COUNT", bounds_per_group=(Fraction(0), Fraction(9, 2))))
    (0, 4)
    """
    pair = aggregate.bounds_per_group
    if pair is None:
        return None
    low, high = math.ceil(pair[0]), math.floor(pair[1])
    if low > high or high < 1 or max(-low, high) >= 2**31:
        raise UnsupportedSQL(
            what=pointed("no number of rows lies between these bounds.", aggregate.span),
            why="the rows of a person in a group are clamped to the bounds.",
            do="give bounds such as contribution_bounds_per_group => (0, 5).",
        )
    return low, high


def _rising(aggregate: Aggregate, pair: Pair) -> Pair:
    low, high = pair
    apart = low.numerator <= 0 < high.numerator  # signs alone often tell
    if not apart and low >= high:
        raise UnsupportedSQL(
            what=pointed("the lower bound is not below the upper one.", aggregate.span),
            why="every value is clamped to them.",
            do="give the smaller bound first, such as (0, 100).",
        )
    if low.numerator >= 0:
        check_magnitude(high)
    else:
        check_magnitude(high - low if high.numerator > 0 else -low)
    return pair
