"""The files of a ledger and of its witness: their names, their locks, and how they are synced.

Trust: kernel.
"""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path
from typing import Final

_ENDINGS: Final = ("", "-backups", "-journal", "-replays")
_PAUSE: Final = 0.002


def is_own_file(address: str, path: str | os.PathLike[str]) -> bool:
    """Say whether a path is that of a file of the ledger at an address, there or still to be made.

    The address of a ledger on a server is the path of no file.

    >>> is_own_file("clinic.ledger", "clinic.ledger-backups")
    True
    >>> is_own_file("clinic.ledger", "monday.jsonl")
    False
    """
    return any(same_file(f"{address}{ending}", path) for ending in _ENDINGS)


def same_file(one: str | os.PathLike[str], other: str | os.PathLike[str]) -> bool:
    """Say whether two paths lead to the same place, or two names are those of one file.

    >>> same_file("policy.toml", "./policy.toml")
    True
    """
    try:
        if Path(one).resolve() == Path(other).resolve():
            return True
        return os.path.samefile(one, other)  # noqa: PTH121  texts
    except (OSError, RuntimeError, ValueError):  # not there, a loop of links, or no path
        return False


def lock_within(file: int, seconds: float) -> bool:
    """Lock an open file against others, and say whether that was possible in time.

    Whoever may open a file may lock it for as long as they like.  So nobody else's answer may wait
    for such a lock without an end.
    """
    end = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= end:
                return False
            time.sleep(_PAUSE)
        else:
            return True


def sync(path: str) -> None:
    """Sync a file or a folder."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)


__all__ = ["is_own_file", "lock_within", "same_file", "sync"]
