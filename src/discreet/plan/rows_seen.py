"""Which rows an aggregate looks at, and the value it sees in each.

Trust: kernel.

A condition on an aggregate becomes a CASE: rows for which it is not true have NULL for a value, and
NULL contributes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from discreet.plan.facts import Facts, facts_of
from discreet.query.expressions import Aggregate, Call, Case, Expression, Literal

__all__ = ["ONE", "all_of", "argument", "counted", "seen"]

ONE: Final = Literal(1)


def argument(aggregate: Aggregate) -> Expression:
    """Return what an aggregate is about; for COUNT(*) a one for each row.

    >>> argument(Aggregate("COUNT"))
    Literal(value=1)
    """
    return ONE if aggregate.argument is None else aggregate.argument


def seen(aggregate: Aggregate, value: Expression) -> Expression:
    """Return a value in the rows that an aggregate looks at, and NULL in others.

    >>> from discreet.query.expressions import Column
    >>> seen(Aggregate("SUM", Column("cost")), Column("cost"))
    Column(name='cost', table=None)
    """
    return value if aggregate.where is None else Case(((aggregate.where, value),))


def counted(aggregate: Aggregate, facts: Mapping[str, Facts]) -> tuple[Expression, ...]:
    """Return what holds of the rows that count: the condition, and that the value is not NULL.

    >>> counted(Aggregate("COUNT"), {})
    ()
    """
    known = () if aggregate.where is None else (aggregate.where,)
    value = aggregate.argument
    if value is None or not facts_of(value, facts).nullable:
        return known
    return (*known, Call("NOT", (Call("IS NULL", (value,)),)))


def all_of(conditions: Sequence[Expression]) -> Expression:
    """Return a one in the rows for which all conditions are true, and NULL in others.

    >>> all_of(())
    Literal(value=1)
    """
    if not conditions:
        return ONE
    both = conditions[0] if len(conditions) == 1 else Call("AND", tuple(conditions))
    return Case(((both, ONE),))
