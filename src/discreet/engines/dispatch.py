"""Choosing the engine for a set of tables.

Trust: kernel.  The libraries of other engines are not loaded.
"""

from __future__ import annotations

from collections.abc import Mapping

from discreet.engines.duckdb import DuckDB
from discreet.engines.engine import Engine, Performance, SparkPerformance
from discreet.engines.postgres.address import is_address
from discreet.engines.spark.data_frames import is_spark
from discreet.errors import WrongKind


def engine_for(
    tables: Mapping[str, object], performance: Performance | SparkPerformance | None = None
) -> Engine:
    """Open tables with the engine that they need.

    Data frames of Spark are computed by Spark, and tables on a PostgreSQL server are read from
    there; DuckDB reads everything else.

    >>> import pyarrow as pa
    >>> engine = engine_for({"visits": pa.table({"patient": [1]})}, Performance(threads=1))
    >>> engine.tables()
    {'visits': {'patient': INTEGER}}
    >>> engine.close()
    """
    if any(is_spark(data) for data in tables.values()):
        if isinstance(performance, Performance):
            raise _other("SparkPerformance")
        from discreet.engines.spark.engine import Spark  # noqa: PLC0415  an optional library

        return Spark(tables, performance)
    if isinstance(performance, SparkPerformance):
        raise _other("Performance")
    if any(is_address(data) for data in tables.values()):
        from discreet.engines.postgres.engine import Postgres  # noqa: PLC0415  an optional library

        return Postgres(tables, performance)
    return DuckDB(tables, performance)


def _other(wanted: str) -> WrongKind:
    return WrongKind(
        what="the options are those of another engine.",
        why="what makes an engine faster is different for each.",
        do=f"give a {wanted}, or none.",
    )
