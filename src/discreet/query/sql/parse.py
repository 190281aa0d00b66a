"""SQL text to a question.

Trust: kernel.  Everything in the text is in the question, or the text is refused; only a subquery
that WITH names and nothing uses leaves no trace.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from discreet.query.expressions import Aggregate, Expression, InnerQuery, Order, walk
from discreet.query.question import Question
from discreet.query.relations import Relation, Table, descend
from discreet.query.source_text import unsupported
from discreet.query.sql.conditions import order_by
from discreet.query.sql.cursor import Cursor
from discreet.query.sql.flattening import flattened
from discreet.query.sql.group_by import groups, has_groups
from discreet.query.sql.operators import expression
from discreet.query.sql.row_choice import filtered
from discreet.query.sql.row_questions import row_question
from discreet.query.sql.select_syntax import Item, Select
from discreet.query.sql.selects import alias, select, subquery, with_tables
from discreet.query.sql.subqueries import one_value
from discreet.query.sql.tokens import TokenKind

__all__ = ["as_question", "read", "read_expression", "read_item", "read_orders", "read_relation"]

Part = TypeVar("Part")


def read(text: object) -> Question:
    """Read a question from SQL.

    >>> question = read("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward")
    >>> question.keys, question.outputs[0]
    ((('ward', Column(name='ward', table=None)),), ('ward', Grouped(at=0)))
    """
    cursor = Cursor(text)
    enclosing = 0
    while cursor.accept("("):
        enclosing += 1
    if cursor.token.word not in {"SELECT", "WITH"}:
        raise _no_question(cursor)
    tables = with_tables(cursor, {})
    outermost = select(cursor, tables)
    if cursor.sees("UNION"):
        raise unsupported(
            cursor.token.span,
            "two questions are joined by UNION.",
            (
                "each question is priced and recorded on its own.",
                "ask them one by one, or write FROM (... UNION ALL ...).",
            ),
        )
    for _ in range(enclosing):
        cursor.expect(")", "close the parenthesis behind the question.")
    if cursor.ahead(1).kind is TokenKind.END:
        cursor.accept(";")
    cursor.end()
    question = as_question(flattened(outermost, cursor))
    return replace(question, released=_released(question, cursor)) if cursor.released else question


def _released(question: Question, cursor: Cursor) -> tuple[tuple[str, Question], ...]:
    """Return the questions of WITH that another one uses."""
    used = {node.name for node in descend(question.relation) if isinstance(node, Table)}
    found = []
    for name, select_ in cursor.released.items():
        inner = as_question(flattened(select_, cursor))
        below = {node.name for node in descend(inner.relation) if isinstance(node, Table)}
        if below & cursor.released.keys():
            raise unsupported(
                inner.span,
                "a released table stands in another question of WITH.",
                ("one question is answered before another.", "ask them one by one."),
            )
        if name in used:
            found.append((name, inner))
    return tuple(found)


def read_expression(text: object) -> Expression:
    """Read one expression.

    >>> read_expression("age >= 18")
    Call(function='>=', arguments=(Column(name='age', table=None), Literal(value=18)))
    """
    return _whole(text, expression)


def read_item(text: object) -> Item:
    """Read one expression with or without a name.

    >>> read_item("LOWER(ward) AS w").alias
    'w'
    """
    return _whole(text, lambda cursor: Item(expression(cursor), alias(cursor)))


def read_orders(text: object) -> tuple[Order, ...]:
    """Read what could follow ORDER BY.

    >>> read_orders("n DESC")[0].descending
    True
    """
    return _whole(text, lambda cursor: order_by(cursor, expression))


def read_relation(text: object) -> Relation:
    """Read a subquery, as it would stand in FROM.

    >>> type(read_relation("SELECT ward FROM visits")).__name__
    'Project'
    """
    return _whole(text, lambda cursor: subquery(cursor, {}))


def _whole(text: object, reader: Callable[[Cursor], Part]) -> Part:
    """Read something that the text ends with."""
    cursor = Cursor(text)
    part = reader(cursor)
    cursor.end()
    return part


def as_question(outermost: Select) -> Question:
    """Turn the outermost SELECT into a question.

    >>> from discreet.query.expressions import Aggregate
    >>> from discreet.query.relations import Table
    >>> as_question(Select(items=(Item(Aggregate("COUNT")),), source=Table("visits"))).outputs[0][0]
    'count'
    """
    if not outermost.items:
        raise unsupported(
            outermost.span,
            "nothing is asked about the groups.",
            ("an answer has at least one column.", "add a key, or an aggregate such as count()."),
        )
    if outermost.distinct:
        outermost = _keys_alone(outermost)
    if not has_groups(outermost):
        return row_question(outermost)
    grouped = groups(outermost)
    for _, value in grouped.outputs:
        _refuse_list(value, top=True)
    for item in grouped.order:
        _refuse_list(item.expression, top=False)
    if grouped.having is not None:
        _refuse_list(grouped.having, top=False)
    return Question(
        relation=filtered(outermost),
        keys=grouped.keys,
        outputs=grouped.outputs,
        having=grouped.having,
        values=tuple(map(one_value, outermost.inner_queries)) if _asks(grouped.having) else (),
        order=grouped.order,
        limit=outermost.limit,
        clause=outermost.clause,
        span=outermost.span,
    )


def _asks(having: Expression | None) -> bool:
    """Whether a condition on groups holds a value of a subquery."""
    return having is not None and any(isinstance(node, InnerQuery) for node in walk(having))


def _keys_alone(outermost: Select) -> Select:
    """Read SELECT DISTINCT a, b as the groups of a and b."""
    if has_groups(outermost):
        raise unsupported(
            outermost.span,
            "DISTINCT stands beside aggregates.",
            ("each group comes once anyway.", "leave DISTINCT out."),
        )
    return replace(outermost, distinct=False, group=outermost.items)


def _refuse_list(value: Expression, *, top: bool) -> None:
    """Refuse to compute with a list of quantiles."""
    for node in walk(value):
        many = isinstance(node, Aggregate) and node.function == "APPROX_QUANTILES"
        if many and not (top and node is value):
            raise unsupported(
                node.span,
                "a list of quantiles stands inside an expression.",
                ("it is not one number.", "use PERCENTILE_CONT(x, 0.5), or select it alone."),
            )


def _no_question(cursor: Cursor) -> Exception:
    if cursor.token.kind is TokenKind.NAME and cursor.token.word != "FROM":
        return unsupported(
            cursor.token.span,
            "a question begins with SELECT or WITH.",
            ("a question only reads.", "write SELECT ... FROM ... GROUP BY ..."),
        )
    return cursor.stray("a question begins with SELECT or WITH.", "write SELECT.")
