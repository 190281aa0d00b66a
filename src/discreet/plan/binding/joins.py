"""Joins that keep units apart.

Trust: kernel.

Theorem (key ``unit-local``, for joins).  Let L and R be relations, each of them public, or the
union over units of what each unit's rows give.
1.  If one is public and the join keeps all or some of the private rows, each output row comes from
    one private row, and the output is again such a union.  A join that keeps unmatched rows of the
    public side is refused: whether a row is unmatched depends on everybody.
2.  If both are private and every output pair agrees in the unit, then the output rows of a unit
    come from its rows on both sides, matched or not.  The unit of an unmatched row is that of the
    side it comes from.  Pairs agree if the condition compares columns that hold the unit, or is
    made to by :mod:`discreet.plan.binding.join_keys`.
Where each row is a unit, a private row must meet at most one public row: the join compares all
columns of a key of the public table, in which no two of its rows agree, with columns of the same
types.  With others it compares what both are converted to, and whole numbers that differ are equal
as floats.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from discreet.accounting import Box
from discreet.plan.binding.fan_out import FanOut, first_rows
from discreet.plan.binding.join_keys import (
    equal_units,
    join_advice,
    leads_to_one_unit,
    merge_shared_columns,
    shared_condition,
)
from discreet.plan.binding.names import BoundRelation, Field, FreshNames, condition, not_per_unit
from discreet.plan.binding.value_facts import Facts
from discreet.query.expressions import Call, Column, Expression
from discreet.query.relations import Distinct, Join, Project, folded
from discreet.requests.table_schema import Link

_KEEPS: Final = {"left": (True, False), "right": (False, True), "full": (True, True)}
"""Which sides keep their unmatched rows."""


def bind_join(
    node: Join, left: BoundRelation, right: BoundRelation, fresh: FreshNames, limit: FanOut
) -> BoundRelation:
    """Join two bound relations, or refuse to."""
    both = replace(left, fields=(*left.fields, *right.fields))
    if node.using:
        on: Expression | None = shared_condition(node, left, right)
    else:
        on = None if node.on is None else condition(node.on, both)
    return join_on(node, left, right, on, fresh, limit)


def join_on(  # noqa: PLR0913, PLR0917  a join, its condition, and what limits it
    node: Join,
    left: BoundRelation,
    right: BoundRelation,
    on: Expression | None,
    fresh: FreshNames,
    limit: FanOut,
) -> BoundRelation:
    """Join two bound relations on a condition that is bound already, or refuse to."""
    keeps_left, keeps_right = _KEEPS.get(node.kind, (False, False))
    on = _checked(node, left, right, on)
    left, right, fan_out = _limited(node, left, right, on, fresh, limit)
    fields = (
        *(_outer(field) if keeps_right else field for field in left.fields),
        *(_outer(field) if keeps_left else field for field in right.fields),
    )
    relation = Join(left.relation, right.relation, node.kind, on, span=node.span)
    joined = BoundRelation(
        relation=relation,
        fields=fields,
        unit=_unit(node, left, right),
        same=_same(node, left, right),
        scope=_scope(node, left, right),
        fan_out=fan_out,
    )
    if node.kind == "full" and not joined.public and left.unit:
        joined = _either_unit(joined, left, right, fresh)
    return merge_shared_columns(node, joined, left, right, fresh) if node.using else joined


def linked(child: BoundRelation, parent: BoundRelation, link: Link) -> BoundRelation:
    """Join a private table to the rows that name its units; their columns stay hidden.

    Each output row belongs to the unit of the parent row, and is computed from that row and from
    child rows that point to it, which count as rows of its unit.  A child row comes once for each
    unit that it leads to, however many rows of that unit have the value that it points to.
    Where each row is a unit there is none to belong to: a row of the parent would take many others
    with it.
    """
    if not parent.unit:
        raise not_per_unit(
            parent.relation.span,
            what="the rows of this table hang on those of another, and each row is a unit.",
            do="have its link removed from the policy, or a column named as the unit.",
        )
    ends = [_named(child, link.column), _named(parent, link.key)]
    pointer, key = ends
    held = pointer.facts.type is key.facts.type
    kept = dict.fromkeys((*parent.unit, key.column))
    same = tuple(
        (holders & kept.keys()) | ({pointer.column} if held and key.column in holders else set())
        for holders in parent.holders
    )
    on = Call("=", tuple(Column(end.column) for end in ends))
    hidden = tuple(
        replace(field, name=None, table=None) for field in parent.fields if field.column in kept
    )
    led = Distinct(Project(parent.relation, tuple((name, Column(name)) for name in kept)))
    relation = Join(child.relation, led, "inner", on)
    return BoundRelation(
        relation=relation,
        fields=(*child.fields, *hidden),
        unit=parent.unit,
        same=same,
        scope=child.scope & parent.scope,
        fan_out=child.fan_out,
    )


def conjuncts(predicate: Expression | None) -> Iterator[Expression]:
    """Yield conditions that all hold where the predicate does.

    >>> [part.name for part in conjuncts(Call("AND", (Column("a"), Column("b"))))]
    ['a', 'b']
    """
    if isinstance(predicate, Call) and predicate.function == "AND":
        for part in predicate.arguments:
            yield from conjuncts(part)
    elif predicate is not None:
        yield predicate


def equalities(predicate: Expression | None) -> set[frozenset[str]]:
    """Return the pairs of columns that are equal where the predicate holds.

    >>> equalities(Call("=", (Column("a"), Column("b")))) == {frozenset({"a", "b"})}
    True
    """
    pairs = set()
    for part in conjuncts(predicate):
        match part:
            case Call(function="=", arguments=(Column(name=one), Column(name=other))):
                pairs.add(frozenset({one, other}))
    return pairs


def _checked(
    node: Join, left: BoundRelation, right: BoundRelation, on: Expression | None
) -> Expression | None:
    """Return a condition under which the rows of a unit meet no others, or refuse the join."""
    if left.public and right.public:
        return on
    if left.public or right.public:
        _check_public(node, left, right, on)
        return on
    if not left.unit or not right.unit:
        raise not_per_unit(
            node.span,
            what="this join puts private rows together.",
            do="ask about one private table; here each row is protected by itself.",
        )
    if (same := within_units(left, right, on)) is not None:
        return same
    raise not_per_unit(
        node.span,
        what="this join puts the rows of different people together.",
        do=join_advice(left, right),
    )


def within_units(
    left: BoundRelation, right: BoundRelation, on: Expression | None
) -> Expression | None:
    """Return a condition under which private rows meet rows of their unit alone, if there is one.

    It is the given one, if that compares the units or what leads to them.
    """
    if not left.unit or not right.unit or on is None or len(left.unit) != len(right.unit):
        return None
    pairs = equalities(on)
    if all(_meet(*same, pairs) for same in zip(left.holders, right.holders, strict=True)):
        return on
    if leads_to_one_unit(pairs, left, right):
        return Call("AND", (on, *equal_units(left, right)), span=on.span)
    return None


def _meet(left: frozenset[str], right: frozenset[str], pairs: set[frozenset[str]]) -> bool:
    """Whether a column of one set is compared with one of the other."""
    return any(len(pair) > 1 and pair & left and pair & right for pair in pairs)


def _check_public(
    node: Join, left: BoundRelation, right: BoundRelation, on: Expression | None
) -> None:
    keeps_left, keeps_right = _KEEPS.get(node.kind, (False, False))
    if (left.public and keeps_left) or (right.public and keeps_right):
        raise not_per_unit(
            node.span,
            what="this join keeps rows of a public table that nobody matches.",
            do="use an inner join, or keep the rows of the private table; to list public groups, "
            "group by all columns of the public side and join on each of them.",
        )
    private, public = (right, left) if left.public else (left, right)
    if private.unit == () and not _one_match(private, public, on):
        raise not_per_unit(
            node.span,
            what="this join may count a row several times.",
            do="join on all columns of the public table's key, with columns of the same types, and "
            "declare key = [...] for it in the policy.",
        )


def _limited(  # noqa: PLR0913, PLR0917  a join, and what limits it
    node: Join,
    left: BoundRelation,
    right: BoundRelation,
    on: Expression | None,
    fresh: FreshNames,
    limit: FanOut,
) -> tuple[BoundRelation, BoundRelation, int]:
    """Limit how many rows of one side a row of the other meets; return both, and the fan-out."""
    if left.public and right.public:
        return left, right, 1
    keeps_left, keeps_right = _KEEPS.get(node.kind, (False, False))
    compared = _determined(right, left, on), _determined(left, right, on)
    if right.public:
        right, most = _met(left, right, compared[1], fresh, limit)
        return left, right, left.fan_out * most
    if left.public:
        left, most = _met(right, left, compared[0], fresh, limit)
        return left, right, right.fan_out * most
    if (keeps_right and not keeps_left) or (not keeps_left and _is_key(left, compared[0])):
        left, most = limit.private(left, compared[0], fresh)
        return left, right, right.fan_out * most
    right, most = limit.private(right, compared[1], fresh)
    return left, right, left.fan_out * most + (right.fan_out if keeps_right else 0)


def _met(
    private: BoundRelation,
    public: BoundRelation,
    compared: set[str],
    fresh: FreshNames,
    limit: FanOut,
) -> tuple[BoundRelation, int]:
    """Limit the public rows that a private row meets; one that is a unit meets one at most.

    Its price rests on that, so it is enforced whatever is known of keys.
    """
    if private.unit == ():
        return first_rows(public, sorted(compared), 1, fresh), 1
    return limit.public(public, compared, fresh)


def _is_key(side: BoundRelation, compared: set[str]) -> bool:
    return side.key is not None and compared >= set(side.key)


def _one_match(private: BoundRelation, public: BoundRelation, on: Expression | None) -> bool:
    """Whether a row meets at most one row of a public table, by its declared key."""
    return _is_key(public, _determined(private, public, on))


def _determined(private: BoundRelation, public: BoundRelation, on: Expression | None) -> set[str]:
    """Return the columns of one side whose values a row of the other has itself."""
    return determined(private.facts, public.facts, equalities(on))


def determined(
    theirs: Mapping[str, Facts], own: Mapping[str, Facts], pairs: set[frozenset[str]]
) -> set[str]:
    """Return the columns of one side whose values a row of the other has itself."""
    return {
        name
        for pair in pairs
        for name in pair & own.keys()
        for other in pair & theirs.keys()
        if own[name].type is theirs[other].type
    }


def _unit(node: Join, left: BoundRelation, right: BoundRelation) -> tuple[str, ...] | None:
    if left.public or right.public:
        return right.unit if left.public else left.unit
    return right.unit if node.kind == "right" else left.unit


def _same(node: Join, left: BoundRelation, right: BoundRelation) -> tuple[frozenset[str], ...]:
    """Return what holds the unit in all output rows: both sides do where none is missing."""
    if left.public or right.public:
        return right.holders if left.public else left.holders
    if node.kind in _KEEPS:
        return {"left": left.holders, "right": right.holders}.get(node.kind, ())
    return tuple(
        one | other if left.facts[a].type is right.facts[b].type else one
        for a, b, one, other in zip(
            left.unit or (), right.unit or (), left.holders, right.holders, strict=True
        )
    )


def _scope(node: Join, left: BoundRelation, right: BoundRelation) -> Box:
    """Return a box with all units that have an output row."""
    keeps_left, keeps_right = _KEEPS.get(node.kind, (False, False))
    if keeps_left and keeps_right:
        return left.scope if left.scope == right.scope else Box.everything()
    if keeps_left or keeps_right:
        return left.scope if keeps_left else right.scope
    return left.scope & right.scope


def _either_unit(
    joined: BoundRelation, left: BoundRelation, right: BoundRelation, fresh: FreshNames
) -> BoundRelation:
    """Let the unit of a full join be that of the side that is there."""
    names = [fresh(name) for name in left.unit or ()]
    pairs = zip(left.unit or (), right.unit or (), strict=True)
    values = [Call("COALESCE", (Column(one), Column(other))) for one, other in pairs]
    kept = tuple((field.column, Column(field.column)) for field in joined.fields)
    relation = Project(joined.relation, (*kept, *zip(names, values, strict=True)))
    facts = [replace(left.facts[name], source=None) for name in left.unit or ()]
    hidden = tuple(
        Field(column=name, name=None, facts=fact) for name, fact in zip(names, facts, strict=True)
    )
    return replace(
        joined, relation=relation, fields=(*joined.fields, *hidden), unit=tuple(names), key=None
    )


def _outer(field: Field) -> Field:
    return replace(field, facts=field.facts.or_null())


def _named(bound: BoundRelation, name: str) -> Field:
    return next(field for field in bound.fields if folded(str(field.name)) == folded(name))
