"""Keys of joins: those that lead to the unit, and the shared columns of JOIN ... USING.

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

from collections.abc import Iterable, Sequence
from dataclasses import replace

from discreet.plan.binding.names import (
    BoundRelation,
    Field,
    FreshNames,
    answers_to,
    bound_expression,
)
from discreet.plan.binding.value_facts import facts_of
from discreet.query.expressions import Call, Column, Expression, walk
from discreet.query.relations import Join, Project, folded


def leads_to_one_unit(
    pairs: set[frozenset[str]], left: BoundRelation, right: BoundRelation
) -> bool:
    """Whether columns of both sides are compared whose values belong to one unit."""
    here, there = _keys(left), _keys(right)
    return any(
        here.get(one, frozenset()) & there.get(other, frozenset())
        for pair in pairs
        if len(pair) > 1
        for one in pair
        for other in pair - {one}
    )


def leads_to_a_unit(values: Iterable[Expression], bound: BoundRelation) -> bool:
    """Whether one of some values is a column whose values belong to one unit each."""
    keys = _keys(bound)
    return bool(bound.unit) and any(
        isinstance(value, Column) and bool(keys[value.name]) for value in values
    )


def equal_units(left: BoundRelation, right: BoundRelation) -> tuple[Expression, ...]:
    """Return the conditions that the units of both sides are the same."""
    pairs = zip(left.unit or (), right.unit or (), strict=True)
    return tuple(Call("=", (Column(one), Column(other))) for one, other in pairs)


def join_advice(
    left: BoundRelation,
    right: BoundRelation,
    form: str = "join them with ON {}, and more after AND.",
) -> str:
    """Say what to write in place of a join that mixes units; ``form`` takes the condition."""
    held = [
        (_holder(left, one), _holder(right, other))
        for one, other in zip(left.holders, right.holders, strict=False)
    ]
    if not any(None in pair for pair in held):
        return _advice(held, form)
    for one in left.visible:
        for other in right.visible:
            if _leads(one) & _leads(other):
                return form.format(f"{name_in_question(one)} = {name_in_question(other)}")
    for side in (left, right):
        pointers = [field for field in side.visible if _leads(field)]
        if pointers and None in [_holder(side, same) for same in side.holders]:
            pointer, (parent, key) = pointers[0], min(_leads(pointers[0]))
            on = f"{name_in_question(pointer)} = {parent}.{key}"
            return (
                f"join {parent} first, with ON {on}, and then the other table with ON the columns "
                "that name the unit."
            )
    return "select the columns that name the unit on both sides, and join them with ON these."


def _advice(held: Sequence[tuple[str | None, str | None]], form: str) -> str:
    """Say what to compare; a table that stands on both sides needs a name for each."""
    pairs = [(str(one), str(other)) for one, other in held]
    same = [one.rpartition(".")[0] for one, other in pairs if one == other]
    if not same:
        return form.format(" AND ".join(f"{one} = {other}" for one, other in pairs))
    named = [f"{one} = other.{one.rpartition('.')[2]}" for one, _ in pairs]
    name = f"call the second {same[0]} other, as in {same[0]} AS other, and "
    return name + form.format(" AND ".join(named))


def name_in_question(field: Field) -> str:
    """Return how a question calls a column.

    >>> from discreet.plan.binding.value_facts import Facts
    >>> from discreet.query.types import Type
    >>> name_in_question(Field(column="ward_2", name="ward", table="v",
    ...     facts=Facts(type=Type.TEXT)))
    'v.ward'
    """
    return f"{field.table}.{field.name}" if field.table else str(field.name)


def _holder(bound: BoundRelation, holders: frozenset[str]) -> str | None:
    """Return how a question can name a column of the unit, if it can."""
    return next(
        (name_in_question(field) for field in bound.visible if field.column in holders), None
    )


def _keys(bound: BoundRelation) -> dict[str, frozenset[tuple[str, str]]]:
    return {field.column: _leads(field) for field in bound.fields}


def _leads(field: Field) -> frozenset[tuple[str, str]]:
    source = field.facts.source
    return frozenset() if source is None or source.public else source.keys


def shared_condition(node: Join, left: BoundRelation, right: BoundRelation) -> Expression:
    """Return the condition that all shared columns are equal."""
    equal = tuple(
        Call("=", (_bound(name, node, left), _bound(name, node, right)), span=node.span)
        for name in node.using
    )
    return equal[0] if len(equal) == 1 else Call("AND", equal, span=node.span)


def merge_shared_columns(
    node: Join, joined: BoundRelation, left: BoundRelation, right: BoundRelation, fresh: FreshNames
) -> BoundRelation:
    """Show each shared column once, before all others: the first of the two that is not NULL."""
    shared: list[tuple[Field, Expression]] = []
    for name in node.using:
        one, other = _bound(name, node, left), _bound(name, node, right)
        value: Expression = {"inner": one, "left": one, "right": other}.get(
            node.kind, Call("COALESCE", (one, other))
        )
        facts = facts_of(value, joined.facts)
        shared.append((Field(column=fresh(name), name=name, facts=facts), value))
    names = {folded(name) for name in node.using}
    rest = [
        _behind(field) if folded(field.name or "") in names else field for field in joined.fields
    ]
    outputs = (
        *((field.column, value) for field, value in shared),
        *((field.column, Column(field.column)) for field in rest),
    )
    return replace(
        joined,
        relation=Project(joined.relation, outputs, span=node.span),
        fields=(*(field for field, _ in shared), *rest),
        same=_holding(shared, joined, left, right),
    )


def _behind(field: Field) -> Field:
    """Hide a column that both sides share, unless its alias stands before its name."""
    return replace(field, name=None) if field.table is None else replace(field, shared=True)


def _holding(
    shared: list[tuple[Field, Expression]],
    joined: BoundRelation,
    left: BoundRelation,
    right: BoundRelation,
) -> tuple[frozenset[str], ...]:
    """Return what holds the unit, shared columns among it: the first of both sides that is there.

    A shared column holds the unit if its value does, or if it is that of either side that is not
    NULL, and both sides hold the unit, as the unit of a full join does.
    """
    same = list(joined.holders)
    for place, holders in enumerate(joined.holders):
        for field, value in shared:
            match value:
                case Column(name=name):
                    held = name in holders
                case Call(arguments=(Column(name=one), Column(name=other))):
                    kinds = {left.facts[one].type, right.facts[other].type}
                    both = one in left.holders[place] and other in right.holders[place]
                    held = both and len(kinds) == 1
                case _:
                    held = False
            if held:
                same[place] |= {field.column}
    return tuple(same)


def _bound(name: str, node: Join, side: BoundRelation) -> Expression:
    return bound_expression(Column(name, span=node.span), side.fields)


def is_inside(part: Expression, inside: Sequence[Field]) -> bool:
    """Whether all columns of a condition are those of the subquery.

    >>> is_inside(Column("beds"), ())
    False
    """
    columns = (node for node in walk(part) if isinstance(node, Column))
    return all(any(answers_to(field, column) for field in inside) for column in columns)
