"""Windows: what stands behind OVER, and which node it becomes.

Trust: kernel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from discreet.query import signatures
from discreet.query.expressions import Call, Expression, Literal, Order, Window
from discreet.query.source_text import CLAUSES, Span, unknown, unsupported
from discreet.query.sql.conditions import order_by
from discreet.query.sql.cursor import Cursor, Reader
from discreet.query.sql.tokens import TokenKind

if TYPE_CHECKING:  # whoever reads the arguments goes on to OVER
    from discreet.query.sql.aggregates import Arguments

WINDOWS: Final = frozenset({*signatures.WINDOWS, "AVG"})
"""The names of functions that may stand before OVER."""


def window(cursor: Cursor, parts: Arguments, read: Reader, start: int) -> Expression:
    """Read a window from OVER on; the function began at a token.

    >>> from discreet.query.sql.operators import expression
    >>> expression(Cursor("LAG(day) OVER (PARTITION BY id ORDER BY day)")).arguments
    (Column(name='day', table=None), Literal(value=1))
    """
    cursor.expect("OVER")
    if cursor.token.kind in {TokenKind.NAME, TokenKind.QUOTED}:
        raise unsupported(cursor.token.span, "windows have no names here.", CLAUSES["WINDOW"])
    cursor.expect("(")
    partition: list[Expression] = []
    if cursor.accept("PARTITION", "BY"):
        partition.append(read(cursor))
        while cursor.accept(","):
            partition.append(read(cursor))
    order = order_by(cursor, read) if cursor.accept("ORDER", "BY") else ()
    cursor.expect(")", "close the window; frames are not used.")
    span = cursor.since(start)
    plain = not (parts.distinct or parts.named or parts.where is not None)
    if not plain or parts.word not in WINDOWS:
        raise unsupported(
            span,
            "this window has DISTINCT, FILTER, bounds or a function that windows do not have.",
            ("windows are plain functions of a person's own rows.", "leave it out."),
        )
    return _made_window(parts, tuple(partition), order, span)


def _made_window(
    parts: Arguments, partition: tuple[Expression, ...], order: tuple[Order, ...], span: Span
) -> Expression:
    """Check the number of arguments; a mean is a sum over a count."""
    word, values = parts.word, tuple(parts.values)
    if word == "AVG" and len(values) == 1:
        both = (Window(name, values, partition, order, span=span) for name in ("SUM", "COUNT"))
        return Call("/", tuple(both), span=span)
    if word in {"LAG", "LEAD"} and len(values) == 1:
        values = (*values, Literal(1, span=span))
    function = signatures.WINDOWS.get(word)
    bare = word == "COUNT" and not values and not parts.star
    starred = parts.star and word != "COUNT"
    if function is None or not function.accepts(len(values)) or bare or starred:
        raise unknown(
            parts.name.span,
            f"{word} does not take these values.",
            "see the list of windows.",
        )
    return Window(word, values, partition, order, span=span)
