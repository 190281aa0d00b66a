"""Columns of a PostgreSQL table, read as values of our types.

Trust: kernel.  No value can make reading fail: what does not fit is NULL.  Casts are those that the
server was made with, and which nobody can replace; where it has none, anybody might add one, so
none is asked for.

Whole numbers are INTEGER.  Floats are FLOAT, and so are decimals, as the nearest float, NULL if
there is none.  Texts, UUIDs and enumerations are TEXT, without the blanks that fill up a ``char``.
The server sends no row of more than a gigabyte, so in a row whose texts have more than 16 MiB in
all, every text is NULL.  All columns of texts count, those that a question does not read as well: a
cell is the same in every question.  Days and moments outside the years 1 to 9999, infinite ones
among them, are NULL.  Moments with a time zone and all other types cannot be named.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from discreet.engines.sql.fragments import name
from discreet.query.types import Type

TYPES: Final[dict[str, Type]] = {
    **dict.fromkeys(("int2", "int4", "int8"), Type.INTEGER),
    **dict.fromkeys(("float4", "float8", "numeric"), Type.FLOAT),
    **dict.fromkeys(("text", "varchar", "bpchar", "uuid", "enum"), Type.TEXT),
    "bool": Type.BOOLEAN,
    "date": Type.DATE,
    "timestamp": Type.TIMESTAMP,
}
"""Our type for one of the server's; those that are missing here have none."""

TEXTS: Final = frozenset({"text", "varchar", "bpchar"})
"""Forms of any length."""

_LONGEST: Final = 2**24
_BYTES: Final = '"w".bytes'

_INFINITE: Final = 2**1024 - 2**970
"""The smallest number whose nearest float is infinite."""

_ZERO: Final = f"{5**1075}e-1075"
"""The largest number whose nearest float is zero, 2**-1075."""


def column_sql(column: str, form: str) -> str:
    """Print a column of ``t`` as a value of our type for its form, one of ``TYPES``.

    Texts need the join of :func:`text_size_join`.

    >>> column_sql("age", "int2")
    'CAST("t"."age" AS int8)'
    """
    return _PRINTED[form](f'"t".{name(column)}')


def text_size_join(forms: Mapping[str, str]) -> str:
    """Print a join that gives each row ``t`` the number of bytes in all of its texts.

    The server knows how long a text is without reading it.  OFFSET has it add up once for a row.

    >>> print(text_size_join({"age": "int4", "city": "text"}).split("(SELECT ")[1])
    COALESCE(CAST(octet_length("t"."city") AS int8), 0) AS bytes OFFSET 0) AS "w"
    """
    sizes = [
        f'COALESCE(CAST(octet_length("t".{name(column)}) AS int8), 0)'
        for column, form in forms.items()
        if form in TEXTS
    ]
    return f' CROSS JOIN LATERAL (SELECT {" + ".join(sizes)} AS bytes OFFSET 0) AS "w"'


def _cast(to: str) -> Callable[[str], str]:
    return lambda sql: f"CAST({sql} AS {to})"


def _plain(sql: str) -> str:
    return sql


def _shown(by: str) -> Callable[[str], str]:
    """Print the text that the type itself shows: a cast to text may be anybody's function."""
    return lambda sql: f"textin({by}({sql}))"


def _decimal(sql: str) -> str:
    """Print the nearest float; the cast alone fails where that is infinite, or zero by rounding."""
    return (
        f"CASE WHEN abs({sql}) >= {_INFINITE} THEN NULL "
        f"WHEN abs({sql}) <= {_ZERO} THEN 0 ELSE CAST({sql} AS float8) END"
    )


def _text(sql: str) -> str:
    return f"CASE WHEN {_BYTES} <= {_LONGEST} THEN CAST({sql} AS text) END"


def _within(first: str, last: str) -> Callable[[str], str]:
    return lambda sql: f"CASE WHEN {sql} BETWEEN {first} AND {last} THEN {sql} END"


_PRINTED: Final[dict[str, Callable[[str], str]]] = {
    **dict.fromkeys(("int2", "int4"), _cast("int8")),
    **dict.fromkeys(("int8", "float8", "bool"), _plain),
    "float4": _cast("float8"),
    "numeric": _decimal,
    **dict.fromkeys(TEXTS, _text),
    "uuid": _shown("uuid_out"),
    "enum": _shown("enum_out"),
    "date": _within("date '0001-01-01'", "date '9999-12-31'"),
    "timestamp": _within(
        "timestamp '0001-01-01 00:00:00'", "timestamp '9999-12-31 23:59:59.999999'"
    ),
}
