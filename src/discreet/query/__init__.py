"""Questions: SQL text or the table builder, read into one small tree of relations.

Trust: kernel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.doors import late_names
from discreet.query.canonical import canonical

if TYPE_CHECKING:  # each is loaded when first used, because most questions need few of them
    from discreet.query.builder import Asked, Rows, subquery, table
    from discreet.query.expression_text import said
    from discreet.query.expression_types import columns, typed
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
    from discreet.query.source_text import Span, pointed, underlined
    from discreet.query.sql.parse import read, read_expression
    from discreet.query.types import Type

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

if not TYPE_CHECKING:  # to which every name would be one of this room
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "expression_text": ("said",),
            "expression_types": ("typed",),
            "expressions": (
                "Aggregate",
                "Call",
                "Case",
                "Cast",
                "Column",
                "Expression",
                "Grouped",
                "Literal",
                "Order",
                "Star",
                "Window",
                "transformed",
                "walk",
            ),
            "group_builder": ("Asked",),
            "question": ("Clause", "Question", "aggregates"),
            "relation_columns": ("columns",),
            "relations": (
                "Aggregated",
                "Distinct",
                "Filter",
                "Join",
                "Named",
                "Project",
                "Relation",
                "Scan",
                "Table",
                "UnionAll",
                "descend",
                "folded",
            ),
            "source_text": ("Span", "pointed", "underlined"),
            "sql.parse": ("read", "read_expression"),
            "table_builder": ("Rows", "subquery", "table"),
            "types": ("Type",),
        },
    )
