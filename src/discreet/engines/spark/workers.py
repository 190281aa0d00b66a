"""Spark sessions and their workers: settings, versions, silence, and how work is sent.

Trust: kernel.

Settings.  The owner of a session sets it, and may set it again at any time.  Under most settings
nothing changes for us; under some, one row can make reading fail, or hide others.  With EXCEPTION
for a calendar, one day before the year 1582 makes every job fail that reads its column.  Where
Spark ignores files that are damaged, one record that it cannot read hides all that follow in its
file.  So a session with such a setting is refused when its tables are opened, and before anything
is charged.

Silence.  An error of Spark may quote a value of a row.  When pyspark makes such an error, it also
writes it to stderr through loggers of its own, whatever the level of Spark's logs is; the analyst
may see that screen.  These loggers say nothing while they work for us.

Tasks are sent as they are, with all of their file, so that workers need DuckDB and pyarrow, and
nothing of ours: whichever version of this package they may have, they run the one that plans here.

Versions.  Workers must have the DuckDB that is here.  Where groups stay apart, tasks add noise with
the package that they have; so it must be the one that is here.  Each is looked up once for a
session, before anything is charged; every task looks at its package again before it draws.
"""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, MutableMapping
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

if TYPE_CHECKING:  # an optional library
    from pyspark.sql import DataFrame, SparkSession

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
        value = session.conf.get(setting, None)
        if value is not None and value.lower() == refused.lower():
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
    """Let pyspark's loggers drop what this thread says; other threads are heard as before."""
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
        pa.float64(): types.DoubleType(),
        pa.string(): types.StringType(),
        pa.bool_(): types.BooleanType(),
        pa.date32(): types.DateType(),
        pa.timestamp("us"): types.TimestampNTZType(),
    }
    return types.StructType([types.StructField(field.name, kinds[field.type]) for field in schema])


RunJob = Callable[[Callable[[], Any]], Any]
"""Runs an action that starts jobs."""

Versions = MutableMapping[Any, str]
"""What the workers of each session have reported."""

_KNOWN_DUCKDB: Final[Versions] = WeakKeyDictionary()
_KNOWN: Final[Versions] = WeakKeyDictionary()
_SCHEMA: Final = pa.schema([("version", pa.string())])


def _version(
    session: SparkSession,
    run_job: RunJob,
    work: Callable[..., Iterator[pa.RecordBatch]],
    known: Versions,
) -> str:
    """Return the version that a worker reports; empty if it cannot be asked."""
    if session not in known:
        with contextlib.suppress(Exception):
            rows = in_tasks(session.range(1), work, spark_schema(_SCHEMA))
            known[session] = run_job(rows.toArrow).column("version")[0].as_py()
    return known.get(session, "")


def check_workers(session: SparkSession, run_job: RunJob) -> None:
    """Refuse a session whose workers could not compute."""
    if _version(session, run_job, duckdb_version, _KNOWN_DUCKDB) != duckdb.__version__:
        raise UnreadableSource(
            what=f"the workers of Spark cannot use DuckDB {duckdb.__version__}.",
            why="it computes in every task, and must be the one that is here.",
            do=f"install duckdb=={duckdb.__version__} and pyarrow in the Python of the workers, "
            "such as with PYSPARK_PYTHON or --archives, and start the session anew.",
        )


def check_writers(session: SparkSession, run_job: RunJob) -> None:
    """Refuse a session whose tasks could not choose groups and add noise as it is done here."""
    if _version(session, run_job, package_version, _KNOWN) != package():
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
