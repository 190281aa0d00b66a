"""Files of released tables: written whole or not at all, and known by their content.

Trust: public.  Only what is released gets here; statistics in a file are about its own rows.

Definition.  A file is written under a name that nobody looks for, brought to disk, and then gets
its own name: a stem, and the first digits of the SHA-256 of its bytes.  So two attempts at the same
table make one file, two different tables never replace each other, and a file that has its name is
whole.

A folder of files that are not on record yet is private, and is known by its inode and not by its
name alone (:class:`PrivateFolder`): every writer, in whichever process, first makes sure that it is
the folder that was made for this.  Files get their names by the path of the folder, so that no file
is completed once the folder has another name.
"""

from __future__ import annotations

import hashlib
import os
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, final

from discreet.errors import UnreadableSource

if TYPE_CHECKING:  # loaded with Parquet itself
    import pyarrow as pa

_DIGITS: Final = 16
_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_PRIVATE: Final = 0o700


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedFile:
    """A file of an answer: its name, the number of its rows, and the SHA-256 of its bytes.

    >>> ReleasedFile(name="answer.parquet", rows=2, digest="0" * 64).rows
    2
    """

    name: str
    rows: int
    digest: str


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateFolder:
    """A folder inside one that is open to its owner alone, and the inodes of both.

    It can be sent to other processes, and to machines that share the file system.
    """

    path: Path
    inode: int
    outer: int
    owner: int

    @classmethod
    def of(cls, path: Path) -> PrivateFolder:
        """Look at a folder that was just made by this process."""
        inside, outside = path.lstat(), path.parent.lstat()
        folder = cls(path=path, inode=inside.st_ino, outer=outside.st_ino, owner=os.geteuid())
        with folder.opened():
            return folder

    @contextmanager
    def opened(self) -> Iterator[int]:
        """Open the folder, if it is the one that was made, and yield its descriptor."""
        outer = os.open(self.path.parent, _FOLDER)
        try:
            self._check(os.fstat(outer), self.outer)
            if stat.S_IMODE(os.fstat(outer).st_mode) & 0o777 != _PRIVATE:
                raise _exchanged()
            inner = os.open(self.path.name, _FOLDER, dir_fd=outer)
        finally:
            os.close(outer)
        try:
            self._check(os.fstat(inner), self.inode)
            yield inner
        finally:
            os.close(inner)

    def _check(self, status: os.stat_result, inode: int) -> None:
        """Fail if it is another folder."""
        if (status.st_ino, status.st_uid) != (inode, self.owner):
            raise _exchanged()


def _exchanged() -> RuntimeError:
    return RuntimeError("another folder has taken the place of the one to write to")


@contextmanager
def _opened(folder: Path | PrivateFolder) -> Iterator[tuple[Path, int]]:
    """Open a folder to write to; yield its path and its descriptor."""
    if isinstance(folder, PrivateFolder):
        with folder.opened() as number:
            yield folder.path, number
        return
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield folder, number
    finally:
        os.close(number)


def write_table(table: pa.Table, folder: Path | PrivateFolder, stem: str) -> ReleasedFile:
    """Write a table into an existing folder, and return its file.

    >>> import tempfile
    >>> import pyarrow as pa
    >>> with tempfile.TemporaryDirectory() as name:
    ...     file = write_table(pa.table({"n": [3]}), Path(name), "answer")
    ...     file == write_table(pa.table({"n": [3]}), Path(name), "answer")
    ...     read_table(Path(name), file).to_pylist(), len(list(Path(name).iterdir()))
    True
    ([{'n': 3}], 1)
    """
    import pyarrow as pa  # noqa: PLC0415  as Parquet, below
    import pyarrow.parquet as pq  # noqa: PLC0415  takes its time, and few answers are files

    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    data = sink.getvalue()
    digest = hashlib.sha256(data).hexdigest()
    name = f"{stem}-{digest[:_DIGITS]}.parquet"
    _put(data, folder, name)
    return ReleasedFile(name=name, rows=table.num_rows, digest=digest)


def _writer() -> str:
    """Name the writer: two may write the same file at once."""
    return f"{os.uname().nodename}.{os.getpid()}.{threading.get_ident()}"


def _put(data: pa.Buffer | bytes, folder: Path | PrivateFolder, name: str) -> None:
    """Write bytes to disk, and then give the file its name."""
    hidden = f".{name}.{_writer()}"
    with _opened(folder) as (path, inside):
        with suppress(FileNotFoundError):  # of an attempt that was killed, if any
            os.unlink(hidden, dir_fd=inside)
        number = os.open(hidden, _FLAGS, 0o666, dir_fd=inside)
        with os.fdopen(number, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(number)
        (path / hidden).replace(path / name)


def copy_file(file: ReleasedFile, source: Path, folder: Path | PrivateFolder) -> None:
    """Copy a file from one folder to another, as if it had been written there."""
    _put((source / file.name).read_bytes(), folder, file.name)


def digest_of(path: Path) -> str | None:
    """Return the SHA-256 of a file, or None if there is none; fail if it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (FileNotFoundError, NotADirectoryError):
        return None


def read_table(folder: Path, file: ReleasedFile) -> pa.Table:
    """Read the table of a file that has not changed."""
    import pyarrow as pa  # noqa: PLC0415  as Parquet, below
    import pyarrow.parquet as pq  # noqa: PLC0415  as above

    try:
        data = (folder / file.name).read_bytes()
    except OSError:
        data = b""
    if hashlib.sha256(data).hexdigest() != file.digest:
        raise UnreadableSource(
            what=f"the file {file.name} of an answer is not there, or has been changed.",
            why="an answer is drawn once: what is not the file that was paid for is no answer.",
            do="put the file back as it was written, from a copy.",
        )
    return pq.read_table(pa.BufferReader(data))


def sync_folder(folder: Path) -> None:
    """Write the entries of a folder to disk."""
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
