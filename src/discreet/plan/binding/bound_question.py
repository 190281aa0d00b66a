"""A question with all its names bound: its rows, its keys, the groups listed, its aggregates.

Trust: kernel.

Definition.  Where a question joins private rows with SELECT DISTINCT of a public table, keeps the
rows of the latter that nobody matches, groups by columns of the public side, and the join compares
each of these with the private side and nothing else, the public side lists the groups of the
answer.
Theorem (key ``public-listing``).  The answer is that of the inner join, with an empty group for
every listed one that nobody matches; which groups appear does not depend on private rows.

Definition.  The rows are those of a private relation, whose unit is known.  Keys and arguments of
aggregates are expressions over its columns.  Everything above the aggregates is computed from what
is released, and costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Self, final

from discreet.errors import UnsupportedSQL
from discreet.plan.binding.binder import Binder
from discreet.plan.binding.fan_out import MOST_FAN_OUT, FanOut, PublicRows, within
from discreet.plan.binding.joins import conjuncts, equalities
from discreet.plan.binding.key_images import is_whole
from discreet.plan.binding.listed_using import KEPT, is_list, with_names_on
from discreet.plan.binding.names import BoundRelation, checked, condition
from discreet.plan.binding.public_keys import GroupKey, fine_keys, public_values
from discreet.plan.binding.public_questions import (
    exact_question,
    listed_rows,
    refuse_people,
    with_values,
)
from discreet.plan.binding.scope import enforce_scope
from discreet.plan.binding.truth_sets import truth_sets, unmet_conditions
from discreet.plan.binding.value_facts import facts_of
from discreet.query.expressions import Aggregate, Cast, Column, Expression
from discreet.query.question import Question, aggregates
from discreet.query.relations import (
    Distinct,
    Filter,
    Join,
    Project,
    Relation,
    SemiJoin,
    Table,
)
from discreet.query.source_text import pointed
from discreet.query.types import Type
from discreet.requests.engine_request import KeyColumn, KeyValue
from discreet.requests.table_schema import Schema, key_literal
from discreet.requests.text_limits import with_short_texts

_MOST_LISTED: Final = 10_000
_PRESERVED: Final = {"left": 0, "right": 1}


@final
@dataclass(frozen=True, slots=True)
class ListedGroups:
    """An outer join that may list groups, and the relation with an inner join in its place."""

    join: Join
    inner: Relation

    @classmethod
    def of(cls, question: Question) -> Self | None:
        """Find such a join at the top of a question, below its conditions."""
        relation, above = question.relation, []
        while isinstance(relation, Filter):
            above.append(relation)
            relation = relation.child
        if not isinstance(relation, Join) or relation.kind not in KEPT:
            return None
        if not question.keys or not is_list(relation.children()[KEPT[relation.kind]]):
            return None
        inner: Relation = replace(relation, kind="inner")
        for filter_above in reversed(above):
            inner = replace(filter_above, child=inner)
        return cls(relation, inner)

    def groups(
        self, keys: Sequence[GroupKey], rows: BoundRelation, schema: Schema, public_rows: PublicRows
    ) -> tuple[tuple[KeyValue, ...], ...]:
        """Return the groups that are listed, or refuse the join."""
        public = Binder(schema).bind(self.join.children()[KEPT[self.join.kind]])
        columns = [_public_column(key.key.expression, rows, public) for key in keys]
        compared = _compared(_join(rows.relation), {key.key.expression for key in keys})
        if not public.public or None in columns or not compared:
            raise UnsupportedSQL(
                what=pointed(
                    "this outer join keeps public rows that nobody matches.", self.join.span
                ),
                why="that is answered only where these rows are the groups of the answer.",
                do="join SELECT DISTINCT of the public columns ON each of them, with no other "
                "condition, and GROUP BY the public columns; or use an inner join.",
            )
        outputs = tuple((f"key {place}", Column(str(name))) for place, name in enumerate(columns))
        return tuple(public_rows(Distinct(Project(public.relation, outputs))))


def _join(relation: Relation) -> Join | None:
    while isinstance(relation, Filter):
        relation = relation.child
    return relation if isinstance(relation, Join) else None


def _public_column(key: Expression, rows: BoundRelation, public: BoundRelation) -> str | None:
    """Return the column of the public side, bound by itself, that a key of the question is."""
    if not isinstance(key, Column):
        return None
    field = next(column for column in rows.fields if column.column == key.name)
    same = [
        column
        for column in public.fields
        if (column.name, column.table) == (field.name, field.table)
    ]
    from_public = field.facts.source is not None and field.facts.source.public
    return same[0].column if len(same) == 1 and from_public else None


def _compared(join: Join | None, keys: set[Expression]) -> bool:
    """Whether a join compares just the keys, each with a column of the other side."""
    if join is None:
        return False
    pairs = equalities(join.on)
    names = {key.name for key in keys if isinstance(key, Column)}
    met = {name for pair in pairs for name in pair & names}
    single = all(len(pair) == 2 and len(pair & names) == 1 for pair in pairs)
    return met == names and single and len(pairs) == len(list(conjuncts(join.on)))


MOST_AGGREGATES: Final = 2048
"""So many different aggregates a question may have: planning takes half a millisecond for each."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class BoundQuestion:
    """A bound question.

    ``aggregates`` pairs each aggregate of the question with the same over unique columns;
    ``groups`` are the groups of the answer if they are public as a whole; ``unmet`` tells of
    conditions that no declared value meets, and ``warnings`` of keys that hardly any group has;
    ``predicates`` hold for all rows.
    """

    question: Question
    rows: BoundRelation
    keys: tuple[GroupKey, ...]
    aggregates: tuple[tuple[Aggregate, Aggregate], ...]
    groups: tuple[tuple[KeyValue, ...], ...] | None
    unmet: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    predicates: tuple[Expression, ...] = ()


