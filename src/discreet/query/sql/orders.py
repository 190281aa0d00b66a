"""ORDER BY: expressions with a direction and a place for NULL.

Trust: public.
"""

from __future__ import annotations

from collections.abc import Callable

from discreet.query.expressions import Expression, Order
from discreet.query.sql.cursor import Cursor
from discreet.query.sql.limits import MOST, too_much

__all__ = ["orders"]


def orders(cursor: Cursor, read: Callable[[Cursor], Expression]) -> tuple[Order, ...]:
    """Read what follows ORDER BY; unless said, NULL is the smallest value.

    >>> from discreet.query.sql.operators import expression
    >>> orders(Cursor("day DESC"), expression)
    (Order(expression=Column(name='day', table=None), descending=True, nulls_first=False),)
    """
    found = [_order(cursor, read)]
    while cursor.accept(","):
        found.append(_order(cursor, read))
        if len(found) > MOST:
            raise too_much(f"the order has more than {MOST} entries.", cursor.token.span)
    return tuple(found)


def _order(cursor: Cursor, read: Callable[[Cursor], Expression]) -> Order:
    inner = read(cursor)
    descending = cursor.accept("DESC")
    if not descending:
        cursor.accept("ASC")
    nulls_first = not descending
    if cursor.accept("NULLS"):
        nulls_first = cursor.accept("FIRST")
        if not nulls_first:
            cursor.expect("LAST", "write NULLS FIRST or NULLS LAST.")
    return Order(inner, descending, nulls_first)
