"""Bounds on what a subquery counts or adds up for each unit, by the limit on rows.

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

from discreet.plan.binding.names import BoundRelation
from discreet.plan.binding.value_facts import Facts, UnitTotal

_ZERO: Final = Fraction(0)


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
