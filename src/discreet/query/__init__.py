"""Questions: SQL text or the table builder, read into one small tree of relations.

Trust: kernel.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

from discreet.query.canonical import canonical

if TYPE_CHECKING:  # each is loaded when first used, because most questions need few of them
    from discreet.query.asked import Asked
    from discreet.query.builder import Rows, subquery, table
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

_FILES: Final = {
    "Aggregate": "expressions",
    "Aggregated": "relations",
    "Asked": "asked",
    "Call": "expressions",
    "Case": "expressions",
    "Cast": "expressions",
    "Clause": "question",
    "Column": "expressions",
    "Distinct": "relations",
    "Expression": "expressions",
    "Filter": "relations",
    "Grouped": "expressions",
    "Join": "relations",
    "Literal": "expressions",
    "Named": "relations",
    "Order": "expressions",
    "Project": "relations",
    "Question": "question",
    "Relation": "relations",
    "Rows": "builder",
    "Scan": "relations",
    "Span": "span",
    "Star": "expressions",
    "Table": "relations",
    "Type": "types",
    "UnionAll": "relations",
    "Window": "expressions",
    "aggregates": "question",
    "columns": "shape",
    "descend": "relations",
    "drawn": "drawing",
    "drawn_relation": "drawing",
    "folded": "relations",
    "pointed": "span",
    "read": "sql.read",
    "read_expression": "sql.read",
    "said": "wording",
    "subquery": "builder",
    "table": "builder",
    "transformed": "expressions",
    "typed": "functions",
    "underlined": "span",
    "walk": "expressions",
}

if not TYPE_CHECKING:  # to which every name would be one of this room

    def __getattr__(name: str) -> Any:
        """Load the file of a name the first time that it is asked for."""
        if name not in _FILES:
            message = f"module {__name__!r} has no attribute {name!r}"
            raise AttributeError(message)
        found = getattr(importlib.import_module(f"{__name__}.{_FILES[name]}"), name)
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    """List what can be asked for, loaded or not."""
    return sorted(__all__)
