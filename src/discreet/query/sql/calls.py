"""Functions: what stands between their parentheses, and which node it becomes.

Trust: kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from difflib import get_close_matches
from fractions import Fraction
from itertools import pairwise
from typing import Final

from discreet.query import source_text as refusals
from discreet.query.expressions import Call, Case, Cast, Expression, Literal
from discreet.query.node_checks import check_size
from discreet.query.signatures import ANYWHERE, PARTS, TIME_PARTS
from discreet.query.source_text import unknown, unreadable, unsupported
from discreet.query.sql.aggregates import AGGREGATES, aggregate
from discreet.query.sql.cursor import Cursor, Reader, negated, read_cast
from discreet.query.sql.tokens import Token, TokenKind
from discreet.query.sql.windows import WINDOWS
from discreet.query.types import NUMBERS, Type

__all__ = ["SYNONYMS", "call"]

SYNONYMS: Final = {
    "CEILING": "CEIL",
    "CHAR_LENGTH": "LENGTH",
    "CHARACTER_LENGTH": "LENGTH",
    "IFNULL": "COALESCE",
    "NVL": "COALESCE",
    "POW": "POWER",
    "SAFE_DIVIDE": "/",
}
"""Other names of functions."""

_ELSEWHERE: Final = {
    "AVERAGE": "AVG",
    "ISNULL": "COALESCE",
    "LEN": "LENGTH",
    "SQUARE": "x * x",
    "STDEV": "STDDEV",
    "STDEVP": "STDDEV_POP",
    "TOTAL": "SUM",
    "VARP": "VAR_POP",
    "WIDTH_BUCKET": "RANGE_BUCKET(x, [0, 10, 20])",
    "ZEROIFNULL": "COALESCE(x, 0)",
    **dict.fromkeys(
        ("APPROX_PERCENTILE", "APPROX_QUANTILE", "PERCENTILE"), "PERCENTILE_CONT(x, 0.5)"
    ),
}
"""Names that other dialects have, and what to write here."""

_WORDS: Final = frozenset({"AND", "OR", "NOT", "IN", "LIKE", "NEGATE"})
_UNITS: Final = {"DAY": 1, "WEEK": 7}
_MOST_DIGITS: Final = 18


def call(cursor: Cursor, read: Reader) -> Expression:
    """Read a function and its arguments; ``read`` reads an expression.

    >>> from discreet.query.sql.operators import expression
    >>> expression(Cursor("IFNULL(a, 0)"))
    Call(function='COALESCE', arguments=(Column(name='a', table=None), Literal(value=0)))
    """
    start = cursor.at
    name = cursor.take()
    word = name.word
    if word in refusals.FUNCTIONS:
        raise unsupported(name.span, f"{word} is not answered here.", refusals.FUNCTIONS[word])
    if word in AGGREGATES or word in WINDOWS:
        return aggregate(cursor, name, read)
    cursor.expect("(")
    special = _SPECIAL.get(word)
    if special is not None:
        node = special(cursor, name, read)
        cursor.expect(")")
        return replace(node, span=cursor.since(start))
    return _ordinary(cursor, name, read, start)


def _ordinary(cursor: Cursor, name: Token, read: Reader, start: int) -> Expression:
    target = SYNONYMS.get(name.word, name.word)
    function = None if target in _WORDS else ANYWHERE.get(target)
    if function is None:
        near = [_ELSEWHERE[name.word]] if name.word in _ELSEWHERE else _similar(name.word)
        do = "see the list of functions; compute other things beforehand."
        raise unknown(
            name.span,
            f"there is no function {name.word} here.",
            f"did you mean {near[0]}?" if near else do,
        )
    arguments = _arguments(cursor, name, read)
    cursor.expect(")")
    if not function.accepts(len(arguments)):
        raise unknown(
            cursor.since(start),
            f"{name.word} does not take {len(arguments)} arguments.",
            f"see the list of functions; it gives {function.meaning}.",
        )
    return Call(target, arguments, span=cursor.since(start))


def _similar(word: str) -> list[str]:
    return get_close_matches(word, [*ANYWHERE, *AGGREGATES, *WINDOWS], n=1, cutoff=0.75)


def _arguments(cursor: Cursor, name: Token, read: Reader) -> tuple[Expression, ...]:
    """Read expressions with commas between them, up to the parenthesis."""

    def argument(inner: Cursor) -> Expression:
        if inner.sees("DISTINCT") or inner.sees("*"):
            raise inner.stray(f"{name.word} takes values.", "write a column or a value.")
        return read(inner)

    return () if cursor.sees(")") else cursor.listed(argument)


def _cast(cursor: Cursor, name: Token, read: Reader) -> Expression:  # noqa: ARG001 (one shape)
    start = cursor.at
    inner = read(cursor)
    cursor.expect("AS")
    return read_cast(cursor, inner, start)


def _if(cursor: Cursor, name: Token, read: Reader) -> Expression:
    condition, yes, no = _exactly(3, cursor, name, read)
    return Case(((condition, yes),), no)


def _nullif(cursor: Cursor, name: Token, read: Reader) -> Expression:
    first, second = _exactly(2, cursor, name, read)
    same = Call("=", (first, second), span=first.span)
    return check_size(Case(((same, Literal(None)),), first))


def _round(cursor: Cursor, name: Token, read: Reader) -> Expression:
    """Read (x), or (x, digits): the nearest whole number of the steps that are asked for."""
    arguments = _arguments(cursor, name, read)
    if len(arguments) == 1:
        return Call("ROUND", arguments)
    digits = _digits(arguments[1]) if len(arguments) == 2 else None
    if digits is None:
        raise unsupported(
            name.span.to(cursor.token.span),
            "ROUND takes a value, and perhaps a number of digits from -18 to 18.",
            ("the digits are the same for all rows.", "write ROUND(x, 2)."),
        )
    if digits == 0:
        return Call("ROUND", arguments[:1])
    step = Literal(10 ** abs(digits), span=arguments[1].span)
    there, back = ("*", "/") if digits > 0 else ("/", "*")
    return Call(back, (Call("ROUND", (Call(there, (arguments[0], step)),)), step))


def _digits(written: Expression) -> int | None:
    """Return a written number of digits behind the point, or, below zero, before it."""
    sign = 1
    if isinstance(written, Call) and written.function == "NEGATE":
        sign, written = -1, written.arguments[0]
    value = written.value if isinstance(written, Literal) else None
    whole = isinstance(value, int) and not isinstance(value, bool) and abs(value) <= _MOST_DIGITS
    return sign * value if whole else None  # type: ignore[operator, return-value]


def _trunc(cursor: Cursor, name: Token, read: Reader) -> Expression:
    (inner,) = _exactly(1, cursor, name, read)
    below = Call("<", (inner, Literal(0)), span=inner.span)
    return check_size(Case(((below, Call("CEIL", (inner,))),), Call("FLOOR", (inner,))))


def _date(cursor: Cursor, name: Token, read: Reader) -> Expression:
    (inner,) = _exactly(1, cursor, name, read)
    return Cast(inner, Type.DATE)


def _substring(cursor: Cursor, name: Token, read: Reader) -> Expression:  # noqa: ARG001
    """Read (text, place, count), or (text FROM place FOR count)."""
    text = read(cursor)
    first: Expression = Literal(1, span=text.span)
    if cursor.accept("FROM") or cursor.accept(","):
        first = read(cursor)
    elif not cursor.sees("FOR"):
        raise cursor.stray("the first letter is missing here.", "write SUBSTR(text, 1, 3).")
    if cursor.accept("FOR") or cursor.accept(","):
        return Call("SUBSTR", (text, first, read(cursor)))
    return Call("SUBSTR", (text, first))


def _exactly(count: int, cursor: Cursor, name: Token, read: Reader) -> tuple[Expression, ...]:
    arguments = _arguments(cursor, name, read)
    if len(arguments) != count:
        raise unknown(
            name.span.to(cursor.token.span),
            f"{name.word} does not take {len(arguments)} arguments.",
            f"give it {count}.",
        )
    return arguments


def _part(cursor: Cursor, function: str) -> Literal:
    """Read the part of a date, as a word or as text."""
    token = cursor.take()
    part = token.text.upper()
    if token.kind not in {TokenKind.NAME, TokenKind.TEXT} or part not in PARTS[function]:
        raise unsupported(
            token.span,
            f"{function} does not know this part of a date.",
            (
                (
                    "only parts that every engine counts alike are known: a WEEK begins on Sunday "
                    "for some, an ISOWEEK on Monday for all."
                ),
                f"use one of: {', '.join(PARTS[function])}.",
            ),
        )
    return Literal(part, span=token.span)


def _text_first(cursor: Cursor) -> bool:
    """Whether the first argument is a text: the part of a date, as DuckDB writes it."""
    return cursor.token.kind is TokenKind.TEXT and cursor.ahead(1).word == ","


def _date_part(cursor: Cursor, name: Token, read: Reader) -> Expression:  # noqa: ARG001 (one shape)
    part = _part(cursor, "EXTRACT")
    cursor.expect(",", "write DATE_PART('year', day).")
    return Call("EXTRACT", (part, read(cursor)))


def _left(cursor: Cursor, name: Token, read: Reader) -> Expression:
    text, count = _exactly(2, cursor, name, read)
    return Call("SUBSTR", (text, Literal(1, span=text.span), count))


def _extract(cursor: Cursor, name: Token, read: Reader) -> Expression:  # noqa: ARG001 (one shape)
    part = _part(cursor, "EXTRACT")
    cursor.expect("FROM", "write EXTRACT(YEAR FROM day).")
    return Call("EXTRACT", (part, read(cursor)))


def _year(cursor: Cursor, name: Token, read: Reader) -> Expression:
    (inner,) = _exactly(1, cursor, name, read)
    return Call("EXTRACT", (Literal(name.word, span=name.span), inner))


def _date_trunc(cursor: Cursor, name: Token, read: Reader) -> Expression:  # noqa: ARG001
    if _text_first(cursor):
        week = _week(cursor, "WEEK")  # which begins on Monday wherever the part comes first
        part = week or _part(cursor, "DATE_TRUNC")
        cursor.expect(",")
        return Call("DATE_TRUNC", (read(cursor), part))
    inner = read(cursor)
    cursor.expect(",")
    part = _week(cursor, "WEEK", "(", "MONDAY", ")") or _part(cursor, "DATE_TRUNC")
    return Call("DATE_TRUNC", (inner, part))


def _week(cursor: Cursor, *words: str) -> Literal | None:
    """Read a part that is a week from Monday, if it comes next."""
    tokens = [cursor.ahead(place) for place in range(len(words))]
    if [token.text.upper() for token in tokens] != [*words]:
        return None
    span = tokens[0].span
    cursor.at += len(words)
    return Literal("ISOWEEK", span=span)


def _date_diff(cursor: Cursor, name: Token, read: Reader) -> Expression:  # noqa: ARG001
    """Read (end, start, DAY), or ('day', start, end)."""
    if _text_first(cursor):
        part = _part(cursor, "DATE_DIFF")
        cursor.expect(",")
        begin = read(cursor)
        cursor.expect(",")
        return Call("DATE_DIFF", (read(cursor), begin, part))
    end = read(cursor)
    cursor.expect(",")
    begin = read(cursor)
    cursor.expect(",", "write DATE_DIFF(end, start, DAY).")
    return Call("DATE_DIFF", (end, begin, _part(cursor, "DATE_DIFF")))


def _date_add(cursor: Cursor, name: Token, read: Reader) -> Expression:
    """Read (day, INTERVAL 7 DAY)."""
    day = read(cursor)
    form = f"write {name.word}(day, INTERVAL 7 DAY)."
    cursor.expect(",", form)
    if not cursor.accept("INTERVAL"):
        raise unreadable(cursor.token.span, "an interval is missing here.", form)
    count = read(cursor)
    unit = cursor.take()
    if not isinstance(count, Literal) or type(count.value) is not int or unit.word not in _UNITS:
        raise unsupported(
            unit.span if count.span is None else count.span.to(unit.span),
            "an interval is a written number of days or weeks.",
            ("months have different lengths, and engines count them differently.", form),
        )
    days = Literal(count.value * _UNITS[unit.word], span=count.span)
    turned = negated(days, unit.span) if name.word == "DATE_SUB" else days
    return Call("DATE_ADD", (day, turned))


def _range_bucket(cursor: Cursor, name: Token, read: Reader) -> Expression:
    """Read (x, [edge, edge, ...]) with rising edges."""
    inner = read(cursor)
    cursor.expect(",")
    start = cursor.at
    cursor.expect("[", "write RANGE_BUCKET(x, [0, 10, 20]).")
    edges = _arguments(cursor, name, read)
    cursor.expect("]")
    if not _rising(edges):
        raise unsupported(
            cursor.since(start),
            "the edges are not written numbers that rise.",
            ("they are public, and the same for all rows.", "write [0, 10, 20]."),
        )
    return Call("RANGE_BUCKET", (inner, *edges))


def _rising(edges: tuple[Expression, ...]) -> bool:
    numbers = [edge.value for edge in edges if isinstance(edge, Literal) and edge.type in NUMBERS]
    exact = [number for number in numbers if isinstance(number, int | Fraction)]
    return len(exact) == len(edges) and all(low < high for low, high in pairwise(exact))


_SPECIAL: Final[dict[str, Callable[[Cursor, Token, Reader], Expression]]] = {
    **dict.fromkeys(("CAST", "SAFE_CAST", "TRY_CAST"), _cast),
    **dict.fromkeys(("DATE_TRUNC", "DATETIME_TRUNC", "TIMESTAMP_TRUNC"), _date_trunc),
    **dict.fromkeys(("DATE_ADD", "DATE_SUB"), _date_add),
    **dict.fromkeys(("SUBSTR", "SUBSTRING"), _substring),
    **dict.fromkeys(("YEAR", "MONTH", "DAY", "QUARTER", *TIME_PARTS), _year),
    **dict.fromkeys(("DATE_PART", "DATEPART"), _date_part),
    "DATE": _date,
    "DATE_DIFF": _date_diff,
    "EXTRACT": _extract,
    **dict.fromkeys(("IF", "IIF"), _if),
    "LEFT": _left,
    "NULLIF": _nullif,
    "RANGE_BUCKET": _range_bucket,
    "ROUND": _round,
    **dict.fromkeys(("TRUNC", "TRUNCATE"), _trunc),
}
"""Functions with a form of their own."""
