"""How long, deep and large a question may be.

Trust: kernel.  Within these limits every later step ends soon, and none runs out of stack.
"""

from __future__ import annotations

from typing import Final

from discreet.errors import UnsupportedSQL
from discreet.query.expressions import Expression
from discreet.query.relations import Aggregated, Filter, Join, Project, Relation
from discreet.query.span import Span, pointed

__all__ = [
    "DEEPEST",
    "LARGEST",
    "LONGEST",
    "MOST",
    "TALLEST",
    "measured",
    "measured_relation",
    "too_much",
]

LONGEST: Final = 100_000
"""Characters of a text."""
DEEPEST: Final = 80
"""Parentheses, subqueries and prefix operators inside each other."""
TALLEST: Final = 100
"""Nodes below each other in a tree."""
MOST: Final = 100
"""Entries of GROUP BY and of ORDER BY."""
LARGEST: Final = 20_000
"""Nodes of a tree, after names have been replaced by what they stand for."""


def too_much(what: str, span: Span | None) -> UnsupportedSQL:
    """Return the refusal of something that is too long, too deep or too large.

    >>> too_much("the text is too long.", None).what
    'the text is too long.'
    """
    return UnsupportedSQL(
        what=pointed(what, span),
        why="a question must be checked completely, in a time and a memory known in advance.",
        do="split it into several questions, or prepare the table beforehand.",
    )


def measured(*expressions: Expression) -> Expression:
    """Return the last expression, unless all together are too tall or too large.

    >>> from discreet.query.expressions import Column
    >>> measured(Column("ward"))
    Column(name='ward', table=None)
    """
    waiting = [(expression, 1) for expression in expressions]
    count = 0
    while waiting:
        node, height = waiting.pop()
        count += 1
        if height > TALLEST or count > LARGEST:
            raise too_much("this expression is too large.", expressions[-1].span)
        waiting.extend((child, height + 1) for child in node.children())
    return expressions[-1]


def measured_relation(relation: Relation) -> int:
    """Return the number of nodes of a relation and its expressions, unless it is too much.

    >>> from discreet.query.relations import Table
    >>> measured_relation(Table("visits"))
    1
    """
    waiting = [(relation, 1)]
    count = 0
    while waiting:
        node, height = waiting.pop()
        count += 1
        below = [(expression, 1) for expression in held(node)]
        while below and count <= LARGEST:
            expression, depth = below.pop()
            count += 1
            if depth > TALLEST:
                raise too_much("this expression is too large.", expression.span)
            below.extend((child, depth + 1) for child in expression.children())
        if height > TALLEST or count > LARGEST:
            raise too_much("the tables of this question are too much.", relation.span)
        waiting.extend((child, height + 1) for child in node.children())
    return count


def held(relation: Relation) -> tuple[Expression, ...]:
    """Return the expressions that a node itself holds.

    >>> from discreet.query.expressions import Column
    >>> from discreet.query.relations import Table
    >>> held(Filter(Table("visits"), Column("paid")))
    (Column(name='paid', table=None),)
    """
    match relation:
        case Filter(predicate=predicate):
            return (predicate,)
        case Project(outputs=outputs):
            return tuple(value for _, value in outputs)
        case Aggregated(keys=keys, outputs=totals):
            return tuple(value for _, value in (*keys, *totals))
        case Join(on=on):
            return () if on is None else (on,)
        case _:
            return ()
