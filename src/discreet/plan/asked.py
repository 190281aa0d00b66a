"""A question with all its names bound: the rows it is about, its keys and its aggregates.

Trust: kernel.

Definition.  The rows are those of a private relation, whose unit is known.  Keys and arguments of
aggregates are expressions over its columns.  Everything above the aggregates is computed from what
is released, and costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import final

from discreet.errors import UnsupportedSQL, WrongType
from discreet.plan.bind import Binder
from discreet.plan.facts import facts_of
from discreet.plan.fan_out import MOST, FanOut, PublicRows, within
from discreet.plan.fields import Bound
from discreet.plan.key_values import AskedKey, public_values
from discreet.plan.listing import Listing
from discreet.plan.lowered import KEY_TYPES, Key, KeyValue
from discreet.plan.names import bound_expression, checked, condition
from discreet.plan.schema import Schema
from discreet.plan.text_work import with_short_texts
from discreet.query.expressions import Aggregate, Column, Expression
from discreet.query.question import Question, aggregates
from discreet.query.relations import Filter, Relation
from discreet.query.span import pointed

__all__ = ["Asked", "asked"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A bound question.

    ``bound`` maps each aggregate of the question to the same over unique columns; ``groups`` are
    the groups of the answer if they are public as a whole.
    """

    question: Question
    rows: Bound
    keys: tuple[AskedKey, ...]
    bound: tuple[tuple[Aggregate, Aggregate], ...]
    groups: tuple[tuple[KeyValue, ...], ...] | None


def asked(
    question: Question,
    schema: Schema,
    public_rows: PublicRows,
    names: tuple[str, ...] = (),
    max_fan_out: int = MOST,
) -> Asked:
    """Bind a question to a schema, or refuse it; ``names`` are those of the unit."""
    listing = Listing.of(question)
    relation = question.relation if listing is None else listing.inner
    rows = _bound(relation, schema, public_rows, names, max_fan_out)
    if rows.public:
        raise UnsupportedSQL(
            what=pointed("this question is about public tables alone.", question.span),
            why="what is public needs no noise, and no budget.",
            do="read the table itself.",
        )
    predicates = tuple(_predicates(rows.relation))
    keys = tuple(_key(name, value, rows, predicates) for name, value in question.keys)
    found = tuple((each, _aggregate(each, rows)) for each in aggregates(question))
    groups = None if listing is None else listing.groups(keys, rows, schema, public_rows)
    return Asked(question=question, rows=rows, keys=keys, bound=found, groups=groups)


def _bound(
    relation: Relation,
    schema: Schema,
    public_rows: PublicRows,
    names: tuple[str, ...],
    max_fan_out: int,
) -> Bound:
    """Bind a relation; joins keep as many rows as the limit on all of it allows.

    What is bound reads no text that is too long to be held.
    """
    limit = FanOut(max_fan_out, public_rows)

    def bind(matches: int) -> Bound:
        return Binder(schema, names, fan_out=replace(limit, matches=matches)).bind(relation)

    found = within(max_fan_out, bind)
    public = {table.name for table in schema.tables if table.public}
    return replace(found, relation=with_short_texts(found.relation, found.fan_out, public))


def _key(name: str, value: Expression, rows: Bound, predicates: Sequence[Expression]) -> AskedKey:
    expression, kind = checked(value, rows)
    if kind not in KEY_TYPES:
        raise WrongType(
            what=pointed("a FLOAT cannot tell groups apart.", value.span),
            why="nearly equal numbers would be different groups, each with hardly anybody in it.",
            do="group by public bins, such as RANGE_BUCKET(x, [0, 10, 20]).",
        )
    values = public_values(expression, rows.facts, predicates)
    return AskedKey(Key(name, expression, kind), facts_of(expression, rows.facts), values)


def _aggregate(aggregate: Aggregate, rows: Bound) -> Aggregate:
    checked(aggregate, rows)  # refuses wrong types
    argument, where = aggregate.argument, aggregate.where
    return replace(
        aggregate,
        argument=None if argument is None else _argument(argument, rows, aggregate.distinct),
        where=None if where is None else condition(where, rows),
    )


def _argument(argument: Expression, rows: Bound, distinct: bool) -> Expression:  # noqa: FBT001
    """Bind an argument; units are counted by the unit itself, whichever column holds it."""
    found = bound_expression(argument, rows.fields)
    for name, holders in zip(rows.unit or (), rows.holders, strict=True):
        if distinct and isinstance(found, Column) and found.name in holders:
            return Column(name, span=found.span)
    return found


def _predicates(relation: Relation) -> Iterator[Expression]:
    """Yield conditions that hold for all rows."""
    while isinstance(relation, Filter):
        yield relation.predicate
        relation = relation.child
