"""Questions: SQL text or the table builder, read into one small tree of relations.

Trust: kernel.
"""

from discreet.query.asked import Asked
from discreet.query.builder import Rows, subquery, table
from discreet.query.canonical import canonical
from discreet.query.drawing import drawn, drawn_relation
from discreet.query.expressions import (
    Aggregate,
    Call,
    Case,
    Cast,
    Column,
    Expression,
    Grouped,
    Literal,
    Order,
    Star,
    Window,
    transformed,
    walk,
)
from discreet.query.functions import typed
from discreet.query.question import Clause, Question, aggregates
from discreet.query.relations import (
    Aggregated,
    Distinct,
    Filter,
    Join,
    Named,
    Project,
    Relation,
    Scan,
    Table,
    UnionAll,
    descend,
    folded,
)
from discreet.query.shape import columns
from discreet.query.span import Span, pointed, underlined
from discreet.query.sql.read import read, read_expression
from discreet.query.types import Type
from discreet.query.wording import said

__all__ = [
    "Aggregate",
    "Aggregated",
    "Asked",
    "Call",
    "Case",
    "Cast",
    "Clause",
    "Column",
    "Distinct",
    "Expression",
    "Filter",
    "Grouped",
    "Join",
    "Literal",
    "Named",
    "Order",
    "Project",
    "Question",
    "Relation",
    "Rows",
    "Scan",
    "Span",
    "Star",
    "Table",
    "Type",
    "UnionAll",
    "Window",
    "aggregates",
    "canonical",
    "columns",
    "descend",
    "drawn",
    "drawn_relation",
    "folded",
    "pointed",
    "read",
    "read_expression",
    "said",
    "subquery",
    "table",
    "transformed",
    "typed",
    "underlined",
    "walk",
]
