"""The columns of a bound relation.

Trust: kernel.
"""

from __future__ import annotations

from typing import assert_never

from discreet.errors import UnsupportedSQL, WrongType
from discreet.query.functions import typed
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
)
from discreet.query.span import pointed
from discreet.query.types import Type

__all__ = ["columns"]

Columns = tuple[tuple[str, Type], ...]


def columns(relation: Relation) -> Columns:
    """Return names and types of the columns of a bound relation, in order.

    >>> columns(Distinct(Scan("wards", (("ward", Type.TEXT),))))
    (('ward', TEXT),)
    """
    match relation:
        case Scan(columns=found):
            return found
        case Table():
            raise UnsupportedSQL(
                what=pointed(f"the table {relation.name} is not bound.", relation.span),
                why="the types of its columns are not known yet.",
                do="bind the question to a schema first.",
            )
        case Filter(child=child) | Named(child=child) | Distinct(child=child):
            return columns(child)
        case Project(child=child, outputs=outputs):
            below = dict(columns(child))
            return tuple((name, typed(value, below)) for name, value in outputs)
        case Join(left=left, right=right):
            return (*columns(left), *columns(right))
        case Aggregated(child=child, keys=keys, outputs=outputs):
            below = dict(columns(child))
            return tuple((name, typed(value, below)) for name, value in (*keys, *outputs))
        case UnionAll(parts=parts):
            return _union([columns(part) for part in parts], relation)
        case _:
            assert_never(relation)


def _union(parts: list[Columns], relation: UnionAll) -> Columns:
    first = parts[0]
    for part in parts[1:]:
        if [kind for _, kind in part] != [kind for _, kind in first]:
            raise WrongType(
                what=pointed("the parts of a UNION ALL have different columns.", relation.span),
                why="rows are put below each other column by column.",
                do="select columns of the same number and types; CAST turns one into another.",
            )
    return first
