"""SQL text to a question: sqlglot parses, and known nodes are lowered.

Trust: public.  Plan and engine read one tree, so what is misread here costs meaning, never privacy.
Everything in the text is in the question, or the text is refused; only a subquery that WITH names
and nothing uses leaves no trace.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from sqlglot import exp

from discreet.query.expressions import Aggregate, Expression, InnerQuery, Order, walk
from discreet.query.node_checks import too_much
from discreet.query.question import Question
from discreet.query.relations import Relation, Table, descend
from discreet.query.source_text import unreadable, unsupported
from discreet.query.sql.expressions import expression, lowered
from discreet.query.sql.flattening import flattened
from discreet.query.sql.functions import orders
from discreet.query.sql.group_by import groups, has_groups
from discreet.query.sql.parameters import Parameters
from discreet.query.sql.reading import Reading
from discreet.query.sql.row_choice import filtered
from discreet.query.sql.row_questions import row_question
from discreet.query.sql.select_syntax import Item, Select
from discreet.query.sql.selects import bare, check_union, select, subquery, with_tables
from discreet.query.sql.subqueries import one_value

__all__ = ["as_question", "read", "read_expression", "read_item", "read_orders", "read_relation"]


def _reading(text: object, dialect: str | None = None, parameters: Parameters = ()) -> Reading:
    reading = Reading(text, dialect, parameters)
    reading.lower = partial(lowered, reading)
    return reading


def read(text: object, dialect: str | None = None, parameters: Parameters = ()) -> Question:
    """Read a question from SQL; ``parameters`` are those of ``parameters_of``.

    >>> question = read("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward")
    >>> question.keys, question.outputs[0]
    ((('ward', Column(name='ward', table=None)),), ('ward', Grouped(at=0)))
    """
    reading = _reading(text, dialect, parameters)
    try:
        return _question(reading)
    except RecursionError:
        raise too_much("this is nested too deep.", reading.tokens[0].span) from None


def _question(reading: Reading) -> Question:
    node = bare(reading, reading.query())
    if isinstance(node, exp.SetOperation):
        if not isinstance(node, exp.Union):
            check_union(reading, node)
        last = reading.at(node.this)[1]
        place = next((t for t in reading.tokens[last + 1 :] if t.word == "UNION"), None)
        raise unsupported(
            reading.span(node) if place is None else place.span,
            "two questions are joined by UNION.",
            (
                "each question is priced and recorded on its own.",
                "ask them one by one, or write FROM (... UNION ALL ...).",
            ),
        )
    if not isinstance(node, exp.Select):
        raise reading.refused(node)
    outermost = select(reading, node, with_tables(reading, node, {}, outermost=True))
    reading.check_used()
    question = as_question(flattened(outermost, reading))
    return (
        replace(question, released=_released(question, reading)) if reading.released else question
    )


def _released(question: Question, reading: Reading) -> tuple[tuple[str, Question], ...]:
    """Return the questions of WITH that another one uses."""
    used = {node.name for node in descend(question.relation) if isinstance(node, Table)}
    found = []
    for name, written in reading.released.items():
        inner = as_question(flattened(written, reading))
        below = {node.name for node in descend(inner.relation) if isinstance(node, Table)}
        if below & reading.released.keys():
            raise unsupported(
                inner.span,
                "a released table stands in another question of WITH.",
                ("one question is answered before another.", "ask them one by one."),
            )
        if name in used:
            found.append((name, inner))
    return tuple(found)


def _part(text: object) -> Reading:
    """Cut what could stand in a select list, or behind ORDER BY."""
    reading = _reading(text)
    if len(reading.tokens) == 1:
        do = "write a column, value or function."
        raise unreadable(reading.tokens[0].span, "an expression is missing here.", do)
    return reading


def read_expression(text: object) -> Expression:
    """Read one expression.

    >>> read_expression("age >= 18")
    Call(function='>=', arguments=(Column(name='age', table=None), Literal(value=18)))
    """
    reading = _part(text)
    try:
        found = expression(reading, reading.parse("_parse_disjunction"))
    except RecursionError:
        raise too_much("this is nested too deep.", reading.tokens[0].span) from None
    reading.check_used()
    return found


def read_item(text: object) -> Item:
    """Read one expression with or without a name.

    >>> read_item("LOWER(ward) AS w").alias
    'w'
    """
    reading = _part(text)
    node, alias = reading.parse("_parse_expression"), None
    if isinstance(node, exp.Alias):
        reading.only(node, "this", "alias")
        node, alias = node.this, reading.name(node.args["alias"], "a name")
    found = Item(expression(reading, node), alias)
    reading.check_used()
    return found


def read_orders(text: object) -> tuple[Order, ...]:
    """Read what could follow ORDER BY.

    >>> read_orders("n DESC")[0].descending
    True
    """
    reading = _part(text)
    found = orders(reading, reading.parse("_parse_orders").expressions)
    reading.check_used()
    return found


def read_relation(text: object) -> Relation:
    """Read a subquery, as it would stand in FROM.

    >>> type(read_relation("SELECT ward FROM visits")).__name__
    'Project'
    """
    reading = _reading(text)
    relation = subquery(reading, reading.query(), {})
    reading.check_used()
    return relation


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
        offset=outermost.offset,
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
