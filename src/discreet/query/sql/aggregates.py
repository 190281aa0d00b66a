"""Aggregates: which node a function of a group becomes.

Trust: kernel.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Final

from discreet.query import signatures
from discreet.query.expressions import Aggregate, Expression, Literal
from discreet.query.span import Span
from discreet.query.sql.arguments import BY_GROUP, BY_ROW, EPSILON, Arguments, Reader, arguments
from discreet.query.sql.cursor import Cursor
from discreet.query.sql.flat import both
from discreet.query.sql.refusals import CLAUSES, unknown, unreadable, unsupported
from discreet.query.sql.tokens import Token
from discreet.query.sql.windows import window

__all__ = ["AGGREGATES", "aggregate"]

_SYNONYMS: Final = {
    "APPROX_COUNT_DISTINCT": "COUNT",
    "COUNTIF": "COUNT",
    "COUNT_IF": "COUNT",
    "MEAN": "AVG",
    "MEDIAN": "PERCENTILE_CONT",
    "QUANTILE_CONT": "PERCENTILE_CONT",
    "STDDEV": "STDDEV_SAMP",
    "VARIANCE": "VAR_SAMP",
}
AGGREGATES: Final = frozenset({*signatures.AGGREGATES, *_SYNONYMS})
"""The names of aggregates in a text."""

_TAKES_GROUP: Final = ("COUNT", "SUM", "AVG")
_TAKES_ROW: Final = tuple(name for name in signatures.AGGREGATES if name != "COUNT")
_CONDITIONAL: Final = frozenset({"COUNTIF", "COUNT_IF"})
_WITH_PARAMETER: Final = frozenset({"PERCENTILE_CONT", "QUANTILE_CONT", "APPROX_QUANTILES"})


def aggregate(cursor: Cursor, name: Token, read: Reader) -> Expression:
    """Read an aggregate, or a window, from its opening parenthesis.

    >>> from discreet.query.sql.operators import expression
    >>> expression(Cursor("COUNTIF(paid)")).where
    Column(name='paid', table=None)
    """
    start = cursor.at - 1
    parts = arguments(cursor, name, read)
    if cursor.sees("OVER"):
        return window(cursor, parts, read, start)
    if name.word not in AGGREGATES:
        raise unsupported(
            name.span,
            f"{name.word} has no OVER.",
            ("it is a function of a window.", f"write {name.word}(...) OVER (PARTITION BY ...)."),
        )
    if cursor.sees("WITHIN") or cursor.sees("["):
        raise unsupported(cursor.token.span, "this is not answered here.", CLAUSES["WITHIN"])
    return _made(parts, cursor.since(start))


def _made(parts: Arguments, span: Span) -> Aggregate:
    word = parts.word
    values, where = _counted_if(parts, span)
    parameter = _parameter(word, values, span)
    distinct = parts.distinct or word == "APPROX_COUNT_DISTINCT"
    if parts.star and word != "COUNT":
        raise unreadable(parts.name.span, f"{word} takes a value, not *.", f"write {word}(column).")
    if len(values) != (0 if parts.star or word in _CONDITIONAL else 1):
        do = "write COUNT(DISTINCT CONCAT(a, '/', b))." if distinct else f"write {word}(column)."
        raise unknown(span, f"{word} does not take {len(values)} values.", do)
    function = _SYNONYMS.get(word, word)
    if distinct and function != "COUNT":
        raise unsupported(
            span,
            f"{word} takes all values, not the distinct ones.",
            ("a value that several people share would belong to none.", "leave DISTINCT out."),
        )
    made = Aggregate(
        function,
        values[0] if values else None,
        distinct=distinct,
        where=where,
        parameter=parameter,
        span=span,
    )
    return _bounded(made, parts)


def _bounded(made: Aggregate, parts: Arguments) -> Aggregate:
    """Add the named arguments, if the aggregate has them."""
    for bounds, allowed in ((BY_GROUP, _TAKES_GROUP), (BY_ROW, _TAKES_ROW)):
        if bounds in parts.named and made.function not in allowed:
            raise unsupported(
                parts.named[bounds][1],
                f"{parts.word} has no {bounds}.",
                ("the bound would have no effect.", f"{bounds} is for {', '.join(allowed)}."),
            )
    given = {key: value for key, (value, _) in parts.named.items()}
    return replace(
        made,
        bounds_per_group=given.get(BY_GROUP),
        bounds_per_row=given.get(BY_ROW),
        epsilon=given.get(EPSILON),
    )


def _counted_if(parts: Arguments, span: Span) -> tuple[list[Expression], Expression | None]:
    """Turn COUNTIF(c) into the rows for which c is true."""
    if parts.word not in _CONDITIONAL:
        return list(parts.values), parts.where
    if len(parts.values) != 1 or parts.distinct:
        raise unknown(span, f"{parts.word} takes one condition.", f"write {parts.word}(condition).")
    return [], both(parts.where, parts.values[0], span)


def _parameter(word: str, values: list[Expression], span: Span) -> Fraction | None:
    """Take the fraction of a percentile, or the number of quantiles, off the values."""
    if word == "MEDIAN":
        return Fraction(1, 2)
    if word not in _WITH_PARAMETER:
        return None
    last = values.pop() if len(values) == 2 else None
    value = last.value if isinstance(last, Literal) else None
    whole = word == "APPROX_QUANTILES"
    if isinstance(value, Fraction | int) and not isinstance(value, bool):
        number = Fraction(value)
        if (whole and number.denominator == 1 and 1 <= number <= 1000) or (
            not whole and 0 <= number <= 1
        ):
            return number
    do = "APPROX_QUANTILES(x, 4)" if whole else f"{word}(x, 0.5)"
    raise unsupported(
        span,
        f"{word} takes a column and {'a whole number to 1000' if whole else 'a fraction'}.",
        ("which values are meant must be known before any data is read.", f"write {do}."),
    )
