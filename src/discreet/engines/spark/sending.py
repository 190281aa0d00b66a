"""What is sent to the workers of Spark.

Trust: kernel.

Tasks are sent as they are, with all of their file, so that workers need DuckDB and pyarrow, and
nothing of ours: whichever version of this package they may have, they run the one that plans here.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from discreet.engines import spilling
from discreet.engines.spark import task

if TYPE_CHECKING:  # an optional library
    from pyspark.sql import DataFrame

__all__ = ["in_tasks", "spark_schema"]


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
