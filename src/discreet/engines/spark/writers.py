"""What the workers of Spark must have to add noise: the package that is here.

Trust: kernel.  Where groups stay apart, tasks draw with whatever package they have.  It is looked
at once for each session, before anything is charged.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

import pyarrow as pa

from discreet.engines.spark.sending import in_tasks, spark_schema
from discreet.errors import UnreadableSource

if TYPE_CHECKING:  # an optional library
    from pyspark.sql import SparkSession

__all__ = ["check_writers", "versions"]

_KNOWN: Final[WeakKeyDictionary[Any, frozenset[str]]] = WeakKeyDictionary()
_SCHEMA: Final = pa.schema([("version", pa.string())])


def check_writers(session: SparkSession) -> None:
    """Refuse a session whose tasks could not choose groups and add noise as it is done here."""
    if session not in _KNOWN:
        found: frozenset[str] = frozenset()
        with contextlib.suppress(Exception):  # nothing is known of the workers then
            rows = in_tasks(session.range(1), versions, spark_schema(_SCHEMA))
            found = frozenset(rows.toArrow().column("version").to_pylist())
        _KNOWN[session] = found
    if _KNOWN[session] != {_version()}:
        raise UnreadableSource(
            what=f"the workers of Spark do not have {_version()}.",
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
    yield pa.record_batch([[_version()]], schema=_SCHEMA)


def _version() -> str:
    here = sys.modules["discreet"]  # rooms do not import the house
    return f"discreet {here.__version__} and pyarrow {pa.__version__}"
