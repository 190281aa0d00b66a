"""The limits on what one unit contributes to a question, and what follows from them.

Trust: kernel.

Definition.  A column of a subquery that counts the rows of a unit, or adds up their values, has no
largest value of its own.  Where no condition gives it one, the limit on the rows with which a unit
counts does: a count lies between 0 and the limit, and a sum of values between ``low`` and ``high``
between the limit times the lesser of ``low`` and 0, and the limit times the greater of ``high`` and
0.  So the sum of the counts of all units counts no more rows of a unit than a count of all rows
does.  The bounds are enforced like declared ones: numbers beyond them are clamped, and a plan says
so.  Where bounds are bought, they are searched for as before.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Final

from discreet.errors import NotAllowed
from discreet.plan.binding.names import BoundRelation
from discreet.plan.binding.value_facts import Facts, UnitTotal
from discreet.plan.draft import Draft, required
from discreet.plan.policy.policy import Limits
from discreet.plan.statistics.contribution_bounds import contribution_bounds, one_row_of
from discreet.plan.statistics.limit_choice import QuestionLimits
from discreet.query.question import Clause, Question
from discreet.query.relations import Scan, Table, descend
from discreet.query.source_text import pointed
from discreet.requests.table_schema import Schema
from discreet.units import Relation

_ZERO: Final = Fraction(0)


def bound_contributions(draft: Draft) -> Draft:
    """Limit the groups and rows in which one unit counts."""
    known = required(draft.bound)
    policy = table_limits(draft.question, draft.schema, draft.policy.limits)
    if draft.ceiling:
        ceilings = ceilings_of(draft.question, draft.schema, draft.policy.limits)
        check_ceilings(draft.clause, ceilings)
    limits = contribution_bounds(
        known.keys,
        clause=draft.clause,
        limits=policy,
        available=required(draft.groups).available,
        single=not known.rows.unit,
        one_row=one_row_of(known.rows, known.keys),
    )
    limits = replace(limits, all_rows=_all_rows_count(draft))
    if not (draft.given.bounds or draft.found):
        most = draft.clause.max_rows_per_group or policy.max_rows
        known = replace(known, rows=with_bounded_totals(known.rows, most))
    return replace(draft, bound=known, contributions=limits)


def table_limits(question: Question, schema: Schema, limits: Limits) -> Limits:
    """Return the limits of the tables that a question names: the largest, where they differ."""
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


def _all_rows_count(draft: Draft) -> bool:
    """Whether the number of rows is public: one row replaces another, and no condition hides one.

    Where there are several private tables, a row of one may be replaced by a row of another.
    """
    known = required(draft.bound)
    whole = isinstance(known.rows.relation, Scan) and not (known.rows.unit or known.keys)
    private = [table for table in draft.schema.tables if not table.public]
    searching = draft.given.bounds is not None or draft.found
    return (
        whole
        and len(private) == 1
        and draft.unit.relation is Relation.REPLACE
        and not draft.unit.columns
        and not searching
    )


def with_bounded_totals(rows: BoundRelation, most: int | None) -> BoundRelation:
    """Return a relation in which counts and sums of units lie between bounds."""
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
