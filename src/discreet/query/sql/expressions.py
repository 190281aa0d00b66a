"""Expressions: sqlglot's nodes lowered into ours, by a list of kinds and of their parts.

Trust: public.  Plan and engine read one tree, so what is misread here costs meaning, never privacy.
"""

from __future__ import annotations

import calendar
from datetime import date, timedelta
from fractions import Fraction
from typing import Any, Final

from sqlglot import exp

from discreet.query.expressions import (
    Call,
    Case,
    Cast,
    Column,
    Expression,
    Literal,
    Star,
    check_size,
)
from discreet.query.functions import moment
from discreet.query.source_text import (
    CLAUSES,
    Span,
    inner_query_refused,
    unreadable,
    unsupported,
)
from discreet.query.sql.aggregates import picked_quantile
from discreet.query.sql.functions import DAYS, INTERVALS, interval, negated, part_of, written_out
from discreet.query.sql.reading import Reading, lowers
from discreet.query.sql.tokens import TokenKind, number
from discreet.query.types import TYPES_BY_NAME, Type

_COMPARED: Final[dict[type, str]] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
_BINARY: Final[dict[type, str]] = {
    **_COMPARED,
    exp.And: "AND",
    exp.Or: "OR",
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "MOD",
    exp.DPipe: "CONCAT",
}
_FLAT: Final = frozenset({"AND", "OR", "CONCAT"})
"""The operators that are associative."""
_CONDITIONS: Final = (*_COMPARED, exp.In, exp.Between, exp.Like, exp.ILike, exp.Is, exp.Exists)
_CHAINED: Final = (*_CONDITIONS, exp.NullSafeEQ, exp.NullSafeNEQ)
_MONTHS: Final = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_LISTS: Final = "values are numbers, text, dates and truth values."
_TEXTS: Final = frozenset({"CHAR", "CHARACTER", "STRING", "VARCHAR"})
_MOST_LETTERS: Final = 10**6


def _is_decimal(node: Any) -> bool:
    """Return whether a quotient has a decimal or a cast in it, so that no remainder is dropped."""
    return any(
        isinstance(part, exp.Cast) or (isinstance(part, exp.Literal) and "." in part.name)
        for part in node.walk()
        if not (isinstance(part, exp.Literal) and part.is_string)
    )


@lowers(*_BINARY)
def _binary(reading: Reading, node: Any) -> Expression:
    name = _BINARY[type(node)]
    reading.only(node, "this", "expression", "typed", "safe")
    if node.args.get("typed") and not _is_decimal(node):
        raise unsupported(
            reading.span(node),
            "in this dialect / drops the remainder if both numbers are integers.",
            "here it never does, so the question would mean something else.",
            "write DIV(a, b) to drop it, or a * 1.0 / b to keep it.",
        )
    if type(node) in _COMPARED:
        for part in (node.this, node.expression):
            _check_chain(reading, node, part)
    if name in {"+", "-"} and isinstance(node.expression, exp.Interval):
        return _shifted(reading, node, -1 if name == "-" else 1)
    if name not in _FLAT:
        parts = [reading.lower(node.this), reading.lower(node.expression)]
        return Call(name, tuple(parts), span=reading.span(node))
    operands: list[Any] = []
    inner = node
    while type(inner) is type(node):
        operands.append(inner.expression)
        reading.only(inner, "this", "expression", "safe")
        inner = inner.this
    read = [reading.lower(each) for each in (inner, *reversed(operands))]
    flat = [
        part
        for each in read
        for part in (
            each.children() if isinstance(each, Call) and each.function == name else (each,)
        )
    ]
    first, last = reading.at(inner)[0], reading.at(operands[0])[1]
    node.meta["at"] = first, last
    return Call(name, tuple(flat), span=reading.between(first, last))


