"""Aggregates and windows: what is between their parentheses, and which node it is.

Trust: public.  Plan and engine read one tree, so what is misread here costs meaning, never privacy.

Bounds and budgets are taken exactly as written.

Definition.  Over the rows in which neither x nor y is NULL, COVAR_POP(x, y) is AVG(x y) - AVG(x)
AVG(y), COVAR_SAMP is that times n / (n - 1), and CORR is COVAR_POP over the product of the two
deviations, moved between -1 and 1, where it lies without noise.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Final, final

from sqlglot import exp

from discreet.query import functions as signatures
from discreet.query.expressions import (
    BOUNDED_BY_GROUP,
    FINEST_LEVEL,
    Aggregate,
    Call,
    Expression,
    Grouping,
    Literal,
    Order,
    Pair,
    Window,
    conjunction,
    transformed,
)
from discreet.query.nodes import MOST_ENTRIES, too_much
from discreet.query.source_text import CLAUSES, Span, unknown, unreadable, unsupported
from discreet.query.sql.functions import call, written_out
from discreet.query.sql.reading import Reading, lowers
from discreet.query.sql.tokens import Token, TokenKind

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


def _arguments(reading: Reading, node: Any) -> Arguments:
    """Lower the arguments of an aggregate."""
    reading.only(node, "this", "expressions")
    reading.use(node)
    parts = Arguments(reading.token(node))
    for value in node.expressions:
        if isinstance(value, exp.Kwarg):
            _named(reading, value, parts)
        elif parts.star or parts.named:
            what = "a value follows * or a named argument."
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
                "something follows the value.",
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
            "what is not understood may change the promise.",
            f"use {BY_GROUP}, {BY_ROW} or epsilon.",
        )
    read = _epsilon if name == EPSILON else _pair
    value: object = read(reading, node.expression)
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
            "no number is between them.",
            "write (low, high).",
        )
    return low, high


def _epsilon(reading: Reading, node: Any) -> Fraction:
    value, span = reading.signed(node, "epsilon")
    if value <= 0:
        raise unsupported(
            span,
            "epsilon is not above zero.",
            "nothing can be told at no price.",
            "give epsilon above zero.",
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
_COVARIANCE: Final = "(AVG(x * y) - AVG(x) * AVG(y))"
_COVARIANCES: Final = {
    "COVAR_POP": _COVARIANCE,
    "COVAR_SAMP": f"{_COVARIANCE} * (COUNT(*) / (COUNT(*) - 1))",
    "CORR": f"LEAST(GREATEST({_COVARIANCE} / (STDDEV_POP(x) * STDDEV_POP(y)), -1), 1)",
}
"""Aggregates that are formulas of others."""
AGGREGATES: Final = frozenset({*signatures.AGGREGATES, *_SYNONYMS, *_COVARIANCES})
"""The names of aggregates in a text."""

_TAKES_ROW: Final = tuple(name for name, each in signatures.AGGREGATES.items() if each.clamps)
_TELLS_APART: Final = frozenset({"COUNT", "SUM"})
_EXTREMES: Final = frozenset({"MIN", "MAX"})
_CONDITIONAL: Final = frozenset({"COUNTIF", "COUNT_IF"})


@lowers(exp.Anonymous)
def _called(reading: Reading, node: Any) -> Expression:
    """Lower an aggregate, or a function."""
    reading.only(node, "this", "expressions")
    name = reading.token(node)
    if isinstance(node.this, exp.Expr) or name.kind is not TokenKind.NAME:
        raise unknown(name.span, "a function is not quoted.", "write its name without quotes.")
    if _word(node) in AGGREGATES or _word(node) in WINDOWS:
        return _aggregate(reading, node, None, reading.span(node))
    if _word(node) == "GROUPING":
        return _grouping(reading, node)
    return call(reading, node)


def _grouping(reading: Reading, node: Any) -> Expression:
    """Lower GROUPING(a, b): 2 * GROUPING(a) + GROUPING(b)."""
    span = reading.span(node)
    found: Expression | None = None
    for each in node.expressions:
        bit = Grouping(reading.lower(each), span=span)
        doubled = None if found is None else Call("*", (found, Literal(2)), span=span)
        found = bit if doubled is None else Call("+", (doubled, bit), span=span)
    if found is None:
        raise unknown(span, "GROUPING takes keys.", "write GROUPING(key).")
    return found


def _word(node: Any) -> str:
    return str(node.this).upper() if str(node.this).isascii() else str(node.this)


@lowers(exp.Filter)
def _filtered(reading: Reading, node: Any) -> Expression:
    """Lower an aggregate with FILTER (WHERE ...)."""
    reading.only(node, "this", "expression")
    if not isinstance(node.this, exp.Anonymous) or _word(node.this) not in AGGREGATES:
        raise reading.refused(node)
    condition = node.expression
    if not isinstance(condition, exp.Where):
        raise reading.refused(node)
    reading.preceded(condition.this, "WHERE", "write FILTER (WHERE condition).")
    return _aggregate(reading, node.this, condition.this, reading.span(node))


def _aggregate(reading: Reading, node: Any, condition: Any, span: Span) -> Expression:
    parts = _arguments(reading, node)
    if condition is not None:
        parts.where = reading.lower(condition)
    word = parts.word
    if word not in AGGREGATES:
        raise unsupported(
            parts.name.span,
            f"{word} has no OVER.",
            "it is a function of a window.",
            f"write {word}(...) OVER (PARTITION BY ...).",
        )
    if word in _COVARIANCES:
        _refuse_more(parts)
        return _covariance(word, parts, span)
    if word == "APPROX_TOP_COUNT":
        _take_number(reading, parts.values, span)
    return _made(parts, span)


def _covariance(word: str, parts: Arguments, span: Span) -> Expression:
    """Write out a covariance or a correlation, over the rows that have both values."""
    if len(parts.values) != 2:
        raise unknown(span, f"{word} takes two values.", f"write {word}(x, y).")
    where = parts.where
    for value in dict.fromkeys(parts.values):
        where = conjunction([where, Call("NOT", (Call("IS NULL", (value,)),), span=span)], span)

    def over(node: Expression) -> Expression | None:
        return replace(node, where=where) if isinstance(node, Aggregate) else None

    return transformed(written_out(_COVARIANCES[word], parts.values, span), over)


def _refuse_more(parts: Arguments) -> None:
    """Refuse what a formula of several aggregates cannot have."""
    if parts.star or parts.distinct or parts.named:
        raise unsupported(
            parts.name.span,
            f"{parts.word} takes two columns, and neither DISTINCT nor bounds.",
            "it is computed from several means, each with bounds of its own.",
            "declare bounds in the policy, or write it out with AVG(x * y), AVG(x) and AVG(y).",
        )


def _made(parts: Arguments, span: Span) -> Aggregate:
    word = parts.word
    values, where = _counted_if(parts, span)
    parameter = _read_level(word, values, span) if word in QUANTILES else None
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
            "a value that several people share would belong to none.",
            do,
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
    for bounds, allowed in ((BY_GROUP, BOUNDED_BY_GROUP), (BY_ROW, _TAKES_ROW)):
        if bounds in parts.named and made.function not in allowed:
            raise unsupported(
                parts.named[bounds][1],
                f"{parts.word} has no {bounds}.",
                "the bound would have no effect.",
                f"{bounds} is for {', '.join(allowed)}.",
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
    return [], conjunction([parts.where, parts.values[0]], span)


def _take_number(reading: Reading, values: list[Expression], span: Span) -> None:
    """Take the number of values off APPROX_TOP_COUNT; several are a question of their own."""
    last = values.pop() if len(values) == 2 else None
    number = last.value if isinstance(last, Literal) else None
    if type(number) is not int or not 1 <= number <= _MOST_VALUES or reading.top is not None:
        raise unsupported(
            span,
            f"APPROX_TOP_COUNT takes a column and a number from 1 to {_MOST_VALUES}, once.",
            "the number says how many of the most frequent values are shown.",
            "write APPROX_TOP_COUNT(x, 10).",
        )
    if number > 1:
        reading.top = number, span


_MOST_VALUES: Final = 10_000
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
        "which values are meant must be known before any data is read.",
        f"write {do}.",
    )


def picked_quantile(reading: Reading, node: Any) -> Aggregate:
    """Lower [OFFSET(k)] or [ORDINAL(k)] behind a list of n quantiles: the quantile k / n."""
    form = "write APPROX_QUANTILES(x, 100)[OFFSET(50)]."
    reading.only(node, "this", "expressions")
    quantiles = _called(reading, node.this)
    if not isinstance(quantiles, Aggregate):
        raise reading.refused(node)
    picked = node.expressions[0] if len(node.expressions) == 1 else None
    if not isinstance(picked, exp.Anonymous) or len(picked.expressions) != 1:
        raise unreadable(reading.span(node), "a place in the list is missing here.", form)
    reading.use(picked)
    word = _word(picked)
    place, span = reading.signed(picked.expressions[0], "a place in the list")
    place -= word in {"ORDINAL", "SAFE_ORDINAL"}
    count = quantiles.parameter or Fraction(1)
    if word not in _PLACES or place.denominator != 1 or not 0 <= place <= count:
        raise unsupported(
            span,
            "there is no such place in the list.",
            f"it has {count + 1} quantiles, from OFFSET(0) to OFFSET({count}).",
            form,
        )
    first, last = reading.at(node)
    closing = reading.behind(last).word == "]"
    span = reading.between(first, last + closing)
    level = place / count
    return replace(quantiles, function="PERCENTILE_CONT", parameter=level, span=span)


# --- windows --------------------------------------------------------------------------------------

WINDOWS: Final = frozenset({*signatures.WINDOWS, "AVG"})
"""The names of functions that may be before OVER."""


@lowers(exp.Window)
def _window(reading: Reading, node: Any) -> Expression:
    """Lower a window: what is before OVER, its partition and its order."""
    if node.args.get("alias") is not None:
        reading.use(node.args["alias"])
        place = reading.span(node.args["alias"])
        raise unsupported(place, "windows have no names here.", *CLAUSES["WINDOW"])
    if node.args.get("spec") is not None:
        for word in ("ROWS", "RANGE", "GROUPS"):
            place = reading.find(node, word)
            if place.words.upper() == word:
                raise unsupported(place, f"{word} is not answered here.", *CLAUSES[word])
    reading.only(node, "this", "partition_by", "order", "over")
    span = reading.span(node)
    inner, condition = node.this, None
    if isinstance(inner, exp.Filter):
        inner, condition = inner.this, inner.expression
    if not isinstance(inner, exp.Anonymous):
        raise reading.refused(node)
    parts = _arguments(reading, inner)
    partition = tuple(reading.lower(each) for each in node.args.get("partition_by") or ())
    order = node.args.get("order")
    entries = orders(reading, [] if order is None else order.expressions)
    if parts.distinct or parts.named or condition is not None or parts.word not in WINDOWS:
        raise unsupported(
            span,
            "this window has DISTINCT, FILTER, bounds or a function that windows do not have.",
            "windows are plain functions of a person's own rows.",
            "leave it out.",
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
        found.append(Order(reading.expression(node.this), *flags))
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
