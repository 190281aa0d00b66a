"""Refusals of what would mix the rows of different units.

Trust: public.
"""

from __future__ import annotations

from discreet.errors import NotPerUnit
from discreet.query.span import Span, pointed

__all__ = ["not_per_unit"]


def not_per_unit(span: Span | None, *, what: str, do: str) -> NotPerUnit:
    """Return the error for a step that looks at several units at once.

    >>> print(not_per_unit(None, what="it does.", do="write it otherwise."))
    NotPerUnit[E504]: it does.
      Why: noise hides one person only if all before it treats each person by themselves.
      Do:  write it otherwise.
    """
    return NotPerUnit(
        what=pointed(what, span),
        why="noise hides one person only if all before it treats each person by themselves.",
        do=do,
    )
