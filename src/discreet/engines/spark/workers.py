"""Spark sessions and their workers: settings, versions, silence, and how work is sent.

Trust: kernel.

Settings of a Spark session under which one row can make reading fail, or hide others.

Whoever owns the session sets it, and may set it again at any time.  Most settings make no
difference to us; these do, when files are read.  With EXCEPTION for a calendar, one day before the
year 1582 makes every job fail that reads its column.  Where Spark ignores files that are damaged,
one record that it cannot read hides all that follow in its file.  So a session with such a setting
is refused when its tables are opened, and before anything is charged.

What pyspark prints when a job fails: nothing, while it works for us.

 An error of Spark may quote a value of a row.  When pyspark makes such an error, it
also writes it to stderr through loggers of its own, whatever the level of Spark's logs is; on a
screen that may be that of whoever asks.

What is sent to the workers of Spark.

Tasks are sent as they are, with all of their file, so that workers need DuckDB and pyarrow, and
nothing of ours: whichever version of this package they may have, they run the one that plans here.

What the workers of Spark must have: the DuckDB that is here.

 It is looked at once for each session, before anything is charged.

What the workers of Spark must have to add noise: the package that is here.

 Where groups stay apart, tasks draw with whatever package they have.  It is looked
at once for each session, before anything is charged; and by every task, before it draws.
"""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

import duckdb
import pyarrow as pa

from discreet.engines import spilling
from discreet.engines.spark import task
from discreet.engines.spark.task import duckdb_version
from discreet.errors import UnreadableSource

if TYPE_CHECKING:  # loaded when first used, because a plain question needs none of it
    from pyspark.sql import DataFrame, SparkSession

__all__ = [
    "check_settings",
    "check_workers",
    "check_writers",
    "in_tasks",
    "package",
    "package_version",
    "silenced_loggers",
    "spark_schema",
]

_REFUSED: Final = {
    "spark.sql.avro.datetimeRebaseModeInRead": "EXCEPTION",
    "spark.sql.files.ignoreCorruptFiles": "true",
    "spark.sql.files.ignoreMissingFiles": "true",
    "spark.sql.parquet.datetimeRebaseModeInRead": "EXCEPTION",
    "spark.sql.parquet.int96RebaseModeInRead": "EXCEPTION",
}
_INSTEAD: Final = {"EXCEPTION": "CORRECTED", "true": "false"}


def check_settings(session: SparkSession) -> None:
    """Refuse a session in which a row could make reading fail, or hide the rows of others."""
    for setting, refused in _REFUSED.items():
        found = session.conf.get(setting, None)
        if found is not None and found.lower() == refused.lower():
            raise UnreadableSource(
                what=f"the Spark session has {setting} = {refused}.",
                why="then one row can make every question fail, or hide the rows of others.",
                do=f"set it to {_INSTEAD[refused]}, and write files again that Spark then cannot "
                "read.",
            )


_LOGGERS: Final = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")
_THREAD: Final = threading.local()


@contextmanager
def silenced_loggers() -> Iterator[None]:
    """Let these loggers drop what this thread says; others are heard as before."""
    from pyspark.logger import PySparkLogger  # noqa: PLC0415  an optional library

    for name in _LOGGERS:
        PySparkLogger.getLogger(name).addFilter(_passes)  # once, however often it is added
    before = getattr(_THREAD, "hushed", False)
    _THREAD.hushed = True
    try:
        yield
    finally:
        _THREAD.hushed = before


def _passes(_: logging.LogRecord) -> bool:
    return not getattr(_THREAD, "hushed", False)


def in_tasks(
    rows: DataFrame, work: Callable[..., Iterator[pa.RecordBatch]], schema: Any, **arguments: object
) -> DataFrame:
    """Return what a task makes of its rows; it is sent by value."""
    from pyspark import cloudpickle  # noqa: PLC0415  an optional library

    for module in (task, spilling):
        cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about versions of pandas, which is not used
        return rows.mapInArrow(partial(work, **arguments), schema)


def spark_schema(schema: pa.Schema) -> Any:
    """Return the columns of an Arrow schema as Spark has them; texts are compared as they are."""
    from pyspark.sql import types  # noqa: PLC0415  an optional library

    kinds = {
        pa.int32(): types.IntegerType(),
        pa.int64(): types.LongType(),
        pa.string(): types.StringType(),
        pa.bool_(): types.BooleanType(),
        pa.date32(): types.DateType(),
        pa.timestamp("us"): types.TimestampNTZType(),
    }
    return types.StructType([types.StructField(each.name, kinds[each.type]) for each in schema])


_KNOWN_DUCKDB: Final[WeakKeyDictionary[Any, str]] = WeakKeyDictionary()
_VERSION_SCHEMA: Final = pa.schema([("version", pa.string())])


def check_workers(
    session: SparkSession, run_job: Callable[[Callable[[], pa.Table]], pa.Table]
) -> None:
    """Refuse a session whose workers could not compute; ``run_job`` runs the job that asks them."""
    found = _KNOWN_DUCKDB.get(session, "")
    if not found:
        with contextlib.suppress(Exception):  # nothing is known of the workers then
            rows = in_tasks(session.range(1), duckdb_version, spark_schema(_VERSION_SCHEMA))
            found = _KNOWN_DUCKDB[session] = run_job(rows.toArrow).column("version")[0].as_py()
    if found != duckdb.__version__:
        raise UnreadableSource(
            what=f"the workers of Spark cannot use DuckDB {duckdb.__version__}.",
            why="it computes in every task, and must be the one that is here.",
            do=f"install duckdb=={duckdb.__version__} and pyarrow in the Python of the workers, "
            "such as with PYSPARK_PYTHON or --archives, and start the session anew.",
        )


_KNOWN: Final[WeakKeyDictionary[Any, str]] = WeakKeyDictionary()
_SCHEMA: Final = pa.schema([("version", pa.string())])


def check_writers(
    session: SparkSession, run_job: Callable[[Callable[[], pa.Table]], pa.Table]
) -> None:
    """Refuse a session whose tasks could not choose groups and add noise as it is done here."""
    found = _KNOWN.get(session, "")
    if not found:
        with contextlib.suppress(Exception):  # nothing is known of the workers then
            rows = in_tasks(session.range(1), package_version, spark_schema(_SCHEMA))
            found = _KNOWN[session] = run_job(rows.toArrow).column("version")[0].as_py()
    if found != package():
        raise UnreadableSource(
            what=f"the workers of Spark do not have {package()}.",
            why="where groups stay apart, tasks choose which are shown, and add the noise.",
            do="install what is here in the Python of the workers; or get the answer with ask(), "
            "which brings all groups to this machine.",
        )


def package_version(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Say in a task which package it has.

    >>> [batch.num_rows for batch in package_version([])]
    [1]
    """
    for _ in batches:
        pass
    yield pa.record_batch([[package()]], schema=_SCHEMA)


def package() -> str:
    """Say which package is here, and what it writes files with."""
    here = sys.modules["discreet"]  # rooms do not import the house
    return f"discreet {here.__version__} and pyarrow {pa.__version__}"
