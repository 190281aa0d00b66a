"""AND as one node, whatever its parts.

Trust: public.
"""

from __future__ import annotations

from typing import Final

from discreet.query.expressions import Call, Expression
from discreet.query.source_text import Span

FLAT: Final = frozenset({"AND", "OR", "CONCAT"})
"""The operators that are associative."""


def flat_operands(name: str, part: Expression) -> list[Expression]:
    """Return the operands of an operator of this name, or the expression alone.

    >>> from discreet.query.expressions import Column
    >>> flat_operands("AND", Call("AND", (Column("a"), Column("b"))))
    [Column(name='a', table=None), Column(name='b', table=None)]
    """
    same = name in FLAT and isinstance(part, Call) and part.function == name
    return list(part.children()) if same else [part]


def both(first: Expression | None, second: Expression, span: Span | None = None) -> Expression:
    """Return a condition that is true if both are; the first may be missing.

    >>> from discreet.query.expressions import Column
    >>> both(Column("a"), Column("b")).function
    'AND'
    """
    if first is None:
        return second
    parts = (*flat_operands("AND", first), *flat_operands("AND", second))
    return Call("AND", parts, span=span)
