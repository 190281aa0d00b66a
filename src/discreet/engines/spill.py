"""Folders for what does not fit in memory, which go with the process that uses them.

Trust: kernel.

What does not fit in memory is in a folder that goes with the process that uses it.  It holds rows
of private tables as they are.
A folder is open to its owner alone (mode 0700), and so is every file that is made in it (0600, by
the default access list of the folder, if the file system keeps such lists).  Whoever uses it
holds a lock on a file in it; the system drops the lock when the process ends, in whatever way.  So
a folder whose lock can be had belongs to nobody, and what was spilled there is removed by any
process that needs such a folder next.  A folder gets the name that is looked for once its lock is
held. Only folders of this user are looked at, no link is followed, and nothing below them is
entered.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import struct
import tempfile
from pathlib import Path

_PREFIX = "discreet-spill-"
_NEW = "discreet-new-"
_LOCK = "in-use"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_OWNER_ALONE = struct.pack("<I", 2) + b"".join(
    struct.pack("<HHI", tag, allowed, 0xFFFFFFFF) for tag, allowed in ((1, 6), (4, 0), (32, 0))
)
"""An access list: the owner may read and write, the group and others may do nothing."""


class SpillFolder:
    """A folder that is there until it is removed, or the process ends and another one begins.

    >>> folder = SpillFolder()
    >>> oct(os.stat(folder.path).st_mode & 0o777)
    '0o700'
    >>> folder.remove()
    >>> Path(folder.path).exists()
    False
    """

    __slots__ = ("_lock", "_owner", "path")

    def __init__(self, parent: str | None = None) -> None:
        """Make a folder, in the usual place unless told, and remove those of dead processes."""
        where = Path(tempfile.gettempdir() if parent is None else parent)
        _sweep(where)
        made = Path(tempfile.mkdtemp(prefix=_NEW, dir=where))
        with contextlib.suppress(OSError):  # a file system without such lists
            os.setxattr(made, "system.posix_acl_default", _OWNER_ALONE)
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        self._lock = os.open(made / _LOCK, flags, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self.path = str(made.rename(where / f"{_PREFIX}{made.name.removeprefix(_NEW)}"))
        self._owner = os.getpid()

    def remove(self) -> None:
        """Remove the folder; a process that was forked meanwhile leaves it alone."""
        if self._owner == os.getpid():
            self._owner = 0
            with contextlib.suppress(OSError):
                _emptied(Path(self.path))
            os.close(self._lock)


def _sweep(parent: Path) -> None:
    """Remove the folders that no process uses."""
    for path in parent.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):  # in use, of somebody else, or gone meanwhile
            _removed_if_unused(path)


def _removed_if_unused(path: Path) -> None:
    folder = os.open(path, _FOLDER)
    try:
        if os.fstat(folder).st_uid != os.geteuid():
            return
        lock = os.open(_LOCK, os.O_RDWR | os.O_NOFOLLOW, dir_fd=folder)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _emptied(path)
        finally:
            os.close(lock)
    finally:
        os.close(folder)


def _emptied(path: Path) -> None:
    """Remove the files of a folder, the lock last, and then the folder."""
    folder = os.open(path, _FOLDER)
    try:
        names = os.listdir(folder)  # noqa: PTH208  of the folder that is open
        for name in sorted(names, key=lambda name: name == _LOCK):
            os.unlink(name, dir_fd=folder)
    finally:
        os.close(folder)
    path.rmdir()
