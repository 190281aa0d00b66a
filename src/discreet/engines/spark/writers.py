"""What the workers of Spark must have to add noise: the package that is here.

Trust: kernel.  Where groups stay apart, tasks draw with whatever package they have.  It is looked
at once for each session, before anything is charged; and by every task, before it draws.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

import pyarrow as pa

from discreet.engines.spark.sending import in_tasks, spark_schema
from discreet.errors import UnreadableSource

if TYPE_CHECKING:  # an optional library
    from pyspark.sql import SparkSession

__all__ = ["check_writers", "package", "versions"]

_KNOWN: Final[WeakKeyDictionary[Any, str]] = WeakKeyDictionary()
_SCHEMA: Final = pa.schema([("version", pa.string())])


def check_writers(
    session: SparkSession, watched: Callable[[Callable[[], pa.Table]], pa.Table]
) -> None:
    """Refuse a session whose tasks could not choose groups and add noise as it is done here."""
    found = _KNOWN.get(session, "")
    if not found:
        with contextlib.suppress(Exception):  # nothing is known of the workers then
            rows = in_tasks(session.range(1), versions, spark_schema(_SCHEMA))
            found = _KNOWN[session] = watched(rows.toArrow).column("version")[0].as_py()
    if found != package():
        raise UnreadableSource(
            what=f"the workers of Spark do not have {package()}.",
            why="where groups stay apart, tasks choose which are shown, and add the noise.",
            do="install what is here in the Python of the workers; or get the answer with ask(), "
            "which brings all groups to this machine.",
        )


def versions(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Say in a task which package it has.

    >>> [batch.num_rows for batch in versions([])]
    [1]
    """
    for _ in batches:
        pass
    yield pa.record_batch([[package()]], schema=_SCHEMA)


def package() -> str:
    """Say which package is here, and what it writes files with."""
    here = sys.modules["discreet"]  # rooms do not import the house
    return f"discreet {here.__version__} and pyarrow {pa.__version__}"
