"""Questions: SQL text or the table builder, read into one small tree of relations.

Trust: kernel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.doors import open_door
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
        Grouping,
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

__all__, __getattr__, __dir__ = open_door(__name__, __file__, also=("canonical",))
