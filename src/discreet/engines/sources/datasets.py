"""Datasets of Arrow: files, here or elsewhere, and tables in memory.

Trust: kernel.

A dataset lists its files when it is made, and that list stays.  Of files on this machine the state
is that of every file; of others it is their size and time of modification.
A dataset in memory is copied, as a frame is.  One that lists a file twice is refused: each row of
it would count twice.
"""

from __future__ import annotations

import hashlib
import os
import posixpath
from typing import TYPE_CHECKING, Any, final

from discreet.engines.sources.frames import Frame, from_arrow, is_readable
from discreet.engines.sources.identity import FileStamp, digest_of, joined_digest
from discreet.engines.sources.source import Stamp, check_names, type_name, unreadable

if TYPE_CHECKING:  # loaded by whoever makes a dataset, because it takes pandas along
    import pyarrow.dataset as ds

__all__ = ["from_dataset"]


def from_dataset(dataset: ds.Dataset) -> Frame:
    """Take a dataset all of whose columns can be read."""
    check_names(dataset.schema.names, what="columns")
    if not all(is_readable(field.type) for field in dataset.schema):
        raise unreadable(
            "the dataset has columns of types that cannot be read.",
            do="leave these columns out, or give an Arrow table.",
        )
    match type(dataset).__name__:
        case "InMemoryDataset":
            return from_arrow(dataset.to_table(), kind="dataset")
        case "FileSystemDataset":
            stamp = _stamp(dataset)
            _check_twice(dataset)
            for batch in dataset.to_batches():  # as they are read later, unchecked
                batch.validate(full=True)
            types = {field.name: type_name(field.type) for field in dataset.schema}
            return Frame(dataset, (), stamp, kind="dataset", types=types)
        case _:
            raise unreadable(
                "the dataset is made of several datasets.",
                do="give the paths of all files as one dataset, or several tables.",
            )


def _stamp(dataset: Any) -> Stamp:
    files = tuple(dataset.files)
    if dataset.filesystem.type_name == "local":
        return FileStamp(lambda: files, kind="dataset")
    return _ElsewhereStamp(dataset.filesystem, files)


def _check_twice(dataset: Any) -> None:
    """Refuse a dataset that has one file under two names, if the names or inodes show it."""
    local = dataset.filesystem.type_name == "local"
    files: set[object] = set()
    for path in dataset.files:
        seen = os.stat(path) if local else None  # noqa: PTH116  as Arrow names it
        files.add(posixpath.normpath(path) if seen is None else (seen.st_dev, seen.st_ino))
    if len(files) != len(dataset.files):
        raise unreadable(
            "the dataset lists a file twice.",
            do="list each file once; links to a file are that file.",
        )


@final
class _ElsewhereStamp:
    """Files on another machine, as they were when they were opened."""

    __slots__ = ("_files", "_infos", "_system", "kind")

    def __init__(self, system: Any, files: tuple[str, ...]) -> None:
        self.kind = "dataset"
        self._system = system
        self._files = files
        self._infos = self._look()

    @property
    def state(self) -> str:
        return digest_of(self._infos)

    def _look(self) -> tuple[tuple[object, ...], ...]:
        infos = self._system.get_file_info(list(self._files))
        return tuple((info.path, str(info.type), info.size, info.mtime_ns) for info in infos)

    def is_unchanged(self) -> bool:
        try:
            return self._look() == self._infos
        except OSError:
            return False

    def content(self) -> str:
        digests = []
        for path in self._files:
            with self._system.open_input_stream(path, compression=None) as file:
                digests.append(hashlib.sha256(file.read()).hexdigest())
        return joined_digest(digests)
