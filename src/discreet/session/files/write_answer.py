"""Answers that are written to files: for more groups than should come to one machine.

Trust: kernel.  The steps of an answer are those of :mod:`discreet.session.answer_pipeline`:

    find, charge, start    as for any answer
    draw                   the files are written out of sight, and then nobody can write there
    release                which files are the answer, byte for byte, is stored
    publish                the folder gets its name

The folder to write to is made before the charge, where nobody else can take it away.
A crash during writing leaves part of a draw that nobody can look at; asking again removes it and
draws anew, with another key.  A later crash leaves a whole draw: asking again stores it, or brings
what is on record to its place.  A draw that could not be sealed and may have been seen closes the
question.  Files that are on record and cannot be found are lost: there is no second draw.

The same question at the same price has one answer, whether asked for or written: what was asked
before is written from the record, and what was written before is read from its files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, cast

from discreet.engines.hash_order import HashOrder
from discreet.engines.parquet_files import copy_file, write_table
from discreet.errors import UnreadableSource, UnsupportedSQL, WrongKind
from discreet.requests.engine_request import Total
from discreet.session.answer_pipeline import is_manifest
from discreet.session.files.answer_folder import AnswerFolder
from discreet.session.files.draw_files import (
    DistributedGroups,
    draw_files,
    drawn_in_tasks,
    manifest_of,
    seal,
)
from discreet.session.files.manifest import Manifest, WrittenRelease

if TYPE_CHECKING:  # all are handed in
    from discreet.ledger.values import StoredAnswer
    from discreet.plan.plan import Plan
    from discreet.release.release import Release
    from discreet.session.answer_pipeline import AnswerPipeline


def write(
    pipeline: AnswerPipeline,
    plan: Plan,
    folder: object,
    *,
    decode: Callable[[StoredAnswer], Release],
    private: bool,
) -> WrittenRelease:
    """Write the answer to a plan into a folder, after paying and drawing it if need be.

    Args:
        pipeline: carries out plans.
        plan: what is asked.
        folder: where the answer goes; it must not exist yet, unless it is this answer.
        decode: reads an answer that is itself on record, and not in files.
        private: whether anything is protected here.
    """
    place = AnswerFolder.of(folder, pipeline.record.id, plan.digest)
    with place.locked():
        if pipeline.record.find(plan.digest) is None:
            _check(plan, pipeline)
            place.check_parent()
            place.check_free()
            _begin(place)
        try:
            stored = pipeline.run_steps(
                plan, plan.digest, lambda: draw_files(pipeline, plan, place)
            )
        except BaseException:
            place.remove_unused()
            raise
        with _on_record():
            if is_manifest(stored.answer):
                manifest = Manifest.read(stored.answer, plan=plan.digest)
                _complete(place, manifest)
            else:
                manifest = _written_from(decode(stored), plan, place)
    return WrittenRelease(
        plan=plan,
        folder=place.target,
        manifest=manifest,
        receipt=stored.receipt,
        replayed=stored.replayed,
        private=private,
    )


# --- before anything is paid ------------------------------------------------------------------


def check_writable(pipeline: AnswerPipeline, plan: Plan, folder: object) -> None:
    """Refuse a plan whose answer cannot be written, or a place where it cannot be."""
    place = AnswerFolder.of(folder, pipeline.record.id, plan.digest)
    _check(plan, pipeline)
    place.check_parent()
    place.check_free()


def _check(plan: Plan, pipeline: AnswerPipeline) -> None:
    """Refuse questions whose answers cannot be written."""
    feature: str | None = None
    if plan.search is not None:
        feature = "bounds that are searched for"
    elif drawn_in_tasks(plan, pipeline):
        others = [measure for measure in plan.request.measures if not isinstance(measure, Total)]
        if others or plan.choices:
            feature = "quantiles or distinct values in groups with private keys"
        elif plan.layout.order or plan.layout.limited:
            feature = "an order or a limit of groups with private keys"
    if feature is not None:
        raise UnsupportedSQL(
            what=f"an answer with {feature} cannot be written by tasks.",
            why="each task sees some of the groups only, and totals stay in it.",
            do="leave that out, and sort or cut what was written, which is free; or get the answer "
            "with ask(), which brings all groups to this machine.",
        )
    if drawn_in_tasks(plan, pipeline):
        from discreet.engines.spark.workers import check_writers  # noqa: PLC0415  an optional engine

        engine = cast("DistributedGroups", pipeline.engine)
        groups = engine.groups(plan.request, order=HashOrder(salt=0))
        check_writers(groups.sparkSession, engine.run_monitored)


def _begin(place: AnswerFolder) -> None:
    """Make the folder to write to, unless a whole draw waits to be stored."""
    try:
        if place.unpublished_draw() is None:
            place.begin()
    except (OSError, RuntimeError):
        raise WrongKind(
            what="nothing can be written beside the requested folder.",
            why="an answer is written there first, and nothing is paid for that cannot be kept.",
            do="make sure that this user may write there, or name another folder.",
        ) from None


# --- after it is on record --------------------------------------------------------------------


@contextmanager
def _on_record() -> Iterator[None]:
    """Report any failure as one that loses nothing."""
    try:
        yield
    except (OSError, RuntimeError):
        raise UnreadableSource(
            what="the files of this answer cannot be read now, or not be brought to their place.",
            why="the answer is on record, and nothing of it was removed.",
            do="see that this user can read and write there, and ask again, which costs nothing.",
        ) from None


def _complete(place: AnswerFolder, manifest: Manifest) -> None:
    """Bring files that are on record to their place, or say why not; none is removed."""
    if not _brought(place, manifest):
        raise UnreadableSource(
            what=f"the files of this answer are not in {manifest.folder}, or have been changed.",
            why="it was drawn and paid for once; a second draw would be a second answer.",
            do="put them back as they were written, or buy another answer at another price.",
        )


def _brought(place: AnswerFolder, manifest: Manifest) -> bool:
    """Bring files to their place from wherever they are; return whether they were found."""
    if manifest.matches(place.target):
        place.remove_leftovers()
        return True
    for sealed in place.sealed_folders():
        if manifest.matches(sealed):
            place.publish(sealed)
            return True
    first = AnswerFolder(Path(manifest.folder), place.digest)
    if first == place:
        return False
    for source in (*first.sealed_folders(), first.target):
        if manifest.matches(source):
            place.check_free()
            with suppress(FileNotFoundError):  # brought to its own place meanwhile
                _copied(place, manifest, source)
                return True
    return False


def _copied(place: AnswerFolder, manifest: Manifest, source: Path) -> None:
    folder = place.begin()
    for file in manifest.files:
        copy_file(file, source, folder)
    place.publish(seal(place, manifest))


def _written_from(release: Release, plan: Plan, place: AnswerFolder) -> Manifest:
    """Write an answer that is itself on record."""
    table = release.to_arrow()
    file = write_table(table, place.begin(), "answer")
    manifest = manifest_of(plan, place, (file,), table.schema)
    sealed = seal(place, manifest)
    try:
        if not manifest.matches(place.target):
            place.publish(sealed)
    finally:
        place.remove_leftovers()  # nothing is lost: the answer itself is on record
    return manifest
