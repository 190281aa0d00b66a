"""The columns of a bound relation.

Trust: kernel.
"""

from __future__ import annotations

from typing import assert_never

from discreet.errors import UnsupportedSQL, WrongType
from discreet.query.expression_types import typed
from discreet.query.expressions import Column, Expression, Star, walk
from discreet.query.relations import (
    Aggregated,
    BoundedUnits,
    Distinct,
    Filter,
    Join,
    Named,
    Project,
    Relation,
    Scan,
    SemiJoin,
    Table,
    UnionAll,
    Valued,
    descend,
    expressions_in,
    folded,
)
from discreet.query.source_text import pointed
from discreet.query.types import Type

Columns = tuple[tuple[str, Type], ...]


def columns(relation: Relation) -> Columns:  # noqa: PLR0911 (one for each kind)
    """Return names and types of the columns of a bound relation, in order.

    >>> columns(Distinct(Scan("wards", (("ward", Type.TEXT),))))
    (('ward', TEXT),)
    """
    match relation:
        case Scan(columns=pairs):
            return pairs
        case Table() | Valued():
            raise UnsupportedSQL(
                what=pointed(f"{_called(relation)} is not bound.", relation.span),
                why="the types of its columns are not known yet.",
                do="bind the question to a schema first.",
            )
        case Filter() | Named() | Distinct() | BoundedUnits():
            return columns(relation.child)
        case Project(child=child, outputs=outputs):
            below = dict(columns(child))
            return tuple((name, typed(value, below)) for name, value in outputs)
        case Join(left=left, right=right):
            return (*columns(left), *columns(right))
        case SemiJoin(left=left):
            return columns(left)
        case Aggregated(child=child, keys=keys, outputs=outputs):
            below = dict(columns(child))
            return tuple((name, typed(value, below)) for name, value in (*keys, *outputs))
        case UnionAll(parts=parts):
            return _union([columns(part) for part in parts], relation)
        case _:
            assert_never(relation)


def _called(relation: Table | Valued) -> str:
    return f"the table {relation.name}" if isinstance(relation, Table) else "a subquery"


def check_names(relation: Relation) -> tuple[str, ...]:
    """Return the names of the columns of a bound relation; below and in it none stands twice.

    An engine would take one of two columns of a name, and perhaps not the one that is meant.

    >>> check_names(Distinct(Scan("wards", (("ward", Type.TEXT), ("Ward", Type.TEXT)))))
    Traceback (most recent call last):
    discreet.errors.UnsupportedSQL: ...
    """
    below = [check_names(child) for child in relation.children()]
    match relation:
        case Scan(columns=pairs) | Project(outputs=pairs):
            names = tuple(name for name, _ in pairs)
        case Aggregated(keys=keys, outputs=outputs):
            names = tuple(name for name, _ in (*keys, *outputs))
        case Join() | SemiJoin():
            names = (*below[0], *below[1])
        case _:
            return below[0] if below else ()
    if len(set(map(folded, names))) != len(names):
        raise UnsupportedSQL(
            what=pointed("two columns have one name.", relation.span),
            why="it is not clear which of them is meant.",
            do="give them different names with AS.",
        )
    return below[0] if isinstance(relation, SemiJoin) else names


def check_bound(relation: Relation) -> None:
    """Refuse a relation that is not bound in all its parts.

    >>> check_bound(Distinct(Scan("wards", (("ward", Type.TEXT),))))
    """
    for node in descend(relation):
        unbound = type(node) in {Table, Named, Valued} or (type(node) is Join and bool(node.using))
        unbound = unbound or (type(node) is SemiJoin and node.compared is not None)
        for expression in expressions_in(node):
            unbound = unbound or any(_is_unbound(part) for part in walk(expression))
        if unbound:
            raise UnsupportedSQL(
                what=pointed("a part of this relation is not bound.", node.span),
                why="an engine would have to guess which table or column is meant.",
                do="bind the question to a schema first.",
            )


def _is_unbound(part: Expression) -> bool:
    return type(part) is Star or (type(part) is Column and part.table is not None)


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
