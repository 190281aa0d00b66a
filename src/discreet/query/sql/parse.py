"""SQL text to a question.

Trust: kernel.  Everything in the text is in the question, or the text is refused; only a subquery
that WITH names and nothing uses leaves no trace.
"""

from __future__ import annotations

from dataclasses import replace

from discreet.query.expressions import Aggregate, Expression, Order, walk
from discreet.query.question import Question
from discreet.query.relations import Relation
from discreet.query.source_text import unsupported
from discreet.query.sql.conditions import order_by
from discreet.query.sql.cursor import Cursor
from discreet.query.sql.group_by import filtered, groups, has_groups
from discreet.query.sql.operators import expression
from discreet.query.sql.select_syntax import Item, Select
from discreet.query.sql.selects import alias, select, subquery, with_tables
from discreet.query.sql.tokens import TokenKind

__all__ = ["as_question", "read", "read_expression", "read_item", "read_orders", "read_relation"]


def read(text: object) -> Question:
    """Read a question from SQL.

    >>> question = read("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward")
    >>> question.keys, question.outputs[0]
    ((('ward', Column(name='ward', table=None)),), ('ward', Grouped(at=0)))
    """
    cursor = Cursor(text)
    if cursor.token.word not in {"SELECT", "WITH"}:
        raise _no_question(cursor)
    tables = with_tables(cursor, {})
    found = select(cursor, tables)
    if cursor.sees("UNION"):
        raise unsupported(
            cursor.token.span,
            "two questions are joined by UNION.",
            (
                "each question is priced and recorded on its own.",
                "ask them one by one, or write FROM (... UNION ALL ...).",
            ),
        )
    if cursor.ahead(1).kind is TokenKind.END:
        cursor.accept(";")
    cursor.end()
    return as_question(found)


def read_expression(text: object) -> Expression:
    """Read one expression.

    >>> read_expression("age >= 18")
    Call(function='>=', arguments=(Column(name='age', table=None), Literal(value=18)))
    """
    cursor = Cursor(text)
    found = expression(cursor)
    cursor.end()
    return found


def read_item(text: object) -> Item:
    """Read one expression with or without a name.

    >>> read_item("LOWER(ward) AS w").alias
    'w'
    """
    cursor = Cursor(text)
    found = expression(cursor)
    name = alias(cursor)
    cursor.end()
    return Item(found, name)


def read_orders(text: object) -> tuple[Order, ...]:
    """Read what could follow ORDER BY.

    >>> read_orders("n DESC")[0].descending
    True
    """
    cursor = Cursor(text)
    found = order_by(cursor, expression)
    cursor.end()
    return found


def read_relation(text: object) -> Relation:
    """Read a subquery, as it would stand in FROM.

    >>> type(read_relation("SELECT ward FROM visits")).__name__
    'Project'
    """
    cursor = Cursor(text)
    found = subquery(cursor, {})
    cursor.end()
    return found


def as_question(found: Select) -> Question:
    """Turn the outermost SELECT into a question.

    >>> from discreet.query.expressions import Aggregate
    >>> from discreet.query.relations import Table
    >>> as_question(Select(items=(Item(Aggregate("COUNT")),), source=Table("visits"))).outputs[0][0]
    'count'
    """
    if not found.items:
        raise unsupported(
            found.span,
            "nothing is asked about the groups.",
            ("an answer has at least one column.", "add a key, or an aggregate such as count()."),
        )
    if found.distinct:
        found = _keys_alone(found)
    if not has_groups(found):
        raise unsupported(
            found.span,
            "this asks for single rows.",
            (
                "a row is somebody's; an answer is about groups, with noise.",
                "write an aggregate such as COUNT(*) or AVG(x), or GROUP BY.",
            ),
        )
    worked = groups(found)
    for _, value in worked.outputs:
        _refuse_list(value, top=True)
    for item in worked.order:
        _refuse_list(item.expression, top=False)
    if worked.having is not None:
        _refuse_list(worked.having, top=False)
    return Question(
        relation=filtered(found),
        keys=worked.keys,
        outputs=worked.outputs,
        having=worked.having,
        order=worked.order,
        limit=found.limit,
        clause=found.clause,
        span=found.span,
    )


def _keys_alone(found: Select) -> Select:
    """Read SELECT DISTINCT a, b as the groups of a and b."""
    if has_groups(found):
        raise unsupported(
            found.span,
            "DISTINCT stands beside aggregates.",
            ("each group comes once anyway.", "leave DISTINCT out."),
        )
    return replace(found, distinct=False, group=found.items)


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
