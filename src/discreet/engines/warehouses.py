"""Dialects of warehouses: their statements are printed and parsed back, and not run by us.

Trust: kernel once an engine runs them; until then nobody does.

Each is a start for an engine (docs/guide/write-an-engine.md): what is missing is a transport, a
description of tables and a state of their data, and that :mod:`discreet.engines.conformance`
passes.  An operation without a template is refused when a statement is printed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final, final

from discreet.engines.dialect import Dialect
from discreet.query.types import Type

__all__ = ["WAREHOUSES"]

_PARTS: Final = ("YEAR", "QUARTER", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")
_WIDE: Final = "TRY_CAST(CAST(:x AS DECIMAL(38, 0)) {} CAST(:y AS DECIMAL(38, 0)) AS BIGINT)"
_ANY: Final[Mapping[str, str]] = {
    **{sign: _WIDE.format(sign) for sign in ("+", "-", "*")},
    "DIV": "CASE WHEN :y <> 0 THEN TRY_CAST(TRUNC(CAST(:x AS DECIMAL(38, 0)) / :y) AS BIGINT) END",
    "MOD": "CASE WHEN :y <> 0 THEN MOD(:x, :y) END",
    "quotient": "TRUNC(:x / :y)",
    "FLOAT /": "CASE WHEN :y <> 0 THEN :x / :y END",
    "FLOAT ROUND": "ROUND(:x)",
    **{
        f"TEXT to {kind.value}": "TRY_CAST(CASE WHEN REGEXP_LIKE(:x, :form) THEN :x END AS"
        f" {native})"
        for kind, native in (
            (Type.INTEGER, "BIGINT"),
            (Type.FLOAT, "DOUBLE"),
            (Type.DATE, "DATE"),
            (Type.TIMESTAMP, "TIMESTAMP"),
        )
    },
    "matches": "REGEXP_LIKE(:x, :form)",
    "bytes": "OCTET_LENGTH(:x)",
    "translate": "TRANSLATE(:x, :y, :z)",
    "LENGTH": "LENGTH(:x)",
    "SUBSTR": "SUBSTRING(:x, :y, :z)",
    "TRIM": "TRIM(:x)",
    "STARTS_WITH": "STARTS_WITH(:x, :y)",
    **{f"EXTRACT {part}": f"EXTRACT({part} FROM :x)" for part in _PARTS},
    "fitting": "TRY_CAST(:x AS BIGINT)",
    "narrow": "TRY_CAST(:x AS BIGINT)",
    "LAG": "LAG",
}


@final
class SnowflakeDialect(Dialect):
    """Snowflake: TRY_CAST takes strings alone, so numbers are bounded by comparisons."""

    name = "snowflake"
    title = "Snowflake"
    open_floats = False
    templates: ClassVar[Mapping[str, str]] = {
        **_ANY,
        **{
            sign: f"CASE WHEN ABS(CAST(:x AS DECIMAL(38, 0)) {sign} :y) < 9223372036854775808"
            f" THEN :x {sign} :y END"
            for sign in ("+", "-", "*")
        },
        "fitting": "CASE WHEN ABS(:x) < 9223372036854775808 THEN CAST(:x AS BIGINT) END",
        "narrow": "CAST(:x AS BIGINT)",
        "hex number": "TO_NUMBER(SUBSTRING(:x, 1, 15), 'XXXXXXXXXXXXXXX')",
    }


@final
class BigQueryDialect(Dialect):
    """BigQuery: SAFE_CAST is NULL if CAST fails; 38 digits are BIGNUMERIC."""

    name = "bigquery"
    title = "BigQuery"
    templates: ClassVar[Mapping[str, str]] = {
        **_ANY,
        "wide": "CAST(:x AS BIGNUMERIC)",
        "sum": "SUM(CAST(:x AS BIGNUMERIC))",
        "md5": "TO_HEX(MD5(:x))",
        "hex number": "CAST(CONCAT('0x', SUBSTR(:x, 1, 15)) AS INT64)",
        "matches": "REGEXP_CONTAINS(:x, :form)",
    }


@final
class DatabricksDialect(Dialect):
    """Databricks, as Spark SQL."""

    name = "databricks"
    title = "Databricks"
    let = "TRANSFORM(:items, _v -> :body)[0]"
    templates: ClassVar[Mapping[str, str]] = {
        **_ANY,
        "same": ":x <=> :y",
        "DIV": "CASE WHEN :y <> 0 THEN :x DIV :y END",
        "quotient": ":x DIV :y",
        "hex number": "CAST(CONV(SUBSTRING(:x, 1, 15), 16, 10) AS BIGINT)",
    }


@final
class TrinoDialect(Dialect):
    """Trino: MD5 takes and gives bytes."""

    name = "trino"
    title = "Trino"
    types: ClassVar[Mapping[Type, str]] = {**Dialect.types, Type.TEXT: "VARCHAR"}
    templates: ClassVar[Mapping[str, str]] = {
        **_ANY,
        "md5": "LOWER(TO_HEX(MD5(TO_UTF8(:x))))",
        "hex number": "FROM_BASE(SUBSTRING(:x, 1, 15), 16)",
    }


@final
class RedshiftDialect(Dialect):
    """Redshift: STRTOL reads hexadecimal digits."""

    name = "redshift"
    title = "Redshift"
    open_floats = False
    templates: ClassVar[Mapping[str, str]] = {
        **_ANY,
        "same": "(:x = :y OR (:x IS NULL AND :y IS NULL))",
        "hex number": "STRTOL(SUBSTRING(:x, 1, 15), 16)",
        "matches": "REGEXP_INSTR(:x, :form) > 0",
    }


WAREHOUSES: Final[tuple[Dialect, ...]] = (
    SnowflakeDialect(),
    BigQueryDialect(),
    DatabricksDialect(),
    TrinoDialect(),
    RedshiftDialect(),
)
"""The dialects by which statements are printed, and which no test of ours runs."""
