"""Answers with more groups than one machine holds: finished in tasks, and written by them.

Trust: kernel.  Totals without noise are seen by the task that finishes them, and by nobody else.

Definition.  The bin of a group is a hash of its key values; a shuffle brings each bin together, and
its rows one after another.  A task takes the totals of a bin, sorts them by their keys, has them
finished (:mod:`discreet.release.answer` says how), and writes the shown groups into one file.
It reports the name of the file, its digest and its number of rows.
A task that runs again makes the same files, which are known by their content.  So neither the files
nor their rows depend on how many tasks there are, which of them are repeated, or when.

A task whose package is not the one that plans refuses to draw.
A bin that came in two parts would get the same noise twice, and is refused.  Whatever fails in a
task says one sentence, for Spark shows the errors of tasks and keeps them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from discreet.engines.parquet_files import PrivateFolder, ReleasedFile, write_table
from discreet.engines.spark.data_frames import functions_of
from discreet.engines.spark.statements import BITS, limb_names
from discreet.engines.spark.task import quiet
from discreet.engines.spark.workers import RunJob, in_tasks, package, spark_schema
from discreet.errors import EngineFailed
from discreet.requests.engine_request import EngineRequest
from discreet.requests.raw_totals import (
    ARROW_TYPES,
    LARGEST_TOTAL,
    Integers,
    RawTotals,
    integers,
    numbers,
)

if TYPE_CHECKING:  # an optional library
    from pyspark.sql import DataFrame

Finish = Callable[[RawTotals, int], pa.Table]
"""Makes the finished table of a bin from its totals, sorted by their keys, and its number."""

BIN: Final = "bin"
_REPORT: Final = pa.schema(
    [(BIN, pa.int64()), ("rows", pa.int64()), ("name", pa.string()), ("digest", pa.string())]
)
_MASK: Final = 2**BITS - 1


def write_bins(  # noqa: PLR0913  a job, and who starts it
    groups: DataFrame,
    request: EngineRequest,
    *,
    bins: int,
    finish: Finish,
    folder: PrivateFolder,
    run_job: RunJob | None = None,
) -> tuple[ReleasedFile, ...]:
    """Finish all groups in tasks, which write into a folder; return the files by their bins.

    Args:
        groups: totals of all groups, as the engine adds them up.
        request: what they are totals of.
        bins: how many bins there are, whatever the data is.
        finish: adds noise; it is sent to the tasks.
        folder: where to write: a folder that driver and tasks share.  Tasks make sure that it is
            the one that was made.
        run_job: starts the job, and stops it if need be.
    """
    reports: list[Any] | None = None
    try:
        job = _job(groups, request, bins=bins, finish=finish, folder=folder)
        reports = job.collect() if run_job is None else run_job(job.collect)
        if len({report[BIN] for report in reports}) != len(reports):
            reports = None
    except Exception:  # noqa: BLE001, S110 (its text may quote the data; replaced below)
        pass
    if reports is None:  # raised here, where the other error is out of sight
        raise EngineFailed(
            what="the engine could not write the answer.",
            why="what it says about the reason may hold values of the data.",
            do="see that tasks can write to the folder, and ask again, which costs nothing more.",
        )
    return tuple(
        ReleasedFile(name=report["name"], rows=report["rows"], digest=report["digest"])
        for report in sorted(reports, key=lambda report: int(report[BIN]))
        if report["rows"]
    )


def _job(
    groups: DataFrame, request: EngineRequest, *, bins: int, finish: Finish, folder: PrivateFolder
) -> DataFrame:
    """Bring bins together, and finish each of them where it is."""
    functions = functions_of(groups)
    keys = [f"k{index}" for index in range(len(request.keys))]
    place = functions.pmod(functions.xxhash64(*keys), functions.lit(bins))
    whole = groups.withColumn(BIN, place).repartition(BIN).sortWithinPartitions(BIN)
    columns = spark_schema(_REPORT)
    sent = {"request": request, "finish": finish, "folder": folder, "drawn_by": package()}
    return in_tasks(whole, finish_bins, columns, **sent)


def finish_bins(
    batches: Iterable[pa.RecordBatch],
    *,
    request: EngineRequest,
    finish: Finish,
    folder: PrivateFolder,
    drawn_by: str,
) -> Iterator[pa.RecordBatch]:
    """Do what a task does: finish and write its bins, and report each of them."""
    return quiet(_reports(batches, request, finish, folder, drawn_by))


def _reports(
    batches: Iterable[pa.RecordBatch],
    request: EngineRequest,
    finish: Finish,
    folder: PrivateFolder,
    drawn_by: str,
) -> Iterator[pa.RecordBatch]:
    if drawn_by != package():
        message = "another version of the package"
        raise RuntimeError(message)
    for number, table in _whole_bins(batches):
        finished = finish(_raw(table, request), number)
        name = digest = ""
        if finished.num_rows:
            file = write_table(finished, folder, f"bin-{number:05}")
            name, digest = file.name, file.digest
        values = [[number], [finished.num_rows], [name], [digest]]
        yield pa.record_batch(values, schema=_REPORT)


def _whole_bins(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, pa.Table]]:
    """Cut rows that come bin after bin into bins."""
    current: int | None = None
    parts: list[pa.RecordBatch] = []
    for batch in batches:
        places = numbers(batch.column(BIN))
        starts = [0, *(np.flatnonzero(np.diff(places)) + 1).tolist(), places.size]
        for start, end in pairwise(starts):
            if start == end:
                continue
            number = int(places[start])
            if current is not None and number != current:
                if number < current:
                    message = "bins do not come one after another"
                    raise ValueError(message)
                yield current, pa.Table.from_batches(parts)
                parts = []
            current = number
            parts.append(batch.slice(start, end - start))
    if current is not None:
        yield current, pa.Table.from_batches(parts)


def _raw(table: pa.Table, request: EngineRequest) -> RawTotals:
    """Read the totals of a bin, and sort its groups."""
    keys = [
        table.column(f"k{index}").cast(ARROW_TYPES[key.type]).combine_chunks()
        for index, key in enumerate(request.keys)
    ]
    places = _order(keys)
    order = numbers(places)
    return RawTotals(
        keys=tuple(key.take(places) for key in keys),
        units=integers(table, "units")[order],
        totals={
            total.name: _total(table, index)[order] for index, total in enumerate(request.totals)
        },
        leaves={},
    )


def _order(keys: list[pa.Array]) -> pa.Array:
    """Return the places of groups sorted by their keys, NULL first."""
    import pyarrow.compute as pc  # noqa: PLC0415  loaded in tasks alone

    columns: dict[str, pa.Array] = {}
    for index, key in enumerate(keys):
        columns[f"there {index}"] = key.is_valid().cast(pa.int8())
        columns[f"value {index}"] = key.cast(pa.int8()) if pa.types.is_boolean(key.type) else key
    wanted = [(name, "ascending") for name in columns]
    return pc.sort_indices(pa.table(columns), sort_keys=wanted)


def _total(table: pa.Table, index: int) -> Integers:
    """Put the limbs of a total together; what does not fit in 62 bits is clamped."""
    low, middle, high = (integers(table, name) for name in limb_names(index))
    middle = middle + (low >> BITS)
    high = np.clip(high + (middle >> BITS), -2, 1)  # what is further out is clamped below
    top = (high << BITS) + (middle & _MASK)
    edge = LARGEST_TOTAL >> BITS
    inside = (top >= -edge) & (top < edge)
    exact = (np.where(inside, top, 0) << BITS) + (low & _MASK)
    clamped: Integers = np.where(inside, exact, np.where(top < 0, -LARGEST_TOTAL, LARGEST_TOTAL))
    return clamped
