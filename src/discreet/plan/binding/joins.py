"""Joins: which ones stay within a unit, the keys of what they return, and the order of many.

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
not.  If they are, that changes no row that counts: rows whose unit is NULL belong to nobody, and
are dropped in the end.  If they are not, the join is still the union over units of what each
unit's rows give (key ``unit-local``), so that a broken promise costs rows, and nobody's privacy.

Theorem (key ``unit-local``, for joins).  Let L and R be relations, each of them public, or the
union over units of what each unit's rows give.
1.  If one is public and the join keeps all or some of the private rows, each output row comes from
    one private row, and the output is again such a union.  A join that keeps unmatched rows of the
    public side is refused: whether a row is unmatched depends on everybody.
2.  If both are private and every output pair agrees in the unit, then the output rows of a unit
    come from its rows on both sides, matched or not.  The unit of an unmatched row is that of the
    side it comes from.  Pairs agree if the condition compares columns that hold the unit, or is
    made to by :mod:`discreet.plan.binding.joins`.
If each row is a unit, a private row must meet at most one public row: the join compares all
columns of a key of the public table, in which no two of its rows agree, with columns of the same
types.  With others it compares what both are converted to, and whole numbers that differ are equal
as floats.

Definition.  The *leaves* of a relation are what its inner and cross joins put together.  A filter
over joins, at least one of which is a cross join, is computed as a chain of joins of the leaves:
each condition that compares columns of the leaves so far with columns of the next one is a
condition of that join, and all other conditions are a filter above.
Theorem.  That is the same relation.
Proof.  A row of either is one row of each leaf, for which all conditions are true.  A condition
that holds in every branch of an OR is true wherever the OR is; joining on it leaves out only rows
that the OR leaves out.
So the order decides how many rows are kept of whoever has very many, and nothing about privacy.

The chain begins with the leaf from which most others are found by their keys, so that few joins
multiply rows, and public tables that are not compared with each other never meet by themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeGuard

from discreet.accounting import Box
from discreet.plan.binding.fan_out import FanOut, first_rows
from discreet.plan.binding.names import (
    BoundRelation,
    Field,
    FreshNames,
    answers_to,
    bound_expression,
    condition,
    not_per_unit,
)
from discreet.plan.binding.value_facts import Facts, facts_of
from discreet.query.expressions import Call, Column, Expression, conjunction, conjuncts, walk
from discreet.query.relations import Distinct, Join, Project, Relation, folded
from discreet.query.source_text import Span
from discreet.requests.table_schema import Link


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
        field
        if folded(field.name or "") not in names
        else (replace(field, name=None) if field.table is None else replace(field, shared=True))
        for field in joined.fields
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


_KEEPS: Final = {"left": (True, False), "right": (False, True), "full": (True, True)}
"""Which sides keep their unmatched rows."""


def bind_join(
    node: Join, left: BoundRelation, right: BoundRelation, limit: FanOut
) -> BoundRelation:
    """Join two bound relations, or refuse to."""
    both = replace(left, fields=(*left.fields, *right.fields))
    shared = (
        Call("=", (_bound(name, node, left), _bound(name, node, right)), span=node.span)
        for name in node.using
    )
    on = conjunction(shared, node.span) if node.on is None else condition(node.on, both)
    return join_on(node, left, right, on, limit)


def join_on(
    node: Join,
    left: BoundRelation,
    right: BoundRelation,
    on: Expression | None,
    limit: FanOut,
) -> BoundRelation:
    """Join two bound relations on a condition that is bound already, or refuse to."""
    keeps_left, keeps_right = _KEEPS.get(node.kind, (False, False))
    on = _checked(node, left, right, on)
    left, right, fan_out = _limited(node, left, right, on, limit)
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
        joined = _either_unit(joined, left, right, limit.fresh)
    return merge_shared_columns(node, joined, left, right, limit.fresh) if node.using else joined


def linked(child: BoundRelation, parent: BoundRelation, link: Link) -> BoundRelation:
    """Join a private table to the rows that name its units; their columns stay hidden.

    Each output row belongs to the unit of the parent row, and is computed from that row and from
    child rows that point to it, which count as rows of its unit.  A child row comes once for each
    unit that it leads to, however many rows of that unit have the value that it points to.
    If each row is a unit there is none to belong to: a row of the parent would take many others
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


