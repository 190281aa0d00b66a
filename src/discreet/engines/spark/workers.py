"""What the workers of Spark must have: the DuckDB that is here.

Trust: kernel.  It is looked at once for each session, before anything is charged.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

import duckdb
import pyarrow as pa

from discreet.engines.spark.sending import in_tasks, spark_schema
from discreet.engines.spark.task import versions
from discreet.errors import UnreadableSource

if TYPE_CHECKING:  # an optional library
    from pyspark.sql import SparkSession

__all__ = ["check_workers"]

_KNOWN: Final[WeakKeyDictionary[Any, str]] = WeakKeyDictionary()
_SCHEMA: Final = pa.schema([("version", pa.string())])


def check_workers(
    session: SparkSession, watched: Callable[[Callable[[], pa.Table]], pa.Table]
) -> None:
    """Refuse a session whose workers could not compute; ``watched`` runs the job that asks them."""
    found = _KNOWN.get(session, "")
    if not found:
        with contextlib.suppress(Exception):  # nothing is known of the workers then
            rows = in_tasks(session.range(1), versions, spark_schema(_SCHEMA))
            found = _KNOWN[session] = watched(rows.toArrow).column("version")[0].as_py()
    if found != duckdb.__version__:
        raise UnreadableSource(
            what=f"the workers of Spark cannot use DuckDB {duckdb.__version__}.",
            why="it computes in every task, and must be the one that is here.",
            do=f"install duckdb=={duckdb.__version__} and pyarrow in the Python of the workers, "
            "such as with PYSPARK_PYTHON or --archives, and start the session anew.",
        )
