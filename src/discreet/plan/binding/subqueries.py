"""Subqueries in conditions: those that choose rows of a unit, and those that stand for a value.

Trust: kernel.

Theorem (key ``unit-local``, for semi joins).  Let L be the union over units of what each unit's
rows give, and R public, or such a union.  If R is public, or every pair of rows that meets agrees
in the unit, then the rows of L that meet a row of R, and those that meet none, are again such a
union, with the units of L.
Proof.  Whether a row of L stays depends on that row and the rows of R that it can meet.  These are
public, or rows of its own unit.
A public L with a private R is refused: which public rows stay depends on everybody.  A row of L
comes at most once, however many rows it meets, so that nothing is multiplied, if each row is a
unit, too.

How long a row of L takes follows from how many rows of R it is compared with.  Equal values are
found by their hashes; a condition that needs both sides in another way is computed for each pair.
So a join with such a condition has the fan-out of an inner join, and its limit, if R is public;
if R is private, its texts count as if a row met ``MOST_FAN_OUT`` others.  A condition on one
side alone is computed once for each of its rows.  # T1

Theorem.  ``x NOT IN (SELECT y ...)`` keeps the rows that meet no row for which x = y is true or
NULL: those that meet no equal y, and if x is NULL no row at all, and no y that is NULL.  Each is an
anti join.  Over private tables the last two would look at the rows of others; there x and y must be
known not to be NULL, and otherwise the question is refused.

Theorem (key ``unit-local``, for values).  Let L be the union over units of what each unit's rows
give, and R public, or such a union.  Then L, each row of it with an aggregate of the rows of R that
agree with it in some columns, is again such a union, with the units of L, if R is public or the
columns that are compared hold the unit.
Proof.  The aggregates of R by those columns are public, or a union over units, since the unit is
among their keys; a row of L meets at most one of them, and the join is one of
:mod:`discreet.plan.binding.joins`, which keeps the rows of L.
All of it is computed by the statement that reads the data, from the tables as they are then.

Theorem.  If a row meets none, its value is that of no rows: a count is 0, all other aggregates
are NULL.  Without columns that are compared, the aggregates of R are one row, which all of L meet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from discreet.errors import NotPerUnit
from discreet.plan.binding.fan_out import FanOut
from discreet.plan.binding.joins import (
    Leaves,
    determined,
    equalities,
    is_inside,
    join_advice,
    join_all,
    join_on,
    side_by_side,
    within_units,
)
from discreet.plan.binding.names import (
    BoundRelation,
    Field,
    FreshNames,
    bound_expression,
    checked,
    condition,
    not_per_unit,
)
from discreet.plan.binding.value_facts import facts_of
from discreet.query.expression_types import COMPARED
from discreet.query.expressions import (
    Call,
    Column,
    Expression,
    Literal,
    conjunction,
    conjuncts,
    transformed,
    walk,
)
from discreet.query.relations import (
    VALUES,
    Aggregated,
    Filter,
    Join,
    Project,
    Relation,
    SemiJoin,
    Valued,
)
from discreet.query.source_text import Span, unsupported
from discreet.requests.text_limits import is_of_pairs

_FORM: Final = "compare them with WHERE {} inside the subquery, and more after AND."


def bind_semi_join(
    node: SemiJoin, left: BoundRelation, leaves: Leaves, limit: FanOut
) -> BoundRelation:
    """Keep the rows of a bound relation that meet, or do not meet, the leaves of another."""
    right, inside, outer = _right_side(node, leaves, limit)
    unique = _unique(left, right)
    on = [condition(_scoped(part, inside, left.fields), unique) for part in outer]
    if node.compared is None:
        return _kept(node, left, right, on, limit)
    x = checked(node.compared[0], left)[0]
    y = _scoped(node.compared[1], inside, left.fields)
    same = condition(Call("=", (x, y), span=node.span), unique)
    nulls = [value for value, side in ((x, left), (y, right)) if _may_be_null(value, side)]
    if not node.anti or not nulls:
        return _kept(node, left, right, [*on, same], limit)
    if not right.public:
        raise not_per_unit(
            node.span,
            what="this NOT IN compares values that may be NULL.",
            do="write NOT EXISTS with x = y inside, or add IS NOT NULL for both values; or declare "
            "nullable = false in the policy.",
        )
    found = _kept(node, left, right, [*on, same], limit)
    for value in nulls:
        found = _kept(node, found, right, [*on, Call("IS NULL", (value,))], limit)
    return found


def _right_side(
    node: SemiJoin | Valued, leaves: Leaves, limit: FanOut
) -> tuple[BoundRelation, tuple[Field, ...], list[Expression]]:
    """Join the leaves of a subquery on its own conditions.

    Return its rows, its columns, and the conditions that name columns outside.
    """
    inside = side_by_side(leaves[0]).fields
    own = [part for part in conjuncts(node.on) if is_inside(part, inside)]
    rows, rest = join_all(leaves, own, limit, node.span)
    if rest is not None:
        rows = replace(rows, relation=Filter(rows.relation, rest, span=node.span))
    return rows, inside, [part for part in conjuncts(node.on) if not is_inside(part, inside)]


def _unique(left: BoundRelation, right: BoundRelation) -> BoundRelation:
    """Return the columns of both sides under their unique names, to bind conditions to."""
    fields = (replace(f, name=f.column, table=None) for f in (*left.fields, *right.fields))
    return replace(left, fields=tuple(fields))


def _kept(
    node: SemiJoin,
    left: BoundRelation,
    right: BoundRelation,
    parts: Sequence[Expression],
    limit: FanOut,
) -> BoundRelation:
    """Put the semi join together, or refuse one that looks at the rows of others."""
    if not right.public:
        parts = list(conjuncts(_of_one_unit(node, left, right, conjunction(parts, node.span))))
    here = [part for part in parts if _reads(part, left) and not _reads(part, right)]
    there = [part for part in parts if _reads(part, right) and not _reads(part, left)]
    both = [part for part in parts if part not in here and part not in there]
    ours, theirs = conjunction(here), conjunction(there)
    if theirs is not None:
        right = replace(right, relation=Filter(right.relation, theirs, span=node.span))
    rows: Relation = left.relation
    own: tuple[tuple[str, Expression], ...] = ()
    if ours is not None and not node.anti:
        rows = Filter(rows, ours, span=node.span)
    elif ours is not None and not all(map(_is_plain, here)):
        own = left.columns
        name = limit.fresh("condition")
        rows = Project(rows, (*own, (name, ours)))
        both.append(Column(name))
    else:
        both += here
    most, on = 1, conjunction(both, node.span)
    of_pairs = any(is_of_pairs(part, left.facts, right.facts) for part in both)
    if right.public and not left.public and of_pairs:
        right, most = limit.public(right, determined(left.facts, right.facts, equalities(on)))
    relation: Relation = SemiJoin(rows, right.relation, on, anti=node.anti, span=node.span)
    if own:
        relation = Project(relation, own)
    return replace(left, relation=relation, fan_out=max(left.fan_out * most, right.fan_out))


def _reads(part: Expression, side: BoundRelation) -> bool:
    return any(isinstance(each, Column) and each.name in side.facts for each in walk(part))


def _is_plain(part: Expression) -> bool:
    """Whether a condition is a column, or that one is NULL."""
    return all(isinstance(each, Column) for each in (part.children() or (part,)))


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
    """Whether a condition is true only if a column is not NULL."""
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


Aggregation = Callable[[Aggregated, BoundRelation], BoundRelation]
"""Binds an aggregation over a relation that is bound already, or refuses it."""


def bind_value(
    node: Valued,
    left: BoundRelation,
    leaves: Leaves,
    aggregated: Aggregation,
    limit: FanOut,
) -> BoundRelation:
    """Add a value of the leaves of one relation to the rows of another."""
    rows, inside, outer = _right_side(node, leaves, limit)
    pairs = [_sides(part, inside, node.span) for part in outer]
    totals = _totals(node, [theirs for theirs, _ in pairs], rows, aggregated)
    if left.public and not totals.public:
        raise not_per_unit(
            node.span,
            what="which rows of a public table stay here depends on a private one.",
            do="ask about the private table, joined with the public one, and group by its columns.",
        )
    keys = totals.fields[: len(pairs)]
    named = {str(field.name): field.column for field in totals.fields[len(pairs) :] if field.name}
    totals = replace(totals, fields=tuple(replace(field, name=None) for field in totals.fields))
    ours = [bound_expression(value, left.fields) for _, value in pairs]
    unique = _unique(left, totals)
    on = conjunction(
        condition(Call("=", (value, Column(key.column))), unique)
        for value, key in zip(ours, keys, strict=True)
    )
    joined = _joined(node, left, totals, on, limit)
    return _with_value(node, left, joined, _value(node, named, met=not pairs), limit.fresh)


def _sides(
    part: Expression, inside: Sequence[Field], span: Span | None
) -> tuple[Expression, Expression]:
    """Return what is compared inside of the subquery, and with what outside."""
    if isinstance(part, Call) and part.function == "=":
        for theirs, ours in (part.arguments, part.arguments[::-1]):
            outside = not any(
                is_inside(node, inside) for node in walk(ours) if isinstance(node, Column)
            )
            if is_inside(theirs, inside) and outside:
                return theirs, ours
    raise unsupported(
        part.span or span,
        "a value of a subquery depends on the row outside in another way than by =.",
        "it is computed once for all rows that agree in what is compared.",
        "compare columns of both with = and AND; or join the tables, and aggregate by a key.",
    )


def _totals(
    node: Valued, keys: Sequence[Expression], rows: BoundRelation, aggregated: Aggregation
) -> BoundRelation:
    """Aggregate the rows of the subquery by what is compared, or refuse to."""
    named = tuple((f"key_{place}", key) for place, key in enumerate(keys, start=1))
    try:
        return aggregated(Aggregated(node.right, named, node.totals, span=node.span), rows)
    except NotPerUnit:
        raise private_value(node.span) from None


def private_value(span: Span | None) -> NotPerUnit:
    """Return the refusal of a value that several people have a part in.

    >>> private_value(None).code
    'E504'
    """
    return not_per_unit(
        span,
        what="this compares with a value of the rows of different people, without noise.",
        do="ask for the value first, and write the number that comes back; or let the subquery "
        "compare the unit, so that the value is a person's own.",
    )


def _joined(
    node: Valued,
    left: BoundRelation,
    totals: BoundRelation,
    on: Expression | None,
    limit: FanOut,
) -> BoundRelation:
    kind = "cross" if on is None else "left"
    join = Join(left.relation, totals.relation, kind, on, span=node.span)
    joined = join_on(join, left, totals, on, limit)
    return replace(joined, key=left.key if joined.fan_out == left.fan_out else None)


def _value(node: Valued, named: Mapping[str, str], *, met: bool) -> Expression:
    """Return the value over the columns of totals; the count of no rows is 0."""
    counts = {name for name, total in node.totals if total.function == "COUNT" and not met}

    def bound(part: Expression) -> Expression | None:
        if not isinstance(part, Column):
            return None
        column = Column(named[part.name], span=part.span)
        return Call("COALESCE", (column, Literal(0))) if part.name in counts else column

    return transformed(node.value, bound)


def _with_value(
    node: Valued,
    left: BoundRelation,
    joined: BoundRelation,
    value: Expression,
    fresh: FreshNames,
) -> BoundRelation:
    """Add the value as a column, beside all others."""
    column = fresh(node.name)
    kept = joined.columns
    relation = Project(joined.relation, (*kept, (column, value)), span=node.span)
    facts = facts_of(value, joined.facts)
    shown = Field(column=column, name=node.name, table=VALUES, facts=facts)
    same = joined.same if joined.public else left.same
    return replace(joined, relation=relation, fields=(*joined.fields, shown), same=same)