def _check_chain(reading: Reading, node: Any, part: Any) -> None:
    """Refuse a comparison of a comparison without parentheses, and NOT inside of one."""
    if isinstance(part, exp.Not) and not isinstance(part.this, _CHAINED):
        raise unreadable(
            reading.find(part, "NOT"), "NOT is used inside a comparison.", "write (NOT x)."
        )
    chained: tuple[Any, ...] = (*_CHAINED, exp.Not)
    if isinstance(part, chained):
        last = reading.at(part)[1]
        if part is not node.this:
            last = reading.at(part.this)[1]
        token = reading.behind(last)
        raise unreadable(
            token.span,
            "an operator follows a comparison.",
            "put the comparison into parentheses, or join two of them with AND.",
        )


@lowers(exp.Paren)
def _paren(reading: Reading, node: Any) -> Expression:
    reading.only(node, "this")
    return reading.lower(node.this)


@lowers(exp.Column)
def _column(reading: Reading, node: Any) -> Expression:
    reading.only(node, "this", "table", "db", "catalog")
    parts = [node.args.get(name) for name in ("catalog", "db", "table")]
    names = [reading.name(part, "a column") for part in parts if part is not None]
    table = ".".join(names) or None
    if isinstance(node.this, exp.Star):
        return _all_columns(reading, node.this, table, reading.span(node))
    return Column(reading.name(node.this, "a column"), table, span=reading.span(node))


@lowers(exp.Star)
def _star(reading: Reading, node: Any) -> Expression:
    return _all_columns(reading, node, None, reading.span(node))


def _all_columns(reading: Reading, node: Any, table: str | None, span: Span) -> Star:
    """Lower a star; one that leaves out columns is refused."""
    for word in ("except_", "replace", "rename"):
        if node.args.get(word):
            words = {"except_": ("EXCEPT", "EXCLUDE")}.get(word, (word.upper(),))
            places = (token.span for token in reading.tokens if token.word in words)
            raise unsupported(
                next(places, span),
                "columns are named, not left out.",
                "what is left out changes with the table.",
                "name the columns that you need.",
            )
    reading.only(node)
    return Star(table, span=span)


@lowers(exp.Identifier)
def _identifier(reading: Reading, node: Any) -> Expression:
    return Column(reading.name(node, "a column"), span=reading.span(node))


@lowers(exp.Literal)
def _literal(reading: Reading, node: Any) -> Expression:
    reading.use(node)
    token = reading.token(node)
    if node.is_string:
        return Literal(str(node.this), span=token.span)
    if token.kind is not TokenKind.NUMBER:
        raise reading.refused(node)
    return Literal(number(token), span=token.span)


@lowers(exp.Null, exp.Boolean)
def _constant(reading: Reading, node: Any) -> Expression:
    value = None if isinstance(node, exp.Null) else bool(node.this)
    reading.use(node)
    return Literal(value, span=reading.span(node))


@lowers(exp.Neg)
def _negative(reading: Reading, node: Any) -> Expression:
    reading.only(node, "this")
    return negated(reading.lower(node.this), reading.span(node))


@lowers(exp.Not)
def _not(reading: Reading, node: Any) -> Expression:
    reading.only(node, "this")
    return Call("NOT", (reading.lower(node.this),), span=reading.span(node))


def _turned(reading: Reading, node: Any, read: Expression) -> Expression:
    if not node.args.get("negate"):
        return read
    return Call("NOT", (read,), span=reading.span(node))


@lowers(exp.Is)
def _is(reading: Reading, node: Any) -> Expression:
    reading.only(node, "this", "expression", "negate")
    _check_chain(reading, node, node.this)
    right = node.expression
    word = "NULL" if isinstance(right, exp.Null) else str(right.this).upper()
    if not isinstance(right, exp.Null | exp.Boolean):
        raise unreadable(
            reading.span(right),
            "IS is followed by NULL, TRUE, FALSE or DISTINCT FROM.",
            "write IS NULL, or compare with = and <>.",
        )
    reading.use(right)
    read = Call(f"IS {word}", (reading.lower(node.this),), span=reading.span(node))
    return _turned(reading, node, read)


@lowers(exp.NullSafeEQ, exp.NullSafeNEQ)
def _distinct_from(reading: Reading, node: Any) -> Expression:
    reading.only(node, "this", "expression")
    sides = reading.lower(node.this), reading.lower(node.expression)
    span = reading.span(node)
    same = written_out("(x = y) IS TRUE OR x IS NULL AND y IS NULL", sides, span)
    return same if isinstance(node, exp.NullSafeEQ) else Call("NOT", (same,), span=span)


