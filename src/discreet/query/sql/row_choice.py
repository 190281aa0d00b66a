"""WHERE: plain conditions become a filter, subqueries semi joins above it.

Trust: public.  Plan and engine read one tree, so what is misread here costs meaning, never privacy.

Theorem.  WHERE keeps the rows for which all its conditions are true.  ``EXISTS (...)`` is never
NULL, and ``NOT`` before it turns a semi join into an anti join.  ``x IN (...)`` is true if some
value of the subquery equals x, which is a semi join.  It is false if all values of the subquery are
known to differ from x: ``x NOT IN (...)`` keeps the rows for which no value is equal, or NULL, or
compared with an x that is NULL, which is an anti join of rows for which equality is not false.
So each of them can be computed by itself, if it is one of several conditions joined by AND.
A subquery that stands for one value is a column of the rows that it is compared with.
"""

from __future__ import annotations

from collections.abc import Sequence

from discreet.query.expressions import Call, Column, Expression, InnerQuery, transformed, walk
from discreet.query.relations import VALUES, Filter, Relation, SemiJoin, Valued
from discreet.query.row_level import only_rows
from discreet.query.source_text import inner_query_refused
from discreet.query.sql.conditions import flat_operands
from discreet.query.sql.select_syntax import Select, WrittenQuery

Chosen = tuple[WrittenQuery, bool]
"""A subquery, and whether the rows that it does not meet are kept."""


def filtered(select: Select) -> Relation:
    """Return the rows of FROM that WHERE lets through.

    >>> from discreet.query.relations import Table
    >>> filtered(Select(items=(), source=Table("visits")))
    Table(name='visits')
    """
    plain, chosen, compared = split_where(select)
    relation = select.source
    if plain is not None:
        relation = Filter(relation, plain, span=plain.span)
    return with_values(semi_joined(relation, chosen), compared, select)


def semi_joined(relation: Relation, chosen: Sequence[Chosen]) -> Relation:
    """Return the rows of a relation that all subqueries let through.

    >>> from discreet.query.relations import Table
    >>> semi_joined(Table("visits"), [(WrittenQuery(right=Table("wards")), True)]).anti
    True
    """
    for query, anti in chosen:
        relation = SemiJoin(
            relation, query.right, query.on, query.compared, anti=anti, span=query.span
        )
    return relation


def with_values(relation: Relation, conditions: Sequence[Expression], select: Select) -> Relation:
    """Return the rows of a relation for which conditions on values of subqueries are true.

    >>> from discreet.query.relations import Table
    >>> with_values(Table("visits"), [], Select(items=(), source=Table("visits")))
    Table(name='visits')
    """
    for condition in conditions:
        places = [node.at for node in walk(condition) if isinstance(node, InnerQuery)]
        for place in dict.fromkeys(places):
            query = select.inner_queries[place]
            if query.value is None:
                raise inner_query_refused(query.span)
            relation = Valued(
                relation,
                query.right,
                f"value_{place + 1}",
                query.value,
                query.totals,
                query.on,
                span=query.span,
            )
        predicate = transformed(condition, _as_column)
        relation = Filter(relation, only_rows(predicate, place="WHERE"), span=condition.span)
    return relation


def _as_column(node: Expression) -> Expression | None:
    if not isinstance(node, InnerQuery):
        return None
    return Column(f"value_{node.at + 1}", VALUES, span=node.span)


def split_where(
    select: Select,
) -> tuple[Expression | None, list[Chosen], list[Expression]]:
    """Return the conditions on rows alone, the subqueries, and conditions on values of these.

    >>> from discreet.query.relations import Table
    >>> split_where(Select(items=(), source=Table("visits")))
    (None, [], [])
    """
    plain: list[Expression] = []
    chosen: list[Chosen] = []
    compared: list[Expression] = []
    for part in [] if select.where is None else flat_operands("AND", select.where):
        inner, anti = part, False
        while isinstance(inner, Call) and inner.function == "NOT":
            inner, anti = inner.arguments[0], not anti
        if isinstance(inner, InnerQuery) and select.inner_queries[inner.at].value is None:
            chosen.append((select.inner_queries[inner.at], anti))
        elif any(isinstance(node, InnerQuery) for node in walk(part)):
            compared.append(part)
        else:
            plain.append(only_rows(part, place="WHERE"))
    if not plain or not (chosen or compared):
        return (select.where if plain else None), chosen, compared
    return (plain[0] if len(plain) == 1 else Call("AND", tuple(plain))), chosen, compared