def equalities(predicate: Expression | None) -> set[frozenset[str]]:
    """Return the pairs of columns that are equal if the predicate holds.

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
    held = zip(left.holders, right.holders, strict=True)
    if all(
        any(len(pair) > 1 and pair & one and pair & other for pair in pairs) for one, other in held
    ):
        return on
    if leads_to_one_unit(pairs, left, right):
        return Call("AND", (on, *equal_units(left, right)), span=on.span)
    return None


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
    if private.unit == () and not _is_key(public, _determined(private, public, on)):
        raise not_per_unit(
            node.span,
            what="this join may count a row several times.",
            do="join on all columns of the public table's key, with columns of the same types, and "
            "declare key = [...] for it in the policy.",
        )


def _limited(
    node: Join,
    left: BoundRelation,
    right: BoundRelation,
    on: Expression | None,
    limit: FanOut,
) -> tuple[BoundRelation, BoundRelation, int]:
    """Limit how many rows of one side a row of the other meets; return both, and the fan-out."""
    if left.public and right.public:
        return left, right, 1
    keeps_left, keeps_right = _KEEPS.get(node.kind, (False, False))
    compared = _determined(right, left, on), _determined(left, right, on)
    if right.public:
        right, most = _met(left, right, compared[1], limit)
        return left, right, left.fan_out * most
    if left.public:
        left, most = _met(right, left, compared[0], limit)
        return left, right, right.fan_out * most
    if (keeps_right and not keeps_left) or (not keeps_left and _is_key(left, compared[0])):
        left, most = limit.private(left, compared[0])
        return left, right, right.fan_out * most
    right, most = limit.private(right, compared[1])
    return left, right, left.fan_out * most + (right.fan_out if keeps_right else 0)


def _met(
    private: BoundRelation,
    public: BoundRelation,
    compared: set[str],
    limit: FanOut,
) -> tuple[BoundRelation, int]:
    """Limit the public rows that a private row meets; one that is a unit meets one at most.

    Its price rests on that, so it is enforced whatever is known of keys.
    """
    if private.unit == ():
        return first_rows(public, sorted(compared), 1, limit.fresh), 1
    return limit.public(public, compared)


def _is_key(side: BoundRelation, compared: set[str]) -> bool:
    return side.key is not None and compared >= set(side.key)


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
    """Return what holds the unit in all output rows: both sides do if none is missing."""
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
    kept = joined.columns
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


Leaves = tuple[list[BoundRelation], list[Expression]]
"""Bound leaves in the order in which they are written, and the bound conditions between them."""


def has_cross_join(relation: Relation) -> bool:
    """Whether inner and cross joins are at the top of a relation, a cross join among them.

    >>> from discreet.query.relations import Table
    >>> has_cross_join(Join(Table("a"), Table("b"), "cross"))
    True
    """
    return _is_plain(relation) and (
        relation.kind == "cross" or any(map(has_cross_join, relation.children()))
    )


def _is_plain(relation: Relation) -> TypeGuard[Join]:
    """Whether a relation is a join of all pairs for which a condition holds."""
    return isinstance(relation, Join) and relation.kind in {"inner", "cross"} and not relation.using


def join_leaves(relation: Relation, bind: Callable[[Relation], BoundRelation]) -> Leaves:
    """Bind the leaves of a relation, and the conditions of its joins."""
    if not _is_plain(relation):
        return [bind(relation)], []
    (left, met), (right, others) = (join_leaves(side, bind) for side in relation.children())
    leaves, conditions = [*left, *right], [*met, *others]
    if relation.on is not None:
        conditions += conjuncts(condition(relation.on, side_by_side(leaves)))
    return leaves, conditions


def side_by_side(leaves: Sequence[BoundRelation]) -> BoundRelation:
    """Return the columns of several relations, to bind names to; the rest is that of the first."""
    return replace(leaves[0], fields=tuple(field for leaf in leaves for field in leaf.fields))


def join_all(
    leaves: Leaves,
    predicates: Sequence[Expression],
    limit: FanOut,
    span: Span | None,
) -> tuple[BoundRelation, Expression | None]:
    """Join leaves on their conditions, and on predicates that are not bound yet.

    Return the joined rows, and the condition that is left to filter them by, if there is one.
    """
    relations, conditions = leaves
    every = side_by_side(relations)
    bound = [part for each in predicates for part in conjuncts(condition(each, every))]
    waiting = [*conditions, *bound]
    found = [*waiting, *(same for part in waiting for same in _implied(part))]
    rest, chain = list(relations), _first(relations, equalities(conjunction(found)))
    rest.remove(chain)
    while rest:
        chain, used = _extended(chain, rest, found, limit, span)
        waiting = [part for part in waiting if part not in used]
        found = [part for part in found if part not in used]
    places = {field.column: place for place, field in enumerate(every.fields)}
    chain = replace(chain, fields=tuple(sorted(chain.fields, key=lambda f: places[f.column])))
    return chain, conjunction(waiting)


def _implied(predicate: Expression) -> Iterator[Expression]:
    """Yield conditions that hold in all branches of an OR."""
    if isinstance(predicate, Call) and predicate.function == "OR":
        branches = [conjuncts(branch) for branch in predicate.arguments]
        yield from (part for part in branches[0] if all(part in each for each in branches))


def _first(leaves: Sequence[BoundRelation], pairs: set[frozenset[str]]) -> BoundRelation:
    """Return the leaf from which most others are found by keys; private ones come first."""

    def found_by_keys(first: BoundRelation) -> int:
        known = dict(first.facts)
        rest = [leaf for leaf in leaves if leaf is not first]
        count = 0
        while near := next((each for each in rest if _is_keyed(known, each, pairs)), None):
            known |= near.facts
            rest.remove(near)
            count += 1
        return count

    private = [leaf for leaf in leaves if not leaf.public]
    return max(private or leaves, key=found_by_keys)


def _is_keyed(known: Mapping[str, Facts], leaf: BoundRelation, pairs: set[frozenset[str]]) -> bool:
    return leaf.key is not None and determined(known, leaf.facts, pairs) >= set(leaf.key)


def _extended(
    chain: BoundRelation,
    rest: list[BoundRelation],
    found: Sequence[Expression],
    limit: FanOut,
    span: Span | None,
) -> tuple[BoundRelation, list[Expression]]:
    """Join the next leaf, and return the conditions that were used; it is taken off the rest."""

    def rank(leaf: BoundRelation) -> tuple[bool, bool, bool]:
        on = conjunction(_between(chain, leaf, found))
        apart = chain.public or leaf.public or within_units(chain, leaf, on) is not None
        return not apart, not _is_keyed(chain.facts, leaf, equalities(on)), on is None

    leaf = min(rest, key=rank)
    rest.remove(leaf)
    used = _between(chain, leaf, found)
    on = conjunction(used)
    node = Join(chain.relation, leaf.relation, "cross" if on is None else "inner", on, span=span)
    return join_on(node, chain, leaf, on, limit), used


def _between(
    chain: BoundRelation, leaf: BoundRelation, found: Sequence[Expression]
) -> list[Expression]:
    """Return the conditions that compare columns of both, and of nothing else."""
    here, there = chain.facts.keys(), leaf.facts.keys()
    between = []
    for part in dict.fromkeys(found):
        names = {node.name for node in walk(part) if isinstance(node, Column)}
        if names & here and names & there and names <= here | there:
            between.append(part)
    return between
