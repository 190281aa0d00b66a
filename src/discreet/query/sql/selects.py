"""SELECT, its clauses in their order, WITH before it and UNION ALL after it.

Trust: kernel.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from discreet.query.expressions import Expression, InnerQuery, Literal, Star
from discreet.query.node_checks import MOST_ENTRIES
from discreet.query.question import check_relation_size
from discreet.query.relations import Relation, Table, UnionAll, folded
from discreet.query.source_text import Span, unreadable, unsupported
from discreet.query.sql.conditions import order_by
from discreet.query.sql.cursor import Cursor
from discreet.query.sql.flattening import remember
from discreet.query.sql.from_clause import column_names, flat, renamed, source, union
from discreet.query.sql.operators import expression
from discreet.query.sql.privacy_clause import clause
from discreet.query.sql.select_syntax import Item, Select, WrittenQuery
from discreet.query.sql.subqueries import (
    no_order,
    subquery_relation,
    written_query,
    written_value,
)
from discreet.query.sql.tokens import TokenKind, number

__all__ = ["Tables", "select", "subquery", "with_tables"]

Tables = Mapping[str, Relation]
"""What WITH has named so far, by folded name."""

_LARGEST_LIMIT: Final = 2**31


def with_tables(cursor: Cursor, known: Tables) -> Tables:
    """Read WITH name AS (query), ..., if it comes next.

    >>> with_tables(Cursor("WITH w AS (SELECT ward FROM visits) SELECT"), {}).keys()
    dict_keys(['w'])
    """
    if not cursor.sees("WITH"):
        return known
    cursor.take()
    tables = dict(known)
    here: set[str] = set()
    while True:
        if cursor.sees("RECURSIVE"):
            raise cursor.stray("", "")
        name, span = cursor.plain_name("a name for a subquery")
        if folded(name) in here:
            raise unreadable(span, f"{name} is named twice.", "use different names.")
        names = column_names(cursor)
        cursor.expect("AS", "write WITH name AS (SELECT ...).")
        cursor.expect("(", "write WITH name AS (SELECT ...).")
        if cursor.sees("SELECT", "WITH") and not (cursor.depth or names):  # a question of its own
            cursor.released[name] = select(cursor, tables)
            tables[folded(name)] = Table(name, span=span)
        else:
            tables[folded(name)] = renamed(subquery(cursor, tables), names)
        cursor.expect(")")
        here.add(folded(name))
        if not cursor.accept(","):
            return tables


def subquery(cursor: Cursor, known: Tables) -> Relation:
    """Read a query that is a relation: everything below the private aggregate.

    >>> from discreet.query.relations import descend
    >>> wards = subquery(Cursor("SELECT DISTINCT ward FROM visits"), {})
    >>> [type(node).__name__ for node in descend(wards)]
    ['Distinct', 'Project', 'Table']
    """
    cursor.deeper()
    start = cursor.at
    tables = with_tables(cursor, known)
    parts = [_part(cursor, tables)]
    while cursor.sees("UNION"):
        union(cursor)
        parts.append(_part(cursor, tables))
    if cursor.sees("ORDER") or cursor.sees("LIMIT"):
        raise no_order(cursor.token.span)
    cursor.depth -= 1
    relation = parts[0]
    if len(parts) > 1:
        below = tuple(inner for part in parts for inner in flat(part))
        relation = UnionAll(below, span=cursor.since(start))
    cursor.weigh(check_relation_size(relation))
    return relation


def _part(cursor: Cursor, tables: Tables) -> Relation:
    if cursor.accept("("):
        inner = subquery(cursor, tables)
        cursor.expect(")")
        return inner
    written = select(cursor, tables)
    relation = subquery_relation(written)
    remember(cursor, relation, written)
    return relation


def select(cursor: Cursor, tables: Tables) -> Select:
    """Read one SELECT with all its clauses.

    >>> select(Cursor("SELECT ward FROM visits LIMIT 3"), {}).limit
    3
    """
    start = cursor.at
    cursor.expect("SELECT", "begin with SELECT.")
    given = clause(cursor)
    distinct = cursor.accept("DISTINCT")
    if not distinct:
        cursor.accept("ALL")
    if cursor.sees("AS"):
        raise unsupported(
            cursor.token.span,
            "rows are tables of columns, not structures.",
            ("values are numbers, text, dates and truth values.", "leave AS STRUCT or VALUE out."),
        )
    top = _top(cursor)
    items = _items(cursor)
    cursor.expect("FROM", "write FROM and a table; commas stand between columns.")
    tables_read = source(cursor, tables, subquery)
    cursor.weigh(check_relation_size(tables_read))
    inner_queries: list[WrittenQuery] = []
    where = _condition(cursor, "WHERE", tables, inner_queries)
    group, every = _group(cursor)
    having = _condition(cursor, "HAVING", tables, inner_queries)
    order = order_by(cursor, expression) if cursor.accept("ORDER", "BY") else ()
    before_limit = cursor.at
    if top is not None and cursor.sees("LIMIT"):
        raise unreadable(cursor.token.span, "TOP and LIMIT are both given.", "leave one out.")
    limit = _limit(cursor) if cursor.accept("LIMIT") else top
    return Select(
        items=items,
        source=tables_read,
        where=where,
        inner_queries=tuple(inner_queries),
        group=group,
        every=every,
        having=having,
        order=order,
        limit=limit,
        distinct=distinct,
        clause=given,
        span=cursor.since(start),
        limit_span=None if limit is None else cursor.since(before_limit),
    )


def _condition(
    cursor: Cursor, word: str, tables: Tables, found: list[WrittenQuery]
) -> Expression | None:
    """Read WHERE or HAVING, if it comes next, and add the subqueries in it to those found."""
    if not cursor.accept(word):
        return None

    def read(start: int) -> tuple[Select | Relation, Span]:
        within = cursor.inner_query, cursor.inner_value
        cursor.inner_query = cursor.inner_value = None  # what is no condition has none
        query = _inner_select(cursor, tables)
        cursor.inner_query, cursor.inner_value = within
        cursor.expect(")")
        return query, cursor.since(start)

    def added(query: WrittenQuery) -> Expression:
        found.append(query)
        return InnerQuery(len(found) - 1, span=query.span)

    def inner_query(compared: Expression | None, start: int) -> Expression:
        query, span = read(start)
        return added(written_query(query, compared, span))

    def inner_value(start: int) -> Expression:
        return added(written_value(*read(start)))

    outside = cursor.inner_query, cursor.inner_value
    cursor.inner_query = inner_query if word == "WHERE" else None
    cursor.inner_value = inner_value
    condition = expression(cursor)
    cursor.inner_query, cursor.inner_value = outside
    return condition


def _inner_select(cursor: Cursor, known: Tables) -> Select | Relation:
    """Read a subquery of WHERE: a SELECT that may name columns outside, or a union."""
    cursor.deeper()
    start = cursor.at
    query = select(cursor, with_tables(cursor, known))
    cursor.depth -= 1
    if not cursor.sees("UNION"):
        return query
    cursor.at = start
    return subquery(cursor, known)


def _top(cursor: Cursor) -> int | None:
    """Read TOP 5 or TOP (5), if it comes next: elsewhere TOP is a name."""
    enclosed = cursor.ahead(1).word == "("
    if not cursor.sees("TOP") or cursor.ahead(1 + enclosed).kind is not TokenKind.NUMBER:
        return None
    cursor.at += 1 + enclosed
    token = cursor.take()
    if enclosed:
        cursor.expect(")")
    if cursor.sees("PERCENT"):
        raise unsupported(
            cursor.token.span,
            "a share of the groups is asked for.",
            ("how many groups there are may be private.", "write LIMIT and a number of groups."),
        )
    return _number_of_groups(Literal(number(token), span=token.span), token.span)


def _items(cursor: Cursor) -> tuple[Item, ...]:
    """Read the select list; a comma may stand behind its last entry."""
    items = [_item(cursor)]
    while cursor.accept(",") and not cursor.sees("FROM"):
        items.append(_item(cursor))
    return tuple(items)


def _item(cursor: Cursor) -> Item:
    star = _star(cursor)
    if star is not None:
        return Item(star)
    inner = expression(cursor)
    return Item(inner, alias(cursor))


def alias(cursor: Cursor) -> str | None:
    """Read AS name, or a name alone, if one comes next."""
    if cursor.accept("AS"):
        return cursor.name("a name")[0]
    return cursor.name("a name")[0] if cursor.sees_name() else None


def _star(cursor: Cursor) -> Expression | None:
    """Read * or table.*, if it comes next."""
    start = cursor.at
    parts: list[str] = []
    while cursor.token.kind in {TokenKind.NAME, TokenKind.QUOTED} and cursor.ahead(1).word == ".":
        parts.append(cursor.take().text)
        cursor.take()
    if not cursor.accept("*"):
        cursor.at = start
        return None
    if cursor.token.word in {"EXCEPT", "EXCLUDE", "REPLACE", "RENAME"}:
        raise unsupported(
            cursor.token.span,
            "columns are named, not left out.",
            ("what is left out changes with the table.", "name the columns that you need."),
        )
    return Star(".".join(parts) or None, span=cursor.since(start))


def _group(cursor: Cursor) -> tuple[tuple[Item, ...] | None, bool]:
    if not cursor.accept("GROUP", "BY"):
        return None, False
    if cursor.accept("ALL"):
        return (), True
    return cursor.listed(_key, most=MOST_ENTRIES, what="GROUP BY has"), False


def _key(cursor: Cursor) -> Item:
    if cursor.token.word in {"ROLLUP", "CUBE", "GROUPING"} or cursor.sees("(", ")"):
        raise cursor.stray("a key is missing here.", "write a column.")
    return Item(expression(cursor))


def _limit(cursor: Cursor) -> int:
    return _number_of_groups(expression(cursor), cursor.token.span)


def _number_of_groups(written: Expression, span: Span) -> int:
    value = written.value if isinstance(written, Literal) else None
    if type(value) is not int or not 0 <= value < _LARGEST_LIMIT:
        raise unsupported(
            written.span or span,
            "LIMIT is not a written whole number.",
            ("it counts groups.", "write a number of groups, such as LIMIT 10."),
        )
    return value
