"""Quantiles: which ones an aggregate asks for.

Trust: kernel.  Levels are taken exactly as written.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Final

from discreet.query.expressions import FINEST_LEVEL, Aggregate, Expression, Literal
from discreet.query.source_text import Span, unsupported
from discreet.query.sql.cursor import Cursor, signed

QUANTILES: Final = frozenset({"APPROX_QUANTILES", "MEDIAN", "PERCENTILE_CONT", "QUANTILE_CONT"})
"""The names of aggregates that have a level, or a number of them."""
_PLACES: Final = frozenset({"OFFSET", "SAFE_OFFSET", "ORDINAL", "SAFE_ORDINAL"})


def read_level(word: str, values: list[Expression], span: Span) -> Fraction:
    """Take the fraction of a percentile, or the number of quantiles, off the values.

    >>> from discreet.query.expressions import Column
    >>> read_level("PERCENTILE_CONT", [Column("age"), Literal(Fraction(1, 4))], Span("", 0, 0))
    Fraction(1, 4)
    """
    if word == "MEDIAN":
        return Fraction(1, 2)
    last = values.pop() if len(values) == 2 else None
    value = last.value if isinstance(last, Literal) else None
    whole = word == "APPROX_QUANTILES"
    if isinstance(value, Fraction | int) and not isinstance(value, bool):
        number = Fraction(value)
        if (whole and number.denominator == 1 and 1 <= number <= 1000) or (
            not whole and 0 <= number <= 1 and number.denominator <= FINEST_LEVEL
        ):
            return number
    do = "APPROX_QUANTILES(x, 4)" if whole else f"{word}(x, 0.5)"
    raise unsupported(
        span,
        f"{word} takes a column and "
        f"{'a whole number to 1000' if whole else 'a fraction from 0 to 1, of up to 18 digits'}.",
        ("which values are meant must be known before any data is read.", f"write {do}."),
    )


def picked_quantile(cursor: Cursor, quantiles: Aggregate, start: int) -> Aggregate:
    """Read [OFFSET(k)] or [ORDINAL(k)] behind a list of n quantiles: the quantile k / n.

    >>> from discreet.query.sql.operators import expression
    >>> expression(Cursor("APPROX_QUANTILES(age, 4)[OFFSET(3)]")).parameter
    Fraction(3, 4)
    """
    form = "write APPROX_QUANTILES(x, 100)[OFFSET(50)]."
    word = cursor.take().word
    cursor.expect("(", form)
    place, span = signed(cursor, "a place in the list")
    cursor.expect(")", form)
    cursor.expect("]", form)
    place -= word in {"ORDINAL", "SAFE_ORDINAL"}
    count = quantiles.parameter or Fraction(1)
    if word not in _PLACES or place.denominator != 1 or not 0 <= place <= count:
        raise unsupported(
            span,
            "there is no such place in the list.",
            (f"it has {count + 1} quantiles, from OFFSET(0) to OFFSET({count}).", form),
        )
    return replace(
        quantiles, function="PERCENTILE_CONT", parameter=place / count, span=cursor.since(start)
    )
