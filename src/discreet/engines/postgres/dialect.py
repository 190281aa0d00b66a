"""The dialect of PostgreSQL, and its columns read as values of our types.

Trust: kernel (T2).  The server has no casts and no arithmetic that give NULL in place of an error,
so every step that could fail is written under a condition.  Integers are added up as decimals of
any length.  Casts are those that the server was made with, and which nobody can replace.

Whole numbers are INTEGER.  Floats are FLOAT, and so are decimals, as the nearest float, NULL if
there is none.  Strings, UUIDs and enumerations are TEXT, without the blanks that fill up a
``char``, compared by code points; one of more than 16 MiB is NULL.  Days and timestamps outside the
years 1 to 9999, infinite ones among them, are NULL; a timestamp with a time zone is read in UTC.
All other types cannot be named.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Final, final

from sqlglot import exp

from discreet.engines.dialect import Dialect, Value
from discreet.engines.expressions import Expressions, in_years
from discreet.engines.fragments import Node, select, source_of
from discreet.query.expression_types import CASTS
from discreet.query.types import Type

FORMS: Final[dict[str, Type]] = {
    **dict.fromkeys(("int2", "int4", "int8"), Type.INTEGER),
    **dict.fromkeys(("float4", "float8", "numeric"), Type.FLOAT),
    **dict.fromkeys(("text", "varchar", "bpchar", "uuid", "enum"), Type.TEXT),
    "bool": Type.BOOLEAN,
    "date": Type.DATE,
    "timestamp": Type.TIMESTAMP,
    "timestamptz": Type.TIMESTAMP,
}
"""Our type for one of the server's; those that are missing here have none."""

UUID_TEXT: Final = "uuid text"
"""Strings that are UUIDs by declaration: each is read in its one usual form, or NULL."""
_LONGEST: Final = 2**24
_INFINITE: Final = f"{2**1024 - 2**970}"
"""The smallest number whose nearest float is infinite."""
_ZERO: Final = f"{5**1075}e-1075"
"""The largest number whose nearest float is zero, 2**-1075."""
_LARGEST: Final = "1.7976931348623157e308"
_ROOM: Final = f"ABS(:x) <= {_LARGEST} - ABS(:y)"
_LOW, _HIGH = -(2**63) - 1, 2**63


def _fitting(wide: str) -> str:
    """Return an integer of any length as one of 64 bits, NULL outside.

    LEAST and GREATEST pass over NULL here, which then is out of range, too.
    """
    inside = f"LEAST(GREATEST({wide}, {_LOW}), {_HIGH})"
    return f"CAST(NULLIF(NULLIF({inside}, {_LOW}), {_HIGH}) AS BIGINT)"


_WHOLE_QUOTIENT: Final = _fitting("DIV(CAST(:x AS DECIMAL), CAST(:y AS DECIMAL))")


def _exact(sign: str) -> str:
    return _fitting(f"CAST(:x AS DECIMAL) {sign} CAST(:y AS DECIMAL)")


def _scaled(sign: str) -> str:
    """Return a product or quotient; its size is known by logarithms before it is computed."""
    size = f"LN(ABS(:x)) {'+' if sign == '*' else '-'} LN(ABS(:y))"
    never = "" if sign == "*" else "WHEN :y = 0 THEN NULL "
    zero = ":x = 0 OR :y = 0" if sign == "*" else ":x = 0"
    return (
        f"CASE {never}WHEN {zero} THEN CAST(0 AS DOUBLE PRECISION) WHEN {size} > 709.7827 THEN NULL"
        f" WHEN {size} < -745.1 THEN CAST(0 AS DOUBLE PRECISION) ELSE :x {sign} :y END"
    )


def _nearest(value: str) -> str:
    """Return the nearest float of a decimal; the cast alone fails at infinity, and near zero."""
    return (
        f"CASE WHEN ABS({value}) >= {_INFINITE} THEN NULL WHEN ABS({value}) <= {_ZERO} THEN"
        f" CAST(0 AS DOUBLE PRECISION) ELSE CAST({value} AS DOUBLE PRECISION) END"
    )


_LEAP: Final = "([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)"
_DAY: Final = (
    "(?!0000)([0-9]{4}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)"
    f"|02-(0[1-9]|1[0-9]|2[0-8]))|{_LEAP}-02-29)"
)
_NUMBER: Final = "^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]{1,4})?$"
_LONGEST_NUMBER: Final = 1000
"""Bytes of a text that is read as a FLOAT; DECIMAL holds all of them."""
_TIME: Final = "[ T]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]{1,6})?"


def _read(form: str, native: str) -> str:
    return f"CAST(CASE WHEN :x ~ '^{form}$' THEN :x END AS {native})"


