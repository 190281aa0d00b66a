"""A question about public tables alone: answered exactly, for nothing.

Trust: kernel.  Nothing that comes from a private table may pass through here.

Definition.  The question is turned into one whose groups are the rows of its exact answer, and that
has no aggregates: each aggregate is a column of the relation, and a key.  Options of the
differential privacy clause have no effect.
Theorem (key ``public-listing``).  Its groups are listed by the reader of public tables, which
refuses every other table, and nothing is measured in them; so an answer is the same whatever
private tables hold.
A value of public tables that groups are compared with is read before the question is planned, and
written into it: it is a number of the question, as if the asker had written it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from discreet.errors import NotPerUnit, UnsupportedSQL
from discreet.plan.binding.fan_out import PublicRows
from discreet.plan.binding.names import BoundRelation
from discreet.plan.binding.scalar_subqueries import private_value
from discreet.query.expressions import (
    Aggregate,
    Call,
    Column,
    Expression,
    Grouped,
    InnerQuery,
    Literal,
    transformed,
)
from discreet.query.question import Question
from discreet.query.relations import Aggregated, Distinct, Project, Relation, Table, descend
from discreet.query.signatures import PLAIN
from discreet.query.source_text import Span, pointed, rows_refused
from discreet.requests.table_schema import KeyValue, Schema, key_literal

MOST_ROWS: Final = 10_000
"""So many rows an answer about public tables may have: all of them are listed by its plan."""


def exact_question(question: Question) -> Question:
    """Return a question whose keys are those of another one, and its aggregates after them.

    >>> from discreet.query.sql.parse import read
    >>> asked = exact_question(read("SELECT AVG(beds) AS beds FROM wards"))
    >>> [name for name, _ in asked.keys], asked.outputs[0][1].function
    (['total_1', 'total_2'], '/')
    """
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
