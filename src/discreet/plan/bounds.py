"""The bounds that an aggregate works with: those of the question, else those that are declared.

Trust: kernel.
"""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.errors import MissingBounds, UnsupportedSQL
from discreet.plan.facts import Facts
from discreet.query.expressions import Aggregate, Expression
from discreet.query.span import pointed
from discreet.query.wording import said

__all__ = ["Pair", "bounds_by_group", "bounds_by_row", "whole_bounds"]

Pair = tuple[Fraction, Fraction]


def bounds_by_row(aggregate: Aggregate, argument: Expression, facts: Facts) -> Pair:
    """Return the bounds on each value, or say how to give some.

    >>> from discreet.query.expressions import Column
    >>> from discreet.query.types import Type
    >>> cost = Facts(type=Type.FLOAT, low=Fraction(0), high=Fraction(100))
    >>> bounds_by_row(Aggregate("SUM", Column("cost")), Column("cost"), cost)
    (Fraction(0, 1), Fraction(100, 1))
    """
    if aggregate.bounds_per_row is not None:
        return _rising(aggregate, aggregate.bounds_per_row)
    if facts.bounds is None:
        raise _missing(aggregate, argument, facts)
    return _rising(aggregate, facts.bounds)


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
            what=pointed("bounds are given both for rows and for groups.", aggregate.span),
            why="each of them changes what is added up, and one of them would be ignored.",
            do="give contribution_bounds_per_row or contribution_bounds_per_group.",
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
            what=pointed("so many rows can never count.", aggregate.span),
            why="a number of rows is clamped between the bounds.",
            do="give contribution_bounds_per_group => (0, 5), say.",
        )
    return low, high


def _rising(aggregate: Aggregate, pair: Pair) -> Pair:
    low, high = pair
    if low >= high:
        raise UnsupportedSQL(
            what=pointed("the lower bound is not below the upper one.", aggregate.span),
            why="every value is moved between them.",
            do="give the smaller bound first, such as (0, 100).",
        )
    from discreet.plan.fixed_point import checked_reach  # noqa: PLC0415  rare

    checked_reach(max(-low, high, high - low))
    return pair


def _missing(aggregate: Aggregate, argument: Expression, facts: Facts) -> MissingBounds:
    text = said(argument)
    call = said(aggregate).removesuffix(")")
    fix = f"write {call}, contribution_bounds_per_row => (0, 100))"
    if facts.source is not None and not facts.source.public:
        place = f"[tables.{facts.source.table}.columns.{facts.source.column}]"
        kind = facts.type.value.lower()
        fix += (
            f",\nor add to the policy:\n    {place}\n"
            f'    type = "{kind}"\n    low = 0\n    high = 100'
        )
    return MissingBounds(
        what=pointed(f"there are no public bounds on {text}.", aggregate.span),
        why="noise hides the largest value that could be there, so there must be a largest one.",
        do=f"{fix}\nwith bounds that you know without looking at the data; or have them found "
        "privately,\nfor a price beside that of the answer: ask(..., "
        "bounds=dp.estimate(epsilon=0.1)).",
    )
