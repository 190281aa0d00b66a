"""EXISTS and IN: semi joins and anti joins that keep units apart.

Trust: kernel.

Theorem (key ``unit-local``, for semi joins).  Let L be the union over units of what each unit's
rows give, and R public, or such a union.  If R is public, or every pair of rows that meets agrees
in the unit, then the rows of L that meet a row of R, and those that meet none, are again such a
union, with the units of L.
Proof.  Whether a row of L stays depends on that row and the rows of R that it can meet.  These are
public, or rows of its own unit.
A public L with a private R is refused: which public rows stay depends on everybody.  A row of L
comes at most once, however many rows it meets, so that nothing is multiplied, where each row is a
unit, too.

Theorem.  ``x NOT IN (SELECT y ...)`` keeps the rows that meet no row for which x = y is true or
NULL: those that meet no equal y, and if x is NULL no row at all, and no y that is NULL.  Each is an
anti join.  Over private tables the last two would look at the rows of others; there x and y must be
known not to be NULL, and otherwise the question is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from discreet.plan.binding.fan_out import FanOut
from discreet.plan.binding.join_keys import is_inside, join_advice
from discreet.plan.binding.join_order import Leaves, join_all, side_by_side
from discreet.plan.binding.joins import conjuncts, within_units
from discreet.plan.binding.names import (
    BoundRelation,
    Field,
    FreshNames,
    bound_expression,
    checked,
    condition,
    not_per_unit,
)
from discreet.query.expression_types import COMPARED
from discreet.query.expressions import Call, Column, Expression, transformed
from discreet.query.relations import Filter, Join, Relation, SemiJoin

_FORM: Final = "compare them with WHERE {} inside the subquery, and more after AND."


def bind_semi_join(
    node: SemiJoin, left: BoundRelation, leaves: Leaves, fresh: FreshNames, limit: FanOut
) -> BoundRelation:
    """Keep the rows of a bound relation that meet, or do not meet, the leaves of another."""
    inside = side_by_side(leaves[0]).fields
    own = [part for part in conjuncts(node.on) if is_inside(part, inside)]
    right, rest = join_all(leaves, own, fresh, limit, node.span)
    if rest is not None:
        right = replace(right, relation=Filter(right.relation, rest, span=node.span))
    both = replace(left, fields=(*left.fields, *right.fields))
    outer = [part for part in conjuncts(node.on) if not is_inside(part, inside)]
    unique = replace(both, fields=tuple(replace(f, name=f.column, table=None) for f in both.fields))
    on = [condition(_scoped(part, inside, left.fields), unique) for part in outer]
    if node.compared is None:
        return _kept(node, left, right, on)
    x = checked(node.compared[0], left)[0]
    y = _scoped(node.compared[1], inside, left.fields)
    same = condition(Call("=", (x, y), span=node.span), unique)
    nulls = [value for value, side in ((x, left), (y, right)) if _may_be_null(value, side)]
    if not node.anti or not nulls:
        return _kept(node, left, right, [*on, same])
    if not right.public:
        raise not_per_unit(
            node.span,
            what="this NOT IN compares values that may be NULL.",
            do="write NOT EXISTS with x = y inside, or add IS NOT NULL for both values; or declare "
            "nullable = false in the policy.",
        )
    found = _kept(node, left, right, [*on, same])
    for value in nulls:
        found = _kept(node, found, right, [*on, Call("IS NULL", (value,))])
    return found


def _kept(
    node: SemiJoin, left: BoundRelation, right: BoundRelation, parts: Sequence[Expression]
) -> BoundRelation:
    """Put the semi join together, or refuse one that looks at the rows of others."""
    on: Expression | None = parts[0] if len(parts) == 1 else None
    if len(parts) > 1:
        on = Call("AND", tuple(parts), span=node.span)
    if not right.public:
        on = _of_one_unit(node, left, right, on)
    relation = SemiJoin(left.relation, right.relation, on, anti=node.anti, span=node.span)
    return replace(left, relation=relation, fan_out=max(left.fan_out, right.fan_out))


def _of_one_unit(
    node: SemiJoin, left: BoundRelation, right: BoundRelation, on: Expression | None
) -> Expression:
    if left.public:
        raise not_per_unit(
            node.span,
            what="which rows of a public table stay here depends on a private one.",
            do="ask about the private table, joined with the public one, and group by its columns.",
        )
    if not left.unit or not right.unit:
        raise not_per_unit(
            node.span,
            what="this subquery looks at the rows of others.",
            do="ask about one private table; here each row is protected by itself.",
        )
    same = within_units(left, right, on)
    if same is None:
        raise not_per_unit(
            node.span,
            what="this subquery looks at the rows of other people.",
            do=join_advice(left, right, _FORM),
        )
    return same


def _scoped(part: Expression, inside: Sequence[Field], outside: Sequence[Field]) -> Expression:
    """Return an expression over unique names: those of the subquery come before those outside."""

    def scoped(node: Expression) -> Expression | None:
        if not isinstance(node, Column):
            return None
        return bound_expression(node, inside if is_inside(node, inside) else outside)

    return transformed(part, scoped)


def _may_be_null(value: Expression, side: BoundRelation) -> bool:
    """Whether a value may be NULL in a row that counts, as far as is known.

    Rows whose unit is NULL belong to nobody.
    """
    if not isinstance(value, Column) or value.name not in side.facts:
        return True
    if any(value.name in held for held in side.holders) or not side.facts[value.name].nullable:
        return False
    return not any(_excludes_null(part, value) for part in _conditions(side.relation))


def _excludes_null(part: Expression, value: Column) -> bool:
    """Whether a condition is true only where a column is not NULL."""
    match part:
        case Call(function="NOT", arguments=(Call(function="IS NULL", arguments=(inner,)),)):
            return inner == value
        case Call(function=function, arguments=arguments):
            return function in COMPARED and value in arguments
        case _:
            return False


def _conditions(relation: Relation) -> Iterator[Expression]:
    """Yield conditions that hold for all rows of a relation, over its own columns."""
    match relation:
        case Filter(child=child, predicate=predicate):
            yield from conjuncts(predicate)
            yield from _conditions(child)
        case Join(kind="inner", on=on):
            yield from conjuncts(on)
            for side in relation.children():
                yield from _conditions(side)
        case SemiJoin(left=left):
            yield from _conditions(left)
