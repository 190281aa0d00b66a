"""Plain aggregates and windows, as SQL.

Trust: kernel.
"""

from __future__ import annotations

from collections.abc import Mapping

from discreet.engines.sql.expressions import expression
from discreet.engines.sql.words import name
from discreet.engines.windows import LONG
from discreet.query.expressions import Aggregate, Order, Window
from discreet.query.types import Type

__all__ = ["aggregate", "window"]

Columns = Mapping[str, Type]


def aggregate(node: Aggregate, columns: Columns) -> str:
    """Print an aggregate of the rows of a group, but no sum of floats.

    >>> aggregate(Aggregate("COUNT"), {})
    'count(*)'
    """
    where = ""
    if node.where is not None:
        where = f" FILTER (WHERE {expression(node.where, columns, Type.BOOLEAN)})"
    if node.argument is None:
        return f"count(*){where}"
    value = expression(node.argument, columns)
    each = f"DISTINCT {value}" if node.distinct else value
    return _fitting(node.function, f"{node.function.lower()}({each}){where}")


def window(node: Window, columns: Columns) -> str:
    """Print a window; a tie is broken by all columns, where it could be seen.

    >>> from discreet.query.expressions import Column
    >>> print(window(Window("ROW_NUMBER", (), order=(Order(Column("a")),)), {"a": Type.DATE}))
    row_number() OVER (ORDER BY "a" ASC NULLS LAST, "a" ASC NULLS FIRST)
    """
    arguments = [expression(part, columns) for part in node.arguments]
    order = [_ordered(item, columns) for item in node.order]
    if node.function in {"ROW_NUMBER", "FIRST_VALUE", "LAG", "LEAD"}:
        order += [f"{_tie_breaker(*each)} ASC NULLS FIRST" for each in columns.items()]
    parts = []
    if node.partition:
        within = ", ".join(expression(part, columns) for part in node.partition)
        parts.append(f"PARTITION BY {within}")
    if order:
        parts.append(f"ORDER BY {', '.join(order)}")
    call = f"{node.function.lower()}({', '.join(arguments) or _nothing(node)})"
    return _fitting(node.function, f"{call} OVER ({' '.join(parts)})")


def _tie_breaker(column: str, kind: Type) -> str:
    sql = name(column)
    if kind is not Type.TEXT:
        return sql
    return f"(CASE WHEN strlen({sql}) <= {LONG} THEN {sql} ELSE md5({sql}) END)"


def _nothing(node: Window) -> str:
    return "*" if node.function == "COUNT" else ""


def _ordered(item: Order, columns: Columns) -> str:
    way = "DESC" if item.descending else "ASC"
    nulls = "FIRST" if item.nulls_first else "LAST"
    return f"{expression(item.expression, columns)} {way} NULLS {nulls}"


def _fitting(function: str, sql: str) -> str:
    """Turn an exact sum into 64 bits, or NULL."""
    return f"TRY_CAST({sql} AS BIGINT)" if function == "SUM" else sql
