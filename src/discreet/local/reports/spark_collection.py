"""Reports in a data frame of Spark: each task counts its own, and the driver merges.

Trust: public.  Reports are private before they arrive.

One ``mapInArrow`` reads the column: a task turns all of its rows into one serialized collector, so
what travels to the driver are the counters of each task and never a report.  Whatever Spark does
twice it also drops once, and merging is in any order (key ``collector-monoid``).  Workers need this
package; a collector of another form or format is refused when it is merged.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from discreet.errors import WrongKind
from discreet.local.reports.collector import Collector
from discreet.local.reports.form import Form

if TYPE_CHECKING:  # an optional library
    from pyspark.sql import DataFrame


def collect_frame(form: Form, frame: DataFrame, *, column: str = "report") -> Collector:
    """Count the reports in a column of bytes; each cell holds a report, a batch or a stream.

    An empty cell is refused as unreadable, like anything else that is no report.
    """
    if not isinstance(form, Form) or not hasattr(frame, "mapInArrow"):
        raise WrongKind(
            what="what is to be collected is not a form and a data frame of Spark.",
            why="tasks read the reports where they are.",
            do="give a form, and a data frame with a column of bytes.",
        )
    types = dict(frame.dtypes)
    if types.get(column) != "binary":
        raise WrongKind(
            what=f"the data frame has no column {column} of bytes.",
            why="reports are bytes.",
            do="name the column of type binary that holds the reports.",
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about versions of pandas, which is not used
        states = frame.select(frame[column].alias("report")).mapInArrow(
            _task(form.serialize()), "state binary"
        )
    collector = form.collector()
    for row in states.collect():
        collector.merge(Collector.deserialize(bytes(row["state"]), form=form))
    return collector


def _task(document: str) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """Return what each task runs; it knows the form by its document."""

    def count(batches: Iterable[Any]) -> Iterator[Any]:
        collector = Form.deserialize(document).collector()
        for batch in batches:
            add_cells(collector, batch.column(0))
        yield pa.record_batch({"state": pa.array([collector.serialize()], pa.binary())})

    return count


def add_cells(collector: Collector, cells: Any) -> None:
    """Count an Arrow array of bytes.

    >>> from discreet.local import Domain
    >>> form = Form.of(Domain(["yes", "no"]), epsilon=1)
    >>> collector = form.collector()
    >>> add_cells(collector, pa.array([form.client().report("yes"), b"junk", None], pa.binary()))
    >>> print(collector)
    1 report, 2 refused (2 unreadable)
    """
    size = collector.form.layout.report_bytes
    for cell in cells.to_pylist():
        if not cell or len(cell) == size:
            collector.add(cell or b"")
        else:
            collector.add_many(cell)
