"""Aggregates: what stands between their parentheses, and which node it becomes.

Trust: kernel.  Bounds and budgets are taken exactly as written.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Final, final

from discreet.query import signatures
from discreet.query.expressions import (
    Aggregate,
    Expression,
    Literal,
    Pair,
)
from discreet.query.source_text import CLAUSES, Span, unknown, unreadable, unsupported
from discreet.query.sql.conditions import both
from discreet.query.sql.covariances import COVARIANCES, covariance
from discreet.query.sql.cursor import Cursor, Reader, signed
from discreet.query.sql.quantile_levels import QUANTILES, picked_quantile, read_level
from discreet.query.sql.tokens import Token
from discreet.query.sql.windows import window

BY_GROUP: Final = "contribution_bounds_per_group"
BY_ROW: Final = "contribution_bounds_per_row"
EPSILON: Final = "epsilon"


@final
@dataclass(slots=True)
class Arguments:
    """What was read: the name of the function, ``*``, DISTINCT, values, bounds, condition."""

    name: Token
    star: bool = False
    distinct: bool = False
    values: list[Expression] = field(default_factory=list)
    named: dict[str, tuple[Any, Span]] = field(default_factory=dict)
    where: Expression | None = None

    @property
    def word(self) -> str:
        """The name of the function in capitals."""
        return self.name.word


def arguments(cursor: Cursor, name: Token, read: Reader) -> Arguments:
    """Read from the opening parenthesis to the end of FILTER (WHERE ...).

    >>> from discreet.query.sql.operators import expression
    >>> cursor = Cursor("SUM(x, epsilon => 0.1)")
    >>> arguments(cursor, cursor.take(), expression).named["epsilon"][0]
    Fraction(1, 10)
    """
    parts = Arguments(name)
    cursor.expect("(")
    if cursor.accept("*"):
        parts.star = True
    elif cursor.accept("DISTINCT"):
        parts.distinct = True
    else:
        cursor.accept("ALL")
    first = not parts.star
    while not cursor.sees(")"):
        if not first and not cursor.accept(","):
            break
        first = False
        if cursor.ahead(1).word == "=>":
            _named(cursor, parts)
        elif parts.star or parts.named:
            raise cursor.stray("a value stands after * or a named argument.", "leave it out.")
        else:
            parts.values.append(read(cursor))
    cursor.expect(")", "close the parenthesis; ORDER BY, LIMIT and the like are not used inside.")
    parts.where = _filter(cursor, read)
    return parts


def _named(cursor: Cursor, parts: Arguments) -> None:
    start = cursor.at
    name = cursor.take().text.lower()
    cursor.take()
    if name not in {BY_GROUP, BY_ROW, EPSILON}:
        raise unsupported(
            cursor.since(start),
            f"there is no named argument {name} here.",
            (
                "what is not understood may change the promise.",
                f"use {BY_GROUP}, {BY_ROW} or epsilon.",
            ),
        )
    value = _epsilon(cursor) if name == EPSILON else _pair(cursor)
    if name in parts.named:
        raise unreadable(cursor.since(start), f"{name} is given twice.", "give it once.")
    parts.named[name] = (value, cursor.since(start))


def _pair(cursor: Cursor) -> Pair:
    start = cursor.at
    cursor.expect("(", "write (low, high).")
    low, _ = signed(cursor, "a bound")
    cursor.expect(",", "write (low, high).")
    high, _ = signed(cursor, "a bound")
    cursor.expect(")", "write (low, high).")
    if low > high:
        raise unsupported(
            cursor.since(start),
            "the lower bound is above the upper one.",
            ("no number lies between them.", "write (low, high)."),
        )
    return low, high


def _epsilon(cursor: Cursor) -> Fraction:
    value, span = signed(cursor, "epsilon")
    if value <= 0:
        raise unsupported(
            span,
            "epsilon is not above zero.",
            ("nothing can be told at no price.", "give epsilon above zero."),
        )
    return value


def _filter(cursor: Cursor, read: Reader) -> Expression | None:
    if not (cursor.sees("FILTER") and cursor.ahead(1).word == "("):
        return None
    cursor.take()
    cursor.take()
    cursor.expect("WHERE", "write FILTER (WHERE condition).")
    condition = read(cursor)
    cursor.expect(")")
    return condition


_SYNONYMS: Final = {
    "APPROX_COUNT_DISTINCT": "COUNT",
    "APPROX_TOP_COUNT": "MODE",
    "COUNTIF": "COUNT",
    "COUNT_IF": "COUNT",
    "MEAN": "AVG",
    "MEDIAN": "PERCENTILE_CONT",
    "QUANTILE_CONT": "PERCENTILE_CONT",
    "STD": "STDDEV_SAMP",
    "STDDEV": "STDDEV_SAMP",
    "VAR": "VAR_SAMP",
    "VARIANCE": "VAR_SAMP",
}
AGGREGATES: Final = frozenset({*signatures.AGGREGATES, *_SYNONYMS, *COVARIANCES})
"""The names of aggregates in a text."""

_TAKES_GROUP: Final = ("COUNT", "SUM", "AVG")
_TAKES_ROW: Final = tuple(name for name, each in signatures.AGGREGATES.items() if each.clamps)
_TELLS_APART: Final = frozenset({"COUNT", "SUM"})
_EXTREMES: Final = frozenset({"MIN", "MAX"})
_CONDITIONAL: Final = frozenset({"COUNTIF", "COUNT_IF"})


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
    if cursor.sees("WITHIN") or (cursor.sees("[") and name.word != "APPROX_QUANTILES"):
        raise unsupported(cursor.token.span, "this is not answered here.", CLAUSES["WITHIN"])
    if name.word in COVARIANCES:
        _refuse_more(parts)
        return covariance(name.word, parts.values, parts.where, cursor.since(start))
    made = _made(parts, cursor.since(start))
    return picked_quantile(cursor, made, start) if cursor.accept("[") else made


def _refuse_more(parts: Arguments) -> None:
    """Refuse what a formula of several aggregates cannot have."""
    if parts.star or parts.distinct or parts.named:
        raise unsupported(
            parts.name.span,
            f"{parts.word} takes two columns, and neither DISTINCT nor bounds.",
            (
                "it is computed from several means, each with bounds of its own.",
                "declare bounds in the policy, or write it out with AVG(x * y), AVG(x) and AVG(y).",
            ),
        )


def _made(parts: Arguments, span: Span) -> Aggregate:
    word = parts.word
    values, where = _counted_if(parts, span)
    parameter = read_level(word, values, span) if word in QUANTILES else None
    if word == "APPROX_TOP_COUNT":
        _take_one(values, span)
    distinct = parts.distinct or word == "APPROX_COUNT_DISTINCT"
    if parts.star and word != "COUNT":
        raise unreadable(parts.name.span, f"{word} takes a value, not *.", f"write {word}(column).")
    if len(values) != (0 if parts.star or word in _CONDITIONAL else 1):
        do = "write COUNT(DISTINCT CONCAT(a, '/', b))." if distinct else f"write {word}(column)."
        raise unknown(span, f"{word} does not take {len(values)} values.", do)
    function = _SYNONYMS.get(word, word)
    if distinct and function in _EXTREMES:
        distinct = False  # values that come again move no extreme
    if distinct and function not in _TELLS_APART:
        do = "leave DISTINCT out; or count or add up the values with COUNT(DISTINCT x) and "
        do += "SUM(DISTINCT x)."
        if function == "AVG":
            do = "write SUM(DISTINCT x) / COUNT(DISTINCT x); or leave DISTINCT out."
        raise unsupported(
            span,
            f"{word} takes all values, not the distinct ones.",
            ("a value that several people share would belong to none.", do),
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
    if not parts.named:
        return made
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


def _take_one(values: list[Expression], span: Span) -> None:
    """Take the number of values off APPROX_TOP_COUNT, which is 1 here."""
    if len(values) != 2 or values.pop() != Literal(1):
        raise unsupported(
            span,
            "APPROX_TOP_COUNT takes a column and the number 1.",
            (
                "a cell of the answer holds one value, and each further one has its own price.",
                "write APPROX_TOP_COUNT(x, 1); or GROUP BY the value, ORDER BY COUNT(*), LIMIT.",
            ),
        )
