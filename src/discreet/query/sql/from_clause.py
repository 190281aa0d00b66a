"""FROM: tables, subqueries and joins.

Trust: kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from discreet.query.expressions import Star
from discreet.query.relations import (
    Distinct,
    Join,
    Named,
    Project,
    Relation,
    Table,
    UnionAll,
    folded,
)
from discreet.query.row_level import only_rows
from discreet.query.source_text import Span, unreadable, unsupported
from discreet.query.sql.cursor import Cursor
from discreet.query.sql.operators import expression
from discreet.query.sql.tokens import TokenKind

__all__ = ["column_names", "flat", "renamed", "source", "union"]

Subquery = Callable[[Cursor, Mapping[str, Relation]], Relation]

Names = tuple[tuple[str, ...], Span] | None
"""New names for the columns of a subquery, and where they stand."""

_KINDS: Final = {"LEFT": "left", "RIGHT": "right", "FULL": "full", "INNER": "inner"}


def source(cursor: Cursor, tables: Mapping[str, Relation], subquery: Subquery) -> Relation:
    """Read what follows FROM; ``tables`` are those that WITH has named.

    >>> from discreet.query.sql.selects import subquery
    >>> source(Cursor("visits AS v"), {}, subquery)
    Named(child=Table(name='visits'), alias='v')
    """
    start = cursor.at
    left = _joined(cursor, tables, subquery)
    while cursor.accept(","):
        right = _joined(cursor, tables, subquery)
        left = Join(left, right, "cross", span=cursor.since(start))
    return left


def _joined(cursor: Cursor, tables: Mapping[str, Relation], subquery: Subquery) -> Relation:
    """Read one table and everything that is joined to it, from left to right."""
    start = cursor.at
    left = _single(cursor, tables, subquery)
    while (kind := _kind(cursor)) is not None:
        right = _single(cursor, tables, subquery)
        on = None
        if kind != "cross" and cursor.accept("ON"):
            on = only_rows(expression(cursor), place="ON")
        using = () if kind == "cross" or on is not None else _using(cursor)
        left = Join(left, right, kind, on, using, span=cursor.since(start))
    return left


def _kind(cursor: Cursor) -> str | None:
    """Step over the words of a join, and return its kind."""
    if cursor.accept("CROSS", "JOIN"):
        return "cross"
    if cursor.accept("JOIN"):
        return "inner"
    word = cursor.token.word
    if word not in _KINDS:
        return None
    cursor.take()
    if word != "INNER":
        cursor.accept("OUTER")
    cursor.expect("JOIN")
    return _KINDS[word]


def _using(cursor: Cursor) -> tuple[str, ...]:
    if not cursor.accept("USING"):
        do = "write ON condition, USING (column), or CROSS JOIN."
        raise cursor.stray("the condition of the join is missing here.", do)
    cursor.expect("(")
    names = cursor.listed(lambda inner: inner.name("a column")[0])
    cursor.expect(")")
    return names


def _single(cursor: Cursor, tables: Mapping[str, Relation], subquery: Subquery) -> Relation:
    cursor.deeper()
    relation = _inner(cursor, tables, subquery)
    cursor.depth -= 1
    return relation


def _inner(cursor: Cursor, tables: Mapping[str, Relation], subquery: Subquery) -> Relation:
    start = cursor.at
    if cursor.accept("("):
        return _parenthesis(cursor, tables, subquery, start)
    if cursor.token.kind is TokenKind.TEXT:
        raise unsupported(
            cursor.token.span,
            "a file stands where a table is needed.",
            (
                "whose rows a table holds is declared by its owner, under its name.",
                "write the name that the policy gives the table; opening the session reads files.",
            ),
        )
    name = ".".join(cursor.dotted("a table"))
    if cursor.sees("("):
        raise unsupported(
            cursor.since(start),
            "a function stands where a table is needed.",
            ("every table is declared by the owner.", "name a declared table."),
        )
    known = tables.get(folded(name))
    leaf = Table(name, span=cursor.since(start)) if known is None else known
    return _under_alias(cursor, leaf, None if known is None else name, start)


def _parenthesis(
    cursor: Cursor, tables: Mapping[str, Relation], subquery: Subquery, start: int
) -> Relation:
    """Read a subquery or joined tables behind an opening parenthesis."""
    if cursor.token.word in {"SELECT", "WITH"}:
        inner = subquery(cursor, tables)
    else:
        inner = source(cursor, tables, subquery)
        if cursor.sees("UNION") and not isinstance(inner, Table | Named | Join):
            union(cursor)
            parts = (*flat(inner), *flat(subquery(cursor, tables)))
            inner = UnionAll(parts, span=cursor.since(start))
    cursor.expect(")")
    if isinstance(inner, Table | Named | Join):
        return inner
    return _under_alias(cursor, inner, None, start)


def union(cursor: Cursor) -> None:
    """Step over UNION ALL; UNION alone is refused.

    >>> union(Cursor("UNION ALL SELECT"))
    """
    token = cursor.expect("UNION")
    if not cursor.accept("ALL"):
        raise unsupported(
            token.span,
            "UNION without ALL is not answered here.",
            (
                "it compares the rows of different people.",
                "write UNION ALL, and SELECT DISTINCT with the column of the unit around it.",
            ),
        )


def flat(relation: Relation) -> tuple[Relation, ...]:
    """Return the parts of a union, or the relation alone.

    >>> flat(Table("visits"))
    (Table(name='visits'),)
    """
    return relation.parts if isinstance(relation, UnionAll) else (relation,)


def _under_alias(cursor: Cursor, inner: Relation, name: str | None, start: int) -> Relation:
    """Read an alias, if there is one, and put the relation under it."""
    if cursor.accept("AS") or cursor.sees_name():
        name = cursor.plain_name("a name for the table")[0]
        inner = renamed(inner, column_names(cursor))
    if name is None:
        return inner
    return Named(inner, name, span=cursor.since(start))


def column_names(cursor: Cursor) -> Names:
    """Read (a, b) behind the name of a subquery, if it comes next.

    >>> column_names(Cursor("(a, b)"))[0]
    ('a', 'b')
    """
    start = cursor.at
    if not cursor.accept("("):
        return None
    names = cursor.listed(lambda inner: inner.name("a column")[0])
    cursor.expect(")")
    span = cursor.since(start)
    if len({folded(name) for name in names}) < len(names):
        raise unreadable(span, "two columns get one name.", "use different names.")
    return names, span


def renamed(relation: Relation, names: Names) -> Relation:
    """Return a subquery with other names for its columns.

    >>> from discreet.query.expressions import Column
    >>> ward = Project(Table("visits"), (("ward", Column("ward")),))
    >>> renamed(ward, (("w",), None)).outputs
    (('w', Column(name='ward', table=None)),)
    """
    if names is None:
        return relation
    match relation:
        case Distinct(child=child):
            return replace(relation, child=renamed(child, names))
        case UnionAll(parts=parts):
            return replace(relation, parts=tuple(renamed(part, names) for part in parts))
        case Project(outputs=outputs) if len(outputs) == len(names[0]) and not any(
            isinstance(value, Star) for _, value in outputs
        ):
            values = [value for _, value in outputs]
            return replace(relation, outputs=tuple(zip(names[0], values, strict=True)))
        case _:
            raise unsupported(
                names[1],
                "these names do not fit the columns of a subquery.",
                (
                    "only a SELECT that lists its columns, one for each name, says which is which.",
                    "name columns with AS inside the subquery.",
                ),
            )
