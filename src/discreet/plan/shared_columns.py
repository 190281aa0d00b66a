"""JOIN ... USING: shared columns are compared, and come once.

Trust: kernel.
"""

from __future__ import annotations

from dataclasses import replace

from discreet.plan.facts import facts_of
from discreet.plan.fields import Bound, Field
from discreet.plan.names import Fresh, bound_expression
from discreet.query.expressions import Call, Column, Expression
from discreet.query.relations import Join, Project, folded

__all__ = ["merged", "shared_condition"]


def shared_condition(node: Join, left: Bound, right: Bound) -> Expression:
    """Return the condition that all shared columns are equal."""
    equal = tuple(
        Call("=", (_bound(name, node, left), _bound(name, node, right)), span=node.span)
        for name in node.using
    )
    return equal[0] if len(equal) == 1 else Call("AND", equal, span=node.span)


def merged(node: Join, found: Bound, left: Bound, right: Bound, fresh: Fresh) -> Bound:
    """Show each shared column once, before all others: the first of the two that is not NULL."""
    shared: list[tuple[Field, Expression]] = []
    for name in node.using:
        one, other = _bound(name, node, left), _bound(name, node, right)
        value: Expression = {"inner": one, "left": one, "right": other}.get(
            node.kind, Call("COALESCE", (one, other))
        )
        facts = facts_of(value, found.facts)
        shared.append((Field(column=fresh(name), name=name, facts=facts), value))
    names = {folded(name) for name in node.using}
    rest = [
        replace(each, name=None) if folded(each.name or "") in names else each
        for each in found.fields
    ]
    outputs = (
        *((each.column, value) for each, value in shared),
        *((each.column, Column(each.column)) for each in rest),
    )
    return replace(
        found,
        relation=Project(found.relation, outputs, span=node.span),
        fields=(*(each for each, _ in shared), *rest),
        same=_holding(shared, found, left, right),
    )


def _holding(
    shared: list[tuple[Field, Expression]], found: Bound, left: Bound, right: Bound
) -> tuple[frozenset[str], ...]:
    """Return what holds the unit, shared columns among it: the first of both sides that is there.

    A shared column holds the unit if its value does, or if it is that of either side that is not
    NULL, and both sides hold the unit, as the unit of a full join does.
    """
    same = list(found.holders)
    for at, holders in enumerate(found.holders):
        for field, value in shared:
            match value:
                case Column(name=name):
                    held = name in holders
                case Call(arguments=(Column(name=one), Column(name=other))):
                    kinds = {left.facts[one].type, right.facts[other].type}
                    both = one in left.holders[at] and other in right.holders[at]
                    held = both and len(kinds) == 1
                case _:
                    held = False
            if held:
                same[at] |= {field.column}
    return tuple(same)


def _bound(name: str, node: Join, side: Bound) -> Expression:
    return bound_expression(Column(name, span=node.span), side.fields)
