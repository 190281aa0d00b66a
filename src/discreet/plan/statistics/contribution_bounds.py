"""Contribution bounding: in how many groups and rows a unit counts, and between which bounds.

Trust: kernel.  Without these limits one unit could change everything.

Definition.  ``groups`` is the most groups in which a unit counts, and ``rows`` the most rows with
which it counts in one of them.  They are enforced: what is more is left out, or scaled down.  They
are set in the clause of the question, or else in the policy.  A unit is in one group if there is
one, and if all its rows agree in the keys.  A row that is a unit of its own is in one group.

Values are clamped to the bounds of the question, else to those that are declared.

Definition.  A column of a subquery that counts the rows of a unit, or adds up their values, has no
largest value of its own.  If no condition gives it one, the limit on the rows with which a unit
counts does: a count is between 0 and the limit, and a sum of values between ``low`` and ``high``
between the limit times the lesser of ``low`` and 0, and the limit times the greater of ``high`` and
0.  So the sum of the counts of all units counts no more rows of a unit than a count of all rows
does.  The bounds are enforced like declared ones: numbers beyond them are clamped, and a plan says
so.  If bounds are bought, they are searched for as before.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING, Final, final

from discreet.errors import MissingBounds, NotAllowed, UnsupportedSQL
from discreet.plan.binding.names import BoundRelation
from discreet.plan.binding.value_facts import ColumnSource, Facts, UnitTotal
from discreet.plan.policy.policy import Limits
from discreet.plan.statistics.fixed_point import check_magnitude
from discreet.plan.statistics.limit_choice import QuestionLimits
from discreet.query.expression_text import said
from discreet.query.expressions import (
    Aggregate,
    Call,
    Column,
    Expression,
    Literal,
    conjuncts,
    walk,
)
from discreet.query.question import Clause, Question
from discreet.query.relations import Filter, Scan, SemiJoin, Table, descend
from discreet.query.source_text import Span, pointed
from discreet.query.types import Type
from discreet.requests.table_schema import Schema
from discreet.units import PrivacyUnit, Relation

if TYPE_CHECKING:  # for annotations alone
    from discreet.plan.binding.bound_question import BoundQuestion
    from discreet.plan.binding.public_keys import GroupKey


def missing_bounds(
    aggregate: Aggregate, argument: Expression, columns: Mapping[str, Facts]
) -> MissingBounds:
    """Ask for bounds on what is added up; ``columns`` says which of its columns have none.

    >>> from discreet.query.expressions import Call
    >>> paid = Call("*", (Column("price"), Column("rate")))
    >>> rate = {"rate": Facts(type=Type.FLOAT, source=ColumnSource("shops", "rate"))}
    >>> print(missing_bounds(Aggregate("SUM", paid), paid, rate).what)
    there are no public bounds on price * rate, because there are none on rate.
    """
    call = said(aggregate).removesuffix(")")
    fix = f"write {call}, contribution_bounds_per_row => (0, 100))"
    named = dict.fromkeys(node.name for node in walk(argument) if isinstance(node, Column))
    found = {name: columns[name] for name in named if name in columns}
    without = {
        name: facts
        for name, facts in found.items()
        if facts.bounds is None and facts.type.is_number
    }
    places = [
        _place(facts.source, facts.type) for facts in without.values() if facts.source is not None
    ]
    if places:
        fix += ",\nor add to the policy:\n" + "\n".join(places)
    alone = isinstance(argument, Column) or not without
    because = "" if alone else f", because there are none on {', '.join(without)}"
    return MissingBounds(
        what=pointed(f"there are no public bounds on {said(argument)}{because}.", aggregate.span),
        why="noise has to hide the largest possible value, so there must be a largest one.",
        do=f"{fix}\nwith bounds that you know without looking at the data; or let them be found "
        "privately,\nwhich has a price of its own: bounds=dp.estimate(epsilon=0.1), on the command "
        "line --bounds-epsilon=0.1.",
    )


def _place(source: ColumnSource, kind: Type) -> str:
    """Return the lines of a policy that give a column bounds."""
    return (
        f"    [tables.{source.table}.columns.{source.column}]\n"
        f'    type = "{kind.value.lower()}"\n    low = 0\n    high = 100'
    )


@final
class OneRow(Enum):
    """Whether a unit has one row in each of its groups, or even one in all."""

    UNKNOWN = "unknown"
    IN_GROUP = "in a group"
    IN_ALL = "in all groups"


def one_row_of(rows: BoundRelation, keys: Sequence[GroupKey]) -> OneRow:
    """Return what the key of a relation says of the rows of a unit.

    Of a key of a person and a year, a condition such as ``year = 1985`` leaves the person.
    """
    if rows.key is None or not rows.unit:
        return OneRow.UNKNOWN
    facts = rows.facts
    known = frozenset[str](_equal_columns(rows)).union(*rows.holders)
    open_columns = {name for name in rows.key if not (name in known or facts[name].constant)}
    if not open_columns:
        return OneRow.IN_ALL
    grouped = {key.key.expression for key in keys}
    fixed = all(Column(name) in grouped for name in open_columns)
    return OneRow.IN_GROUP if fixed else OneRow.UNKNOWN


def _equal_columns(rows: BoundRelation) -> Iterator[str]:
    """Yield the columns of which conditions leave a single value."""
    relation = rows.relation
    while isinstance(relation, Filter | SemiJoin):
        for part in conjuncts(relation.predicate) if isinstance(relation, Filter) else ():
            match part:
                case Call(function="=" | "IN", arguments=(Column(name=name), Literal())):
                    yield name
                case Call(function="=", arguments=(Literal(), Column(name=name))):
                    yield name
                case _:
                    pass
        relation = relation.children()[0]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ContributionBounds:
    """What one unit may add to an answer.

    ``available`` is how many groups there are, if that is public; ``single`` says that each row
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
    """Return the bounds on each value, or ask for them; ``columns`` says which of them lack any.

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
            what=pointed("no number of rows is between these bounds.", aggregate.span),
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


_ZERO: Final = Fraction(0)


def bound_contributions(  # noqa: PLR0913  all that limits a unit
    question: Question,
    bound: BoundQuestion,
    *,
    schema: Schema,
    limits: Limits,
    unit: PrivacyUnit,
    available: int | None,
    searching: bool,
    ceiling: bool = True,
) -> tuple[BoundQuestion, ContributionBounds]:
    """Limit the groups and rows in which one unit counts, and totals that follow from that."""
    policy, clause = table_limits(question, schema, limits), question.clause or Clause()
    if ceiling:
        check_ceilings(clause, ceilings_of(question, schema, limits))
    found = contribution_bounds(
        bound.keys,
        clause=clause,
        limits=policy,
        available=available,
        single=not bound.rows.unit,
        one_row=one_row_of(bound.rows, bound.keys),
    )
    found = replace(found, all_rows=not searching and _all_rows_count(bound, schema, unit))
    if not searching:
        most = clause.max_rows_per_group or policy.max_rows
        bound = replace(bound, rows=with_bounded_totals(bound.rows, most))
    return bound, found


def table_limits(question: Question, schema: Schema, limits: Limits) -> Limits:
    """Return the limits of the tables that a question names: the largest, if they differ."""
    named = (node.name for node in descend(question.relation) if isinstance(node, Table))
    found = (schema.at_path(name) for name in named)
    tables = [table for table in found if table is not None and not table.public]
    rows = [table.max_rows or limits.max_rows for table in tables]
    groups = [table.max_groups or limits.max_groups for table in tables]
    return replace(limits, max_rows=_largest(rows), max_groups=_largest(groups))


def ceilings_of(question: Question, schema: Schema, limits: Limits) -> QuestionLimits:
    """Return the limits that a question may lower and not raise."""
    known = table_limits(question, schema, limits)
    return QuestionLimits(**{name: getattr(known, name) for name in limits.ceilings})


def check_ceilings(clause: Clause, ceilings: QuestionLimits) -> None:
    """Refuse a question that raises a limit which the owner has made a ceiling.

    >>> check_ceilings(Clause(max_rows_per_group=2), QuestionLimits(max_rows=5))
    """
    asked = {"max_rows": clause.max_rows_per_group, "max_groups": clause.max_groups_contributed}
    for name, number in asked.items():
        most = getattr(ceilings, name)
        if number is not None and most is not None and number > most:  # T1
            what = f"{name} is {most} in the policy, and {number} is asked for."
            raise NotAllowed(
                what=pointed(what, clause.span),
                why="the owner of the data decides how much one person may add to an answer.",
                do=f"ask for {most} at most, or have the owner leave {name} out of ceilings under "
                "[limits] in the policy.",
            )


def _largest(limits: list[int | None]) -> int | None:
    """Return the largest limit; one that is missing is missing for all."""
    known = [limit for limit in limits if limit is not None]
    return max(known) if known and len(known) == len(limits) else None


def _all_rows_count(bound: BoundQuestion, schema: Schema, unit: PrivacyUnit) -> bool:
    """Whether the number of rows is public: one row replaces another, and no condition hides one.

    If there are several private tables, a row of one may be replaced by a row of another.
    """
    whole = isinstance(bound.rows.relation, Scan) and not (bound.rows.unit or bound.keys)
    private = [table for table in schema.tables if not table.public]
    replaced = unit.relation is Relation.REPLACE and not unit.columns
    return whole and len(private) == 1 and replaced


def with_bounded_totals(rows: BoundRelation, most: int | None) -> BoundRelation:
    """Return a relation in which counts and sums of units are between bounds."""
    if most is None or not rows.unit:
        return rows
    bounded = [bounded_total(field.facts, most) for field in rows.fields]
    if all(new is field.facts for new, field in zip(bounded, rows.fields, strict=True)):
        return rows
    pairs = zip(rows.fields, bounded, strict=True)
    return replace(rows, fields=tuple(replace(field, facts=facts) for field, facts in pairs))


def bounded_total(facts: Facts, most: int) -> Facts:
    """Return the facts of a column, with bounds if it is a count or a sum that has none.

    >>> from discreet.query.types import Type
    >>> count = UnitTotal("COUNT", (None, None), None)
    >>> bounded_total(Facts(type=Type.INTEGER, low=Fraction(0), total=count), 4).bounds
    (Fraction(0, 1), Fraction(4, 1))
    """
    if facts.total is None or facts.bounds is not None:
        return facts
    each = _of_a_row(facts.total)
    if each is None:
        return facts
    low = most * min(each[0], _ZERO) if facts.low is None else facts.low
    high = most * max(each[1], _ZERO) if facts.high is None else facts.high
    return replace(facts, low=low, high=high) if low < high else facts


def _of_a_row(total: UnitTotal) -> tuple[Fraction, Fraction] | None:
    """Return between what a row adds to a total; None if that is not known."""
    match total.function:
        case "COUNT":
            return _ZERO, Fraction(1)
        case "SUM":
            return total.bounds
        case _:
            return None