def bind_question(
    question: Question,
    schema: Schema,
    public_rows: PublicRows,
    names: tuple[str, ...] = (),
    max_fan_out: int = MOST_FAN_OUT,
) -> BoundQuestion:
    """Bind a question to a schema, or refuse it; ``names`` are those of the unit."""
    if question.released:
        raise UnsupportedSQL(
            what=pointed("the questions of WITH are not answered yet.", question.span),
            why="what they release is not known.",
            do="ask this in a session, which answers them first.",
        )
    if question.rows:
        refuse_people(question, schema)
    question = with_names_on(question)
    if question.values:
        binder = Binder(schema, names, fan_out=FanOut(max_fan_out, public_rows))
        question = with_values(question, binder.bind, public_rows)
    listing = ListedGroups.of(question)
    relation = question.relation if listing is None else listing.inner
    rows = _bound(relation, schema, public_rows, names, max_fan_out)
    if rows.public:
        return _exact(exact_question(question), schema, public_rows, max_fan_out)
    predicates = tuple(_predicates(rows.relation))
    enforced_rows = enforce_scope(rows, schema, names, question.span)
    listing_of = PublicColumns(rows, predicates, schema, public_rows)
    keys = tuple(_key(name, value, rows, listing_of) for name, value in question.keys)
    pairs = tuple((total, _aggregate(total, rows)) for total in _few(aggregates(question)))
    groups = None if listing is None else listing.groups(keys, rows, schema, public_rows)
    return BoundQuestion(
        question=question,
        rows=enforced_rows,
        keys=keys,
        aggregates=pairs,
        groups=groups,
        unmet=tuple(unmet_conditions(predicates, rows.facts)) if predicates else (),
        warnings=tuple(fine_keys(keys)),
        predicates=predicates,
    )


def _exact(
    question: Question, schema: Schema, public_rows: PublicRows, max_fan_out: int
) -> BoundQuestion:
    """Bind a question about public tables alone, whose groups are the rows of its answer."""
    rows = _bound(question.relation, schema, public_rows, (), max_fan_out)
    keys = []
    for name, value in question.keys:
        expression, kind = checked(value, rows)
        keys.append(
            GroupKey(KeyColumn(name, expression, kind), facts_of(expression, rows.facts), None)
        )
    return BoundQuestion(
        question=question,
        rows=rows,
        keys=tuple(keys),
        aggregates=(),
        groups=listed_rows(question, rows, public_rows),
    )


