"""A question bound to the schema: its rows, keys, aggregates and public groups.

Trust: kernel.  Nothing that comes from a private table may pass through here.

Theorem.  A left or right join with USING (c) is that with ON a.c = b.c, where the bare name c means
the column of the side whose unmatched rows are kept.
Proof.  The shared column is the first of the two that is not NULL.  In a pair that meets both are
equal, and in an unmatched row that of the other side is NULL.  If the columns are of different
types, equal values may look different; so this is done only for a list of groups, whose columns are
what the answer shows.

Definition.  The question is turned into one whose groups are the rows of its exact answer, and that
has no aggregates: each aggregate is a column of the relation, and a key.  Options of the
differential privacy clause have no effect.
Theorem (key ``public-listing``).  Its groups are listed by the reader of public tables, which
refuses every other table, and nothing is measured in them; so an answer is the same whatever
private tables hold.
A value of public tables that groups are compared with is read before the question is planned, and
written into it: it is a number of the question, as if the asker had written it.

Definition.  If a question joins private rows with SELECT DISTINCT of a public table, keeps the
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

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Self, final

from discreet.errors import NotPerUnit, UnsupportedSQL
from discreet.plan.binding.binder import Binder
from discreet.plan.binding.fan_out import MOST_FAN_OUT, FanOut, PublicRows, within
from discreet.plan.binding.joins import equalities
from discreet.plan.binding.names import BoundRelation, FreshNames, checked, condition
from discreet.plan.binding.public_keys import GroupKey, fine_keys, is_whole, public_values
from discreet.plan.binding.scope import enforce_scope
from discreet.plan.binding.subqueries import private_value
from discreet.plan.binding.truth_sets import truth_sets, unmet_conditions
from discreet.plan.binding.value_facts import facts_of
from discreet.query.expressions import (
    Aggregate,
    Call,
    Cast,
    Column,
    Expression,
    Grouped,
    InnerQuery,
    Literal,
    conjunction,
    conjuncts,
    transformed,
)
from discreet.query.functions import PLAIN
from discreet.query.question import Question, aggregates
from discreet.query.relations import (
    NO_TABLE,
    Aggregated,
    Distinct,
    Filter,
    Join,
    Named,
    Project,
    Relation,
    Scan,
    SemiJoin,
    Table,
    descend,
    folded,
)
from discreet.query.source_text import Span, pointed, rows_refused
from discreet.query.types import Type
from discreet.requests.engine_request import KeyColumn, KeyValue
from discreet.requests.table_schema import Schema, key_literal
from discreet.requests.text_limits import with_short_texts

KEPT: Final = {"left": 0, "right": 1}
"""Which side of a join keeps its unmatched rows."""
_ALIAS: Final = "listed groups"


def is_list(side: Relation) -> bool:
    """Whether a side of a join is a SELECT DISTINCT, perhaps under an alias.

    >>> is_list(Named(Distinct(Table("wards")), "w"))
    True
    """
    while isinstance(side, Named):
        side = side.child
    return isinstance(side, Distinct)


def with_names_on(question: Question) -> Question:
    """Return a question whose list of groups is joined with ON, if it was joined with USING.

    >>> from discreet.query.sql.parse import read
    >>> asked = read("SELECT ward, COUNT(*) AS n FROM visits RIGHT JOIN "
    ...              "(SELECT DISTINCT ward FROM wards) AS w USING (ward) GROUP BY ward")
    >>> with_names_on(asked).keys
    (('ward', Column(name='ward', table='w')),)
    """
    relation, above = question.relation, []
    while isinstance(relation, Filter):
        above.append(relation)
        relation = relation.child
    if not isinstance(relation, Join) or not relation.using or relation.kind not in KEPT:
        return question
    kept = relation.children()[KEPT[relation.kind]]
    sides = [
        side if isinstance(side, Named | Table | Join) else Named(side, _ALIAS)
        for side in relation.children()
    ]
    names = [_name(side) for side in sides]
    if not is_list(kept) or None in names:
        return question
    shown = names[KEPT[relation.kind]]
    shared = {folded(name) for name in relation.using}

    def qualified(node: Expression) -> Expression | None:
        if isinstance(node, Column) and node.table is None and folded(node.name) in shared:
            return replace(node, table=shown)
        return None

    equal = tuple(
        Call("=", (Column(name, names[0]), Column(name, names[1])), span=relation.span)
        for name in relation.using
    )
    on = conjunction(equal, relation.span)
    joined: Relation = replace(relation, left=sides[0], right=sides[1], on=on, using=())
    for each in reversed(above):
        joined = replace(each, child=joined, predicate=transformed(each.predicate, qualified))
    return question.changed(qualified, relation=joined)


def _name(side: Relation) -> str | None:
    """Return the name by which the columns of a side are called."""
    match side:
        case Named(alias=alias):
            return alias
        case Table(name=name):
            return name.rpartition(".")[2]
        case _:
            return None


MOST_ROWS: Final = 10_000
"""So many rows an answer about public tables may have: all of them are listed by its plan."""


def exact_question(question: Question) -> Question:
    """Return a question whose keys are those of another one, and its aggregates after them.

    >>> from discreet.query.sql.parse import read
    >>> asked = exact_question(read("SELECT AVG(beds) AS beds FROM wards"))
    >>> [name for name, _ in asked.keys], asked.outputs[0][1].function
    (['total_1', 'total_2'], '/')
    """
    if question.sets:
        what = "grouping sets are asked of public tables alone."
        raise _refused(what, question.span, "ask for one level at a time, or read the table.")
    first = len(question.keys)
    totals: dict[Aggregate, Grouped] = {}

    def column(total: Aggregate) -> Grouped:
        return totals.setdefault(total, Grouped(first + len(totals), span=total.span))

    def exact(node: Expression) -> Expression | None:
        if not isinstance(node, Aggregate):
            return None
        if any(part is not None for part in (node.bounds_per_group, node.bounds_per_row)):
            raise _refused("bounds are given for a public table.", node.span, "leave them out.")
        plain = replace(node, epsilon=None)
        if node.function == "AVG":
            return Call("/", tuple(column(replace(plain, function=part)) for part in _MEAN))
        if node.function not in PLAIN:
            what = f"{node.function} is asked of public tables alone."
            raise _refused(what, node.span, f"use {', '.join(PLAIN)} or AVG, or read the table.")
        return column(plain)

    outputs = tuple((name, transformed(value, exact)) for name, value in question.outputs)
    having = None if question.having is None else transformed(question.having, exact)
    order = tuple(
        replace(item, expression=transformed(item.expression, exact)) for item in question.order
    )
    keys = [(f"key_{place}", value) for place, (_, value) in enumerate(question.keys, start=1)]
    named = [(f"total_{place}", total) for place, total in enumerate(totals, start=1)]
    columns = tuple((name, Column(name)) for name, _ in (*keys, *named))
    relation = Aggregated(question.relation, tuple(keys), tuple(named), span=question.span)
    return replace(
        question,
        relation=relation,
        keys=columns,
        outputs=outputs,
        having=having,
        order=order,
        clause=None,
    )


def refuse_people(question: Question, schema: Schema) -> None:
    """Refuse single rows of a table of people."""
    for relation in (question.relation, *question.values):
        named = (node.name for node in descend(relation) if isinstance(node, Table))
        for table in map(schema.at_path, named):
            if table is not None and not table.public:
                raise rows_refused(question.span)


_MEAN: Final = ("SUM", "COUNT")


def listed_rows(
    question: Question, rows: BoundRelation, public_rows: PublicRows
) -> tuple[tuple[KeyValue, ...], ...]:
    """Read the rows of a public relation, unless they are too many."""
    columns = tuple((field.column, Column(field.column)) for field in rows.visible)
    listed = tuple(public_rows(Distinct(Project(rows.relation, columns))))
    if len(listed) > MOST_ROWS:
        raise _refused(
            f"this has more than {MOST_ROWS} rows, all from public tables.",
            question.span,
            "read the tables themselves.",
        )
    return listed


def _refused(what: str, span: Span | None, do: str) -> UnsupportedSQL:
    why = "what is public needs no noise and no budget, and is answered as it is."
    return UnsupportedSQL(what=pointed(what, span), why=why, do=do)


def with_values(
    question: Question, bind: Callable[[Relation], BoundRelation], public_rows: PublicRows
) -> Question:
    """Return a question with numbers in place of its subqueries, which read public tables alone."""
    numbers: dict[int, Literal] = {}

    def number(node: Expression) -> Expression | None:
        if not isinstance(node, InnerQuery):
            return None
        if node.at not in numbers:
            try:
                bound = bind(question.values[node.at])
            except NotPerUnit:
                raise private_value(node.span) from None
            if not bound.public:
                raise private_value(node.span)
            ((value,),) = public_rows(bound.relation)
            numbers[node.at] = replace(key_literal(value), span=node.span)
        return numbers[node.at]

    having = None if question.having is None else transformed(question.having, number)
    return replace(question, having=having, values=())


_MOST_LISTED: Final = 10_000


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
        below = rows.relation
        while isinstance(below, Filter):
            below = below.child
        compared = _compared(below, {key.key.expression for key in keys})
        if not public.public or None in columns or not compared:
            raise UnsupportedSQL(
                what=pointed(
                    "this outer join keeps public rows that nobody matches.", self.join.span
                ),
                why="that is answered only if these rows are the groups of the answer.",
                do="join SELECT DISTINCT of the public columns ON each of them, with no other "
                "condition, and GROUP BY the public columns; or use an inner join.",
            )
        outputs = tuple((f"key {place}", Column(str(name))) for place, name in enumerate(columns))
        return tuple(public_rows(Distinct(Project(public.relation, outputs))))


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


def _compared(join: Relation, keys: set[Expression]) -> bool:
    """Whether a join compares just the keys, each with a column of the other side."""
    if not isinstance(join, Join):
        return False
    pairs = equalities(join.on)
    names = {key.name for key in keys if isinstance(key, Column)}
    met = {name for pair in pairs for name in pair & names}
    single = all(len(pair) == 2 and len(pair & names) == 1 for pair in pairs)
    return met == names and single and len(pairs) == len(conjuncts(join.on))


MOST_AGGREGATES: Final = 2048
"""So many different aggregates a question may have: planning takes half a millisecond for each."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class BoundQuestion:
    """A bound question.

    ``aggregates`` pairs each aggregate of the question with the same over unique columns;
    ``groups`` are the groups of the answer if they are public as a whole; ``unmet`` reveals
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
    if question.relation == Table(NO_TABLE):
        return _without_rows(question, schema)
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


def _without_rows(question: Question, schema: Schema) -> BoundQuestion:
    """Bind a question without FROM, as SELECT 1: one group, and a statement that reads no row.

    No row passes FALSE, so that nothing depends on the table that the statement names.
    """
    table = min(schema.tables, key=lambda table: not table.public)
    columns = tuple((column.name, column.type) for column in table.columns)
    none = Filter(Scan(table.name, columns), Literal(False))
    rows = BoundRelation(relation=none, fields=(), unit=None)
    return BoundQuestion(question=question, rows=rows, keys=(), aggregates=(), groups=((),))


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

    A bound question reads no text that is too long to be held.
    """
    limit = FanOut(max_fan_out, public_rows)

    def bind(matches: int) -> BoundRelation:
        fan_out = replace(limit, matches=matches, fresh=FreshNames())
        return Binder(schema, names, fan_out=fan_out).bind(relation)

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