@lowers(exp.Between)
def _between(reading: Reading, node: Any) -> Expression:
    if node.args.get("symmetric") is not None:
        raise reading.refused(node)
    reading.only(node, "this", "low", "high", "negate")
    _check_chain(reading, node, node.this)
    reading.preceded(node.args["high"], "AND", "write BETWEEN low AND high.")
    values = [reading.lower(node.args[name]) for name in ("this", "low", "high")]
    between = written_out("x >= y AND x <= z", values, reading.span(node))
    return _turned(reading, node, between)


@lowers(exp.In)
def _in(reading: Reading, node: Any) -> Expression:
    if node.args.get("field") is not None:
        place = reading.span(node.args["field"])
        raise unreadable(place, "IN is followed by a list.", "write IN (1, 2, 3).")
    reading.only(node, "this", "expressions", "query", "negate")
    _check_chain(reading, node, node.this)
    left = reading.lower(node.this)
    first, last = reading.at(node)
    if reading.behind(last).word == ")":
        node.meta["at"] = first, last + 1
    query = node.args.get("query")
    if query is not None:
        inner = query.this if isinstance(query, exp.Subquery) else query
        return _turned(reading, node, _inner_query(reading, node, inner, left))
    values = [reading.lower(value) for value in node.expressions]
    for value in values:
        if not isinstance(value, Literal) or value.value is None:
            raise unsupported(
                value.span or reading.span(node),
                "the list of IN holds something else than a written value.",
                "a list is checked before any data is read, and NULL is in no list.",
                "write numbers, text or dates; compare columns with = and OR.",
            )
    if not values:
        raise unreadable(reading.span(node), "IN is followed by a list.", "write IN (1, 2, 3).")
    return _turned(reading, node, Call("IN", (left, *values), span=reading.span(node)))


@lowers(exp.Exists)
def _exists(reading: Reading, node: Any) -> Expression:
    reading.only(node, "this")
    return _inner_query(reading, node, node.this, None)


def _inner_query(reading: Reading, node: Any, query: Any, left: Expression | None) -> Expression:
    """Lower a subquery that chooses rows, if there can be one."""
    context = reading.inner[-1] if reading.inner else None
    if context is None or not context.chooses:
        raise inner_query_refused(reading.find(query, "SELECT"))
    return context.query(reading, node, query, left)  # type: ignore[no-any-return]


@lowers(exp.Subquery)
def _subquery(reading: Reading, node: Any) -> Expression:
    """Lower a subquery that stands for one value, if there can be one."""
    context = reading.inner[-1] if reading.inner else None
    if context is None:
        why = "a value of a private table is an answer of its own, with its own noise and price."
        do = (
            "compare with it in WHERE or HAVING, if it is of public tables or of a person's own "
            "rows; or ask for the value first, and write the number that comes back."
        )
        what = "a subquery stands for one value here."
        raise unsupported(reading.find(node, "SELECT"), what, why, do)
    reading.only(node, "this")
    return context.value(reading, node)  # type: ignore[no-any-return]


@lowers(exp.Like, exp.ILike)
def _like(reading: Reading, node: Any) -> Expression:
    reading.only(node, "this", "expression", "negate")
    _check_chain(reading, node, node.this)
    left, pattern = reading.lower(node.this), reading.lower(node.expression)
    span = reading.span(node)
    if not isinstance(pattern, Literal) or not isinstance(pattern.value, str):
        raise unsupported(
            pattern.span,
            "the pattern of LIKE is not a written text.",
            "it must be the same for all rows.",
            "write a pattern such as 'A%'.",
        )
    if isinstance(node, exp.ILike):
        left = Call("LOWER", (left,), span=left.span)
        lower = "".join(c.lower() if c.isascii() else c for c in pattern.value)  # as LOWER does
        pattern = Literal(lower, span=pattern.span)
    return _turned(reading, node, Call("LIKE", (left, pattern), span=span))


