"""The dialect of Spark SQL: functions that give NULL in place of an error.

Trust: kernel (T2).  They do so under ANSI rules and without them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final, final

from discreet.engines.dialect import Dialect
from discreet.query.types import Type

_PARTS: Final = (
    "YEAR",
    "QUARTER",
    "MONTH",
    "DAY",
    "DAYOFWEEK",
    "DAYOFYEAR",
    "HOUR",
    "MINUTE",
    "SECOND",
)
_WHOLE: Final = 2**52
"""Floats of this size have no fraction; FLOOR and CEIL of Spark return integers of 64 bits."""


def _rounded(function: str) -> str:
    return f"CASE WHEN ABS(:x) < {_WHOLE} THEN CAST({function} AS DOUBLE) ELSE :x END"


def _read_as(native: str) -> str:
    """Read a string of some form; the dot matches no line break, so none may follow."""
    return f"CASE WHEN :x RLIKE :form AND NOT :x RLIKE '[^ -~]' THEN TRY_CAST(:x AS {native}) END"


@final
class SparkDialect(Dialect):
    """Spark SQL, of version 4 and later."""

    name = "spark"
    title = "Spark"
    types: ClassVar[Mapping[Type, str]] = {
        **Dialect.types,
        Type.TEXT: "STRING",
        Type.TIMESTAMP: "TIMESTAMP_NTZ",
    }
    let = "TRANSFORM(:items, _v -> :body)[0]"
    templates: ClassVar[Mapping[str, str]] = {
        "same": ":x <=> :y",
        "+": "try_add(:x, :y)",
        "-": "try_subtract(:x, :y)",
        "*": "try_multiply(:x, :y)",
        "DIV": "CASE WHEN :y = -1 THEN try_subtract(CAST(0 AS BIGINT), :x)"
        " WHEN :y <> 0 THEN :x DIV :y END",
        "MOD": "CASE WHEN :y = -1 AND :x IS NOT NULL THEN CAST(0 AS BIGINT)"
        " WHEN :y <> 0 THEN :x % :y END",
        "quotient": ":x DIV :y",
        "FLOAT /": "try_divide(:x, :y)",
        "FLOAT FLOOR": _rounded("FLOOR(:x)"),
        "FLOAT CEIL": _rounded("CEIL(:x)"),
        "FLOAT ROUND": f"CASE WHEN ABS(:x) < {_WHOLE} THEN CAST(CASE WHEN :x >= 0 THEN"
        " CASE WHEN :x - FLOOR(:x) >= 0.5 THEN FLOOR(:x) + 1 ELSE FLOOR(:x) END"
        " ELSE CASE WHEN CEIL(:x) - :x >= 0.5 THEN CEIL(:x) - 1 ELSE CEIL(:x) END END"
        " AS DOUBLE) ELSE :x END",
        "FLOAT to INTEGER": "CASE WHEN :x >= -9.223372036854775808e18"
        " AND :x < 9.223372036854775808e18 THEN TRY_CAST(:x AS BIGINT) END",
        "INTEGER to BOOLEAN": ":x <> 0",
        "TEXT to INTEGER": _read_as("BIGINT"),
        "TEXT to FLOAT": _read_as("DOUBLE"),
        "TEXT to DATE": _read_as("DATE"),
        "TEXT to TIMESTAMP": _read_as("TIMESTAMP_NTZ"),
        "matches": ":x RLIKE :form",
        "bytes": "OCTET_LENGTH(:x)",
        "translate": "TRANSLATE(:x, :y, :z)",
        "LENGTH": "CHAR_LENGTH(:x)",
        "SUBSTR": "SUBSTRING(:x, :y, :z)",
        "CONCAT": "CONCAT(:x, :y)",
        "TRIM": "TRIM(:x)",
        "STARTS_WITH": "STARTSWITH(:x, :y)",
        "ENDS_WITH": "ENDSWITH(:x, :y)",
        **{f"EXTRACT {part}": f"EXTRACT({part} FROM :x)" for part in _PARTS},
        "EXTRACT SECOND": "SECOND(:x)",
        "EXTRACT DAYOFYEAR": "DAYOFYEAR(:x)",
        "EXTRACT DAYOFWEEK": "DAYOFWEEK(:x)",
        "DATE_TRUNC": "CASE WHEN :word = 'day' THEN CAST(:x AS DATE)"
        " ELSE TRUNC(CAST(:x AS DATE), :word) END",
        "DATE_DIFF": "DATEDIFF(:x, :y)",
        "DATE_ADD": "DATE_ADD(:x, :y)",
        "micros": "UNIX_MICROS(to_utc_timestamp(:x, 'UTC'))",
        "hash": "XXHASH64(:x, :y)",
        **{f"hash {kind.value}": "XXHASH64(:x, :y)" for kind in Type if kind is not Type.FLOAT},
        "hex number": "CAST(CONV(SUBSTRING(:x, 1, 15), 16, 10) AS BIGINT)",
        "sum": "SUM(CAST(:x AS DECIMAL(38, 0)))",
        "narrow": "TRY_CAST(:x AS BIGINT)",
        "fitting": "TRY_CAST(:x AS BIGINT)",
        "root": "POW(2e0, -8 * (FLOOR(LOG2(GREATEST(COALESCE(:x, 0e0), 4.9e-324)) / 16) + 1))",
        "LAG": "LAG",
    }


SPARK: Final = SparkDialect()
