"""Joins of private tables on a key that leads to the unit, such as a linked table with its parent.

Trust: kernel.

Definition.  A column *leads to* a key K, a column of a private table in which by the owner's
promise each value belongs to one unit, if it is K itself, or if its table is linked by it to a
column that leads to K.
Lemma.  In a bound relation, a column that is an unchanged column of a private table holds, in a row
of a unit, a value of a row of that table which belongs to the unit, as relations treat each unit by
itself.  If it leads to K, that row is one with this value in K, or belongs to the unit because it
points to such a row, perhaps through others.  So the value belongs to this unit in K.
Theorem (key ``linked-joins``).  If a join compares a column of each side, and both lead to the same
K, then every pair that it finds agrees in the unit, if promises are kept.
Pairs of different units are left out by comparing the units as well, whether promises are kept or
not.  Where they are, that changes no row that counts: rows whose unit is NULL belong to nobody, and
are dropped in the end.  Where they are not, the join is still the union over units of what each
unit's rows give (key ``unit-local``), so that a broken promise costs rows, and nobody's privacy.
"""

from __future__ import annotations

from discreet.plan.fields import Bound, Field
from discreet.query.expressions import Call, Column, Expression

__all__ = ["advice", "equal_units", "leads_to_one_unit", "shown"]


def leads_to_one_unit(pairs: set[frozenset[str]], left: Bound, right: Bound) -> bool:
    """Whether columns of both sides are compared whose values belong to one unit."""
    here, there = _keys(left), _keys(right)
    return any(
        here.get(one, frozenset()) & there.get(other, frozenset())
        for pair in pairs
        if len(pair) > 1
        for one in pair
        for other in pair - {one}
    )


def equal_units(left: Bound, right: Bound) -> tuple[Expression, ...]:
    """Return the conditions that the units of both sides are the same."""
    pairs = zip(left.unit or (), right.unit or (), strict=True)
    return tuple(Call("=", (Column(one), Column(other))) for one, other in pairs)


def advice(left: Bound, right: Bound) -> str:
    """Say what to write in place of a join that mixes units."""
    held = [
        (_holder(left, one), _holder(right, other))
        for one, other in zip(left.holders, right.holders, strict=False)
    ]
    if not any(None in pair for pair in held):
        on = " AND ".join(f"{one} = {other}" for one, other in held)
        return f"join them with ON {on}, and more after AND."
    for one in left.visible:
        for other in right.visible:
            if _leads(one) & _leads(other):
                return f"join them with ON {shown(one)} = {shown(other)}, and more after AND."
    for side in (left, right):
        pointers = [each for each in side.visible if _leads(each)]
        if pointers and None in [_holder(side, same) for same in side.holders]:
            pointer, (parent, key) = pointers[0], min(_leads(pointers[0]))
            return (
                f"join {parent} first, with ON {shown(pointer)} = {parent}.{key}, and then the "
                "other table with ON the columns that name the unit."
            )
    return "select the columns that name the unit on both sides, and join them with ON these."


def shown(field: Field) -> str:
    """Return how a question calls a column.

    >>> from discreet.plan.facts import Facts
    >>> from discreet.query.types import Type
    >>> shown(Field(column="ward_2", name="ward", table="v", facts=Facts(type=Type.TEXT)))
    'v.ward'
    """
    return f"{field.table}.{field.name}" if field.table else str(field.name)


def _holder(bound: Bound, holders: frozenset[str]) -> str | None:
    """Return how a question can name a column of the unit, if it can."""
    return next((shown(each) for each in bound.visible if each.column in holders), None)


def _keys(bound: Bound) -> dict[str, frozenset[tuple[str, str]]]:
    return {each.column: _leads(each) for each in bound.fields}


def _leads(field: Field) -> frozenset[tuple[str, str]]:
    source = field.facts.source
    return frozenset() if source is None or source.public else source.keys
