"""Functions of numbers, texts, days and moments, as SQL.

Trust: kernel.  An overflow, a division by zero or a root of a negative number is NULL.  No text
grows beyond ``LONGEST_TEXT`` bytes, and no day leaves the years 1 to 9999.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from fractions import Fraction
from functools import partial
from string import ascii_lowercase, ascii_uppercase
from typing import Final

from discreet.engines.sql.fragments import SQL_TYPES, Printed, closed, literal, once, text
from discreet.query.functions import LONGEST_TEXT, searches
from discreet.query.types import Type

Printer = Callable[..., Printed]


def _arithmetic(sign: str) -> Printer:
    """Print + - or *: integers that overflow are NULL, floats stay open."""

    def printed(left: Printed, right: Printed) -> Printed:
        sql = f"({left.sql} {sign} {right.sql})"
        if left.kind is Type.INTEGER:
            return Printed(f"TRY{sql}", Type.INTEGER)
        return Printed(sql, Type.FLOAT, open=True)

    return printed


def _divided(left: Printed, right: Printed) -> Printed:
    """Print a quotient: by zero it is not finite, and an infinite divisor is closed first."""
    return Printed(f"({left.sql} / {closed(right)})", Type.FLOAT, open=True)


def _whole_division(sign: str, left: Printed, right: Printed) -> Printed:
    if right.is_written and right.value not in {0, -1}:
        return Printed(f"({left.sql} {sign} {right.sql})", Type.INTEGER)
    wide = f"CAST({left.sql} AS HUGEINT) {sign} nullif(CAST({right.sql} AS HUGEINT), 0)"
    return Printed(f"TRY_CAST({wide} AS BIGINT)", Type.INTEGER)


def _negate(argument: Printed) -> Printed:
    """Print a number with the other sign; a bare minus would turn a written one into 128 bits."""
    if argument.kind is Type.INTEGER:
        return Printed(f"TRY(0::BIGINT - {argument.sql})", Type.INTEGER)
    return Printed(f"(-({argument.sql}))", Type.FLOAT, open=argument.open)


def _abs(argument: Printed) -> Printed:
    sql = f"abs({argument.sql})"
    if argument.kind is Type.INTEGER:
        return Printed(f"TRY({sql})", Type.INTEGER)
    return Printed(sql, Type.FLOAT, open=argument.open)


def _sign(argument: Printed) -> Printed:
    return Printed(f"CAST(sign({closed(argument)}) AS BIGINT)", Type.INTEGER)


def _rounding(function: str) -> Printer:
    def printed(argument: Printed) -> Printed:
        if argument.kind is not Type.FLOAT:
            return argument
        sql = f"{function}({argument.sql})"
        return Printed(sql, Type.FLOAT, open=argument.open, whole=True)

    return printed


def _square_root(argument: Printed) -> Printed:
    return Printed(f"sqrt({argument.sql})", Type.FLOAT, open=True)


def _extreme(function: str, sign: str) -> Printer:
    """Print LEAST or GREATEST, which are NULL if any argument is."""

    def printed(*arguments: Printed) -> Printed:
        kind = arguments[0].kind
        if len(arguments) == 1:
            return arguments[0]
        if len(arguments) == 2:
            return Printed(_cut(arguments, sign), kind)
        return Printed(once([closed(argument) for argument in arguments], _all(function)), kind)

    return printed


def _cut(arguments: Sequence[Printed], sign: str) -> str:
    """Print the one of two that lies on the side of the sign."""
    if arguments[0].is_written:
        arguments = arguments[::-1]
    texts = [closed(argument) for argument in arguments]

    def body(one: str, two: str = texts[1]) -> str:
        return f"(CASE WHEN {one} {sign} {two} THEN {one} WHEN {one} IS NOT NULL THEN {two} END)"

    return once(texts[:1] if arguments[1].is_written else texts, body)


def _all(function: str) -> Callable[..., str]:
    def body(*parts: str) -> str:
        some = " OR ".join(f"{part} IS NULL" for part in parts)
        return f"(CASE WHEN {some} THEN NULL ELSE {function}({', '.join(parts)}) END)"

    return body


def _range_bucket(argument: Printed, *edges: Printed) -> Printed:
    """Print the number of edges that are at most the argument, found by halving."""
    if not all(edge.is_written for edge in edges):  # an edge beyond all floats is NULL
        return Printed(literal(None, Type.INTEGER), Type.INTEGER)
    ends = sorted(edges, key=lambda edge: Fraction(edge.value))  # type: ignore[arg-type]

    def body(value: str) -> str:
        return f"(CASE WHEN {value} IS NOT NULL THEN {_halved(value, ends, 0)} END)"

    return Printed(once([closed(argument)], body), Type.INTEGER)


def _halved(value: str, edges: Sequence[Printed], below: int) -> str:
    if not edges:
        return f"CAST({below} AS BIGINT)"
    middle = len(edges) // 2
    low = _halved(value, edges[:middle], below)
    high = _halved(value, edges[middle + 1 :], below + middle + 1)
    return f"CASE WHEN {value} < {edges[middle].sql} THEN {low} ELSE {high} END"


_FARTHEST: Final = 2**31 - 1


def _short(value: Printed, body: Callable[[str], str], kind: Type = Type.TEXT) -> Printed:
    """Print what is made of a text, unless that is too long."""

    def checked(sql: str) -> str:
        return f"(CASE WHEN strlen({sql}) <= {LONGEST_TEXT} THEN {body(sql)} END)"

    return Printed(once([value.sql], checked), kind)


def _translated(start: str, to: str) -> Callable[[Printed], Printed]:
    return lambda value: _short(value, lambda sql: f"translate({sql}, {text(start)}, {text(to)})")


def _length(value: Printed) -> Printed:
    return Printed(f"length({value.sql})", Type.INTEGER)


def _substr(value: Printed, place: Printed, count: Printed | None = None) -> Printed:
    """Print the code points at places that are there; the numbers are known by now."""
    first = max(_number(place), 1)
    wanted = _FARTHEST if count is None else _number(place) + _number(count) - first
    if first > _FARTHEST or wanted <= 0:
        first, wanted = 1, 0
    if count is not None and _number(count) <= LONGEST_TEXT // 4:
        return Printed(f"substr({value.sql}, {first}, {wanted})", Type.TEXT)
    return _short(value, lambda sql: f"substr({sql}, {first}, {min(wanted, _FARTHEST)})")


def _number(value: Printed) -> int:
    return value.value if isinstance(value.value, int) else 0


def _concat(*values: Printed) -> Printed:
    def body(*parts: str) -> str:
        size = " + ".join(f"strlen({part})" for part in parts)
        return f"(CASE WHEN {size} <= {LONGEST_TEXT} THEN {' || '.join(parts)} END)"

    return Printed(once([value.sql for value in values], body), Type.TEXT)


def _trim(value: Printed) -> Printed:
    return _short(value, lambda sql: f"trim({sql}, ' ')")


def _predicate(function: str) -> Callable[[Printed, Printed], Printed]:
    return lambda value, part: Printed(f"{function}({value.sql}, {part.sql})", Type.BOOLEAN)


def _replace(value: Printed, old: Printed, new: Printed) -> Printed:
    def body(whole: str, part: str, other: str) -> str:
        places = f"strlen({whole}) // greatest(strlen({part}), 1)"
        longest = f"strlen({whole}) + TRY(({places}) * strlen({other}))"
        return (
            f"(CASE WHEN {part} = '' AND {other} IS NOT NULL THEN {whole}"
            f" WHEN {longest} <= {LONGEST_TEXT} THEN replace({whole}, {part}, {other}) END)"
        )

    return Printed(once([value.sql, old.sql, new.sql], body), Type.TEXT)


def _like(value: Printed, pattern: Printed) -> Printed:
    """Print a match, which takes no longer than ``text_limits`` reckons with (T1).

    DuckDB finds parts without _ by their letters.  With one, it tries all places for each %: one
    such search is left to it, and of several parts each is cut off where it first ends.
    """
    written = re.sub("%+", "%", str(pattern.value))
    if "_" not in written or "%" not in written:
        return Printed(_alike(value.sql, written), Type.BOOLEAN)
    if searches(written) <= 1:
        return _short(value, lambda sql: _alike(sql, written), Type.BOOLEAN)
    first, *parts = written.split("%")
    return _short(value, lambda sql: _cut_off(sql, first, parts), Type.BOOLEAN)


def _alike(sql: str, pattern: str) -> str:
    return f"({sql} LIKE {text(pattern)})"


def _cut_off(sql: str, first: str, parts: Sequence[str]) -> str:
    """Print whether a short text begins with the first part, and has the others in their order."""
    if first:
        rest = _found(f"substr({sql}, {len(first) + 1})", parts)
        return f"(CASE WHEN {_alike(sql, f'{first}%')} THEN {rest} ELSE false END)"
    return _found(sql, parts)


def _found(sql: str, parts: Sequence[str]) -> str:
    """Print whether a text has all parts in their order; it ends with the last."""
    part, *others = parts
    if not others or others == [""]:
        return _alike(sql, "%".join(("", *parts)))

    def body(value: str) -> str:
        rest = _found(f"substr({value}, {_end(value, part)} + 1)", others)
        return f"(CASE WHEN {_alike(value, f'%{part}%')} THEN {rest} ELSE false END)"

    return once([sql], body)


def _end(value: str, part: str) -> str:
    """Print where a part that a short text has ends for the first time."""
    if "_" not in part:
        return f"(instr({value}, {text(part)}) + {len(part) - 1})"
    steps = ", ".join(str(LONGEST_TEXT >> n) for n in range(1, LONGEST_TEXT.bit_length()))
    has = _alike(f"substr({value}, 1, ended + step)", f"%{part}%")
    halved = f"CASE WHEN {has} THEN ended ELSE ended + step END"
    return f"(list_reduce([0, {steps}], lambda ended, step: {halved}) + 1)"


_DAYS: Final = ("YEAR", "QUARTER", "MONTH", "DAY", "DAYOFWEEK", "DAYOFYEAR")
_PARTS: Final = {
    **{part: part.lower() for part in (*_DAYS, "HOUR", "MINUTE", "SECOND")},
    "ISOWEEK": "week",
}
"""The words for each part of a date; no other word is printed."""


def _word(part: Printed) -> str:
    return _PARTS[str(part.value)]


def _extract(part: Printed, moment: Printed) -> Printed:
    """Print a part by the function of its name, which gives an integer of a bare NULL, too."""
    sql = f"{_word(part)}({moment.sql})"
    return Printed(f"({sql} + 1)" if part.value == "DAYOFWEEK" else sql, Type.INTEGER)


def _date_trunc(moment: Printed, part: Printed) -> Printed:
    kind = moment.kind or Type.DATE
    cut = f"date_trunc({text(_word(part))}, {moment.sql})"
    return Printed(f"CAST({cut} AS {SQL_TYPES[kind]})", kind)


def _date_diff(first: Printed, second: Printed, _part: Printed) -> Printed:
    return Printed(f"CAST({first.sql} - {second.sql} AS BIGINT)", Type.INTEGER)


def _date_add(day: Printed, days: Printed) -> Printed:
    """Print a later day; only days that stay within the years are moved at all."""
    shift = days.value
    longest = (date.max - date.min).days
    if not isinstance(shift, int) or abs(shift) > longest:
        return Printed(literal(None, Type.DATE), Type.DATE)
    first = literal(date.min + timedelta(days=max(0, -shift)), Type.DATE)
    last = literal(date.max - timedelta(days=max(0, shift)), Type.DATE)

    def body(value: str) -> str:
        moved = f"CAST({value} + ({shift}) AS DATE)"
        return f"(CASE WHEN {value} BETWEEN {first} AND {last} THEN TRY({moved}) END)"

    return Printed(once([closed(day)], body), Type.DATE)


PRINTERS: Final[dict[str, Printer]] = {
    "+": _arithmetic("+"),
    "-": _arithmetic("-"),
    "*": _arithmetic("*"),
    "/": _divided,
    "DIV": partial(_whole_division, "//"),
    "MOD": partial(_whole_division, "%"),
    "NEGATE": _negate,
    "ABS": _abs,
    "SIGN": _sign,
    "FLOOR": _rounding("floor"),
    "CEIL": _rounding("ceil"),
    "ROUND": _rounding("round"),
    "SQRT": _square_root,
    "LEAST": _extreme("least", "<="),
    "GREATEST": _extreme("greatest", ">="),
    "RANGE_BUCKET": _range_bucket,
    "LOWER": _translated(ascii_uppercase, ascii_lowercase),
    "UPPER": _translated(ascii_lowercase, ascii_uppercase),
    "LENGTH": _length,
    "SUBSTR": _substr,
    "CONCAT": _concat,
    "TRIM": _trim,
    "STARTS_WITH": _predicate("starts_with"),
    "ENDS_WITH": _predicate("ends_with"),
    "REPLACE": _replace,
    "LIKE": _like,
    "EXTRACT": _extract,
    "DATE_TRUNC": _date_trunc,
    "DATE_DIFF": _date_diff,
    "DATE_ADD": _date_add,
}
"""How each function of one row is printed."""
