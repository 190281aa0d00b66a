"""Partition selection: groups of a public list, or chosen privately, and by which count.

Trust: kernel.  The noise of a count is scaled to what one unit adds to it.

Definition.  Groups are public if every key has public values, and then there is one for each
combination; or if a public table lists them; or if there are no keys, and one group.  All of them
are shown, empty ones too; where there are more combinations than could be listed, all that reach a
threshold (:mod:`discreet.plan.statistics.having_threshold`); with grouping sets, those of every set
(:mod:`discreet.plan.workload.cubes`).  Otherwise which groups there are is
told by the data, and a choice of keys, which has a price, decides which of them are shown.
If a question asks for a least number of units in a group, groups are chosen in any case.
Values of a key that is public by itself are enforced in both cases: other rows are left out.

Definition.  If groups are private, a noisy count that an answer needs in any case can choose
them: a group is shown if it reaches a threshold (key ``threshold-keys``), and nothing else is paid
for the choice.  A count can do that if every unit of a group adds at least one to it and at most
``most``: then groups without units, of which nobody may learn, count nothing.  That is so for

    the number of units
    the rows of all units, at most ``most`` of each

What an answer needs may also be measured as points of simplexes, whose noisy coordinates choose by
what they add up to (:mod:`discreet.plan.workload.simplex`): any counts and sums can do that.

Theorem (key ``rows-are-units``).  A count of all rows of which a unit has at most one in a group
that counts, and at least one, is the number of units.
Proof.  A unit of the group has a row in it, so that its own count, clamped to one, is one.

Rows choose only if nothing else is said: a least number of units in a group, or a way to choose,
is about units.  And if no coordinates do, they choose only if no number of units is asked for, by
which smaller groups are shown, and if at most two rows of a unit count.  A choice apart takes about
half of a price and shows groups of twice as many units as one that has all of it; rows, so many of
each unit, show groups of as many times the rows, and units often have one row each.  An epsilon
that is for the choice alone is for a choice by itself.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

from discreet.errors import UnsupportedSQL
from discreet.plan.binding.value_facts import DATE_PARTS, ONE
from discreet.plan.pricing.group_sensitivity import UNITS
from discreet.query.expressions import Call, Case, Expression, Literal
from discreet.query.question import Clause
from discreet.query.relations import Filter, Relation
from discreet.query.source_text import pointed
from discreet.requests.engine_request import KeyValue, Measure, PublicGroups, Total
from discreet.requests.table_schema import MOST_GROUPS, Product, key_literal

if TYPE_CHECKING:  # made by earlier steps
    from discreet.plan.binding.bound_question import BoundQuestion
    from discreet.plan.binding.public_keys import GroupKey

_MOST: Final = 10**6
_COMPLETE: Final = frozenset({"RANGE_BUCKET", "IS NULL", "IS TRUE", "IS FALSE"})
"""Functions of which all values are known, regardless of the data."""
PUBLIC: Final = "PUBLIC_GROUPS"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSelection:
    """The groups that are public, and how others are chosen.

    ``chosen`` says whether a choice of keys is needed; it never shows a group of fewer than
    ``fewest`` units.  It is a choice ``apart`` if no count of the answer may make it.
    """

    public: PublicGroups | None
    chosen: bool
    apart: bool = False
    strategy: str | None = None
    fewest: int = 1

    @property
    def available(self) -> int | None:
        """How many groups there are, if that is public."""
        return None if self.public is None else max(len(self.public), 1)


def partition_selection(asked: BoundQuestion) -> GroupSelection:
    """Return the groups of a question, or refuse a list that is too long or not there."""
    clause = asked.question.clause or Clause()
    strategy, fewest = clause.group_selection_strategy, clause.min_privacy_units_per_group
    public = asked.groups if asked.groups is not None else _product(asked)
    if strategy == PUBLIC and (public is None or fewest is not None):
        raise _not_public(asked, public is None)
    return GroupSelection(
        public=public,
        chosen=public is None or fewest is not None,
        strategy=None if strategy == PUBLIC else strategy,
        fewest=fewest or 1,
        apart=asked.question.other or clause.group_selection_epsilon is not None,
    )


def within_categories(relation: Relation, keys: tuple[GroupKey, ...]) -> Relation:
    """Leave out rows whose key is not a public value.

    >>> from discreet.query.relations import Table
    >>> within_categories(Table("visits"), ())
    Table(name='visits')
    """
    for asked in keys:
        if asked.values is not None and _is_declared(asked.key.expression, asked.values):
            relation = Filter(relation, one_of(asked.key.expression, asked.values))
    return relation


def _is_declared(key: Expression, values: tuple[KeyValue, ...]) -> bool:
    """Whether the values of a key follow from what is declared, and the data may hold others."""
    match key:
        case Case(branches=branches, default=default):
            return not all(
                isinstance(each, Literal | None) for _, each in (*branches, (0, default))
            )
        case Call(function="EXTRACT", arguments=(Literal(value=str() as part), _)):
            known = DATE_PARTS.get(part, ())
            return [each for each in values if each is not None] != list(known)
        case Call(function=name):
            return name not in _COMPLETE
        case _:
            return True


def one_of(key: Expression, values: tuple[KeyValue, ...]) -> Expression:
    """Return the condition that a key is one of some values.

    >>> from discreet.query.expressions import Column
    >>> one_of(Column("ward"), ("A", None)).function
    'OR'
    """
    listed = tuple(key_literal(value) for value in values if value is not None)
    conditions: list[Expression] = [Call("IN", (key, *listed))] if listed else []
    if None in values:
        conditions.append(Call("IS NULL", (key,)))
    return conditions[0] if len(conditions) == 1 else Call("OR", tuple(conditions))


def _product(asked: BoundQuestion) -> PublicGroups | None:
    """Return all combinations of public values, listed unless there are too many."""
    lists = [key.values for key in asked.keys]
    known = [values for values in lists if values is not None]
    if len(known) < len(lists):
        return None
    count = math.prod(map(len, known))
    if asked.question.sets:  # of which none need be listed
        return Product(tuple(known))
    if count <= _MOST:
        return tuple(itertools.product(*known))
    clause = asked.question.clause or Clause()
    some = asked.question.having is not None or clause.min_privacy_units_per_group is not None
    if count > MOST_GROUPS or not some:
        raise UnsupportedSQL(
            what=pointed(
                f"there are {count} groups, more than {_MOST}.", asked.keys[0].key.expression.span
            ),
            why="every group would be computed and shown, empty or not.",
            do="show only those that reach a threshold, such as HAVING COUNT(*) >= 100; or group "
            "by fewer keys, or list the values that matter with IN (...).",
        )
    return Product(tuple(known))


def _not_public(asked: BoundQuestion, unknown: bool) -> UnsupportedSQL:  # noqa: FBT001
    clause = asked.question.clause
    span = None if clause is None else clause.span
    if not unknown:
        return UnsupportedSQL(
            what=pointed("public groups cannot require a minimum number of people.", span),
            why="which groups have that many depends on the data, so they are selected privately.",
            do="leave out either group_selection_strategy or min_privacy_units_per_group.",
        )
    names = ", ".join(key.key.name for key in asked.keys if key.values is None)
    return UnsupportedSQL(
        what=pointed(f"public groups need public values of {names}.", span),
        why="a list of groups taken from the data would show who is in it.",
        do=f"list the values with WHERE {names} IN (...), declare categories in the policy, or "
        "keep the rows of SELECT DISTINCT of a public table in an outer join.",
    )


UNIT_COUNTS: Final = tuple(Total(name="", row=ONE, low=low, high=1) for low in (0, 1))
"""Counts that are the number of units."""

_OPTIMAL: Final = "OPTIMAL"
_MOST_ROWS: Final = 2
"""Rows of a unit, at most, if rows choose."""

SelectionCount = tuple[str, int]
"""The name of a count, and how much a unit adds to it, at most."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionRule:
    """Whether numbers of units may choose the groups of a question, and whether rows may.

    ``blind`` says that bounds on values are found later, and must not decide which count it is.

    >>> rows = Total(name="count", row=ONE, low=0, high=2)
    >>> both = SelectionRule(units=True, rows=True)
    >>> both.among({"count": rows}), both.among({"count": rows, UNITS: None})
    (('count', 2), ('units', 1))
    >>> SelectionRule(units=True).among({"count": rows}) is None
    True
    """

    units: bool = False
    rows: bool = False
    blind: bool = False

    @classmethod
    def of(cls, groups: GroupSelection, *, blind: bool = False) -> SelectionRule:
        """Read what a question says about the choice of its groups."""
        shared = groups.chosen and not groups.apart
        units = shared and groups.strategy != _OPTIMAL
        rows = units and groups.strategy is None and groups.fewest == 1
        return cls(units=units, rows=rows, blind=blind)

    def by(self, total: Total, *, units: bool) -> bool:
        """Say whether a total may choose; ``units`` says that the number of units could."""
        if total in UNIT_COUNTS:
            return self.units
        counts = total.row == ONE and total.rows is None and total.low >= 0
        return self.rows and not units and counts and 1 <= total.high <= _MOST_ROWS

    def among(self, measured: Mapping[str, Measure | None]) -> SelectionCount | None:
        """Return which count of those that an answer needs chooses its groups, if one may.

        The number of units is none of the measures, and has None in place of one.
        """
        units = UNITS in measured
        if units and self.units:
            return UNITS, 1
        counts = [
            (name, total.high)
            for name, total in measured.items()
            if isinstance(total, Total) and self.by(total, units=units)
        ]
        return min(counts, key=lambda total: total[1], default=None)
