"""Functions, aggregates and windows: what stands between their parentheses, and which node it is.

Trust: public.  Plan and engine read one tree, so what is misread here costs meaning, never privacy.

What a function means is decided by its name alone, in every dialect.  Bounds and budgets are taken
exactly as written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from fractions import Fraction
from itertools import pairwise
from typing import Any, Final, final

from sqlglot import exp

from discreet.query import functions as signatures
from discreet.query.expressions import (
    FINEST_LEVEL,
    Aggregate,
    Call,
    Case,
    Cast,
    Expression,
    Literal,
    Order,
    Pair,
    Window,
)
from discreet.query.functions import ANYWHERE, PARTS, TIME_PARTS
from discreet.query.node_checks import MOST_ENTRIES, check_size, too_much
from discreet.query.source_text import CLAUSES, Span, unknown, unreadable, unsupported
from discreet.query.sql.covariances import COVARIANCES, covariance
from discreet.query.sql.reading import Reading
from discreet.query.sql.select_syntax import both
from discreet.query.sql.tokens import Token, TokenKind
from discreet.query.types import NUMBERS, Type

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
            reading.tokens[min(first + 1, len(reading.tokens) - 1)].span,
            "an interval is one whole number of days, weeks, months, quarters or years.",
            ("only these mean the same on every engine.", INTERVALS),
        )
    return sign * int(digits), word, reading.span(node)


def word_of(node: Any) -> str:
    """Return the name of a function in capitals."""
    return str(node.this).upper() if str(node.this).isascii() else str(node.this)


def call(reading: Reading, node: Any) -> Expression:
    """Lower a function and its arguments."""
    reading.only(node, "this", "expressions")
    word, name = word_of(node), reading.token(node)
    reading.use(node)
    if isinstance(node.this, exp.Expr) or name.kind is not TokenKind.NAME:
        raise unknown(name.span, "a function is not quoted.", "write its name without quotes.")
    if word in AGGREGATES or word in WINDOWS:
        return _aggregate(reading, node, None, reading.span(node))
    if word in _SPECIAL:
        return replace(_SPECIAL[word](reading, node), span=reading.span(node))
    target = SYNONYMS.get(word, word)
    function = None if target in _WORDS else ANYWHERE.get(target)
    if function is None:
        near = [_ELSEWHERE[word]] if word in _ELSEWHERE else _similar(word)
        do = "see the list of functions; compute other things beforehand."
        what = f"there is no function {word} here."
        raise unknown(name.span, what, f"did you mean {near[0]}?" if near else do)
    values = _arguments(reading, node)
    if not function.accepts(len(values)):
        raise unknown(
            reading.span(node),
            f"{word} does not take {len(values)} arguments.",
            f"see the list of functions; it gives {function.meaning}.",
        )
    return Call(target, values, span=reading.span(node))


def _similar(word: str) -> list[str]:
    return get_close_matches(word, [*ANYWHERE, *AGGREGATES, *WINDOWS], n=1, cutoff=0.75)


def _arguments(reading: Reading, node: Any) -> tuple[Expression, ...]:
    """Lower plain values."""
    for value in node.expressions:
        if isinstance(value, exp.Star | exp.Distinct):
            raise unreadable(
                reading.span(value),
                f"{word_of(node)} takes values.",
                "write a column or a value.",
            )
    return tuple(reading.lower(value) for value in node.expressions)


def _exactly(count: int, reading: Reading, node: Any) -> tuple[Expression, ...]:
    values = _arguments(reading, node)
    if len(values) != count:
        raise unknown(
            reading.span(node),
            f"{word_of(node)} does not take {len(values)} arguments.",
            f"give it {count}.",
        )
    return values


def _if(reading: Reading, node: Any) -> Expression:
    condition, yes, no = _exactly(3, reading, node)
    return Case(((condition, yes),), no)


def _nullif(reading: Reading, node: Any) -> Expression:
    first, second = _exactly(2, reading, node)
    same = Call("=", (first, second), span=first.span)
    return check_size(Case(((same, Literal(None)),), first))


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
            ("the digits are the same for all rows.", "write ROUND(x, 2)."),
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


def _trunc(reading: Reading, node: Any) -> Expression:
    (inner,) = _exactly(1, reading, node)
    below = Call("<", (inner, Literal(0)), span=inner.span)
    return check_size(Case(((below, Call("CEIL", (inner,))),), Call("FLOOR", (inner,))))


def _date(reading: Reading, node: Any) -> Expression:
    (inner,) = _exactly(1, reading, node)
    return Cast(inner, Type.DATE)


def _left(reading: Reading, node: Any) -> Expression:
    text, count = _exactly(2, reading, node)
    return Call("SUBSTR", (text, Literal(1, span=text.span), count))


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
                (
                    "only parts that every engine counts alike are known: a WEEK begins on Sunday "
                    "for some, an ISOWEEK on Monday for all."
                ),
                f"use one of: {', '.join(PARTS[function])}.",
            ),
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


def _year(reading: Reading, node: Any) -> Expression:
    (inner,) = _exactly(1, reading, node)
    return Call("EXTRACT", (Literal(word_of(node), span=reading.token(node).span), inner))


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
    form = f"write {word_of(node)}(day, INTERVAL 7 DAY)."
    day, length = _values(reading, node, form, 2)
    if not isinstance(length, exp.Interval):
        raise unreadable(reading.span(length), "an interval is missing here.", form)
    inner = reading.lower(day)
    count, unit, span = interval(reading, length)
    if unit not in DAYS:
        raise unsupported(
            span,
            "an interval is a written number of days or weeks.",
            ("months have different lengths, and engines count them differently.", form),
        )
    days = Literal(count * DAYS[unit], span=span)
    return Call("DATE_ADD", (inner, negated(days, span) if word_of(node) == "DATE_SUB" else days))


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
            ("they are public, and the same for all rows.", "write [0, 10, 20]."),
        )
    return Call("RANGE_BUCKET", (inner, *edges))


def _rising(edges: tuple[Expression, ...]) -> bool:
    numbers = [edge.value for edge in edges if isinstance(edge, Literal) and edge.type in NUMBERS]
    exact = [number for number in numbers if isinstance(number, int | Fraction)]
    return bool(exact) and len(exact) == len(edges) and all(a < b for a, b in pairwise(exact))


_SPECIAL: Final[dict[str, Callable[[Reading, Any], Expression]]] = {
    **dict.fromkeys(("DATE_TRUNC", "DATETIME_TRUNC", "TIMESTAMP_TRUNC"), _date_trunc),
    **dict.fromkeys(("DATE_ADD", "DATE_SUB"), _date_add),
    **dict.fromkeys(("YEAR", "MONTH", "DAY", "QUARTER", *TIME_PARTS), _year),
    **dict.fromkeys(("DATE_PART", "DATEPART"), _date_part),
    "DATE": _date,
    "DATE_DIFF": _date_diff,
    **dict.fromkeys(("IF", "IIF"), _if),
    "LEFT": _left,
    "NULLIF": _nullif,
    "RANGE_BUCKET": _range_bucket,
    "ROUND": _round,
    **dict.fromkeys(("TRUNC", "TRUNCATE"), _trunc),
}
"""Functions with a form of their own."""


# --- aggregates -----------------------------------------------------------------------------------

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


def arguments(reading: Reading, node: Any) -> Arguments:
    """Lower the arguments of an aggregate."""
    reading.only(node, "this", "expressions")
    reading.use(node)
    parts = Arguments(reading.token(node))
    for value in node.expressions:
        if isinstance(value, exp.Kwarg):
            _named(reading, value, parts)
        elif parts.star or parts.named:
            what = "a value stands after * or a named argument."
            raise unreadable(reading.span(value), what, "leave it out.")
        elif isinstance(value, exp.Star):
            reading.only(value)
            parts.star = True
        elif isinstance(value, exp.Distinct) and not parts.values:
            reading.only(value, "expressions")
            parts.distinct = True
            parts.values += [reading.lower(each) for each in value.expressions]
        elif isinstance(value, exp.Order | exp.Limit | exp.HavingMax):
            behind = (
                reading.at(value.this)[1] + 1 if value.this is not None else reading.at(value)[0]
            )
            raise unreadable(
                reading.tokens[behind].span,
                "something stands behind the value.",
                "close the parenthesis; ORDER BY, LIMIT and the like are not used inside.",
            )
        else:
            parts.values.append(reading.lower(value))
    return parts


def _named(reading: Reading, node: Any, parts: Arguments) -> None:
    first, last = reading.at(node.expression)
    first -= 2
    token = reading.tokens[first]
    name, span = token.text.lower(), reading.between(first, last)
    reading.use_word(first)
    if name not in {BY_GROUP, BY_ROW, EPSILON}:
        raise unsupported(
            reading.between(first, first + 1),
            f"there is no named argument {name} here.",
            (
                "what is not understood may change the promise.",
                f"use {BY_GROUP}, {BY_ROW} or epsilon.",
            ),
        )
    value: object
    value = (
        _epsilon(reading, node.expression) if name == EPSILON else _pair(reading, node.expression)
    )
    if name in parts.named:
        raise unreadable(span, f"{name} is given twice.", "give it once.")
    parts.named[name] = value, span


def _pair(reading: Reading, node: Any) -> Pair:
    if not isinstance(node, exp.Tuple) or len(node.expressions) != 2:
        raise unreadable(reading.span(node), "two bounds are missing here.", "write (low, high).")
    (low, _), (high, _) = (reading.signed(each, "a bound") for each in node.expressions)
    if low > high:
        raise unsupported(
            reading.span(node),
            "the lower bound is above the upper one.",
            ("no number lies between them.", "write (low, high)."),
        )
    return low, high


def _epsilon(reading: Reading, node: Any) -> Fraction:
    value, span = reading.signed(node, "epsilon")
    if value <= 0:
        raise unsupported(
            span,
            "epsilon is not above zero.",
            ("nothing can be told at no price.", "give epsilon above zero."),
        )
    return value


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


def aggregate(reading: Reading, node: Any) -> Expression:
    """Lower an aggregate with FILTER (WHERE ...)."""
    reading.only(node, "this", "expression")
    if not isinstance(node.this, exp.Anonymous) or word_of(node.this) not in AGGREGATES:
        raise reading.refused(node)
    condition = node.expression
    if not isinstance(condition, exp.Where):
        raise reading.refused(node)
    reading.preceded(condition.this, "WHERE", "write FILTER (WHERE condition).")
    return _aggregate(reading, node.this, condition.this, reading.span(node))


def _aggregate(reading: Reading, node: Any, condition: Any, span: Span) -> Expression:
    parts = arguments(reading, node)
    if condition is not None:
        parts.where = reading.lower(condition)
    word = parts.word
    if word not in AGGREGATES:
        raise unsupported(
            parts.name.span,
            f"{word} has no OVER.",
            ("it is a function of a window.", f"write {word}(...) OVER (PARTITION BY ...)."),
        )
    if word in COVARIANCES:
        _refuse_more(parts)
        return covariance(word, parts.values, parts.where, span)
    return _made(parts, span)


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
    parameter = _read_level(word, values, span) if word in QUANTILES else None
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


QUANTILES: Final = frozenset({"APPROX_QUANTILES", "MEDIAN", "PERCENTILE_CONT", "QUANTILE_CONT"})
"""The names of aggregates that have a level, or a number of them."""
_PLACES: Final = frozenset({"OFFSET", "SAFE_OFFSET", "ORDINAL", "SAFE_ORDINAL"})


def _read_level(word: str, values: list[Expression], span: Span) -> Fraction:
    """Take the fraction of a percentile, or the number of quantiles, off the values."""
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


def picked_quantile(reading: Reading, node: Any) -> Aggregate:
    """Lower [OFFSET(k)] or [ORDINAL(k)] behind a list of n quantiles: the quantile k / n."""
    form = "write APPROX_QUANTILES(x, 100)[OFFSET(50)]."
    reading.only(node, "this", "expressions")
    quantiles = call(reading, node.this)
    if not isinstance(quantiles, Aggregate):
        raise reading.refused(node)
    picked = node.expressions[0] if len(node.expressions) == 1 else None
    if not isinstance(picked, exp.Anonymous) or len(picked.expressions) != 1:
        raise unreadable(reading.span(node), "a place in the list is missing here.", form)
    reading.use(picked)
    word = word_of(picked)
    place, span = reading.signed(picked.expressions[0], "a place in the list")
    place -= word in {"ORDINAL", "SAFE_ORDINAL"}
    count = quantiles.parameter or Fraction(1)
    if word not in _PLACES or place.denominator != 1 or not 0 <= place <= count:
        raise unsupported(
            span,
            "there is no such place in the list.",
            (f"it has {count + 1} quantiles, from OFFSET(0) to OFFSET({count}).", form),
        )
    first, last = reading.at(node)
    closing = reading.tokens[min(last + 1, len(reading.tokens) - 1)].word == "]"
    span = reading.between(first, last + closing)
    level = place / count
    return replace(quantiles, function="PERCENTILE_CONT", parameter=level, span=span)


# --- windows --------------------------------------------------------------------------------------

WINDOWS: Final = frozenset({*signatures.WINDOWS, "AVG"})
"""The names of functions that may stand before OVER."""


def window(reading: Reading, node: Any) -> Expression:
    """Lower a window: what stands before OVER, its partition and its order."""
    if node.args.get("alias") is not None:
        reading.use(node.args["alias"])
        place = reading.span(node.args["alias"])
        raise unsupported(place, "windows have no names here.", CLAUSES["WINDOW"])
    if node.args.get("spec") is not None:
        for word in ("ROWS", "RANGE", "GROUPS"):
            place = reading.find(node, word)
            if place.words.upper() == word:
                raise unsupported(place, f"{word} is not answered here.", CLAUSES[word])
    reading.only(node, "this", "partition_by", "order", "over")
    span = reading.span(node)
    inner, condition = node.this, None
    if isinstance(inner, exp.Filter):
        inner, condition = inner.this, inner.expression
    if not isinstance(inner, exp.Anonymous):
        raise reading.refused(node)
    parts = arguments(reading, inner)
    partition = tuple(reading.lower(each) for each in node.args.get("partition_by") or ())
    order = node.args.get("order")
    entries = orders(reading, [] if order is None else order.expressions)
    if parts.distinct or parts.named or condition is not None or parts.word not in WINDOWS:
        raise unsupported(
            span,
            "this window has DISTINCT, FILTER, bounds or a function that windows do not have.",
            ("windows are plain functions of a person's own rows.", "leave it out."),
        )
    return _made_window(parts, partition, entries, span)


def orders(reading: Reading, nodes: list[Any]) -> tuple[Order, ...]:
    """Lower what follows ORDER BY."""
    if len(nodes) > MOST_ENTRIES:
        raise too_much(f"the order has more than {MOST_ENTRIES} entries.", reading.span(nodes[-1]))
    found = []
    for node in nodes:
        reading.only(node, "this", "desc", "nulls_first")
        flags = bool(node.args.get("desc")), bool(node.args.get("nulls_first"))
        found.append(Order(check_size(reading.lower(node.this)), *flags))
    return tuple(found)


def _made_window(
    parts: Arguments, partition: tuple[Expression, ...], order: tuple[Order, ...], span: Span
) -> Expression:
    """Check the number of arguments; a mean is a sum over a count."""
    word, values = parts.word, tuple(parts.values)
    if word == "AVG" and len(values) == 1:
        both = (Window(name, values, partition, order, span=span) for name in ("SUM", "COUNT"))
        return Call("/", tuple(both), span=span)
    if word in {"LAG", "LEAD"} and len(values) == 1:
        values = (*values, Literal(1, span=span))
    function = signatures.WINDOWS.get(word)
    bare = word == "COUNT" and not values and not parts.star
    starred = parts.star and word != "COUNT"
    if function is None or not function.accepts(len(values)) or bare or starred:
        raise unknown(
            parts.name.span,
            f"{word} does not take these values.",
            "see the list of windows.",
        )
    return Window(word, values, partition, order, span=span)
