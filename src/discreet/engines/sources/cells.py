"""How a cell of a CSV file becomes a value: printed from what is declared of the files alone.

Trust: kernel.  No cell can make reading fail, and none changes how another is read: what has none
of these forms is NULL.

Definition.  Blanks and tabs around a cell do not count, unless it is read as TEXT.  With the signs
``d`` of a decimal and ``t`` of thousands (if one is declared), a cell is

    an INTEGER    if it is digits, perhaps in groups of three between ``t``, with a sign or none,
                  that are a number from -2^63 to 2^63 - 1; ``d`` and zeros may follow, any number
                  of them but three
    a FLOAT       if it is digits, perhaps in such groups, with ``d`` or none among them, with a
                  sign and an exponent or none
    a BOOLEAN     if it is true, t, yes, y, 1 or 1.0, or false, f, no, n, 0 or 0.0, in any case
    a DATE        if it is a day YYYY-MM-DD, or in the declared order; midnight may follow
    a TIMESTAMP   if it is such a day, alone or with a time HH:MM, seconds or none, up to nine
                  decimals (of which six are kept), and Z, an offset from UTC or nothing

A moment with an offset is the moment in UTC; one without is what it says.

Lemma (key ``whole-cells``).  Under any two formats a text is the same INTEGER, or NULL under one.
Proof.  A text of digits alone is the same number in both.  Otherwise let ``s`` be its last sign
that is not a digit (but for a sign in front).  If three digits follow, ``s`` is ``t``, for ``d`` is
never followed by three; the text is then groups of three between ``s``, and its digits are the
number.  If another number of digits follows, ``s`` is ``d``, these are zeros, and the number is
what is before: digits alone, or groups, in which a second sign can be ``t`` only.
Whether a number has 64 bits is no matter of the format.
So tables that name people by whole numbers name them alike, whatever is declared of their numbers.
This is said of a text: in other letters, or between other separators, a cell is another text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from discreet.engines.dialect import Dialect
from discreet.engines.expressions import TEXT_FORMS
from discreet.engines.sources.source import quoted_text as text
from discreet.query.types import Type
from discreet.requests.table_schema import CsvFormat

CELL: Final = "VARCHAR AS CELL"
"""The type of cells; behind it stands how they are written: another way is another state."""

_HOUR: Final = "(?:[01][0-9]|2[0-3])"
_TIME: Final = f"({_HOUR}:[0-5][0-9](?::[0-5][0-9](?:[.,][0-9]{{1,9}})?)?)"
_OFFSET: Final = f"([+-])({_HOUR}):?([0-5][0-9])?"
_MIDNIGHT: Final = "(?:[ T]00:00(?::00(?:[.]0{1,9})?)?)?"
_ISO: Final = ("([0-9]{4})-([0-9]{2})-([0-9]{2})", r"\1-\2-\3")
_TRUE: Final = "(?i:true|t|yes|y|1|1[.]0)"
_FALSE: Final = "(?i:false|f|no|n|0|0[.]0)"
_THOUSANDS: Final = {" ": "[ \u00a0\u202f]"}
_USUAL: Final = (".", "")

Day = tuple[str, str]
"""The form of a day with three groups, and these in the order of ISO 8601."""


def cell_type(form: CsvFormat) -> str:
    """Return what the type of the cells of some files is called here.

    >>> cell_type(CsvFormat(decimal=",", thousands="."))
    'VARCHAR AS CELL(,|.||utf-8|)'
    """
    parts = form.decimal, form.thousands, form.dates, form.encoding, form.separator or ""
    return f"{CELL}({'|'.join(parts)})"


def is_cell(native: str) -> bool:
    """Say whether a type is one of cells.

    >>> is_cell("VARCHAR AS CELL(.||utf-8|)"), is_cell("VARCHAR")
    (True, False)
    """
    return native.startswith(CELL)


def read_cell(column: str, native: str, to: Type) -> str:
    """Print a cell, given by a quoted name, as a value of a type.

    A cell that needs no repair is told by its plain form, which takes no longer than a cast.

    >>> read_cell('"a"', "VARCHAR AS CELL(.||utf-8|)", Type.TEXT)
    '("a" COLLATE C)'
    """
    decimal, thousands, dates = native.removeprefix(f"{CELL}(").split("|")[:3]
    match to:
        case Type.TEXT:
            return f"({column} COLLATE C)"
        case Type.BOOLEAN:
            return _cases(column, [(_TRUE, "true"), (_FALSE, "false")])
        case Type.INTEGER | Type.FLOAT:
            number = _sound(_number(column, (decimal, thousands), to), to)
            return number if (decimal, thousands) != _USUAL else _plain_first(column, to, number)
        case Type.DATE:
            days = [
                (form := f"{day}{_MIDNIGHT}", _moved(column, form, order, to))
                for day, order in _days(dates)
            ]
            return _plain_first(column, to, _sound(_cases(column, days), to))
        case Type.TIMESTAMP:
            moments = [case for day in _days(dates) for case in _moments(column, *day)]
            return _plain_first(column, to, _sound(_cases(column, moments), to))


def _sound(sql: str, to: Type) -> str:
    """Print a value that is NULL if it is not finite, or beyond our years."""
    if to in {Type.DATE, Type.TIMESTAMP}:
        return _in_years(sql, to)
    return _once(sql, "isfinite(_v)") if to is Type.FLOAT else sql


def _once(sql: str, condition: str) -> str:
    """Print a value under a condition, without repeating its long text."""
    return f"list_transform([{sql}], lambda _v: CASE WHEN {condition} THEN _v END)[1]"


def _in_years(sql: str, kind: Type) -> str:
    first, last = "0001-01-01", "9999-12-31"
    if kind is Type.TIMESTAMP:
        first, last = f"{first} 00:00:00", f"{last} 23:59:59.999999"
    return _once(sql, f"_v BETWEEN {kind.value} '{first}' AND {kind.value} '{last}'")


def _plain_first(column: str, to: Type, repaired: str) -> str:
    """Print a cell by its plain form if it has one; of days this is one in our years."""
    plain, form = f"TRY_CAST({column} AS {Dialect.types[to]})", TEXT_FORMS[to]
    if to in {Type.DATE, Type.TIMESTAMP}:
        form = f"[1-9]{form.replace('{4}', '{3}', 1)}"
    else:
        plain = _sound(plain, to)
    form = text(form)
    return f"(CASE WHEN regexp_full_match({column}, {form}) THEN {plain} ELSE {repaired} END)"


def _trimmed(form: str) -> str:
    """Return a form with blanks around it; no other text can stand beside it."""
    return text(f"^[ \t]*(?:{form})[ \t]*$")


def _cases(column: str, cases: list[tuple[str, str]]) -> str:
    """Print the value of the first form that a cell has."""
    printed = " ".join(
        f"WHEN regexp_matches({column}, {_trimmed(form)}) THEN {value}" for form, value in cases
    )
    return f"(CASE {printed} END)"


def _number(column: str, signs: tuple[str, str], to: Type) -> str:
    """Print a number in the signs that are declared, as the digits that DuckDB reads."""
    decimal, thousands = signs
    point, group = re.escape(decimal), _THOUSANDS.get(thousands, re.escape(thousands))
    grouped = f"|[0-9]{{1,3}}(?:{group}[0-9]{{3}})+" if thousands else ""
    if to is Type.INTEGER:
        form = f"([+-]?(?:[0-9]+{grouped}))(?:{point}(?:0{{1,2}}|0{{4,}}))?"
    else:
        size = f"(?:[0-9]+{grouped})(?:{point}[0-9]*)?|{point}[0-9]+"
        form = f"([+-]?(?:{size})(?:[eE][+-]?[0-9]+)?)"
    found = f"regexp_extract({column}, {_trimmed(form)}, 1)"
    if thousands:
        found = f"regexp_replace({found}, {text(group)}, '', 'g')"
    if decimal != ".":
        found = f"replace({found}, {text(decimal)}, '.')"
    return f"TRY_CAST({found} AS {Dialect.types[to]})"


def _days(dates: str) -> Iterator[Day]:
    """Return the forms of days: that of ISO 8601, and the declared one."""
    yield _ISO
    if dates:
        between = re.sub("[A-Z]", "", dates)[:1]
        parts = re.findall("DD|MM|YYYY", dates)
        short = "([0-9]{1,2})" if between else "([0-9]{2})"
        form = re.escape(between).join("([0-9]{4})" if part == "YYYY" else short for part in parts)
        order = "-".join(f"\\{parts.index(part) + 1}" for part in ("YYYY", "MM", "DD"))
        yield form, order


def _moved(column: str, form: str, order: str, to: Type) -> str:
    """Print a cell of a form, its parts brought into the order of ISO 8601."""
    moved = f"regexp_replace({column}, {_trimmed(form)}, {text(order)})"
    return f"TRY_CAST(replace({moved}, ',', '.') AS {Dialect.types[to]})"


def _moments(column: str, day: str, order: str) -> Iterator[tuple[str, str]]:
    """Return the forms of moments on some day, and how each is read: in UTC or as it is."""
    kind = Type.TIMESTAMP
    yield day, _moved(column, day, order, kind)
    form = f"{day}[ T]{_TIME} ?[Zz]?"
    yield form, _moved(column, form, rf"{order} \4", kind)
    form = f"{day}[ T]{_TIME} ?{_OFFSET}"
    local = _in_years(_moved(column, form, rf"{order} \4", kind), kind)
    sign, hours, minutes = (f"regexp_extract({column}, {_trimmed(form)}, {n})" for n in (5, 6, 7))
    ahead = f"TRY_CAST({hours} AS BIGINT) * 60 + coalesce(TRY_CAST({minutes} AS BIGINT), 0)"
    size = f"(CASE WHEN {sign} = '-' THEN -1 ELSE 1 END) * ({ahead})"
    yield form, f"({local} - to_minutes({size}))"
