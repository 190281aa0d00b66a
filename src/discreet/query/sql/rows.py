"""What may be computed for each row, and what only for groups.

Trust: kernel.
"""

from __future__ import annotations

from discreet.query.expressions import Aggregate, Expression, Star, Window, walk
from discreet.query.sql.refusals import CLAUSES, unsupported

__all__ = ["only_rows"]


def only_rows(expression: Expression, *, place: str, windows: bool = False) -> Expression:
    """Return the expression itself, unless it needs more than one row to be computed.

    >>> from discreet.query.expressions import Column
    >>> only_rows(Column("ward"), place="WHERE")
    Column(name='ward', table=None)
    """
    for node in walk(expression):
        if isinstance(node, Aggregate):
            raise unsupported(
                node.span,
                f"an aggregate stands in {place}.",
                (
                    "it is computed for a group, after the rows are chosen.",
                    "filter groups with HAVING, or aggregate in a subquery first.",
                ),
            )
        if isinstance(node, Window):
            if not windows:
                raise unsupported(node.span, f"a window stands in {place}.", CLAUSES["QUALIFY"])
            for inner in node.children():
                only_rows(inner, place="a window")
        if isinstance(node, Star):
            raise unsupported(
                node.span,
                "the star stands where one value is needed.",
                ("it means all columns of a table.", "name the column."),
            )
    return expression
