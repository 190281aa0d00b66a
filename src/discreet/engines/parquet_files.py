"""Files of released tables: written whole or not at all, and known by their content.

Trust: public.  Only what is released gets here; statistics in a file are about its own rows.

Definition.  A file is written under a name that nobody looks for, brought to disk, and then gets
its own name: a stem, and the first digits of the SHA-256 of its bytes.  So two attempts at the same
table make one file, two different tables never replace each other, and a file that has its name is
whole.
"""

from __future__ import annotations

import hashlib
import os
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, final

from discreet.errors import UnreadableSource

if TYPE_CHECKING:  # loaded with Parquet itself
    import pyarrow as pa

__all__ = [
    "ReleasedFile",
    "copy_file",
    "digest_of",
    "read_table",
    "sync_folder",
    "write_table",
]

_DIGITS: Final = 16
_PART: Final = 1 << 20
_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL


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


def write_table(table: pa.Table, folder: Path, stem: str) -> ReleasedFile:
    """Write a table into a folder that is there, and return what its file is called.

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
    _put(data, folder / f".{name}.{_writer()}", folder / name)
    return ReleasedFile(name=name, rows=table.num_rows, digest=digest)


def _writer() -> str:
    """Name whoever writes: two of them may write the same file at once."""
    return f"{os.uname().nodename}.{os.getpid()}.{threading.get_ident()}"


def _put(data: pa.Buffer | bytes, hidden: Path, path: Path) -> None:
    """Bring bytes to disk, and then under their name."""
    hidden.unlink(missing_ok=True)  # of an attempt that was killed, if any
    number = os.open(hidden, _FLAGS, 0o666)
    with os.fdopen(number, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(number)
    hidden.replace(path)


def copy_file(file: ReleasedFile, source: Path, folder: Path) -> None:
    """Copy a file from one folder to another, as if it had been written there."""
    hidden = folder / f".{file.name}.{_writer()}"
    _put((source / file.name).read_bytes(), hidden, folder / file.name)


def digest_of(path: Path) -> str | None:
    """Return the SHA-256 of a file, or None if it is not there; one that cannot be read may be."""
    found = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while part := file.read(_PART):
                found.update(part)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.hexdigest()


def read_table(folder: Path, file: ReleasedFile) -> pa.Table:
    """Read the table of a file that is what it was."""
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
    """Bring to disk which names a folder holds."""
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
