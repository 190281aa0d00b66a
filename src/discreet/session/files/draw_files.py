"""Drawing an answer into files.

Trust: kernel.

With private keys, an engine that keeps groups apart has its tasks choose groups, add noise and
write (key ``keyed-bins``): totals without noise stay in them.  If few groups are shown, their files
are merged into one.  Everything else is drawn here, into one file.
A draw is not on record yet, and nobody may look at it
(:mod:`discreet.session.files.answer_folder`).

A complete draw is never followed by another: an attempt that ended before it was on record is
continued.  An incomplete one is thrown away only if nobody can have seen it; otherwise the attempt
fails, which closes the question.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, cast, runtime_checkable

import numpy as np
import pyarrow as pa

from discreet.engines.hash_order import HashOrder
from discreet.engines.parquet_files import PrivateFolder, ReleasedFile, read_table, write_table
from discreet.errors import SourceChanged, UnreadableSource
from discreet.release.answer import KeyedBins, answer
from discreet.requests.engine_request import EngineRequest, Total
from discreet.requests.raw_totals import ARROW_TYPES, RawTotals
from discreet.session.files.answer_folder import AnswerFolder
from discreet.session.files.manifest import Manifest

if TYPE_CHECKING:  # an optional library, and what is handed in
    from pyspark.sql import DataFrame

    from discreet.noise import Entropy
    from discreet.plan.plan import Plan
    from discreet.session.answer_pipeline import AnswerPipeline

_SLICE: Final = 2**16
_ONE_FILE: Final = 2**16
"""So many rows need no more than one file."""
_ELSEWHERE: Final = "tasks have written to another folder"
_CHANGED: Final = "the data changed while tasks read it"


@runtime_checkable
class DistributedGroups(Protocol):
    """An engine whose groups can stay on many machines."""

    def groups(self, lowered: EngineRequest, *, order: HashOrder) -> DataFrame:
        """Add up the totals of all groups, and leave them where they are."""
        ...

    def run_monitored(self, action: Callable[[], Any]) -> Any:
        """Do something that starts jobs, and can be stopped."""
        ...


def drawn_in_tasks(plan: Plan, pipeline: AnswerPipeline) -> bool:
    """Return whether tasks finish groups where they are: if none has to be known beforehand."""
    alone = plan.selection is not None and plan.having_threshold is None
    return alone and isinstance(pipeline.engine, DistributedGroups)


def draw_files(pipeline: AnswerPipeline, plan: Plan, place: AnswerFolder) -> bytes:
    """Write an answer out of sight, and return the manifest to be stored."""
    waiting = place.unpublished_draw()
    if waiting is not None:
        return _gone_on_with(plan, *waiting)
    folder = place.private_folder
    try:
        order = pipeline.order()
        if drawn_in_tasks(plan, pipeline):
            files, schema = _by_tasks(pipeline, plan, order, folder)
        else:
            raw = pipeline.engine.run(plan.request, order=order)
            table = _finished(plan, raw, pipeline.entropy)
            files, schema = (write_table(table, folder, "answer"),), table.schema
        manifest = manifest_of(plan, place, files, schema)
        seal(place, manifest)
    except BaseException:
        place.discard_unseen()  # or fail in another way: somebody may have seen the draw
        raise
    return manifest.written()


def seal(place: AnswerFolder, manifest: Manifest) -> Path:
    """End all writing, check that this machine sees what was written, and return where it is."""
    sealed = place.seal({file.name for file in manifest.files}, manifest.written())
    if not manifest.matches(sealed):
        raise RuntimeError(_ELSEWHERE)
    return sealed


def _gone_on_with(plan: Plan, sealed: Path, stored: bytes) -> bytes:
    """Return the manifest of a draw whose attempt ended before it was recorded."""
    if not Manifest.read(stored, plan=plan.digest).matches(sealed):
        raise RuntimeError(_ELSEWHERE)
    return stored


def _by_tasks(
    pipeline: AnswerPipeline, plan: Plan, order: HashOrder, folder: PrivateFolder
) -> tuple[tuple[ReleasedFile, ...], pa.Schema]:
    """Let tasks finish their groups, with a key that ends with this call."""
    engine = cast("DistributedGroups", pipeline.engine)
    finish = KeyedBins.fresh(plan, entropy=pipeline.entropy)
    from discreet.engines.spark.bin_writer import write_bins  # noqa: PLC0415  an optional engine

    pipeline.check_sources(plan)
    groups = engine.groups(plan.request, order=order)
    files = write_bins(
        groups,
        plan.request,
        bins=finish.bins,
        finish=finish,
        folder=folder,
        run_job=engine.run_monitored,
    )
    try:
        pipeline.check_sources(plan)
    except SourceChanged:  # noise was drawn, and perhaps seen: nobody may ask for another draw
        raise RuntimeError(_CHANGED) from None
    empty = finish(_nothing(plan.request), 0)
    if sum(file.rows for file in files) <= _ONE_FILE:
        files = (_one_file(files, folder, empty),)
    return files, empty.schema


def _one_file(
    files: Sequence[ReleasedFile], folder: PrivateFolder, empty: pa.Table
) -> ReleasedFile:
    """Merge the files of the tasks, which go when the folder is sealed."""
    try:
        tables = [read_table(folder.path, file).cast(empty.schema) for file in files]
    except UnreadableSource:
        raise RuntimeError(_ELSEWHERE) from None
    return write_table(pa.concat_tables([*tables, empty]), folder, "answer")


def _nothing(lowered: EngineRequest) -> RawTotals:
    """Return the totals of no groups."""
    none = np.zeros(0, np.int64)
    return RawTotals(
        keys=tuple(pa.array([], ARROW_TYPES[key.type]) for key in lowered.keys),
        units=none,
        totals={measure.name: none for measure in lowered.measures if isinstance(measure, Total)},
        leaves={},
    )


def _finished(plan: Plan, raw: RawTotals, entropy: Entropy) -> pa.Table:
    """Finish groups here, in slices where no group depends on others.

    Groups are sorted by their keys, and so is what is shown; the slices leave no trace.
    """
    groups, shown = raw.units.size, plan.layout
    apart = plan.selection is not None and plan.having_threshold is None and not raw.leaves
    if not apart or shown.order or shown.limited or groups <= _SLICE:
        return answer(plan, raw, entropy=entropy).to_arrow()
    tables = []
    for start in range(0, groups, _SLICE):
        part = slice(start, start + _SLICE)
        some = RawTotals(
            keys=tuple(key[part] for key in raw.keys),
            units=raw.units[part],
            totals={name: total[part] for name, total in raw.totals.items()},
            leaves={},
        )
        tables.append(answer(plan, some, entropy=entropy).to_arrow())
    return pa.concat_tables(tables).combine_chunks()


def manifest_of(
    plan: Plan, place: AnswerFolder, files: tuple[ReleasedFile, ...], schema: pa.Schema
) -> Manifest:
    """Return the manifest: which files are the answer."""
    return Manifest(
        plan=plan.digest,
        folder=str(place.target),
        confidence=plan.confidence,
        columns=tuple((field.name, str(field.type)) for field in schema),
        files=files,
    )