@lowers(exp.Case)
def _case(reading: Reading, node: Any) -> Expression:
    reading.only(node, "this", "ifs", "default")
    subject = None if node.this is None else reading.lower(node.this)
    branches: list[tuple[Expression, Expression]] = []
    for branch in node.args["ifs"]:
        reading.only(branch, "this", "true")
        reading.preceded(branch.args["true"], "THEN", "write WHEN condition THEN value.")
        chosen = reading.lower(branch.this)
        if subject is not None:
            chosen = Call("=", (subject, chosen), span=chosen.span)
        branches.append((chosen, reading.lower(branch.args["true"])))
    default = node.args.get("default")
    if not branches:
        do = "write WHEN condition THEN value."
        raise unreadable(reading.find(node, "ELSE"), "WHEN is missing here.", do)
    other = None if default is None else reading.lower(default)
    return check_size(Case(tuple(branches), other, span=reading.span(node)))


@lowers(exp.Tuple)
def _tuple(reading: Reading, node: Any) -> Expression:
    raise unsupported(
        reading.span(node),
        "a list is used where one value is needed.",
        "values are compared one by one.",
        "write a = 1 AND b = 2.",
    )


# --- casts, days and intervals --------------------------------------------------------------------


@lowers(exp.Cast, exp.TryCast)
def _cast(reading: Reading, node: Any) -> Expression:
    reading.only(node, "this", "to", "safe", "_type")
    first, _ = reading.at(node)
    word = reading.tokens[first].word
    if isinstance(node.this, exp.Literal) and word in {"DATE", "TIMESTAMP", "DATETIME"}:
        reading.use_word(first)
        if reading.tokens[first + 1].word != "::":
            return _dated(reading, node, TYPES_BY_NAME[word])
    inner = reading.lower(node.this)
    if word in {"CAST", "TRY_CAST", "SAFE_CAST"}:
        reading.use_word(first)
    kind, letters = _type(reading, node.args["to"])
    cast = Cast(inner, kind, span=reading.span(node))
    if letters is None:
        return cast
    return Call("SUBSTR", (cast, Literal(1), Literal(letters)), span=cast.span)


def _type(reading: Reading, node: Any) -> tuple[Type, int | None]:
    """Lower the name of a type, and how many letters a text may have."""
    first, last = reading.at(node)
    written = [token.word or token.text for token in reading.tokens[first : last + 1]]
    reading.use_all(node)
    if written[0] in _TEXTS and len(written) == 4 and written[1] == "(":
        token = reading.tokens[first + 2]
        letters = number(token) if token.kind is TokenKind.NUMBER else Fraction(0)
        if letters.denominator != 1 or not 1 <= letters <= _MOST_LETTERS:
            raise unreadable(token.span, "invalid VARCHAR length.", "write VARCHAR(10), or TEXT.")
        return Type.TEXT, int(letters)
    kind = TYPES_BY_NAME.get(" ".join(written))
    if kind is None:
        raise unsupported(
            reading.tokens[first].span,
            "this type is not known here.",
            "only types that hold the same values on every engine are used.",
            "use INTEGER, FLOAT, TEXT, BOOLEAN, DATE or TIMESTAMP.",
        )
    return kind, None


def _dated(reading: Reading, node: Any, kind: Type) -> Literal:
    """Lower DATE '2025-01-31' or TIMESTAMP '2025-01-31 12:00:00'."""
    reading.use(node.this)
    value = moment(str(node.this.this), kind)
    if value is None:
        form = "2025-01-31" if kind is Type.DATE else "2025-01-31 12:00:00"
        raise unreadable(
            reading.span(node),
            f"this is not a {kind.value} of the calendar.",
            f"write it as {kind.value} '{form}'.",
            why="engines would fail on it, or read another day.",
        )
    return Literal(value, span=reading.span(node))


