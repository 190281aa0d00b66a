"""Functions of one row: what is between their parentheses, and which node it is.

Trust: public.  Plan and engine read one tree, so what is misread here costs meaning, never privacy.

The name of a function alone decides its meaning, in every dialect.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from difflib import get_close_matches
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import Any, Final

from sqlglot import exp

from discreet.query.expressions import Call, Column, Expression, Literal, check_size, walk
from discreet.query.functions import AGGREGATES, ANYWHERE, PARTS, TIME_PARTS, WINDOWS
from discreet.query.source_text import Span, unknown, unreadable, unsupported
from discreet.query.sql.reading import Reading
from discreet.query.sql.tokens import TokenKind
from discreet.query.types import NUMBERS

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

_FORMULAS: Final = {
    "DATE": "CAST(x AS DATE)",
    **dict.fromkeys(("IF", "IIF"), "CASE WHEN x THEN y ELSE z END"),
    "LEFT": "SUBSTR(x, 1, y)",
    "NULLIF": "CASE WHEN x = y THEN NULL ELSE x END",
    **dict.fromkeys(("TRUNC", "TRUNCATE"), "CASE WHEN x < 0 THEN CEIL(x) ELSE FLOOR(x) END"),
    **{
        word: f"EXTRACT({word} FROM x)" for word in ("YEAR", "MONTH", "DAY", "QUARTER", *TIME_PARTS)
    },
}
"""Functions that are formulas of others; see ``written_out``."""

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
DAYS: Final = {"DAY": 1, "WEEK": 7}
"""The days of the units that are added to any day."""
INTERVALS: Final = "write INTERVAL '7' DAY behind a day, or a written day and INTERVAL '3' MONTH."
"""How intervals are written."""
_MOST_DIGITS: Final = 18


def negated(inner: Expression, span: Span) -> Expression:
    """Return the number with the other sign, or the expression turned.

    >>> negated(Literal(2), Span("-2", 0, 2))
    Literal(value=-2)
    """
    if isinstance(inner, Literal) and inner.type is not None and inner.type.is_number:
        return Literal(-Fraction(inner.value), span=span)  # type: ignore[arg-type]
    return Call("NEGATE", (inner,), span=span)


def interval(reading: Reading, node: Any) -> tuple[int, str, Span]:
    """Return the number and the unit of an interval."""
    reading.only(node, "this", "unit")
    reading.use_all(node)
    counted, sign = node.this, 1
    while isinstance(counted, exp.Neg):
        counted, sign = counted.this, -sign
    unit = node.args.get("unit")
    if isinstance(unit, exp.Anonymous) and len(unit.expressions) != 1:
        raise reading.refused(node)
    word = "" if unit is None else str(unit.this).upper().removesuffix("S")
    digits = str(counted.this).strip() if isinstance(counted, exp.Literal) else ""
    if not digits.removeprefix("-").isdecimal() or len(digits) > 8:
        first, _ = reading.at(node)
        raise unsupported(
            reading.behind(first).span,
            "an interval is one whole number of days, weeks, months, quarters or years.",
            "only these mean the same on every engine.",
            INTERVALS,
        )
    return sign * int(digits), word, reading.span(node)


@cache
def _formula(text: str) -> Expression:
    reading = Reading(text)
    return reading.lower(reading.parse("_parse_disjunction"))


def written_out(text: str, values: Sequence[Expression], span: Span) -> Expression:
    """Return a formula of x, y and z with values in their place.

    >>> written_out("x * x", [Column("cost")], Span("", 0, 0)).arguments[0]
    Column(name='cost', table=None)
    """
    known = dict(zip("xyz", values, strict=False))

    def written(node: Expression) -> Expression:
        if isinstance(node, Column):
            return known[node.name]
        return replace(node.rebuilt([written(part) for part in node.children()]), span=span)

    return check_size(written(_formula(text)))


def call(reading: Reading, node: Any) -> Expression:
    """Lower a function and its arguments."""
    word, span = str(node.this).upper(), reading.span(node)
    reading.use(node)
    if word in _SPECIAL:
        return replace(_SPECIAL[word](reading, node), span=span)
    formula, target = _FORMULAS.get(word), SYNONYMS.get(word, word)
    function = None if target in _WORDS else ANYWHERE.get(target)
    if formula is None and function is None:
        near = [_ELSEWHERE[word]] if word in _ELSEWHERE else _similar(word)
        do = "see the list of functions; compute other things beforehand."
        what = f"there is no function {word} here."
        raise unknown(reading.token(node).span, what, f"did you mean {near[0]}?" if near else do)
    values = _arguments(reading, node)
    what = f"{word} does not take {len(values)} arguments."
    if formula is not None:
        names = {part.name for part in walk(_formula(formula)) if isinstance(part, Column)}
        if len(values) != len(names):
            raise unknown(span, what, f"give it {len(names)}.")
        return written_out(formula, values, span)
    if function is None or not function.accepts(len(values)):
        meaning = "" if function is None else function.meaning
        raise unknown(span, what, f"see the list of functions; it gives {meaning}.")
    return Call(target, values, span=span)


def _similar(word: str) -> list[str]:
    return get_close_matches(word, [*ANYWHERE, *AGGREGATES, *WINDOWS], n=1, cutoff=0.75)


def _arguments(reading: Reading, node: Any) -> tuple[Expression, ...]:
    """Lower plain values."""
    for value in node.expressions:
        if isinstance(value, exp.Star | exp.Distinct):
            what = f"{str(node.this).upper()} takes values."
            raise unreadable(reading.span(value), what, "write a column or a value.")
    return tuple(reading.lower(value) for value in node.expressions)


def _round(reading: Reading, node: Any) -> Expression:
    """Lower (x), or (x, digits): the nearest whole number of the steps that are asked for."""
    values = _arguments(reading, node)
    if len(values) == 1:
        return Call("ROUND", values)
    digits = _digits(values[1]) if len(values) == 2 else None
    if digits is None:
        raise unsupported(
            reading.span(node),
            "ROUND takes a value, and perhaps a number of digits from -18 to 18.",
            "the digits are the same for all rows.",
            "write ROUND(x, 2).",
        )
    if digits == 0:
        return Call("ROUND", values[:1])
    step = Literal(10 ** abs(digits), span=values[1].span)
    there, back = ("*", "/") if digits > 0 else ("/", "*")
    return Call(back, (Call("ROUND", (Call(there, (values[0], step)),)), step))


def _digits(written: Expression) -> int | None:
    """Return a written number of digits behind the point, or, below zero, before it."""
    value = written.value if isinstance(written, Literal) else None
    whole = isinstance(value, int) and not isinstance(value, bool) and abs(value) <= _MOST_DIGITS
    return value if whole else None  # type: ignore[return-value]


def part_of(reading: Reading, at: int, function: str) -> Literal:
    """Return the part of a date that a token names, as a word or as text."""
    token = reading.tokens[at]
    reading.use_word(at)
    part = token.text.upper()
    if token.kind not in {TokenKind.NAME, TokenKind.TEXT} or part not in PARTS[function]:
        raise unsupported(
            token.span,
            f"{function} does not know this part of a date.",
            (
                "only parts that every engine counts alike are known: a WEEK begins on Sunday "
                "for some, an ISOWEEK on Monday for all."
            ),
            f"use one of: {', '.join(PARTS[function])}.",
        )
    return Literal(part, span=token.span)


def _named_part(reading: Reading, node: Any, function: str) -> Literal:
    """Return the part of a date that an argument names."""
    first, last = reading.at(node)
    words = [token.text.upper() for token in reading.tokens[first : last + 1]]
    if function == "DATE_TRUNC" and (words == ["WEEK", "(", "MONDAY", ")"]):
        reading.use_all(node)
        return Literal("ISOWEEK", span=reading.tokens[first].span)
    if last > first:
        raise reading.refused(node)
    return part_of(reading, first, function)


def _is_text(node: Any) -> bool:
    return isinstance(node, exp.Literal) and bool(node.is_string)


def _values(reading: Reading, node: Any, form: str, *counts: int) -> list[Any]:
    """Return the arguments as they are written, if there are as many as there should be."""
    if len(node.expressions) not in counts:
        last = reading.tokens[reading.at(node)[1]]
        raise unreadable(last.span, "an argument is missing here, or too many are given.", form)
    return list(node.expressions)


def _date_part(reading: Reading, node: Any) -> Expression:
    part, day = _values(reading, node, "write DATE_PART('year', day).", 2)
    return Call("EXTRACT", (_named_part(reading, part, "EXTRACT"), reading.lower(day)))


def _date_trunc(reading: Reading, node: Any) -> Expression:
    first, second = _values(reading, node, "write DATE_TRUNC(day, MONTH).", 2)
    if not _is_text(first):
        inner = reading.lower(first)
        return Call("DATE_TRUNC", (inner, _named_part(reading, second, "DATE_TRUNC")))
    if str(first.this).upper() == "WEEK":  # it begins on Monday wherever the part comes first
        reading.use(first)
        week = Literal("ISOWEEK", span=reading.span(first))
        return Call("DATE_TRUNC", (reading.lower(second), week))
    part = _named_part(reading, first, "DATE_TRUNC")
    return Call("DATE_TRUNC", (reading.lower(second), part))


def _date_diff(reading: Reading, node: Any) -> Expression:
    """Lower (end, start, DAY), or ('day', start, end)."""
    one, two, three = _values(reading, node, "write DATE_DIFF(end, start, DAY).", 3)
    if _is_text(one):
        part = _named_part(reading, one, "DATE_DIFF")
        return Call("DATE_DIFF", (reading.lower(three), reading.lower(two), part))
    end, begin = reading.lower(one), reading.lower(two)
    return Call("DATE_DIFF", (end, begin, _named_part(reading, three, "DATE_DIFF")))


def _date_add(reading: Reading, node: Any) -> Expression:
    """Lower (day, INTERVAL 7 DAY)."""
    word = str(node.this).upper()
    form = f"write {word}(day, INTERVAL 7 DAY)."
    day, length = _values(reading, node, form, 2)
    if not isinstance(length, exp.Interval):
        raise unreadable(reading.span(length), "an interval is missing here.", form)
    inner = reading.lower(day)
    count, unit, span = interval(reading, length)
    if unit not in DAYS:
        raise unsupported(
            span,
            "an interval is a written number of days or weeks.",
            "months have different lengths, and engines count them differently.",
            form,
        )
    days = Literal(count * DAYS[unit], span=span)
    return Call("DATE_ADD", (inner, negated(days, span) if word == "DATE_SUB" else days))


def _range_bucket(reading: Reading, node: Any) -> Expression:
    """Lower (x, [edge, edge, ...]) with rising edges."""
    form = "write RANGE_BUCKET(x, [0, 10, 20])."
    value, listed = _values(reading, node, form, 2)
    if not isinstance(listed, exp.Array):
        raise unreadable(reading.span(listed), "a list of edges is missing here.", form)
    inner = reading.lower(value)
    edges = tuple(reading.lower(edge) for edge in listed.expressions)
    if not _rising(edges):
        raise unsupported(
            reading.span(listed),
            "the edges are not written numbers that rise.",
            "they are public, and the same for all rows.",
            "write [0, 10, 20].",
        )
    return Call("RANGE_BUCKET", (inner, *edges))


def _rising(edges: tuple[Expression, ...]) -> bool:
    numbers = [edge.value for edge in edges if isinstance(edge, Literal) and edge.type in NUMBERS]
    exact = [number for number in numbers if isinstance(number, int | Fraction)]
    return bool(exact) and len(exact) == len(edges) and all(a < b for a, b in pairwise(exact))


_SPECIAL: Final[dict[str, Callable[[Reading, Any], Expression]]] = {
    **dict.fromkeys(("DATE_TRUNC", "DATETIME_TRUNC", "TIMESTAMP_TRUNC"), _date_trunc),
    **dict.fromkeys(("DATE_ADD", "DATE_SUB"), _date_add),
    **dict.fromkeys(("DATE_PART", "DATEPART"), _date_part),
    "DATE_DIFF": _date_diff,
    "RANGE_BUCKET": _range_bucket,
    "ROUND": _round,
}
"""Functions with a form of their own."""