def _few(found: tuple[Aggregate, ...]) -> tuple[Aggregate, ...]:
    if len(found) > MOST_AGGREGATES:
        raise UnsupportedSQL(
            what=f"this question has {len(found)} different aggregates, and {MOST_AGGREGATES} are "
            "the most.",
            why="each of them gets its share of the price, and of so many hardly any is exact.",
            do="ask for groups with GROUP BY, or divide the question in several.",
        )
    return found


def _bound(
    relation: Relation,
    schema: Schema,
    public_rows: PublicRows,
    names: tuple[str, ...],
    max_fan_out: int,
) -> BoundRelation:
    """Bind a relation; joins keep as many rows as the limit on all of it allows.

    What is bound reads no text that is too long to be held.
    """
    limit = FanOut(max_fan_out, public_rows)

    def bind(matches: int) -> BoundRelation:
        return Binder(schema, names, fan_out=replace(limit, matches=matches)).bind(relation)

    bound = within(max_fan_out, bind)
    public = {table.name for table in schema.tables if table.public}
    return replace(bound, relation=with_short_texts(bound.relation, bound.fan_out, public))


@final
@dataclass(frozen=True, slots=True)
class PublicColumns:
    """Lists the values of columns that were joined from public tables, unless there are many."""

    rows: BoundRelation
    predicates: tuple[Expression, ...]
    schema: Schema
    public_rows: PublicRows

    def __call__(self, name: str) -> list[Any] | None:
        """Return the values of a column that the conditions of the question may let through."""
        facts = self.rows.facts[name]
        source = facts.source
        if source is None or not source.public:
            return None
        table = Binder(self.schema).bind(Table(source.table))
        same = [field.column for field in table.fields if field.name == source.column]
        listed = self.public_rows(Distinct(Project(table.relation, (("key", Column(same[0])),))))
        values = [row[0] for row in listed]
        for predicate in self.predicates:
            region = truth_sets(predicate, self.rows.facts).true or {}
            values = [
                value
                for value in values
                if name not in region or key_literal(value).value in region[name]
            ]
        return values if len(values) <= _MOST_LISTED else None


def _key(name: str, value: Expression, rows: BoundRelation, listed: PublicColumns) -> GroupKey:
    expression, kind = checked(value, rows)
    if kind is Type.FLOAT and is_whole(expression, {n: f.type for n, f in rows.facts.items()}):
        expression, kind = Cast(expression, Type.INTEGER, span=value.span), Type.INTEGER
    values = public_values(expression, rows.facts, listed.predicates, listed)
    return GroupKey(KeyColumn(name, expression, kind), facts_of(expression, rows.facts), values)


def _aggregate(aggregate: Aggregate, rows: BoundRelation) -> Aggregate:
    bound, _ = checked(aggregate, rows)  # refuses wrong types
    assert isinstance(bound, Aggregate)  # noqa: S101  (for the type checker)
    if aggregate.where is not None:
        condition(aggregate.where, rows)  # NULL is none
    if bound.distinct and isinstance(bound.argument, Column):
        return replace(bound, argument=_unit_itself(bound.argument, rows))
    return bound


def _unit_itself(column: Column, rows: BoundRelation) -> Column:
    """Return a column; units are counted by the unit itself, whichever column holds it."""
    for name, holders in zip(rows.unit or (), rows.holders, strict=True):
        if column.name in holders:
            return Column(name, span=column.span)
    return column


def _predicates(relation: Relation) -> Iterator[Expression]:
    """Yield conditions that hold for all rows."""
    while isinstance(relation, Filter | SemiJoin):
        if isinstance(relation, Filter):
            yield relation.predicate
        relation = relation.children()[0]
