"""Types of the arguments of a function, where a bare NULL has none.

Trust: kernel.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from discreet.errors import WrongType
from discreet.query.expressions import Expression
from discreet.query.functions import typed
from discreet.query.types import Type

__all__ = ["kind_of", "shared"]


def kind_of(expression: Expression, columns: Mapping[str, Type]) -> Type | None:
    """Return the type of a bound expression, or None for a NULL that fits every type.

    >>> from discreet.query.expressions import Literal
    >>> kind_of(Literal(1), {}), kind_of(Literal(None), {})
    (INTEGER, None)
    """
    try:
        return typed(expression, columns)
    except WrongType:  # bound expressions are well typed, and so this is a NULL without a type
        return None


def shared(kinds: Iterable[Type | None]) -> Type | None:
    """Return the type in which values of these types meet.

    >>> shared([Type.INTEGER, None, Type.FLOAT])
    FLOAT
    """
    found = {kind for kind in kinds if kind is not None}
    if len(found) > 1:
        return Type.FLOAT
    return next(iter(found), None)