@final
class PostgresDialect(Dialect):
    """PostgreSQL, of version 14 and later."""

    name = "postgres"
    title = "PostgreSQL"
    open_floats = False
    let = "yes"
    types: ClassVar[Mapping[Type, str]] = {**Dialect.types, Type.FLOAT: "DOUBLE PRECISION"}
    templates: ClassVar[Mapping[str, str]] = {
        **{sign: _exact(sign) for sign in ("+", "-", "*")},
        "DIV": f"CASE WHEN :y <> 0 THEN {_WHOLE_QUOTIENT} END",
        "MOD": "CASE WHEN :y <> 0 THEN :x % :y END",
        "quotient": "DIV(:x, :y)",
        "FLOAT +": f"CASE WHEN (:x > 0) <> (:y > 0) OR {_ROOM} THEN :x + :y END",
        "FLOAT -": f"CASE WHEN (:x > 0) = (:y > 0) OR {_ROOM} THEN :x - :y END",
        "FLOAT *": _scaled("*"),
        "FLOAT /": _scaled("/"),
        "FLOAT ROUND": "TRUNC(:x) + CASE WHEN ABS(:x - TRUNC(:x)) >= 0.5 THEN SIGN(:x) ELSE 0 END",
        "TEXT to INTEGER": "CAST(CASE WHEN :x ~ :form THEN :x END AS BIGINT)",
        "TEXT to FLOAT": f"(SELECT {_nearest('d.n')} FROM (SELECT"  # noqa: S608 (no names in it)
        f" CAST(CASE WHEN OCTET_LENGTH(:x) <= {_LONGEST_NUMBER} THEN"
        f" CASE WHEN :x ~ '{_NUMBER}' THEN :x END END AS DECIMAL) AS n) AS d)",
        "TEXT to DATE": _read(_DAY, "DATE"),
        "TEXT to TIMESTAMP": _read(f"{_DAY}{_TIME}", "TIMESTAMP"),
        "matches": ":x ~ :form",
        "bytes": "CAST(OCTET_LENGTH(:x) AS BIGINT)",
        "LOWER": 'LOWER(:x COLLATE "C")',
        "UPPER": 'UPPER(:x COLLATE "C")',
        "LENGTH": "CAST(CHAR_LENGTH(:x) AS BIGINT)",
        "SUBSTR": "SUBSTR(:x, :y, :z)",
        "CONCAT": ":x || :y",
        "TRIM": "BTRIM(:x, ' ')",
        "STARTS_WITH": "STARTS_WITH(:x, :y)",
        "ENDS_WITH": "RIGHT(:x, LENGTH(:y)) = :y",
        **{
            f"EXTRACT {part}": f"EXTRACT({part} FROM :x)"
            for part in ("YEAR", "QUARTER", "MONTH", "DAY", "HOUR", "MINUTE")
        },
        "EXTRACT SECOND": "FLOOR(EXTRACT(SECOND FROM :x))",
        "EXTRACT DAYOFWEEK": "EXTRACT(DOW FROM :x) + 1",
        "EXTRACT DAYOFYEAR": "EXTRACT(DOY FROM :x)",
        "DATE_TRUNC": "DATE_TRUNC(:word, :x)",
        "DATE_DIFF": ":x - :y",
        "DATE_ADD": ":x + :y",
        "micros": "CAST(EXTRACT(EPOCH FROM :x) * 1000000 AS BIGINT)",
        "hash": "HASHTEXTEXTENDED(:x, :y)",
        "hash INTEGER": "HASHINT8EXTENDED(COALESCE(:x, 0), :y)",
        "hex number": "CAST(CAST('x' || SUBSTR(:x, 1, 15) AS BIT(60)) AS BIGINT)",
        "wide": "CAST(:x AS DECIMAL)",
        "sum": "SUM(:x)",
        "fitting": _fitting(":x"),
        "min BOOLEAN": "BOOL_AND(:x)",
        "max BOOLEAN": "BOOL_OR(:x)",
        "FLOAT SUM": "SUM(:x)",
        "FLOAT of SUM": _nearest(":x"),
        "LAG": "LAG",
    }

    def once(self, values: Sequence[Node], body: Callable[..., Node]) -> Node:
        """Return a body that uses its values more than once; long ones are columns of a SELECT."""
        if sum(value.size for value in values) < 60:
            return body(*values)
        names = [f"v{place}" for place in range(len(values))]
        inner = select([self.named(v, n) for v, n in zip(values, names, strict=True)], None)
        made = body(*(self.column(name, "_v") for name in names))
        return self.written(exp.Subquery(this=select([made], source_of(inner, "_v"))))

    def decimal(self, node: Node) -> Node:
        """Return a float as the decimal that shows it, of which sums do not depend on the order."""
        return self.own("CAST(CAST(:x AS TEXT) AS DECIMAL)", x=node)

    def reading(self, node: Node, form: str, to: Type) -> Node | None:
        """Return a column as a value of one of our types; None if it cannot be one."""
        kind = Type.TEXT if form == UUID_TEXT else FORMS.get(form)
        if kind is None or to not in CASTS[kind]:
            return None
        match form:
            case "int8" | "bool":
                value = node
            case "float4" | "float8":
                value = self.cast(node, kind)
            case "numeric":
                value = self.own(_nearest(":x"), x=node)
            case "uuid text":
                text = self.own('CAST(:x AS TEXT) COLLATE "C"', x=node)
                value = self.uuid(text)
            case "uuid" | "enum":
                value = self.own(f'TEXTIN({form}_OUT(:x)) COLLATE "C"', x=node)
            case "timestamptz":
                moment = self.own(":x AT TIME ZONE 'UTC'", x=node)
                value = in_years(self, moment, kind)
            case "date" | "timestamp":
                value = in_years(self, node, kind)
            case "int2" | "int4":
                value = self.cast(node, kind)
            case _:
                short = 'CASE WHEN OCTET_LENGTH(:x) <= :most THEN CAST(:x AS TEXT) COLLATE "C" END'
                value = self.own(short, x=node, most=_LONGEST)
        closed = Value(value, kind, open=form in {"float4", "float8"})
        return Expressions(self, {}).read(closed, to)


POSTGRES: Final = PostgresDialect()
