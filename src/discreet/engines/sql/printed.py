"""A printed expression: its text, its type, and whether it may still hold what is not finite.

Trust: kernel.

Definition.  A printed FLOAT is *open* if the text may give an infinity or no number at all where
our value is NULL.  Sums, differences, products, signs, roundings and roots of open values are open
in turn, and so are quotients with an open numerator: no infinity becomes a finite number on the
way.  So one check at the top of arithmetic is enough; :func:`closed` adds it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, final

from discreet.engines.sql.words import SQL_TYPES, literal
from discreet.query.expressions import Literal
from discreet.query.types import Scalar, Type

__all__ = ["OpenColumns", "Printed", "closed", "converted", "once", "written"]

_SHORT: Final = 400
_VALUE: Final = '"_v"'


@final
@dataclass(frozen=True, slots=True)
class Printed:
    """The text of an expression, with parentheses where they are needed.

    >>> Printed("1", Type.INTEGER, value=1).is_written
    True
    """

    sql: str
    kind: Type | None
    open: bool = False
    whole: bool = False
    value: Scalar = None

    @property
    def is_written(self) -> bool:
        """Whether it is a literal that is not NULL."""
        return self.value is not None


@final
class OpenColumns(dict[str, Type]):
    """Columns with their types, as they are in a source: a FLOAT may be anything."""


def written(value: Literal, kind: Type | None) -> Printed:
    """Print a literal as a value of a type.

    >>> written(Literal(2), Type.FLOAT).sql
    '2.0e0'
    """
    sql = literal(value.value, kind)
    return Printed(sql, kind, value=None if sql == literal(None, kind) else value.value)


def once(arguments: Sequence[str], body: Callable[..., str]) -> str:
    """Print a body that mentions its arguments more than once, without repeating long texts.

    All arguments have one type.  Long ones are bound to the elements of a list, so that the text
    of nested expressions does not double at every level.

    >>> once(['"a"'], lambda a: f"{a} + {a}")
    '"a" + "a"'
    """
    if all(len(argument) <= _SHORT for argument in arguments):
        return body(*arguments)
    parts = [f"{_VALUE}[{place}]" for place in range(1, len(arguments) + 1)]
    return f"list_transform([[{', '.join(arguments)}]], lambda {_VALUE}: {body(*parts)})[1]"


def closed(printed: Printed) -> str:
    """Return the text of our value: what is not finite becomes NULL.

    >>> closed(Printed('("a" + "b")', Type.FLOAT, open=True))
    '(CASE WHEN isfinite(("a" + "b")) THEN ("a" + "b") END)'
    """
    if not printed.open:
        return printed.sql
    return _parenthesized(
        once([printed.sql], lambda value: f"CASE WHEN isfinite({value}) THEN {value} END")
    )


def converted(printed: Printed, to: Type | None) -> Printed:
    """Print a number, or a bare NULL, as a value of a type.

    >>> converted(Printed('"a"', Type.INTEGER), Type.FLOAT).sql
    'CAST("a" AS DOUBLE)'
    """
    if to is None or printed.kind is to:
        return printed
    if printed.is_written or printed.kind is None:
        return written(Literal(printed.value), to)
    return Printed(f"CAST({printed.sql} AS {SQL_TYPES[to]})", to)


def _parenthesized(body: str) -> str:
    return f"({body})" if body.startswith("CASE") else body
