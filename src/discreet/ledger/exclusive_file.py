"""A file that appears at its place as a whole, where nothing was, or not at all.

Trust: kernel.  What is overwritten could be a ledger, and a ledger that is lost gives spent privacy
back.

The file is written under another name beside its place, synced, and then linked to its place.  A
link is refused if anything is there, whoever made it and when: between a look and a rename somebody
could make a ledger there.
Some file systems have no links (those of USB sticks, some network shares).  There the place is
taken by creating a file that must be new, and the content is copied into it, its first byte last:
until then it begins with a zero byte, and is neither an export nor a database.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final

from discreet.ledger.stores.sqlite_files import sync

__all__ = ["exclusive_file"]

_NO_LINKS: Final = frozenset(
    {errno.EPERM, errno.EACCES, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL}
)


@contextmanager
def exclusive_file(path: Path) -> Iterator[IO[bytes]]:
    """Write a file, for its owner alone, that is at its path once it is on disk as a whole.

    Raises:
        FileExistsError: if something is at the path by then; it stays as it is.
    """
    number, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    place = Path(name)
    try:
        with os.fdopen(number, "wb") as file:
            yield file
            file.flush()
            os.fsync(number)
        _publish(place, path)
    finally:
        with suppress(OSError):
            place.unlink()
    sync(str(path.parent))


def _publish(place: Path, path: Path) -> None:
    """Give a finished file its name, unless something else bears it."""
    try:
        path.hardlink_to(place)
    except OSError as failure:
        if failure.errno not in _NO_LINKS:
            raise
        _copy(place, path)


def _copy(place: Path, path: Path) -> None:
    """Copy a finished file to a new one, its first byte last."""
    number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    made = os.fstat(number)
    try:
        with place.open("rb") as source, os.fdopen(number, "wb") as file:
            first = source.read(1)
            file.seek(1)
            shutil.copyfileobj(source, file)
            file.flush()
            os.fsync(number)
            file.seek(0)
            file.write(first)
            file.flush()
            os.fsync(number)
    except BaseException:
        with suppress(OSError):
            if os.path.samestat(made, path.lstat()):
                path.unlink()
        raise
