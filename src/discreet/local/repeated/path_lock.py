"""Locks on what a path leads to: the file itself, and not a file beside it.

Trust: kernel.

Definition.  ``locked`` opens a file, locks its inode, and then looks whether the path still leads
to that inode; if not, it begins again.  A file that is replaced as a whole keeps its users apart as
long as the new one is locked before it takes the place of the old one: whoever waits for the old
one finds another at the path, and whoever opens the new one waits.
So there is no lock file whose removal would let a second process in.  A lock ends with its process.
Assumes: a file system whose ``flock`` is seen by all who use the file.
"""

from __future__ import annotations

import fcntl
import os
import stat
import time
from pathlib import Path
from typing import Final

from discreet.errors import LedgerUnavailable

_FLAGS: Final = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_PAUSE: Final = 0.002  # seconds


def locked(path: Path, *, create: bool, kind: str, until: float) -> int | None:
    """Return a descriptor of the file at a path, locked; None if there is none to be had.

    It raises OSError where the file cannot be opened, and gives up at the time ``until``.
    """
    while True:
        try:
            number = os.open(path, _FLAGS | (os.O_CREAT if create else 0), 0o600)
        except FileNotFoundError:
            if create:  # no folder
                raise
            return None
        try:
            _check(number, kind)
            _wait(number, kind, until)
            if leads_to(path, number):
                _check(number, kind)  # again: somebody may have linked it meanwhile
                return number
        except BaseException:
            os.close(number)
            raise
        os.close(number)


def unlocked(number: int) -> None:
    """Release a lock, also for processes that were forked meanwhile, and close the file."""
    try:
        fcntl.flock(number, fcntl.LOCK_UN)
    finally:
        os.close(number)


def leads_to(path: Path, number: int) -> bool:
    """Return whether a path leads to an open file."""
    try:
        there = os.stat(path, follow_symlinks=False)  # noqa: PTH116  beside fstat
    except FileNotFoundError:
        return False
    return os.path.samestat(there, os.fstat(number))


def _check(number: int, kind: str) -> None:
    """Refuse what is no regular file, and a file that another path may lead to."""
    status = os.fstat(number)
    if not stat.S_ISREG(status.st_mode):
        raise _refused(kind, "is not a regular file", "name a file.")
    if status.st_nlink > 1:
        raise _refused(
            kind,
            "has a second name in the file system (a hard link)",
            "remove the other name; a copy is not the same file.",
        )


def _wait(number: int, kind: str, until: float) -> None:
    while True:
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                raise _refused(
                    kind, "is kept busy by another process", "try again when it has ended."
                ) from None
            time.sleep(_PAUSE)
        else:
            return


def _refused(kind: str, what: str, do: str) -> LedgerUnavailable:
    return LedgerUnavailable(
        what=f"the {kind} {what}.",
        why="two who write to it would not see each other's charges, and tell more than agreed.",
        do=f"{do} Nothing was reported.",
    )
