"""Parameters: values for ``?``, ``:name``, ``$1`` and ``@name``, which become literals of the text.

Trust: public.  A value becomes one literal, whatever characters it holds; it is never read as SQL.

The literals are part of the question, and so of its digest: the same text with other values is
another question, and a text with the values written out is the same one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Real
from typing import TYPE_CHECKING, Final

from sqlglot.tokenizer_core import TokenType

from discreet.errors import WrongKind
from discreet.query.source_text import Span, unsupported

if TYPE_CHECKING:
    from discreet.query.types import Scalar

MARK: Final = re.compile(r"\?|[:$@]\w+")
"""How a parameter is written: ``?``, or a sign and a name or a number."""

Literals = tuple[tuple[TokenType, str], ...]
"""The kinds and texts of the tokens of one literal."""
Parameters = tuple[tuple[str, Literals], ...]
"""The literal of each parameter by its name; numbers, from 1, for those in a list."""

ParameterValues = Sequence["Scalar | float | Decimal"] | Mapping[str, "Scalar | float | Decimal"]


def parameters_of(params: ParameterValues | None) -> Parameters:
    """Turn values into literals.

    >>> [name for name, _ in parameters_of(["A", 5])]
    ['1', '2']
    """
    if params is None:
        return ()
    if isinstance(params, Mapping):
        pairs = list(params.items())
        if all(isinstance(name, str) for name, _ in pairs):
            return tuple((name, _literal(name, value)) for name, value in pairs)
    elif isinstance(params, Sequence) and not isinstance(params, str | bytes):
        return tuple((str(at), _literal(str(at), each)) for at, each in enumerate(params, 1))
    raise WrongKind(
        what=f"params is a {type(params).__name__}.",
        why="a parameter is found by its place or by its name.",
        do='give a list for ? and $1, such as params=["A", 5], or a dict for :name and @name.',
    )


def _literal(name: str, value: object) -> Literals:  # noqa: PLR0911 (cases)
    match value:
        case None:
            return ((TokenType.NULL, "NULL"),)
        case bool():
            return ((TokenType.TRUE, "TRUE") if value else (TokenType.FALSE, "FALSE"),)
        case str():
            return ((TokenType.STRING, value),)
        case datetime() if value.tzinfo is None:
            return ((TokenType.TIMESTAMP, "TIMESTAMP"), (TokenType.STRING, value.isoformat(" ")))
        case date() if not isinstance(value, datetime):
            return ((TokenType.DATE, "DATE"), (TokenType.STRING, value.isoformat()))
        case Integral():
            return _signed(str(abs(int(value))), negative=value < 0)
        case Decimal() if value.is_finite():
            return _signed(str(abs(value)), negative=value < 0)
        case Real() if not isinstance(value, Fraction) and math.isfinite(value):
            return _signed(repr(abs(float(value))), negative=value < 0)
    raise WrongKind(
        what=f"the value of parameter {name} is a {type(value).__name__} that has no literal.",
        why="a parameter stands for one value.",
        do="give a str, int, float, Decimal, bool, date, datetime without a time zone, or None.",
    )


def _signed(digits: str, *, negative: bool) -> Literals:
    number = (TokenType.NUMBER, digits)
    return ((TokenType.DASH, "-"), number) if negative else (number,)


class Filling:
    """The parameters of a text, as they are met; each of them has to be met once at least."""

    def __init__(self, known: Parameters) -> None:
        """Take the literals by name."""
        self._known = dict(known)
        self._left = dict.fromkeys(self._known)
        self._places: Iterator[int] = iter(range(1, len(self._known) + 1))

    def literal(self, span: Span, mark: str) -> Literals:
        """Return the tokens for a mark, or refuse it."""
        name = str(next(self._places, "?")) if mark == "?" else mark[1:]
        if name not in self._known:
            raise unsupported(
                span,
                f"the parameter {mark} has no value.",
                ("the question has to say all that is asked.", "give it in params, or write it."),
            )
        self._left.pop(name, None)
        return self._known[name]

    def check_met(self) -> None:
        """Refuse values that no parameter of the text takes."""
        for name in self._left:
            raise WrongKind(
                what=f"the value of parameter {name} has no place in the text.",
                why="a value that changes nothing was meant for something else.",
                do="leave it out, or write ?, :name, $1 or @name where it belongs.",
            )
