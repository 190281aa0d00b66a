"""Plain aggregates and windows, as SQL.

Trust: kernel.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from discreet.engines.sql.expressions import expression
from discreet.engines.sql.words import name
from discreet.query.expressions import Aggregate, Order, Window
from discreet.query.types import Type

__all__ = ["aggregate", "window"]

Columns = Mapping[str, Type]

_AGGREGATES: Final = {"COUNT": "count", "SUM": "sum", "MIN": "min", "MAX": "max"}
_WINDOWS: Final = {
    **_AGGREGATES,
    "ROW_NUMBER": "row_number",
    "RANK": "rank",
    "DENSE_RANK": "dense_rank",
    "FIRST_VALUE": "first_value",
    "LAG": "lag",
    "LEAD": "lead",
}
"""The words for each function; no other word is printed."""


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
    return _fitting(node.function, f"{_AGGREGATES[node.function]}({each}){where}")


def window(node: Window, columns: Columns) -> str:
    """Print a window; a tie is broken by all columns, where it could be seen.

    >>> from discreet.query.expressions import Column
    >>> print(window(Window("ROW_NUMBER", (), order=(Order(Column("a")),)), {"a": Type.TEXT}))
    row_number() OVER (ORDER BY "a" ASC NULLS LAST, "a" ASC NULLS FIRST)
    """
    arguments = [expression(part, columns) for part in node.arguments]
    order = [_ordered(item, columns) for item in node.order]
    if node.function in {"ROW_NUMBER", "FIRST_VALUE", "LAG", "LEAD"}:
        order += [f"{name(column)} ASC NULLS FIRST" for column in columns]
    parts = []
    if node.partition:
        within = ", ".join(expression(part, columns) for part in node.partition)
        parts.append(f"PARTITION BY {within}")
    if order:
        parts.append(f"ORDER BY {', '.join(order)}")
    call = f"{_WINDOWS[node.function]}({', '.join(arguments) or _nothing(node)})"
    return _fitting(node.function, f"{call} OVER ({' '.join(parts)})")


def _nothing(node: Window) -> str:
    return "*" if node.function == "COUNT" else ""


def _ordered(item: Order, columns: Columns) -> str:
    way = "DESC" if item.descending else "ASC"
    nulls = "FIRST" if item.nulls_first else "LAST"
    return f"{expression(item.expression, columns)} {way} NULLS {nulls}"


def _fitting(function: str, sql: str) -> str:
    """Turn an exact sum into 64 bits, or NULL."""
    return f"TRY_CAST({sql} AS BIGINT)" if function == "SUM" else sql