def _shifted(reading: Reading, node: Any, sign: int) -> Expression:
    """Lower + INTERVAL or - INTERVAL behind a day.

    A number of days or weeks is added to any day.  Months have different lengths, and engines agree
    only on how to add them to a written day: the same day of the month so many months later, or the
    last one of that month if it is shorter.
    """
    day = reading.lower(node.this)
    count, word, _ = interval(reading, node.expression)
    span, count = reading.span(node), sign * count
    written = isinstance(day, Literal) and type(day.value) is date
    if word in DAYS:
        count *= DAYS[word]
        if not written:
            return Call("DATE_ADD", (day, Literal(count, span=span)), span=span)
        return _moved(day.value, 0, count, span)  # type: ignore[union-attr, arg-type]
    if word in _MONTHS and written:
        return _moved(day.value, count * _MONTHS[word], 0, span)  # type: ignore[union-attr, arg-type]
    raise unsupported(
        span,
        "this interval cannot be added here.",
        "months have different lengths, and engines count them differently.",
        INTERVALS,
    )


def _moved(day: date, months: int, days: int, span: Span) -> Literal:
    """Return a day that is so many months and days later."""
    whole = 12 * day.year + day.month - 1 + months
    year, month = whole // 12, whole % 12 + 1
    try:
        last = calendar.monthrange(year, month)[1] if 0 < year < 10_000 else 0
        moved = date(year, month, min(day.day, last)) + timedelta(days=days)
    except (ValueError, OverflowError):
        raise unsupported(
            span,
            "this day is not in the years 1 to 9999.",
            "there are no others here.",
            "write another day.",
        ) from None
    return Literal(moved, span=span)


@lowers(exp.Interval)
def _interval_alone(reading: Reading, node: Any) -> Expression:
    raise unsupported(
        reading.find(node, "INTERVAL"), "INTERVAL is not answered here.", *CLAUSES["INTERVAL"]
    )


@lowers(exp.Extract)
def _extract(reading: Reading, node: Any) -> Expression:
    reading.only(node, "this", "expression")
    first, _ = reading.at(node)
    reading.use_word(first)
    part = part_of(reading, first + 2, "EXTRACT")
    if reading.tokens[first + 3].word != "FROM":
        raise unreadable(
            reading.tokens[first + 3].span, "FROM is missing here.", "write EXTRACT(YEAR FROM day)."
        )
    inner = reading.lower(node.expression)
    return Call("EXTRACT", (part, inner), span=reading.span(node))


@lowers(exp.Substring)
def _substring(reading: Reading, node: Any) -> Expression:
    reading.only(node, "this", "start", "length")
    reading.use_word(reading.at(node)[0])
    text = reading.lower(node.this)
    start, length = node.args.get("start"), node.args.get("length")
    if start is None and length is None:
        raise unreadable(
            reading.tokens[reading.at(node)[1]].span,
            "the first letter is missing here.",
            "write SUBSTR(text, 1, 3).",
        )
    made = start is None or "start" not in start.meta  # sqlglot writes 1 if none is given
    made = made and isinstance(start, exp.Literal | None)
    first = Literal(1, span=text.span) if made else reading.lower(start)
    rest = () if length is None else (reading.lower(length),)
    return Call("SUBSTR", (text, first, *rest), span=reading.span(node))


@lowers(exp.Dot)
def _dotted(reading: Reading, node: Any) -> Expression:
    called = node.expression
    if isinstance(called, exp.Anonymous):
        first, _ = reading.at(node)
        raise unsupported(
            reading.between(first, reading.at(called)[0]),
            "a function has no dots in its name.",
            "only the functions of this dialect are known.",
            "write the function alone.",
        )
    raise reading.refused(node)


@lowers(exp.Bracket)
def _bracket(reading: Reading, node: Any) -> Expression:
    inner = node.this
    opening = reading.behind(reading.at(inner)[1]).span
    if isinstance(inner, exp.Anonymous) and str(inner.this).upper() == "APPROX_QUANTILES":
        return picked_quantile(reading, node)
    if isinstance(inner, exp.Anonymous):
        raise unsupported(opening, "this is not answered here.", *CLAUSES["WITHIN"])
    reason = (_LISTS, "leave the brackets out.")
    raise unsupported(opening, "there are no lists to pick from.", *reason)
